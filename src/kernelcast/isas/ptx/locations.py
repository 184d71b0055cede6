"""Source locations: `.file` and `.loc` (PTX ISA 9.0, section 11.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kernelcast.errors import ParseError
from kernelcast.ir import Location

_FILE = re.compile(r'(\d+)\s+"([^"]*)"')
_PLACE = re.compile(r"(\d+)\s+(\d+)\s+(\d+)")
_INLINED_AT = re.compile(r"inlined_at\s+(\d+\s+\d+\s+\d+)")
_TOOLKIT_FILE = re.compile(r"(^|/)(cuda|nvidia)[^/]*/(.*/)?include/")

_SourcePosition = tuple[int, int, int]


def parse_file(text: str, where: str) -> tuple[int, str]:
    """Read what follows `.file`: the index and the path."""
    found = _FILE.match(text)
    if found is None:
        raise ParseError("expected an index and a path after '.file'", where=where)
    return int(found[1]), found[2]


@dataclass
class LocationReader:
    """Reads the `.loc` statements of one kernel, in order.

    Code inlined by the compiler carries a chain of places. The location is the innermost one in a
    file of the user's: the headers of the CUDA toolkit are passed over. Line 0, which compilers
    give to code that no line asked for, is no location.
    """

    files: dict[int, str]
    _callers: dict[_SourcePosition, _SourcePosition] = field(default_factory=dict)

    def read(self, text: str, where: str) -> Location | None:
        """The location that what follows `.loc` stands for."""
        found = _PLACE.match(text)
        if found is None:
            raise ParseError("expected file, line and column after '.loc'", where=where)
        place: _SourcePosition | None = _as_place(found)
        assert place is not None
        if (outer := _INLINED_AT.search(text)) and (caller := _PLACE.match(outer[1])):
            self._callers[place] = _as_place(caller)
        innermost = place
        seen: set[_SourcePosition] = set()
        while place is not None and place not in seen:
            if not _TOOLKIT_FILE.search(self.files.get(place[0], "")):
                return self._location(place)
            seen.add(place)
            place = self._callers.get(place)
        return self._location(innermost)

    def _location(self, place: _SourcePosition) -> Location | None:
        file, line, _ = place
        return Location(self.files.get(file, ""), line) if line else None


def _as_place(found: re.Match[str]) -> _SourcePosition:
    return int(found[1]), int(found[2]), int(found[3])
