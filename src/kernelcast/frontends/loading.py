"""One way in for every kind of file: recognised by content, opened, kernels chosen by name."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

from kernelcast.errors import InputError, NotFoundError, UnsupportedError
from kernelcast.frontends.cubin import read_cubin
from kernelcast.frontends.cuda import compile_for_chip
from kernelcast.frontends.declarations import declared_kernels
from kernelcast.frontends.machine_kernel import machine_kernel
from kernelcast.frontends.ptx import AssembledPtx, assembled_ptx, read_ptx
from kernelcast.frontends.recognise import FileKind, recognise
from kernelcast.frontends.source.callers import launches_of_program
from kernelcast.frontends.source.header_folders import HeaderFolders
from kernelcast.frontends.source.source_launches import SourceLaunch
from kernelcast.frontends.source.words import included_headers
from kernelcast.ir import Kernel, Variable
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.mangling import base_name, source_name
from kernelcast.toolchain.nvrtc import NO_OPTIONS, CompileOptions

_H100_COMPUTE_CAPABILITY = (9, 0)
_KERNELS_SHOWN = 20
"""Kernels that an error names where there are several to choose from."""
_MOST_KEPT = 4
"""Kernels of a source that are kept: a search asks for one of them again and again."""


@dataclass(frozen=True)
class LoadedModule:
    """A file with kernels, each made when it is asked for.

    `labels` maps the names of the machine code to those of the source; `notes` says what a
    prediction must assume because of how the code was made; `toolchain` who made it;
    `without_machine_code` why there is none, where there might have been. `templates` are kernels
    that nothing instantiates, with the names of their parameters, such as `tiled<T, N>`.
    `parameter_labels` are the names of the kernel's parameters where only the caller knows them.
    """

    name: str
    kind: FileKind
    architecture: str
    labels: Mapping[str, str]
    notes: tuple[str, ...] = ()
    toolchain: str = ""
    registers: int | None = None
    without_machine_code: str = ""
    templates: tuple[str, ...] = ()
    parameter_labels: tuple[str, ...] = ()
    _make: Callable[[str], Kernel] = field(repr=False, kw_only=True)
    _make_machine: Callable[[str], Kernel] | None = field(default=None, repr=False, kw_only=True)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """Names of all kernels, as the source has them."""
        return tuple(self.labels.values())

    def kernel(self, name: str = "") -> Kernel:
        """The kernel called `name`: its source name, mangled name or template expression.

        Empty where the file holds one only. InputError where several fit, NotFoundError where
        none does.
        """
        return self._finished(self._make(self._chosen(name)))

    @property
    def has_machine_code(self) -> bool:
        """Whether there is machine code to execute."""
        return self._make_machine is not None

    def machine_kernel(self, name: str = "") -> Kernel:
        """As `kernel`, with its machine code. UnsupportedError where the file has none."""
        if self._make_machine is None:
            raise UnsupportedError(
                self.without_machine_code or f"{self.kind} holds no machine code",
                where=self.name,
                hint="use --isa ptx, or give the CUDA source",
            )
        return self._finished(self._make_machine(self._chosen(name)))

    def _chosen(self, name: str) -> str:
        if self.templates and not self.labels:
            raise InputError(
                f"nothing instantiates its templates {', '.join(self.templates)}",
                where=self.name,
                hint=f"name one with its arguments, such as --kernel '{self.templates[0]}'",
            )
        return choose_kernel(name, self.labels, where=self.name)

    def _finished(self, kernel: Kernel) -> Kernel:
        kernel = replace(
            kernel,
            variables=tuple(map(_labelled, kernel.variables)),
            module_variables=tuple(map(_labelled, kernel.module_variables)),
        )
        if self.parameter_labels and len(self.parameter_labels) == len(kernel.parameters):
            named = zip(kernel.parameters, self.parameter_labels, strict=True)
            kernel = replace(kernel, parameters=tuple(replace(p, label=n) for p, n in named))
        if self.registers is None:
            return kernel
        given = replace(kernel.resources, registers=self.registers, source="given by the user")
        return replace(kernel, resources=given)


def load(
    path: str | Path,
    *,
    compute_capability: tuple[int, int] = _H100_COMPUTE_CAPABILITY,
    architecture: str | None = None,
    kernels: Sequence[str] = (),
    options: CompileOptions = NO_OPTIONS,
    registers: int | None = None,
    cache: Cache | None = None,
) -> LoadedModule:
    """Open a CUDA C++, PTX or cubin file.

    CUDA is compiled for `architecture`, else for the installed target nearest to
    `compute_capability`; `kernels` names the template kernels to instantiate. `registers`
    overrides what the compiler says or the PTX suggests. Raises InputError and ToolError.
    """
    return load_bytes(
        read_file(path),
        name=str(path),
        compute_capability=compute_capability,
        architecture=architecture,
        kernels=kernels,
        options=options,
        registers=registers,
        cache=cache,
    )


def load_bytes(
    data: bytes,
    *,
    name: str,
    compute_capability: tuple[int, int] = _H100_COMPUTE_CAPABILITY,
    architecture: str | None = None,
    kernels: Sequence[str] = (),
    options: CompileOptions = NO_OPTIONS,
    registers: int | None = None,
    cache: Cache | None = None,
) -> LoadedModule:
    """As `load`, for the content of a file called `name`."""
    kind = recognise(data, name=name)
    if kind is FileKind.WORKLOAD:
        raise InputError("a workload file holds no kernel", where=name, hint="give its source")
    if kind is FileKind.SASS:
        raise UnsupportedError(
            "a listing of machine code, which is not executed",
            where=name,
            hint="read it with kernelcast disasm",
        )
    if kind is FileKind.CUBIN:
        module = _load_cubin(data, name, cache)
    elif kind is FileKind.PTX:
        module = _load_ptx(data, name, compute_capability, cache)
    else:
        if kind is FileKind.C:
            data = _cuda_of_c(data, name, options)
        module = _load_cuda(data, name, compute_capability, architecture, kernels, options, cache)
    return replace(module, registers=registers)


def load_compiled(
    ptx: str, cubin: bytes, *, name: str, maker: str, cache: Cache | None = None
) -> LoadedModule:
    """What another compiler made: PTX, and the machine code that `maker` made of it.

    Raises ParseError and InputError where one of them is damaged.
    """
    read = read_ptx(ptx, name=name)
    made = AssembledPtx(read, cubin, read_cubin(cubin, name=name, maker=maker))
    return LoadedModule(
        name=name,
        kind=FileKind.PTX,
        architecture=made.cubin.architecture,
        labels=read.labels,
        toolchain=maker,
        _make=made.kernel,
        _make_machine=lambda mangled: made.machine_kernel(mangled, cache),
    )


def kernel_names(path: str | Path) -> tuple[str, ...]:
    """Names of the kernels in a file without compiling it; templates by their bare name."""
    data = read_file(path)
    kind = recognise(data, name=str(path))
    if kind is FileKind.CUBIN:
        return _load_cubin(data, str(path)).kernel_names
    text = data.decode("utf-8", "replace")
    if kind is FileKind.PTX:
        return tuple(read_ptx(text, name=str(path)).labels.values())
    if kind is FileKind.C:
        text = _cuda_of_c(data, str(path), NO_OPTIONS).decode("utf-8", "replace")
    return tuple(dict.fromkeys(kernel.name for kernel in declared_kernels(text)))


def launches_of_file(
    path: Path, defines: Sequence[str] = (), include_dirs: tuple[Path, ...] = ()
) -> tuple[SourceLaunch, ...]:
    """The launches that a CUDA C++ source makes.

    InputError where the file is no such source, or launches nothing.
    """
    data = read_file(path)
    if recognise(data, name=str(path)) is not FileKind.CUDA:
        raise InputError("only CUDA C++ launches kernels", where=str(path), hint="give a source")
    text = data.decode("utf-8", "surrogateescape")
    found = launches_of_program(text, str(path), HeaderFolders(include_dirs), defines)
    if not found:
        raise InputError(
            "the source launches no kernel",
            where=str(path),
            hint=_run_it(str(path)) or "give the launch with --grid, --block and --arg",
        )
    return found


def read_file(path: str | Path) -> bytes:
    """The content of a file without its byte order mark; InputError where it cannot be read."""
    try:
        return Path(path).read_bytes().removeprefix(codecs.BOM_UTF8)
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), hint="check the path") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot read the file: {reason}",
            where=str(path),
            hint="give a CUDA, PTX or workload file that can be read",
        ) from error


def read_c_file(path: str | Path) -> str:
    """The text of a file of C; InputError where it is anything else."""
    data = read_file(path)
    if recognise(data, name=str(path)) is not FileKind.C:
        raise InputError(
            "only C has loops that a GPU could take",
            where=str(path),
            hint="give a file whose name ends with .c; predict takes CUDA",
        )
    return data.decode("utf-8", "surrogateescape")


def no_kernel(where: str) -> InputError:
    """The error of a file without any kernel."""
    hint = "add a __global__ function; name a template with its arguments, "
    hint += "for example --kernel 'tiled<16>'"
    return InputError("the file holds no kernel", where=where, hint=_run_it(where) or hint)


def _run_it(where: str) -> str:
    """What to do with a source all of whose kernels are those of Thrust's or CUB's algorithms."""
    try:
        data = read_file(where)
        is_source = recognise(data, name=where) is FileKind.CUDA
    except InputError:
        return ""
    headers = included_headers(data.decode("utf-8", "replace")) if is_source else ()
    if not any(header.startswith(("thrust/", "cub/")) for header in headers):
        return ""
    return f"run the program, whose kernels are its libraries': kernelcast run {where}"


def choose_kernel(name: str, labels: Mapping[str, str], *, where: str) -> str:
    """The key of the kernel that `name` means among `labels` (key to source name)."""
    if not labels:
        raise no_kernel(where)
    # From the strictest reading of the name to the loosest; the first that finds any decides.
    wanted = _without_spaces(name)
    tests: tuple[Callable[[str, str], bool], ...] = (
        lambda key, label: not wanted or key == wanted or _without_spaces(label) == wanted,
        lambda key, label: _without_spaces(label).partition("<")[0] == wanted,
        lambda key, label: base_name(label) == wanted,
    )
    for test in tests:
        found = [key for key, label in labels.items() if test(key, label)]
        if len(found) == 1:
            return found[0]
        if found:
            names = [labels[key] for key in found]
            shown = [
                key if names.count(label) > 1 else label
                for key, label in zip(found, names, strict=True)
            ][:_KERNELS_SHOWN]
            more = f" and {len(found) - len(shown)} more" if len(found) > len(shown) else ""
            raise InputError(
                f"{len(found)} kernels to choose from: {', '.join(shown)}{more}",
                where=where,
                hint="choose one with --kernel NAME",
            )
    raise NotFoundError("kernel", name, labels.values(), where=where)


def _load_cuda(
    data: bytes,
    name: str,
    compute_capability: tuple[int, int],
    architecture: str | None,
    kernels: Sequence[str],
    options: CompileOptions,
    cache: Cache | None,
) -> LoadedModule:
    compiled, note = compile_for_chip(
        data.decode("utf-8", "surrogateescape"),
        name=name,
        compute_capability=compute_capability,
        architecture=architecture,
        kernels=kernels,
        options=options,
        cache=cache,
    )
    return LoadedModule(
        name=name,
        kind=FileKind.CUDA,
        architecture=compiled.compilation.architecture,
        labels=compiled.labels,
        notes=(*([note] if note else []), *compiled.notes),
        toolchain=compiled.compilation.compiler,
        templates=compiled.templates,
        _make=lru_cache(_MOST_KEPT)(compiled.kernel),
        _make_machine=lru_cache(_MOST_KEPT)(partial(compiled.machine_kernel, cache=cache)),
    )


def _cuda_of_c(data: bytes, name: str, options: CompileOptions) -> bytes:
    """The kernels that the loops of a C file become; InputError where there are none."""
    from kernelcast.frontends.c.program import read_program  # loads its parser

    text = data.decode("utf-8", "surrogateescape")
    program = read_program(text, name, options.defines, options.include_dirs)
    if not any(plan.kernels for plan in program.plans):
        program.launches()  # says why
    return program.cuda.encode("utf-8", "surrogateescape")


def _load_ptx(
    data: bytes, name: str, compute_capability: tuple[int, int], cache: Cache | None
) -> LoadedModule:
    text = data.decode("utf-8", "replace")
    read = read_ptx(text, name=name)
    target = read.module.module.target
    chip = f"sm_{compute_capability[0] * 10 + compute_capability[1]}"
    module = LoadedModule(
        name=name, kind=FileKind.PTX, architecture=chip, labels=read.labels, _make=read.kernel
    )
    found = assembled_ptx(text, read, chip, cache=cache)
    if isinstance(found, AssembledPtx):
        return replace(
            module,
            toolchain="ptxas",
            _make=found.kernel,
            _make_machine=lambda mangled: found.machine_kernel(mangled, cache),
        )
    note = f"the PTX was made for {target}, not for {chip}"
    return replace(
        module,
        architecture=target,
        notes=(note,) if target.rstrip("af") != chip else (),
        without_machine_code=found,
    )


def _load_cubin(data: bytes, name: str, cache: Cache | None = None) -> LoadedModule:
    cubin = read_cubin(data, name=name)
    labels = {kernel: source_name(kernel) for kernel in cubin.kernels}

    def make(mangled: str) -> Kernel:
        return replace(cubin.kernels[mangled], label=labels[mangled])

    def make_machine(mangled: str) -> Kernel:
        kernel = machine_kernel(data, cubin, mangled, name=name, cache=cache)
        return replace(kernel, label=labels[mangled])

    return LoadedModule(
        name=name,
        kind=FileKind.CUBIN,
        architecture=cubin.architecture,
        labels=labels,
        _make=make,
        _make_machine=make_machine,
    )


def _labelled(variable: Variable) -> Variable:
    """A variable with its name in the source."""
    return replace(variable, label=source_name(variable.name))


def _without_spaces(name: str) -> str:
    return "".join(name.split())
