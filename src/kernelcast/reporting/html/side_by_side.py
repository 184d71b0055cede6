"""Source and machine code of one kernel, row by row, and which rows belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelcast.reporting.documents.explain import ExplainDocument, InstructionPart, LinePart


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A line of a file with what it costs, None where no instruction comes from it.

    `key` names the line in the page and `first` its first instruction; `follows_gap` says that
    lines above it are left out.
    """

    key: str
    line: int
    text: str
    cost: LinePart | None
    first: str
    follows_gap: bool


@dataclass(frozen=True, slots=True)
class FileRows:
    """The lines of one file."""

    name: str
    file: str
    is_at_hand: bool
    rows: tuple[SourceRow, ...]


@dataclass(frozen=True, slots=True)
class ListingRow:
    """An instruction; `of_line` names its source line, and is empty where nobody says it."""

    key: str
    of_line: str
    place: str
    instruction: InstructionPart


@dataclass(frozen=True, slots=True)
class Listing:
    """Both sides, and the names of the lines that have rows on both, each with its first
    instruction."""

    files: tuple[FileRows, ...]
    instructions: tuple[ListingRow, ...]
    joined: Mapping[str, str]


def listing(document: ExplainDocument, prefix: str) -> Listing:
    """The listing of a document; `prefix` keeps its names apart from others of the page."""
    keys = {
        (source.file, row.line): f"{prefix}s{at}-{row.line}"
        for at, source in enumerate(document.sources)
        for row in source.lines
    }
    names = {source.file: source.name for source in document.sources}
    first: dict[str, str] = {}
    rows = []
    for i in document.instructions:
        key = f"{prefix}i{i.index}"
        is_placed = i.file is not None and i.line is not None
        of_line = keys[i.file or "", i.line or 0] if is_placed else ""
        if of_line:
            first.setdefault(of_line, key)
        place = f"{names[i.file or '']}:{i.line}" if is_placed else ""
        rows.append(ListingRow(key, of_line, place, i))
    costs: dict[tuple[str, int], LinePart] = {(c.file, c.line): c for c in document.lines}
    files = []
    for source in document.sources:
        found = []
        before = source.lines[0].line - 1 if source.lines else 0
        for row in source.lines:
            key = keys[source.file, row.line]
            found.append(
                SourceRow(
                    key=key,
                    line=row.line,
                    text=row.text,
                    cost=costs.get((source.file, row.line)),
                    first=first.get(key, ""),
                    follows_gap=row.line != before + 1,
                )
            )
            before = row.line
        files.append(FileRows(source.name, source.file, source.is_at_hand, tuple(found)))
    return Listing(tuple(files), tuple(rows), first)
