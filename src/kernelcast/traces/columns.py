"""Columns of integers as bytes that compress well.

A column is one byte w, the bytes that the widest of its values needs (1, 2, 4 or 8); 8 bytes, the
number n of its values, little-endian; then w planes of n bytes: first the lowest byte of every
value, then the next. Values are in two's complement.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_TYPES = {1: "<i1", 2: "<i2", 4: "<i4", 8: "<i8"}
_HEAD_BYTES = 9


def pack_column(values: Integers) -> bytes:
    """One column as bytes."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    width = next(w for w in _TYPES if -(1 << 8 * w - 1) <= low and high < 1 << 8 * w - 1)
    rows = values.astype(_TYPES[width]).view(np.uint8).reshape(len(values), width)
    planes: bytes = rows.T.tobytes()
    return bytes([width]) + len(values).to_bytes(8, "little") + planes


def unpack_columns(data: bytes) -> list[Integers]:
    """All columns that `data` consists of; ValueError where it does not."""
    columns = []
    at = 0
    while at < len(data):
        width, count = data[at], int.from_bytes(data[at + 1 : at + _HEAD_BYTES], "little")
        at += _HEAD_BYTES
        if width not in _TYPES or at + count * width > len(data):
            raise ValueError("a broken column")
        planes = np.frombuffer(data, np.uint8, count * width, at).reshape(width, count)
        values = np.ascontiguousarray(planes.T).reshape(-1).view(_TYPES[width])
        columns.append(values.astype(np.int64))
        at += count * width
    return columns
