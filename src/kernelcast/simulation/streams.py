"""The warp stream: what every warp of some blocks did, in order. It knows no GPU.

A word of the stream is one of three, told apart by its two lowest bits:

    ENTER     the warp enters a basic block
        bits 2-25   the basic block
        bits 26-31  lanes that do
    ACCESS    a request to memory of an instruction of that basic block
        bits 2-10   how many LINE words follow
        bits 11-34  the instruction
        bits 35-40  lanes
        bits 41-47  passes: cycles in which the banks of shared memory, or the L1 cache's of the
                    same kind, serve it; of an atomic on global memory, turns of its sectors
        bits 48-50  the passes that it would take without conflicts
        bits 51-56  passes in which the tags of its lines are looked up; of such an atomic, rounds
        bits 57-59  the space that it leads to (`profiling.layout`)
    LINE      one line of 128 B of the request before
        bits 2-5    sectors of it that the request touches
        bits 6-12   where in its line the first lane of the request begins, in bytes
        bits 13-15  sectors that the DRAM moves for it, plus 1; 0 where that is not known
        bits 16-63  the line: its address / 128

Who arrives at a barrier in shared memory, or waits there, has one LINE word that is none:

        bits 16-30  the barrier: its address / 8
        bits 31-63  how many arrivals at it, of any warp of the block, came before this instruction;
                    as many it waits for, if it waits

Lanes that try to swap words of shared memory have one for each word whose turn it is:

        bits 16-63  its address / 4

An instruction that has no ACCESS where it is executed was switched off in all lanes. Lines in local
memory are those of the warp's own memory, from 0 on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

ENTER, ACCESS, LINE = range(3)
KIND_BITS = 2
KIND_MASK = (1 << KIND_BITS) - 1

BLOCK_SHIFT, BLOCK_MASK = 2, (1 << 24) - 1
ENTERED_LANES_SHIFT = 26

LINES_SHIFT, LINES_MASK = 2, (1 << 9) - 1
INSTRUCTION_SHIFT, INSTRUCTION_MASK = 11, (1 << 24) - 1
LANES_SHIFT, LANES_MASK = 35, (1 << 6) - 1
PASSES_SHIFT, PASSES_MASK = 41, (1 << 7) - 1
IDEAL_SHIFT, IDEAL_MASK = 48, (1 << 3) - 1
TAGS_SHIFT, TAGS_MASK = 51, (1 << 6) - 1
SPACE_SHIFT, SPACE_MASK = 57, (1 << 3) - 1

SECTORS_SHIFT, SECTORS_MASK = 2, 15
OFFSET_SHIFT, OFFSET_MASK = 6, (1 << 7) - 1
MOVED_SHIFT, MOVED_MASK = 13, 7
LINE_SHIFT = 16
MBARRIER_SHIFT, MBARRIER_MASK = 16, (1 << 15) - 1
ARRIVALS_SHIFT = 31

_TOGETHER = 1 << 12
"""Parts that are gathered at once: their places take room, too."""

StreamWords = NDArray[np.int64]
"""Words of such streams, or parts of them."""


@dataclass(frozen=True)
class WarpStreams:
    """What the warps of some blocks of a launch did.

    `blocks` are linear indices in the grid, ascending, of a grid of `of` blocks. Warp w of the k-th
    block did `words[starts[k * warps + w] : starts[k * warps + w + 1]]`; where the stream
    `is_cut`, warps went on after that.
    """

    of: int
    warps: int
    blocks: NDArray[np.int64] = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False)
    words: NDArray[np.int64] = field(repr=False)
    is_cut: bool = False

    def of_warp(self, block: int, warp: int) -> NDArray[np.int64]:
        """The words of a warp of the block at a place of `blocks`."""
        at = block * self.warps + warp
        return self.words[self.starts[at] : self.starts[at + 1]]


def gathered(
    words: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Parts of some words, one behind the other, some at a time: places take room, too."""
    found, at = np.empty(int(lengths.sum()), np.int64), 0
    for first in range(0, len(starts), _TOGETHER):
        own = lengths[first : first + _TOGETHER]
        end = at + int(own.sum())
        before = own.cumsum() - own
        offsets = np.repeat(starts[first : first + _TOGETHER] - before, own)
        found[at:end] = words[offsets + np.arange(end - at)]
        at = end
    return found
