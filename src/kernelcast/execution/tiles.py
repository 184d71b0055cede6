"""Where the boxes lie that copies of tiles move: in global memory, and in shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kernelcast.execution.bursts import Addresses, Burst, scattered
from kernelcast.ir.tensor_map import TensorLayout
from kernelcast.isas.ptx.bulk import UNIT_BYTES

_ROW_BIT = 7
"""Rows of shared memory are as long as its banks are wide, 128 bytes."""


@dataclass(frozen=True)
class Box:
    """What of a box lies in its tensor, innermost dimension first.

    Elements `low` to `high` (exclusive) of the box in every dimension; `first` is the address of
    the first one of them, `end` that behind the last.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    first: int
    end: int

    @property
    def counts(self) -> tuple[int, ...]:
        """How many elements that are in every dimension."""
        return tuple(b - a for a, b in zip(self.low, self.high, strict=True))


@lru_cache(maxsize=4096)
def box_at(layout: TensorLayout, corner: tuple[int, ...]) -> Box | None:
    """The box whose first element has these coordinates; None where nothing lies in the tensor."""
    low = tuple(max(0, -c) for c in corner)
    high = tuple(
        min(box, extent - c)
        for box, extent, c in zip(layout.box, layout.extents, corner, strict=True)
    )
    if any(a >= b for a, b in zip(low, high, strict=True)):
        return None
    steps = (layout.element_bytes, *layout.strides_bytes)
    first = layout.address + sum(
        (c + a) * step for c, a, step in zip(corner, low, steps, strict=True)
    )
    last = first + sum((b - a - 1) * s for a, b, s in zip(low, high, steps, strict=True))
    return Box(low, high, first, last + layout.element_bytes)


def burst_of(layout: TensorLayout, box: Box) -> Burst:
    """The aligned units of 16 bytes in global memory that hold some of a box, row by row, from its
    first address on."""
    row_bytes = box.counts[0] * layout.element_bytes
    return _rows(row_bytes, box.counts[1:], layout.strides_bytes, box.first % UNIT_BYTES)


@lru_cache(maxsize=256)
def _rows(
    row_bytes: int, counts: tuple[int, ...], strides_bytes: tuple[int, ...], misaligned: int
) -> Burst:
    rows = np.zeros(1, np.int64)
    for count, step in zip(counts, strides_bytes, strict=True):
        rows = (np.arange(count)[:, None] * step + rows).ravel()
    units = np.arange(-misaligned, row_bytes, UNIT_BYTES, dtype=np.int64)
    return scattered((rows[:, None] + units).ravel())


@lru_cache(maxsize=256)
def swizzled_units(start: int, size_bytes: int, swizzle_bytes: int) -> Addresses:
    """The units of 16 bytes, counted from the start of shared memory, in which a tile lies.

    A swizzle exchanges units of a row of 128 bytes: to the number of the unit, bits 4 and up of
    the address, that of the row, bits 7 and up, is added without carry, as many bits of it as the
    swizzle is wide (PTX ISA 9.0, section 5.5.6).
    """
    addresses = np.arange(start, start + size_bytes, UNIT_BYTES, dtype=np.int64)
    row = addresses >> _ROW_BIT & swizzle_bytes // UNIT_BYTES - 1
    return (addresses ^ row * UNIT_BYTES) // UNIT_BYTES
