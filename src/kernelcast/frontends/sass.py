"""Machine code of a file: compiled, out of cubins and fat binaries, or already disassembled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelcast.errors import InputError, NotFoundError
from kernelcast.frontends.containers import embedded_kernel, has_machine_code
from kernelcast.frontends.cubin import Cubin, kernel_symbols, read_cubin
from kernelcast.frontends.cuda import compile_for_chip
from kernelcast.frontends.fatbin import FatBinary, is_container, open_fat_binary
from kernelcast.frontends.loading import choose_kernel, read_file
from kernelcast.frontends.machine_kernel import listed
from kernelcast.frontends.ptx import assembled_ptx, read_ptx
from kernelcast.frontends.recognise import FileKind, recognise
from kernelcast.ir import Kernel, Resources
from kernelcast.isas.sass import SassFunction, SassModule, parse_sass
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.mangling import base_name, name_matcher, source_name
from kernelcast.toolchain.nvrtc import NO_OPTIONS, CompileOptions


@dataclass(frozen=True)
class MachineCode:
    """The code of one kernel.

    `label` is its name in the source; `resources` None where the file says nothing of them; `note`
    says why it was made for another architecture than asked for.
    """

    file: str
    label: str
    function: SassFunction
    resources: Resources | None = None
    note: str = ""


def machine_code(
    path: str | Path,
    *,
    compute_capability: tuple[int, int],
    kernel: str = "",
    options: CompileOptions = NO_OPTIONS,
    cache: Cache | None = None,
) -> tuple[MachineCode, ...]:
    """The machine code of the kernel called `kernel`, or of all kernels of a file.

    CUDA C++ is compiled for the target nearest to `compute_capability`, PTX for its own; out of a
    file with fat binaries comes the code that such a chip runs, and only one kernel at a time.
    Raises InputError, NotFoundError, UnsupportedError and ToolError.
    """
    if is_container(path):
        with open_fat_binary(path) as fat_binary:
            return (_from_fat_binary(fat_binary, compute_capability, kernel, cache),)
    name = str(path)
    data = read_file(path)
    kind = recognise(data, name=name)
    if kind is FileKind.CUBIN:
        cubin = read_cubin(data, name=name)
        return _from_cubin(data, cubin, _labels(cubin.kernels), kernel, name, cache)
    text = data.decode("utf-8", "replace")
    if kind is FileKind.SASS:
        return _from_listing(parse_sass(text, name), kernel, name)
    if kind is FileKind.CUDA:
        return _from_cuda(text, name, compute_capability, kernel, options, cache)
    if kind is FileKind.PTX:
        return _from_ptx(text, name, compute_capability, kernel, cache)
    raise InputError(
        f"{kind} holds no machine code", where=name, hint="give CUDA C++, PTX, a cubin or a program"
    )


def container_kernels(
    path: str | Path,
    compute_capability: tuple[int, int] | None = None,
    *,
    pattern: str = "",
    progress: Callable[[float], None] | None = None,
    cache: Cache | None = None,
) -> Iterator[Kernel]:
    """The kernels in a file with fat binaries, without their instructions, cubin after cubin; of
    PTX where there is no machine code.

    `compute_capability` leaves only the code such a chip runs. `pattern` is a mangled name or one
    for `name_matcher`. `progress` is told the share that was read. InputError where the chip runs
    no code in the file or there is no kernel, NotFoundError where no name fits the pattern.
    """
    fits = name_matcher(pattern)
    seen: dict[str, str] = {}
    is_listed = False

    def wanted(names: Iterable[str]) -> list[str]:
        # Equal names of several architectures are one text.
        symbols = [seen.setdefault(name, name) for name in names]
        return [s for s in symbols if s == pattern or fits(source_name(s))]

    with open_fat_binary(path) as fat_binary:
        if has_machine_code(fat_binary, compute_capability):
            found = _kernels_of_cubins(fat_binary, compute_capability, wanted, progress)
        else:
            found = _kernels_of_texts(fat_binary, compute_capability, wanted, progress, cache)
        for kernel in found:
            is_listed = True
            yield kernel
    if pattern and seen and not is_listed:
        known = {base_name(source_name(mangled)) for mangled in seen}
        raise NotFoundError("kernel", pattern, known, where=str(path))
    if not is_listed:
        raise InputError(
            "its GPU code holds no kernel",
            where=str(path),
            hint="give the program or library whose sources have a __global__ function",
        )


def _kernels_of_cubins(
    fat_binary: FatBinary,
    compute_capability: tuple[int, int] | None,
    wanted: Callable[[Iterable[str]], list[str]],
    progress: Callable[[float], None] | None,
) -> Iterator[Kernel]:
    chosen = compute_capability and fat_binary.architecture_for(compute_capability)
    for _, data in fat_binary.cubins(chosen or None, progress):
        if not (names := wanted(kernel_symbols(data, name=fat_binary.name))):
            continue
        cubin = read_cubin(data, name=fat_binary.name, only=set(names))
        for mangled in names:
            if kernel := cubin.kernels.get(mangled):
                yield replace(kernel, name=mangled, label=source_name(mangled))


def _kernels_of_texts(
    fat_binary: FatBinary,
    compute_capability: tuple[int, int] | None,
    wanted: Callable[[Iterable[str]], list[str]],
    progress: Callable[[float], None] | None,
    cache: Cache | None,
) -> Iterator[Kernel]:
    """The kernels of PTX, assembled for the chip, or for the one that it was made for; for a chip
    the newest of each."""
    texts = fat_binary.texts
    listed: set[str] = set()
    for count, member in enumerate(texts):
        if progress:
            progress(count / len(texts))
        own = divmod(int(member.architecture.removeprefix("sm_")), 10)
        if compute_capability is not None and own > compute_capability:
            continue
        text = fat_binary.text(member).decode("utf-8", "replace")
        read = read_ptx(text, name=fat_binary.name)
        names = [n for n in wanted(read.labels) if compute_capability is None or n not in listed]
        if not names:
            continue
        listed.update(names)
        major, minor = compute_capability or own
        made = assembled_ptx(text, read, f"sm_{major}{minor}", cache=cache)
        yield from ((read if isinstance(made, str) else made).kernel(name) for name in names)


def _from_fat_binary(
    fat_binary: FatBinary,
    compute_capability: tuple[int, int],
    kernel: str,
    cache: Cache | None,
) -> MachineCode:
    name = fat_binary.name
    found = embedded_kernel(fat_binary, compute_capability, kernel)
    if found.is_ptx:
        text = found.data.decode("utf-8", "replace")
        (code,) = _from_ptx(text, name, compute_capability, found.mangled, cache)
        return code
    cubin = read_cubin(found.data, name=name)
    (code,) = _from_cubin(found.data, cubin, found.labels, found.mangled, name, cache)
    return code


def _from_cubin(
    data: bytes,
    cubin: Cubin,
    labels: Mapping[str, str],
    kernel: str,
    name: str,
    cache: Cache | None,
) -> tuple[MachineCode, ...]:
    chosen = _chosen(kernel, labels, name) if kernel else tuple(cubin.kernels)
    if not chosen:
        choose_kernel("", labels, where=name)  # says that there is none
    only = chosen[0] if len(chosen) == 1 else ""
    module = listed(data, cubin, only, name=name, cache=cache)
    return tuple(
        MachineCode(name, labels[m], module.function(m), cubin.kernels[m].resources) for m in chosen
    )


def _from_cuda(
    text: str,
    name: str,
    compute_capability: tuple[int, int],
    kernel: str,
    options: CompileOptions,
    cache: Cache | None,
) -> tuple[MachineCode, ...]:
    compiled, note = compile_for_chip(
        text,
        name=name,
        compute_capability=compute_capability,
        kernels=[kernel],
        options=options,
        cache=cache,
    )
    data = compiled.compilation.cubin
    found = _from_cubin(data, compiled.cubin, compiled.labels, kernel, name, cache)
    return tuple(replace(code, note=note) for code in found)


def _from_ptx(
    text: str,
    name: str,
    compute_capability: tuple[int, int],
    kernel: str,
    cache: Cache | None,
) -> tuple[MachineCode, ...]:
    architecture = f"sm_{compute_capability[0] * 10 + compute_capability[1]}"
    read = read_ptx(text, name=name)
    found = assembled_ptx(text, read, architecture, cache=cache)
    if isinstance(found, str):
        raise InputError(f"no machine code for {architecture}: {found}", where=name)
    return _from_cubin(found.data, found.cubin, read.labels, kernel, name, cache)


def _from_listing(module: SassModule, kernel: str, name: str) -> tuple[MachineCode, ...]:
    labels = _labels(module.kernel_names or tuple(module.functions))
    chosen = _chosen(kernel, labels, name) if kernel else tuple(labels)
    return tuple(MachineCode(name, labels[m], module.function(m)) for m in chosen)


def _chosen(kernel: str, labels: Mapping[str, str], name: str) -> tuple[str, ...]:
    return (choose_kernel(kernel, labels, where=name),)


def _labels(mangled: Mapping[str, Kernel] | Sequence[str]) -> dict[str, str]:
    return {name: source_name(name) for name in mangled}
