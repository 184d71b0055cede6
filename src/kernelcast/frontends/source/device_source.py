"""A published source made fit for a compiler of device code alone: host code and headers it lacks
left out, all else where it was."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelcast.frontends.source.blanking import (
    Range,
    host_ranges,
    skipped_ranges,
    without_ranges,
)
from kernelcast.frontends.source.device_code import DeviceCode, device_code
from kernelcast.frontends.source.dialect import compound_literals, constants
from kernelcast.frontends.source.header_folders import (
    CCCL_FOLDERS,
    HeaderFolders,
    found_nearby,
    is_of_project,
)
from kernelcast.frontends.source.macros import Macro, defined_macro
from kernelcast.frontends.source.preprocess import Include, SourceView, source_view
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.top_level import (
    DeclarationKind,
    SourceDeclaration,
    read_declarations,
)
from kernelcast.toolchain.header_shims import DEVICE_HEADERS, HEADER_SHIMS, LIBRARY_HEADERS

_NARROW = {
    "cuda_fp16.h": frozenset({"half", "__half", "half2", "__half2"}),
    "cuda_bf16.h": frozenset({"__nv_bfloat16", "nv_bfloat16", "__nv_bfloat162", "nv_bfloat162"}),
}

_THRUST = tuple(
    f"thrust/{name}"
    for name in ("complex", "functional", "iterator/", "pair", "random", "tuple", "version")
)
"""How those of thrust's headers begin that are for device code alone; the others are of containers
and algorithms, which the host calls."""

_ALL_OF_CUB = "cub/cub.cuh"


@dataclass(frozen=True, slots=True)
class MissingHeader:
    """A header that is nowhere to be found, and was taken as empty."""

    name: str
    place: str


@dataclass(frozen=True)
class DeviceSource:
    """A source without host code.

    `text` is that of the file, `headers` those of the files it includes, by the name it includes
    them under; both are as written where nothing is left out. `missing` are headers that were
    taken as empty; `has_cccl` says whether headers of NVIDIA's core libraries are among those
    needed; `types` are the headers of types of the device that it names and that headers left out
    would include; `nearby` are files that were found only because they lie near the source.
    """

    text: str
    headers: Mapping[str, str]
    view: SourceView = field(repr=False)
    declarations: tuple[SourceDeclaration, ...] = field(repr=False)
    code: DeviceCode = field(repr=False)
    missing: tuple[MissingHeader, ...] = ()
    has_cccl: bool = False
    types: tuple[str, ...] = ()
    nearby: tuple[str, ...] = ()

    def at_places(self, places: Collection[tuple[str, int]]) -> frozenset[int]:
        """First words of the declarations, but kernels, that stand at files and lines."""
        by_file: dict[str, list[int]] = {}
        for file, line in places:
            by_file.setdefault(file, []).append(line)
        found = [
            each
            for each in self.code.kept
            if "__global__" not in each.marks and any(self._covers(each, by_file))
        ]
        functions = [each for each in found if each.kind is DeclarationKind.FUNCTION]
        # Functions may only be wrong because of what they use.
        chosen = functions if len(functions) == len(found) else found
        return frozenset(
            each.begin
            for each in chosen
            if chosen is functions or each.kind is not DeclarationKind.FUNCTION
        )

    def _covers(
        self, each: SourceDeclaration, lines: Mapping[str, Sequence[int]]
    ) -> Iterator[bool]:
        first, last = self.view.words[each.begin], self.view.words[each.end - 1]
        wanted = lines.get(self.view.files[first.file].path, ())
        if wanted:
            begin, end = self.view.line(first), self.view.line(last)
            yield from (begin <= line <= end for line in wanted)


def read_source(
    text: str,
    path: str,
    folders: HeaderFolders,
    architecture: str,
    version: tuple[int, int],
    defines: Iterable[str] = (),
) -> tuple[SourceView, tuple[SourceDeclaration, ...]]:
    """The words and declarations of a source as a compiler of device code sees them; the rest is as
    of `view_source`."""
    view = view_source(text, path, folders, architecture, version, defines)
    return view, read_declarations(view.words)


def view_source(
    text: str,
    path: str,
    folders: HeaderFolders,
    architecture: str,
    version: tuple[int, int],
    defines: Iterable[str] = (),
) -> SourceView:
    """The words of a source and of what it includes as a compiler of device code sees them.

    `architecture` is such as `sm_90`, `version` that of CUDA; `defines` are `NAME` or `NAME=VALUE`.
    """
    macros = {macro.name: macro for macro in _macros(architecture, version, defines)}
    return source_view(text, path, find=folders.find, has_header=folders.has, macros=macros)


def device_source(
    view: SourceView,
    declarations: tuple[SourceDeclaration, ...],
    folders: HeaderFolders,
    named: Iterable[str] = (),
    refused: Collection[int] = (),
    *,
    has_constants: bool = False,
) -> DeviceSource:
    """Leave out what the device does not need; `named` and `refused` are as of `device_code`.

    Where it `has_constants`, numbers that are `const` become constant expressions.
    """
    code = device_code(view.words, declarations, (*named, *_in_pragmas(view)), refused)
    ranges = host_ranges(view, code)
    outside = [each for each in view.includes if not _is_in(each, ranges)]
    gone = [each for each in outside if each.target is None and _is_left_out(each, code, folders)]
    literals = list(compound_literals(view))
    if has_constants:
        literals += constants(view.words, code.kept)
    text = view.files[0].text
    headers: dict[str, str] = {}
    near = found_nearby(outside, view, folders)
    if ranges or gone or literals or near:
        texts = without_ranges(
            view,
            [
                *ranges,
                *skipped_ranges(view, code),
                *literals,
                *(Range(each.file, each.begin, each.end, "") for each in gone),
                *(_by_path(view, each) for each in outside if each.target is not None),
            ],
        )
        text = texts[0]
        headers = {view.files[number].path: each for number, each in texts.items() if number}
    unknown = [each for each in gone if is_of_project(each.header, each.is_quoted)]
    missing = tuple(_missing(view, unknown))
    has_cccl = any(_is_cccl(each) for each in outside if each not in gone)
    if any(each.header == _ALL_OF_CUB for each in outside if each not in gone):
        headers[_ALL_OF_CUB] = _parts_of_cub(code.names, folders.nvidia)
    return DeviceSource(
        text,
        headers,
        view,
        declarations,
        code,
        missing,
        has_cccl,
        types=_types(code, gone),
        nearby=tuple(view.files[each.target].path for each in near if each.target),
    )


def _in_pragmas(view: SourceView) -> Iterator[str]:
    """Names that pragmas hold, such as a constant that says how often to unroll."""
    for file in view.files:
        for directive in file.directives:
            if directive.name == "pragma":
                yield from (w.text for w in directive.words if w.kind is TokenKind.NAME)


def _types(code: DeviceCode, gone: Sequence[Include]) -> tuple[str, ...]:
    """The headers of narrow types, which those of CUDA's libraries for hosts include."""
    if not any(each.header.startswith(LIBRARY_HEADERS) for each in gone):
        return ()
    return tuple(header for header, names in _NARROW.items() if names & code.names)


