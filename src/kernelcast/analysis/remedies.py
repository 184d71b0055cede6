"""Changes of code that cure a pattern of access: rows padded, fields apart, a tile in between.

What every lane of a warp asks for is known from code alone where addresses are affine
(`warp_values`). A remedy is named only where that shows it to work:

- *padding*: lanes of an access meet in banks of shared memory, as they are whole rows apart. With
  some bytes more in every row no lanes of it meet, and no other access of the kernel meets more.
- *layout*: neighbouring lanes read the same field of neighbouring structures. With an array for
  every field they lie side by side.
- *staging*: neighbouring lanes are a row or more apart in global memory. A tile that is read along
  rows, kept in shared memory and read along columns there serves the same (Resios 2011, section
  6.1, whose sharing opportunities these are).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

import numpy as np

from kernelcast.analysis.coalescing import LINE_BYTES, bank_passes, warp_rows
from kernelcast.analysis.warp_values import WarpAccess, accesses_of_warp
from kernelcast.ir import Kernel, Launch, Space
from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES

_MOST_STRUCTURE = 128
"""Bytes up to which neighbouring lanes are taken to be structures apart, not rows: a line."""
_PADS = (4, 8, 16)
"""Bytes by which rows are lengthened: the widths of accesses."""


class RemedyKind(StrEnum):
    """What is changed."""

    PADDING = "padding"
    LAYOUT = "layout"
    STAGING = "staging"


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change, and the instructions whose accesses it cures.

    Neighbouring lanes are `stride_bytes` apart. Rows become `pad_bytes` longer where they are
    padded. `array` is the label of the array, empty for one in shared memory.
    """

    kind: RemedyKind
    instructions: tuple[int, ...]
    array: str
    stride_bytes: int
    access_bytes: int
    pad_bytes: int = 0


def remedies(kernel: Kernel, launch: Launch) -> tuple[Remedy, ...]:
    """The changes that cure accesses of a kernel, in the order of its code."""
    accesses = [a for a in accesses_of_warp(kernel, launch) if a.address is not None]
    return (*_paddings(accesses, launch), *_rearrangements(accesses, launch))


def _stride(access: WarpAccess, launch: Launch) -> int:
    """Bytes between most neighbouring lanes, 0 where they stand still."""
    assert access.address is not None
    rows, _ = warp_rows(access.address, launch)
    steps = np.abs(np.diff(rows, axis=1))
    if not steps.size:
        return 0
    values, counts = np.unique(steps, return_counts=True)
    return int(values[counts.argmax()])


def _passes(access: WarpAccess, launch: Launch, row: int = 1, pad: int = 0) -> float:
    """Passes of an access in the mean, with rows of `row` bytes lengthened by `pad`."""
    assert access.address is not None
    rows, shares = warp_rows(access.address, launch, math.lcm(row, LINE_BYTES))
    padded = rows + rows // row * pad
    return float(shares @ bank_passes(padded, access.access_bytes, access.is_load))


def _fewest_passes(access: WarpAccess, launch: Launch) -> int:
    lanes = min(WARP_LANES, launch.threads_per_block)
    side_by_side = np.arange(lanes, dtype=np.int64)[np.newaxis] * access.access_bytes
    return int(bank_passes(side_by_side, access.access_bytes, access.is_load)[0])


def _paddings(accesses: Sequence[WarpAccess], launch: Launch) -> Iterator[Remedy]:
    """One for every length of rows whose columns meet in a bank."""
    shared = [a for a in accesses if a.space is Space.SHARED]
    before = {a.instruction: _passes(a, launch) for a in shared}
    fewest = {a.instruction: _fewest_passes(a, launch) for a in shared}
    bad = [a for a in shared if before[a.instruction] > fewest[a.instruction]]
    widest = max((a.access_bytes for a in shared), default=0)
    for row in sorted({_stride(a, launch) for a in bad} - {0}):
        for pad in (pad for pad in _PADS if pad % widest == 0):
            after = {a.instruction: _passes(a, launch, row, pad) for a in shared}
            cured = [a for a in bad if after[a.instruction] <= fewest[a.instruction]]
            if cured and all(after[at] <= before[at] for at in after):
                of = tuple(a.instruction for a in cured)
                yield Remedy(RemedyKind.PADDING, of, "", row, cured[0].access_bytes, pad)
                break


def _rearrangements(accesses: Sequence[WarpAccess], launch: Launch) -> Iterator[Remedy]:
    """One for every array of global memory in which lanes are structures or rows apart."""

    def key(access: WarpAccess) -> tuple[str, int, int]:
        assert access.address is not None
        return access.address.array, _stride(access, launch), access.access_bytes

    apart = [
        a
        for a in accesses
        if a.space is Space.GLOBAL and _stride(a, launch) >= max(SECTOR_BYTES // 4, a.access_bytes)
    ]
    for (array, stride, width), same in groupby(sorted(apart, key=key), key):
        if array and stride > width:
            kind = RemedyKind.LAYOUT if stride <= _MOST_STRUCTURE else RemedyKind.STAGING
            yield Remedy(kind, tuple(a.instruction for a in same), array, stride, width)
