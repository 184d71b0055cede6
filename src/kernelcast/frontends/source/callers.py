"""Launches of a source whose functions other sources of the program call.

What such a function is called with stands in the files beside its own: the numbers of a kernel's
launch then follow from the `main` among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.frontends.source.header_folders import NO_FOLDERS, HeaderFolders
from kernelcast.frontends.source.source_launches import SourceLaunch, launches_of

_SOURCES = frozenset({".c", ".cc", ".cpp", ".cu", ".cxx"})
_MAIN = re.compile(r"\bmain\s*\(")
_MOST_BYTES = 2_000_000
"""Of the files beside a source: more are no program of one folder."""


def launches_of_program(
    text: str,
    path: str,
    folders: HeaderFolders = NO_FOLDERS,
    defines: Iterable[str] = (),
) -> tuple[SourceLaunch, ...]:
    """All launches of a source file, as `launches_of`; where each leaves numbers open and the
    program's `main` stands in another file of its folder, as that has them called."""
    defines = tuple(defines)
    own = launches_of(text, path, folders, defines)
    if not own or has_main(text) or not all(launch.opened for launch in own):
        return own
    others = sources_beside(Path(path))
    if sum(map(has_main, others.values())) != 1:
        return own
    included = "".join(f'\n#include "{name}"' for name in others)
    try:
        found = launches_of(f"{text}\n#pragma once{included}\n", path, folders, defines)
    except InputError:
        return own
    places = {launch.place for launch in own}
    return tuple(launch for launch in found if launch.place in places) or own


def has_main(text: str) -> bool:
    """Whether a source begins a program."""
    return bool(_MAIN.search(text))


def begins_program(path: Path) -> bool:
    """Whether a file is a source with a `main`."""
    try:
        return path.suffix in _SOURCES and has_main(path.read_text("utf-8", "replace"))
    except OSError:
        return False


def sources_beside(path: Path) -> dict[str, str]:
    """The texts of the other sources in a source's folder, by name; none where there are many."""
    try:
        files = [f for f in sorted(path.parent.iterdir()) if f.suffix in _SOURCES and f != path]
        if sum(file.stat().st_size for file in files) > _MOST_BYTES:
            return {}
        return {file.name: file.read_text("utf-8", "replace") for file in files}
    except OSError:
        return {}