def _is_cccl(include: Include) -> bool:
    return _folder(include) in CCCL_FOLDERS or include.header.startswith("cooperative_groups")


def _parts_of_cub(names: Collection[str], folders: Sequence[Path]) -> str:
    """The headers of cub's classes that device code names: the one that includes all is not for
    device code alone."""
    parts = ["util_type", "thread/thread_operators", "thread/thread_reduce"]
    wanted = {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() for name in names}
    for folder in folders:
        for part in ("block", "warp", "thread", "iterator"):
            found = sorted((folder / "cub" / part).glob("*.cuh"))
            parts += [f"{part}/{file.stem}" for file in found if file.stem in wanted]
    return "".join(f"#include <cub/{part}.cuh>\n" for part in dict.fromkeys(parts))


def _folder(include: Include) -> str:
    """The first folder in a header's name, if it has one."""
    return include.header.partition("/")[0] if "/" in include.header else ""


def host_macros(view: SourceView, version: tuple[int, int]) -> tuple[str, ...]:
    """What nvcc defines and a compiler of device code does not, of what the source asks for."""
    texts = [file.text for file in view.files]
    return tuple(
        each
        for each in _host_macros(version)
        if any(each.partition("=")[0] in text for text in texts)
    )


def _host_macros(version: tuple[int, int]) -> tuple[str, ...]:
    number = version[0] * 1000 + version[1] * 10
    return (
        "__NVCC__=1",
        f"CUDART_VERSION={number}",
        f"CUDA_VERSION={number}",
        "__linux__=1",
        "__x86_64__=1",
        "__GNUC__=9",
        "__const__=const",
        "__extension__=",
    )


def _macros(architecture: str, version: tuple[int, int], defines: Iterable[str]) -> Iterable[Macro]:
    """What the compiler defines by itself, and the user."""
    number = "".join(c for c in architecture if c.isdigit())
    yield defined_macro("__CUDACC__")
    yield defined_macro("__CUDACC_RTC__")
    yield defined_macro(f"__CUDA_ARCH__={number}0")
    yield defined_macro("__cplusplus=201703L")
    yield from map(defined_macro, _host_macros(version))
    yield from map(defined_macro, defines)


def _is_in(include: Include, ranges: Sequence[Range]) -> bool:
    return any(
        each.file == include.file and each.begin <= include.begin < each.end
        for each in ranges
        if each.text is None
    )


def _is_left_out(include: Include, code: DeviceCode, folders: HeaderFolders) -> bool:
    """Whether a header that is not read is nothing to the device.

    One of NVIDIA's that it needs stays, installed or not: the compiler says which is missing.
    """
    header = include.header
    if header in HEADER_SHIMS:
        return False
    folder = _folder(include)
    if folder in CCCL_FOLDERS:
        is_for_hosts = folder == "thrust" and not header.startswith(_THRUST)
        return is_for_hosts or folder not in code.names
    if header.startswith("curand_"):
        return not any(name.startswith("curand") for name in code.names)
    return header not in DEVICE_HEADERS and folder not in ("cooperative_groups", "nv", "crt")


def _by_path(view: SourceView, include: Include) -> Range:
    """The directive with the path that its file has, under which the compiler is given it."""
    assert include.target is not None
    path = view.files[include.target].path
    return Range(include.file, include.begin, include.end, f'#include "{path}"')


def _missing(view: SourceView, includes: Iterable[Include]) -> Iterable[MissingHeader]:
    for each in includes:
        file = view.files[each.file]
        line = file.text.count("\n", 0, each.begin) + 1
        yield MissingHeader(each.header, f"{file.path}:{line}")
