"""LZ4 blocks, the compression of fat binaries made before CUDA 13.

A block is a row of sequences: a token (length of literals and of a match, 4 bits each, 15 being
continued in bytes), the literals, and the match as a distance back in the output (LZ4 block format,
lz4.org).
"""

from __future__ import annotations

_LONG = 15
_MORE = 255
_MIN_MATCH = 4


class CompressedDataError(ValueError):
    """The data does not decompress to what was announced."""


def decompress_block(data: bytes, size_bytes: int) -> bytes:
    """The `size_bytes` bytes a block stands for; CompressedDataError where it does not."""
    out = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            token = data[at]
            literals, at = _length(data, at + 1, token >> 4)
            if at + literals > end:
                raise CompressedDataError("literals past the end")
            out += data[at : at + literals]
            at += literals
            if at == end:
                break
            distance = data[at] | data[at + 1] << 8
            match, at = _length(data, at + 2, token & 0xF)
            match += _MIN_MATCH
            start = len(out) - distance
            if distance == 0 or start < 0 or len(out) + match > size_bytes:
                raise CompressedDataError("a match outside the data")
            if distance >= match:
                out += out[start : start + match]
            else:  # the match overlaps what it makes: its first bytes repeat
                pattern = bytes(out[start:])
                out += (pattern * (match // distance + 1))[:match]
    except IndexError:
        raise CompressedDataError("the data ends too early") from None
    if len(out) != size_bytes:
        raise CompressedDataError("not of the size announced")
    return bytes(out)


def _length(data: bytes, at: int, length: int) -> tuple[int, int]:
    """A length that begins in a token and goes on at `at`, and the place behind it."""
    if length == _LONG:
        while True:
            byte = data[at]
            at += 1
            length += byte
            if byte != _MORE:
                break
    return length, at
