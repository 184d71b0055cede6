"""Where the headers of a published source lie: beside it, where the user says, and nearby."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelcast.frontends.source.preprocess import Include, SourceView
from kernelcast.toolchain.header_shims import HEADER_SHIMS, HOST_HEADERS

CCCL_FOLDERS = ("cub", "thrust", "cuda")
"""Folders of headers of NVIDIA's core libraries, and the namespaces of what they declare."""

_KNOWN_FOLDERS = frozenset({*CCCL_FOLDERS, "sys", "bits", "nv", "crt"})

_NVIDIA_MARK = "cuda_runtime.h"
"""A folder that holds this file holds NVIDIA's headers, which are not read here."""


@dataclass(frozen=True)
class HeaderFolders:
    """Where headers lie: those of the user, and NVIDIA's."""

    own: tuple[Path, ...] = ()
    nvidia: tuple[Path, ...] = ()

    def find(self, header: str, is_quoted: bool, folder: Path) -> Path | None:
        """The file of a header that is to be read, from a file in `folder`."""
        if is_quoted and (found := _file(folder, header)) is not None:
            return found
        if header in HEADER_SHIMS or header in HOST_HEADERS or self.of_nvidia(header):
            return None
        own = [each for each in self.own if not (each / _NVIDIA_MARK).is_file()]
        near = _near(folder) if is_of_project(header, is_quoted) else ()
        return next((found for each in (*own, *near) if (found := _file(each, header))), None)

    def is_found_by_compilers(self, header: str, is_quoted: bool, folder: Path) -> bool:
        """Whether a compiler finds a header, too: not where it only lies nearby."""
        return any(_file(each, header) for each in ([folder] if is_quoted else []) + [*self.own])

    def of_nvidia(self, header: str) -> bool:
        """Whether it is one of NVIDIA's headers, and installed."""
        own = (each for each in self.own if (each / _NVIDIA_MARK).is_file())
        return any((each / header).is_file() for each in (*self.nvidia, *own))

    def has(self, header: str) -> bool:
        """Whether a compiler would find it."""
        own = any((each / header).is_file() for each in self.own)
        return header in HEADER_SHIMS or own or self.of_nvidia(header)


NO_FOLDERS = HeaderFolders()


_LEVELS = 4
_NEAR = ("", "include", "inc", "Common", "common", "src", "util", "utils", "utilities")
"""Folders of a project in which its build looks for headers, of the source's and those above."""


def _near(folder: Path) -> Iterator[Path]:
    """Where a header may lie that a build would find with -I."""
    for above in [folder, *folder.absolute().parents][: _LEVELS + 1]:
        yield from (above / name for name in _NEAR)


def is_of_project(header: str, is_quoted: bool) -> bool:
    """Whether a header is neither of NVIDIA nor of a system, as far as its name says."""
    first, slash, _ = header.partition("/")
    if header in HOST_HEADERS or (slash and first in _KNOWN_FOLDERS):
        return False
    return is_quoted or "." in header


def _file(folder: Path, header: str) -> Path | None:
    path = folder / header
    return Path(os.path.normpath(path)) if header and path.is_file() else None


def found_nearby(
    includes: Sequence[Include], view: SourceView, folders: HeaderFolders
) -> list[Include]:
    """Those of the includes whose file is read, but only lies nearby: no compiler finds it."""
    return [each for each in includes if not _is_found(view, each, folders)]


def folders_nearby(view: SourceView, folders: HeaderFolders) -> tuple[Path, ...]:
    """What a build would give with -I for the headers that a source includes, directly or not, and
    that lie nearby."""
    near = found_nearby(view.includes, view, folders)
    paths = ((each.header, view.files[each.target].path) for each in near if each.target)
    fitting = (path.removesuffix(header) for header, path in paths if path.endswith(header))
    return tuple(map(Path, dict.fromkeys(fitting)))


def _is_found(view: SourceView, include: Include, folders: HeaderFolders) -> bool:
    folder = Path(view.files[include.file].path).parent
    return include.target is None or folders.is_found_by_compilers(
        include.header, include.is_quoted, folder
    )
