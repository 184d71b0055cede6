"""The text of source files around the lines that a kernel's instructions come from."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from kernelcast.ir import Kernel
from kernelcast.reporting.documents.base import Positive

_AROUND = 8
"""Lines shown before and behind one that has instructions."""


class TextLine(Struct, frozen=True):
    """One line of a file as it is written, without its end."""

    line: Positive
    text: str


class ShownFile(Struct, frozen=True):
    """A file of which the kernel has instructions, with the lines around them in rising order.

    `is_at_hand` says that it could be read; else the lines have no text.
    """

    file: str
    name: str
    is_at_hand: bool
    lines: list[TextLine]


def source_files(kernel: Kernel) -> list[ShownFile]:
    """The files that instructions come from, in the order of their first one."""
    used: dict[str, set[int]] = {}
    for instruction in kernel.instructions:
        place = instruction.location
        if place is not None:
            used.setdefault(place.file, set()).add(place.line)
    return [_file(file, lines) for file, lines in used.items()]


def _file(file: str, used: Iterable[int]) -> ShownFile:
    text = linecache.getlines(file)
    name = Path(file).name
    if not text:
        return ShownFile(file, name, False, [TextLine(line, "") for line in sorted(used)])
    # A line that the file does not have comes from another version of it: it is shown, empty.
    shown = set(used)
    for line in used:
        shown.update(range(max(1, line - _AROUND), min(len(text), line + _AROUND) + 1))
    return ShownFile(
        file,
        name,
        True,
        [TextLine(n, text[n - 1].rstrip() if n <= len(text) else "") for n in sorted(shown)],
    )
