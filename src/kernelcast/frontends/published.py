"""Sources as they are published, compiled: host code left out, templates as they are launched.

Which names device code needs is looked up without regard to scope, so a declaration of host code
may seem needed. What the compiler refuses is left out, but kernels, and compiled again: where no
kernel needs it, that is the end of it. Else nvcc, where it is installed, compiles the source as it
is; where that refuses it, too, the first refusal is what the user hears.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelcast.errors import CompileError, InputError, NotFoundError, ToolError
from kernelcast.frontends.declarations import DeclaredKernel, kernels_among
from kernelcast.frontends.source.device_source import (
    DeviceSource,
    device_source,
    host_macros,
    read_source,
)
from kernelcast.frontends.source.dialect import has_designators
from kernelcast.frontends.source.header_folders import HeaderFolders, folders_nearby
from kernelcast.frontends.source.source_launches import SourceLaunch, source_launches
from kernelcast.frontends.source.struct_layouts import SourceTypes
from kernelcast.frontends.source.tokens import TokenKind, tokens
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.diagnostics import error_places, older_exchange
from kernelcast.toolchain.header_shims import header_package
from kernelcast.toolchain.mangling import base_name
from kernelcast.toolchain.nvcc import ProgramOptions, compile_kernels, nvcc_version
from kernelcast.toolchain.nvrtc import (
    NO_OPTIONS,
    Compilation,
    CompileOptions,
    compile_cuda,
    cuda_version,
    has_cccl,
    header_folders,
)
from kernelcast.toolchain.prelude import (
    DEPENDENT_LAUNCH,
    DEPENDENT_LAUNCH_NAMES,
    FULL_PRELUDE,
    OLDER_EXCHANGES,
    PRELUDE,
    PRELUDE_HEADER,
    STANDARD_PRELUDE,
)

_ATTEMPTS = 6
_PUBLISHED = ("--device-as-default-execution-space", f"--pre-include={PRELUDE_HEADER}")
_REFUSED = re.compile(r"#pragma nv_mangled_name (.*)")
"""A name that the compiler was asked for and could not find."""
_OTHER_INTEGER = 'redeclaration of type name "int64_t"'
"""NVIDIA's core libraries, which some of its headers include, have one of their own."""
_EXTERNAL = "Unresolved extern"
"""A function of another file, whose callers alone cannot be executed."""
_RELOCATABLE = "--relocatable-device-code=true"
_DYNAMIC = "dynamic initialization is not supported for a __device__ variable"
_NO_MEMBER = 'namespace "std" has no member'


@dataclass(frozen=True)
class PublishedSource:
    """A source that was compiled without its host code, the kernels and launches in it, and
    what is to be said of how it was compiled."""

    compilation: Compilation
    declared: tuple[DeclaredKernel, ...]
    launches: tuple[SourceLaunch, ...]
    types: SourceTypes
    notes: tuple[str, ...] = ()


def compile_published(
    source: str,
    *,
    name: str,
    architecture: str,
    kernels: Sequence[str] = (),
    options: CompileOptions = NO_OPTIONS,
    cache: Cache | None = None,
) -> PublishedSource:
    """Compile the device code of a source.

    Template kernels are made as `kernels` names them, and as the source launches them where
    `kernels` does not. Raises as `compile_cuda`; NotFoundError for a template that the source
    does not define.
    """
    has_nvcc = options.nvcc is not None
    version = nvcc_version() if has_nvcc else cuda_version(architecture, options.nvrtc)
    folders = HeaderFolders(options.include_dirs, header_folders(version[0]))
    view, declarations = read_source(source, name, folders, architecture, version, options.defines)
    declared = kernels_among(view, declarations)
    asked = tuple(dict.fromkeys(kernel.strip() for kernel in kernels if "<" in kernel))
    for expression in asked:
        _check_declared(expression, declared, name)
    launches = source_launches(view, declarations)
    launched = _launched(launches, kernels)
    device = device_source(view, declarations, folders, _names_in((*asked, *launched)))
    attempt = _Attempt(device, folders, name, architecture, asked, launched, options, cache)
    notes = tuple(_found_nearby(tuple(dict.fromkeys(device.nearby))))
    types = SourceTypes(view.words, declarations)
    if has_nvcc:
        compilation = _by_nvcc(source, attempt)
        return PublishedSource(compilation, declared, launches, types, notes)
    try:
        compilation, compiled = _compiled(attempt)
        notes = (*notes, *compiled.notes)
    except CompileError as error:
        compilation = _after_refusal(source, attempt, error)
        notes = (
            *notes,
            f"compiled with its host code by {compilation.compiler}, since NVRTC "
            f"refuses it: {error.what}",
        )
    return PublishedSource(compilation, declared, launches, types, notes)


