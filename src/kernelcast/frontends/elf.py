"""ELF files of 64 bits, little-endian: their sections, symbols and relocations.

Tool Interface Standard, Executable and Linking Format, version 1.2; System V ABI, chapter 4, for
the layout of 64 bits. What is damaged raises ValueError, LookupError or struct.error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_HEADER = struct.Struct("<4sBBBBB7xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQ")
_RELOCATION_WITH_ADDEND = struct.Struct("<QQq")

_MAGIC = b"\x7fELF"
_CLASS_64_BITS = 2
_LITTLE_ENDIAN = 1
_WITHOUT_DATA = 8  # SHT_NOBITS


@dataclass(frozen=True, slots=True)
class ElfSection:
    """A section; `data` is empty where the file holds none of its `size_bytes`.

    `link` is the number of the section that holds its names.
    """

    name: str
    number: int
    flags: int
    size_bytes: int
    link: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """A symbol: its kind (STT_*), the number of its section, its place there and its size."""

    name: str
    kind: int
    section: int
    value: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Elf:
    """What a file holds: the flags and the version of its header, sections by name, symbols."""

    flags: int
    abi_version: int
    sections: Mapping[str, ElfSection]
    symbols: tuple[ElfSymbol, ...]

    def relocations(self, section: str) -> Iterator[tuple[int, ElfSymbol, int]]:
        """Offset, symbol and addend of the addresses that stand in a section."""
        if table := self.sections.get(f".rel{section}"):
            for offset, info in _RELOCATION.iter_unpack(table.data):
                yield offset, self.symbols[info >> 32], 0
        if table := self.sections.get(f".rela{section}"):
            for offset, info, addend in _RELOCATION_WITH_ADDEND.iter_unpack(table.data):
                yield offset, self.symbols[info >> 32], addend


def read_elf(data: bytes) -> Elf:
    """Read a file whole; ValueError where it is none, or one that is laid out otherwise."""
    magic, bits, order, _, _, abi_version, *header = _HEADER.unpack_from(data)
    if (magic, bits, order) != (_MAGIC, _CLASS_64_BITS, _LITTLE_ENDIAN):
        raise ValueError("no ELF file of 64 bits, little-endian")
    _, _, _, _, programs_at, sections_at, flags, _, *sizes = header
    program_bytes, programs, _, sections, names_in = sizes
    if programs_at + programs * program_bytes > len(data):
        raise ValueError("the file ends too early")
    found = _sections(data, sections_at, sections, names_in)
    return Elf(flags, abi_version, {s.name: s for s in found}, tuple(_symbols(found)))


def _sections(data: bytes, at: int, count: int, names_in: int) -> list[ElfSection]:
    heads = [_SECTION.unpack_from(data, at + n * _SECTION.size) for n in range(count)]
    contents = [_content(data, kind, offset, size) for _, kind, _, _, offset, size, *_ in heads]
    return [
        ElfSection(_string(contents[names_in], name), n, flags, size, link, contents[n])
        for n, (name, _, flags, _, _, size, link, *_) in enumerate(heads)
    ]


def _content(data: bytes, kind: int, offset: int, size: int) -> bytes:
    if kind == _WITHOUT_DATA:
        return b""
    if offset + size > len(data):
        raise ValueError("the file ends too early")
    return data[offset : offset + size]


def _symbols(sections: list[ElfSection]) -> Iterator[ElfSymbol]:
    table = next((s for s in sections if s.name == ".symtab"), None)
    if table is None:
        raise ValueError("no symbols")
    names = sections[table.link].data
    for name, info, _, section, value, size in _SYMBOL.iter_unpack(table.data):
        yield ElfSymbol(_string(names, name), info & 15, section, value, size)


def _string(table: bytes, at: int) -> str:
    return table[at : table.index(b"\0", at)].decode("utf-8", "surrogateescape")
