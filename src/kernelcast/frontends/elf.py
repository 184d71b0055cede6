"""ELF files of 64 bits, as cubins and programs are: sections, symbols, relocations and the
libraries that they need, read where looked at.

Layouts are those of the System V ABI (generic ABI, chapters 4 and 5). What is damaged raises
ValueError, `struct.error` or LookupError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from mmap import mmap
from typing import NamedTuple

_CLASS_64_LITTLE = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<8xB7xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQ")
_DYNAMIC = struct.Struct("<qQ")
_NEEDED = 1
"""The tag of the name of a library that a program asks for."""
_RELOCATION_WITH_ADDEND = struct.Struct("<QQq")

NO_BITS = 8
"""The type of sections that take no room in the file."""
OBJECT, FUNCTION, VARIABLE_OF_RELOCATABLE_CODE = 1, 2, 13
"""Types of symbols; the last is the system's own."""


@dataclass(frozen=True, slots=True)
class _ElfSection:
    """One section: its place in the file, and the section that belongs to it."""

    index: int
    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int


class ElfSymbol(NamedTuple):
    """One symbol; `section` is the index of the section that defines it."""

    name_at: int
    info: int
    other: int
    section: int
    value: int
    size: int

    @property
    def type(self) -> int:
        """What it names: a variable, a function, a section."""
        return self.info & 0xF


class _Layout(NamedTuple):
    """What the header says: the ABI's version, flags, and the rows of the table of sections."""

    abi: int
    flags: int
    rows: list[tuple[int, ...]]
    names: int


def section_names(data: bytes) -> bytes:
    """The names of all sections, each ended by a zero; a name may be the end of another's."""
    layout = _layout(data)
    return _content(data, layout.rows[layout.names])


def _layout(data: bytes | mmap) -> _Layout:
    if data[:6] != _CLASS_64_LITTLE:
        raise ValueError("not a 64-bit little-endian ELF file")
    (abi, _, _, _, _, programs, table, flags, *counts) = _HEADER.unpack_from(data)
    _, program_bytes, program_count, section_bytes, count, names = counts
    if section_bytes != _SECTION.size or count == 0:
        raise ValueError("no table of sections")
    if max(programs + program_count * program_bytes, table + count * section_bytes) > len(data):
        raise ValueError("the file ends too early")
    rows = list(_SECTION.iter_unpack(data[table : table + count * section_bytes]))
    return _Layout(abi, flags, rows, names)


def _content(data: bytes | mmap, row: tuple[int, ...]) -> bytes:
    """The bytes of a section, by its row."""
    return data[row[4] : row[4] + row[5]]


class ElfFile:
    """An ELF file in memory, or mapped into it; of sections of the same name the last counts."""

    def __init__(self, data: bytes | mmap) -> None:
        self.abi, self.flags, self._rows, names = _layout(data)
        for _, kind, _, _, offset, size, *_ in self._rows:
            if kind != NO_BITS and offset + size > len(data):
                raise ValueError("the file ends too early")
        self._data = data
        labels = _content(data, self._rows[names])
        self.sections: Mapping[str, _ElfSection] = {
            (name := _text(labels, row[0])): _ElfSection(
                index, name, row[1], row[2], row[4], row[5], row[6]
            )
            for index, row in enumerate(self._rows)
        }

    def content(self, name: str) -> bytes:
        """The bytes of a section; none where it takes no room. KeyError where there is none."""
        section = self.sections[name]
        if section.type == NO_BITS:
            return b""
        return self._data[section.offset : section.offset + section.size]

    def size(self, name: str) -> int:
        """The size of a section in memory, 0 where there is none."""
        section = self.sections.get(name)
        return section.size if section else 0

    @cached_property
    def symbols(self) -> tuple[ElfSymbol, ...]:
        """All symbols, in the order of their table."""
        return tuple(map(ElfSymbol._make, _SYMBOL.iter_unpack(self.content(".symtab"))))

    @cached_property
    def _symbol_names(self) -> bytes:
        return _content(self._data, self._rows[self.sections[".symtab"].link])

    def symbol_name(self, symbol: ElfSymbol | int) -> str:
        """The name of a symbol, or of that with a number."""
        found = self.symbols[symbol] if isinstance(symbol, int) else symbol
        return _text(self._symbol_names, found.name_at)

    @property
    def needed(self) -> tuple[str, ...]:
        """The shared libraries that a program asks for."""
        if ".dynamic" not in self.sections:
            return ()
        names = _content(self._data, self._rows[self.sections[".dynamic"].link])
        rows = _DYNAMIC.iter_unpack(self.content(".dynamic"))
        return tuple(_text(names, value) for tag, value in rows if tag == _NEEDED)

    def relocations(self, name: str) -> Iterator[tuple[int, ElfSymbol, int]]:
        """Offset, symbol and addend of the addresses that stand in a section."""
        if f".rel{name}" in self.sections:
            for offset, info in _RELOCATION.iter_unpack(self.content(f".rel{name}")):
                yield offset, self.symbols[info >> 32], 0
        if f".rela{name}" in self.sections:
            rows = _RELOCATION_WITH_ADDEND.iter_unpack(self.content(f".rela{name}"))
            for offset, info, addend in rows:
                yield offset, self.symbols[info >> 32], addend


def _text(strings: bytes, start: int) -> str:
    """The text that begins at a place and ends with a zero."""
    return strings[start : strings.index(b"\0", start)].decode("utf-8", "replace")