def _found_nearby(paths: Sequence[str]) -> Iterator[str]:
    if len(paths) == 1:
        yield f"{paths[0]} was found near the source"
    elif paths:
        more = f"{len(paths) - 1} more header{'s' * (len(paths) > 2)}"
        yield f"{paths[0]} and {more} were found near the source"


def _after_refusal(source: str, attempt: _Attempt, refused: CompileError) -> Compilation:
    """What nvcc makes of a source with host code; raises what was `refused` before where it is not
    installed, or refuses it, too."""
    device = attempt.device
    is_of_device_alone = device.text == source and not device.view.includes
    if is_of_device_alone or not Path(attempt.name).is_file():
        raise refused
    try:
        return _by_nvcc(source, attempt)
    except ToolError:
        raise refused from None
    except CompileError as error:
        raise refused.with_hint(refused.hint or error.hint) from None


def _by_nvcc(source: str, attempt: _Attempt) -> Compilation:
    """What nvcc makes of a source with its host code; raises as `compile_kernels`, and InputError
    where the source is no file."""
    path, options = Path(attempt.name), attempt.options
    if not path.is_file():
        raise InputError("nvcc compiles files alone", where=attempt.name, hint="use NVRTC")
    folders = dict.fromkeys(
        (*options.include_dirs, *folders_nearby(attempt.device.view, attempt.folders))
    )
    return compile_kernels(
        path,
        source,
        attempt.architecture,
        options=ProgramOptions(options.defines, tuple(folders), options.std, options.extra),
        version=options.nvcc or "",
        cache=attempt.cache,
    )


