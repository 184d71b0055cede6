"""How a file becomes the kernels that are executed: compiled for a GPU, as machine code or PTX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from kernelcast.errors import UnsupportedError
from kernelcast.forecasting.fitting import warned
from kernelcast.frontends.containers import embedded_code
from kernelcast.frontends.fatbin import is_container
from kernelcast.frontends.loading import LoadedModule, load_bytes, read_file
from kernelcast.frontends.macros import unheard
from kernelcast.frontends.recognise import FileKind
from kernelcast.ir import Kernel
from kernelcast.machines.machine import Machine
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvrtc import CompileOptions

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Build:
    """How a source becomes code.

    Compiler options, a register count in place of the compiler's, and the cache of compiled code.
    `isa` is `ptx`, `sass`, or `auto`: machine code where there is some for the GPU itself and all
    that counts of it is understood.
    """

    options: CompileOptions = field(default_factory=CompileOptions)
    registers: int | None = None
    cache: Cache | None = field(default_factory=Cache)
    isa: str = "auto"


def open_module(file: Path, chip: Machine, kernels: Sequence[str], build: Build) -> LoadedModule:
    """The code of a file for a GPU, compiled where it is a source.

    `kernels` are those wanted of it. Raises InputError, CompileError and ToolError.
    """
    if is_container(file):
        # Its kernels may lie in several cubins; those of one workload are taken from one.
        data = embedded_code(file, chip.compute_capability, kernels[0])
    else:
        data = read_file(file)
    return module_of(data, str(file), chip, kernels, build)


def module_of(
    data: bytes, name: str, chip: Machine, kernels: Sequence[str], build: Build
) -> LoadedModule:
    """As `open_module`, for the content of a file called `name`."""
    module = load_bytes(
        data,
        name=name,
        compute_capability=chip.compute_capability,
        kernels=[name for name in kernels if name],
        options=build.options,
        registers=build.registers,
        cache=build.cache,
    )
    if build.isa == "auto" and module.without_machine_code:
        return replace(module, notes=(*module.notes, ptx_because(module.without_machine_code)))
    return module


def kernels_of(module: LoadedModule, kernel: str = "") -> tuple[Kernel, ...]:
    """All kernels of a module, or the one called `kernel`, with the module's notes."""
    names = [kernel] if kernel else module.kernel_names
    return tuple(_noted(_listed(module, name), module) for name in names)


def _listed(module: LoadedModule, name: str) -> Kernel:
    """A kernel to tell about, which need not be one that can be executed."""
    try:
        return module.kernel(name)
    except UnsupportedError:
        if not module.has_machine_code:
            raise
        return module.machine_kernel(name)


def executable_kernel(module: LoadedModule, name: str, isa: str) -> Kernel:
    """A kernel in the ISA that is to be executed; UnsupportedError where it has no such code."""
    kernel = module.machine_kernel(name) if isa == "sass" else module.kernel(name)
    if not kernel.blocks:
        raise UnsupportedError(
            "the file holds machine code only, no PTX", where=module.name, hint="use --isa sass"
        )
    return _noted(kernel, module)


def chosen_isa(module: LoadedModule, chip: Machine, build: Build) -> str:
    """The ISA to execute: machine code of another GPU says less of this one than PTX does.

    UnsupportedError where there is machine code alone, and the GPU could not run it.
    """
    if module.kind is FileKind.CUBIN and not _may_run(module.architecture, chip):
        raise UnsupportedError(
            f"{module.architecture} code, which {chip.name} cannot run",
            where=module.name,
            hint=f"give its source or PTX, or code for sm_{_target_of(chip)}",
        )
    if build.isa != "auto":
        return build.isa
    own = module.architecture.removeprefix("sm_").rstrip("af") == _target_of(chip)
    is_only_code = module.kind is FileKind.CUBIN
    return "sass" if module.has_machine_code and (own or is_only_code) else "ptx"


def _may_run(architecture: str, chip: Machine) -> bool:
    """Whether a chip runs machine code: that of an older chip of its generation, but what is for
    one architecture alone (CUDA C++ Programming Guide, Binary Compatibility)."""
    number = architecture.removeprefix("sm_")
    target = _target_of(chip)
    if number.endswith(("a", "f")):
        return number[:-1] == target
    return number[:-1] == target[:-1] and number <= target


def with_fallback(attempt: Callable[[str], _Made], isa: str, build: Build) -> tuple[_Made, str]:
    """What `attempt` makes of the code in an ISA, and why that was PTX after all, or nothing.

    PTX stands for machine code that holds something nobody can execute yet, unless the user asked
    for machine code. Where PTX does as well, the error is that of the machine code.
    """
    try:
        return attempt(isa), ""
    except UnsupportedError as error:
        if isa == "ptx" or build.isa != "auto":
            raise
        unsupported = error
    try:
        return attempt("ptx"), unsupported.what
    except UnsupportedError:
        raise unsupported from None


def readable_kernel(module: LoadedModule, name: str, chip: Machine, build: Build) -> Kernel:
    """A kernel in the ISA that is executed on a chip, in PTX where its machine code cannot be read;
    then its warnings say so."""
    kernel, reason = with_fallback(
        lambda isa: executable_kernel(module, name, isa), chosen_isa(module, chip, build), build
    )
    if not reason:
        return kernel
    return warned(kernel, ptx_because(reason))


def with_unheard_macros(
    module: LoadedModule, file: Path, names: Mapping[str, int | float], build: Build
) -> LoadedModule:
    """The code of a CUDA source, with a note where it and its launch do not share a name."""
    if module.kind is not FileKind.CUDA:
        return module
    text = read_file(file).decode("utf-8", "replace")
    notes = unheard(text, file.name, names, build.options.defines)
    return replace(module, notes=(*module.notes, *notes))


def ptx_because(reason: str) -> str:
    """The remark that PTX stands for machine code."""
    return f"PTX was executed, not the machine code: {reason}"


def _target_of(chip: Machine) -> str:
    major, minor = chip.compute_capability
    return f"{major}{minor}"


def _noted(kernel: Kernel, module: LoadedModule) -> Kernel:
    return replace(kernel, warnings=(*kernel.warnings, *module.notes))
