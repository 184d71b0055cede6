"""Fat binaries and host files made by hand, member by member."""

from __future__ import annotations

import struct
from dataclasses import dataclass

PTX, ELF, LTO = 1, 2, 8
LZ4, ZSTD = 1 << 13, 1 << 15


@dataclass(frozen=True)
class Part:
    """A member: its payload as stored, and its size once decompressed where that differs."""

    data: bytes
    architecture: int
    kind: int = ELF
    flags: int = 0
    size: int = 0


def fat_binary(*parts: Part) -> bytes:
    body = b""
    for part in parts:
        padded = part.data + bytes(-len(part.data) % 8)
        compressed = len(part.data) if part.flags & (LZ4 | ZSTD) else 0
        body += struct.pack(
            "<HHIQIIHHIIIQQQ",
            *(part.kind, 0x101, 64, len(padded), compressed, 0, 8, 1, part.architecture),
            *(0, 0, part.flags, 0, part.size),
        )
        body += padded
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, len(body)) + body


def host_program(sections: dict[str, bytes]) -> bytes:
    """A 64-bit ELF file for x86-64 with the sections, and its table of names."""
    names = b"\0"
    places = []
    content = b""
    for name, data in {**sections, ".shstrtab": b""}.items():
        places.append((len(names), 64 + len(content), len(data)))
        names += name.encode() + b"\0"
        content += data + bytes(-len(data) % 8)
    label, _, _ = places.pop()
    places.append((label, 64 + len(content), len(names)))
    content += names + bytes(-len(names) % 8)
    table = bytes(64) + b"".join(
        struct.pack("<IIQQQQIIQQ", label, 1, 0, 0, at, size, 0, 0, 8, 0)
        for label, at, size in places
    )
    header = struct.pack(
        "<4sBBB9xHHIQQQIHHHHHH",
        *(b"\x7fELF", 2, 1, 1, 3, 62, 1, 0, 0, 64 + len(content), 0),
        *(64, 0, 0, 64, len(places) + 1, len(places)),
    )
    return header + content + table


def lz4_block(data: bytes) -> bytes:
    """A block of the data: greedy matches of four bytes and more, literals at the end."""
    out = bytearray()
    at = start = 0
    while at + 12 < len(data):
        found = data.rfind(data[at : at + 4], max(0, at - 65535), at + 3)
        if found < 0 or found >= at:
            at += 1
            continue
        length = 4
        while at + length + 5 < len(data) and data[found + length] == data[at + length]:
            length += 1
        _sequence(out, data[start:at], at - found, length)
        at += length
        start = at
    _sequence(out, data[start:], 0, 4)
    return bytes(out)


def _sequence(out: bytearray, literals: bytes, distance: int, length: int) -> None:
    out.append(min(len(literals), 15) << 4 | min(length - 4, 15))
    out += _rest(len(literals)) + literals
    if distance:
        out += distance.to_bytes(2, "little") + _rest(length - 4)


def _rest(length: int) -> bytes:
    if length < 15:
        return b""
    full, last = divmod(length - 15, 255)
    return b"\xff" * full + bytes([last])