@dataclass(frozen=True)
class _Attempt:
    """A source as it is handed to the compiler; `asked` and `launched` are templates to make."""

    device: DeviceSource
    folders: HeaderFolders
    name: str
    architecture: str
    asked: tuple[str, ...]
    launched: tuple[str, ...]
    options: CompileOptions
    cache: Cache | None
    refused: frozenset[int] = frozenset()
    has_library: bool = False
    has_long_long: bool = False
    has_constants: bool = False
    older_exchange: str | None = None
    is_relocatable: bool = False

    @property
    def notes(self) -> Iterator[str]:
        """What is to be said of what the compiler is given."""
        if name := self.older_exchange:
            yield f"{name}, which no chip since Volta has, is {name}_sync of the active lanes"

    @property
    def expressions(self) -> tuple[str, ...]:
        """The templates to make."""
        return tuple(dict.fromkeys((*self.asked, *self.launched)))

    def compile(self) -> Compilation:
        """What the compiler makes of it."""
        words = self.device.view.words
        std = self.options.std or ("c++20" if has_designators(words) else None)
        macros = []
        if self._has_cccl:
            macros.append("KERNELCAST_CCCL")
        if "register" in self.device.code.names:  # without meaning since C++17
            macros.append("register=")
        defined = (f"--define-macro={macro}" for macro in macros)
        relocatable = (_RELOCATABLE,) * self.is_relocatable
        extra = (*self.options.extra, *_PUBLISHED, *defined, *relocatable)
        return compile_cuda(
            self.device.text,
            name=self.name,
            architecture=self.architecture,
            options=replace(self.options, std=std, extra=extra),
            name_expressions=self.expressions,
            headers={**self.device.headers, PRELUDE_HEADER: self._prelude()},
            cache=self.cache,
        )

    @property
    def _has_cccl(self) -> bool:
        return self.has_long_long or self.device.has_cccl or self.has_library

    def _prelude(self) -> str:
        lines = [f"#include <{header}>\n" for header in self.device.types]
        version = cuda_version(self.architecture, self.options.nvrtc)
        # With that macro, NVIDIA's core libraries take the compiler for a host's.
        left_out = ("__GNUC__",) if self._has_cccl else ()
        macros = host_macros(self.device.view, version)
        kept = (each for each in macros if not each.startswith(left_out))
        lines += [f"#define {each.replace('=', ' ')}\n" for each in kept]
        if DEPENDENT_LAUNCH_NAMES & self.device.code.names:
            lines.append(DEPENDENT_LAUNCH)
        if self.older_exchange:
            lines.append(OLDER_EXCHANGES.read_text(encoding="utf-8"))
        text = STANDARD_PRELUDE if "std" in self.device.code.names else PRELUDE
        return "".join([FULL_PRELUDE if self.has_library else text, *lines])

    def after(self, error: CompileError) -> _Attempt | None:
        """What to try after the compiler refused this; None where there is nothing."""
        names = set(_REFUSED.findall(error.log)) & set(self.launched)
        if names:
            return replace(self, launched=tuple(x for x in self.launched if x not in names))
        if _EXTERNAL in error.log and not self.is_relocatable:
            return replace(self, is_relocatable=True)
        if _OTHER_INTEGER in error.log and not self.has_long_long:
            return replace(self, has_long_long=True)
        if _DYNAMIC in error.log and not self.has_constants:
            return replace(self, has_constants=True)._made_again()
        if (exchange := older_exchange(error.log)) and not self.older_exchange:
            return replace(self, older_exchange=exchange)
        version = cuda_version(self.architecture, self.options.nvrtc)
        if _NO_MEMBER in error.log and not self.has_library and has_cccl(version[0]):
            return replace(self, has_library=True)
        places = self.device.at_places(error_places(error.log)) - self.refused
        if not places:
            return None
        return replace(self, refused=self.refused | places)._made_again()

    def _made_again(self) -> _Attempt:
        """With a source as it says now."""
        device = device_source(
            self.device.view,
            self.device.declarations,
            self.folders,
            _names_in(self.expressions),
            self.refused,
            has_constants=self.has_constants,
        )
        return replace(self, device=device)


def _compiled(attempt: _Attempt) -> tuple[Compilation, _Attempt]:
    """What the compiler makes of a source, and of which attempt."""
    first: CompileError | None = None
    for _ in range(_ATTEMPTS):
        try:
            return attempt.compile(), attempt
        except CompileError as error:
            first = first or error
            following = attempt.after(error)
            if following is None:
                break
            attempt = following
    assert first is not None
    raise _with_missing(first, attempt.device)


def _with_missing(error: CompileError, device: DeviceSource) -> CompileError:
    """The error, with the headers that were not there: one of them may be why."""
    if not device.missing or error.hint:
        return error
    first = device.missing[0]
    more = f" and {len(device.missing) - 1} more" if len(device.missing) > 1 else ""
    package = header_package(first.name)
    bring = f"install it with pip install {package}, and " if package else ""
    hint = f"{first.name} of {first.place}{more} is not there: {bring}give its directory with -I"
    return error.with_hint(hint)


def _launched(launches: Sequence[SourceLaunch], kernels: Sequence[str]) -> tuple[str, ...]:
    """The templates that the source itself launches, of the kernels that are asked for by a bare
    name, or of all."""
    bare = {base_name(name) for name in kernels if name and "<" not in name}
    if not bare and any(kernels):
        return ()
    found = (each.kernel for each in launches if each.is_known and "<" in each.kernel)
    return tuple(dict.fromkeys(each for each in found if not bare or base_name(each) in bare))


def _names_in(expressions: Sequence[str]) -> frozenset[str]:
    return frozenset(
        token.text
        for expression in expressions
        for token in tokens(expression)
        if token.kind is TokenKind.NAME
    )


def _check_declared(expression: str, declared: tuple[DeclaredKernel, ...], name: str) -> None:
    """NotFoundError for a template that the source, where it shows any, does not define."""
    known = {kernel.name for kernel in declared}
    if known and base_name(expression) not in known:
        raise NotFoundError("kernel", base_name(expression), known, where=name)
