"""The access stream: which lines of memory every warp asked for, in order. It knows no GPU.

A word of the stream is one line of one request:

    bits 0-3    sectors of the line that the request touches
    bits 4-7    those of them that a store does not cover whole: its lanes together write less
    bit 8       set on the first line of a request
    bits 9-23   row: which instruction, in which space (`AccessStreams.rows`)
    bits 24-63  the line: its address / 128

The lines of a request stand in the order in which its lanes come to them. In local memory the line
is that of the warp's own memory, from 0 on, lanes interleaved by words of 4 B: where it lies
depends on the SM that holds the warp.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.blocks import Span
from kernelcast.profiling.tables import AccessRow

PARTIAL_SHIFT = 4
FIRST_BIT = 8
ROW_SHIFT = 9
ROW_MASK = 0x7FFF
LINE_SHIFT = 24


@dataclass(frozen=True)
class AccessStreams:
    """Accesses to global and local memory of some blocks of a launch.

    `blocks` are linear indices in the grid, ascending, `of` the blocks of the grid: those of
    `spans`, one after the other. Warp w of the k-th block did
    `words[starts[k * warps + w] : starts[k * warps + w + 1]]`; where the stream `is_cut`, some
    may have done more.
    """

    of: int
    warps: int
    blocks: NDArray[np.int64] = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False)
    words: NDArray[np.uint64] = field(repr=False)
    rows: tuple[AccessRow, ...] = field(repr=False)
    spans: tuple[Span, ...]
    is_cut: bool = False
