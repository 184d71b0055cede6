"""`cupy.RawKernel`: its source, options and name, forecast without a GPU.

from kernelcast.adapters.cupy import forecast

print(forecast(kernel, (n // 256,), (256,), (kc.f32(n), np.int32(n)), "h100-sxm"))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from kernelcast.adapters.common import Options, extents, forecast_of
from kernelcast.adapters.values import argument
from kernelcast.api import DEFAULT_GPU, Build, Forecast, Launch, machine
from kernelcast.errors import InputError
from kernelcast.forecasting.build import module_of
from kernelcast.machines.machine import Machine
from kernelcast.toolchain.nvrtc import CompileOptions


def forecast(
    kernel: Any,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    args: Sequence[Any],
    gpu: str | Machine = DEFAULT_GPU,
    *,
    shared_mem: int = 0,
    **options: Unpack[Options],
) -> Forecast:
    """What `kernel(grid, block, args, shared_mem=shared_mem)` takes on a GPU.

    `kernel` is a `cupy.RawKernel`, or any object with its `code` or `file_path`, `options` and
    `name`. Arguments are numbers, arrays of NumPy or of CuPy, or kernelcast's; of arrays on a GPU
    type and shape count.

    Raises InputError for another object, CompileError where the source is refused, and as
    `kernelcast.case` does.
    """
    name = getattr(kernel, "name", None)
    code = _code(kernel)
    if not isinstance(name, str) or code is None:
        raise InputError(
            f"{type(kernel).__name__} holds no source",
            where="kernel",
            hint="give a cupy.RawKernel made of a source",
        )
    chip = machine(gpu)
    build = options.get("build") or Build()
    build = replace(build, options=compile_options(kernel.options, build.options))
    options["build"] = build
    launch = Launch(
        grid=extents(grid, "grid"),
        block=extents(block, "block"),
        args={
            f"arg{at}": argument(value, f"{name}: argument {at}") for at, value in enumerate(args)
        },
        smem_bytes=shared_mem,
        kernel=name,
    )
    module = module_of(code.encode("utf-8", "surrogateescape"), f"{name}.cu", chip, [name], build)
    return forecast_of(module, launch, chip, **options)


def compile_options(given: Sequence[str], base: CompileOptions) -> CompileOptions:
    """Options in the words of NVRTC and nvcc, added to others: -D, -I and --std apart."""
    defines, folders, extra = list(base.defines), list(base.include_dirs), list(base.extra)
    std = base.std
    rest = iter(given)
    for option in rest:
        name, _, value = option.partition("=")
        if option in ("-D", "--define-macro"):
            defines.append(next(rest, ""))
        elif option in ("-I", "--include-path"):
            folders.append(Path(next(rest, "")))
        elif name == "--define-macro":
            defines.append(value)
        elif name == "--include-path":
            folders.append(Path(value))
        elif option.startswith("-D"):
            defines.append(option[2:])
        elif option.startswith("-I"):
            folders.append(Path(option[2:]))
        elif name in ("-std", "--std"):
            std = value
        elif name not in _DECIDED_HERE:
            extra.append(option)
    return replace(
        base, defines=tuple(defines), include_dirs=tuple(folders), std=std, extra=tuple(extra)
    )


_DECIDED_HERE = {"-arch", "--gpu-architecture", "-lineinfo", "--generate-line-info", "-G", "-g"}
"""Options that the GPU, or a forecast, decides."""


def _code(kernel: Any) -> str | None:
    """The source of a kernel; None where it has none."""
    code = getattr(kernel, "code", None)
    if code:
        return str(code)
    path = getattr(kernel, "file_path", None)
    if not path or Path(path).suffix in (".cubin", ".ptx"):
        return None
    try:
        return Path(path).read_text("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"cannot read the source: {error.strerror}", where=str(path)) from error
