"""Basic blocks out of the order in which instructions were executed.

A trace shows no branches, only which instruction of a warp came after which, with which lanes. A
*group* is a longest run of consecutive instructions that the same lanes may have executed: it ends
with an instruction of class branch, where the next pc is not the next in the code, and where the
next lanes are all others. Basic blocks begin where a group begins, and behind the end of one. A
block goes on where lanes that left it are seen next.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import BasicBlock

_MAX_STEP = 16
"""Bytes from an instruction to the next; 8 before Volta."""


class BlockFinder:
    """Takes the instructions of a trace one by one, warp after warp, and tells the blocks."""

    def __init__(self) -> None:
        self._starts: set[int] = set()
        self._ends: set[int] = set()
        self._passed: set[int] = set()  # entered from the instruction before it
        self._edges: set[tuple[int, int]] = set()
        self._open: list[tuple[int, int]] = []  # lanes that left a group, by its last pc
        self._first = self._last = -1
        self._lanes = 0
        self._ended = True

    def begin_warp(self) -> None:
        """What follows is of another warp."""
        self._end_group()
        self._open.clear()
        self._ended = True

    def step(self, pc: int, mask: int, ends_group: bool) -> None:
        """The next instruction of the warp, executed by the lanes of `mask`."""
        is_next = 0 < pc - self._last <= _MAX_STEP
        if self._ended or not is_next or (mask and self._lanes and not mask & self._lanes):
            self._end_group()
            self._first = pc
            self._lanes = mask
        else:
            self._passed.add(pc)
            self._lanes |= mask
        self._last = pc
        self._ended = ends_group

    def blocks(self, pcs: Sequence[int]) -> tuple[BasicBlock, ...]:
        """The basic blocks of all executed instructions, which stand at `pcs`, ascending."""
        self.begin_warp()
        before = (-1, *pcs)
        starts = [
            index
            for index, pc in enumerate(pcs)
            if pc in self._starts or before[index] in self._ends
        ]
        ends = [*starts[1:], len(pcs)]
        number = {pcs[start]: block for block, start in enumerate(starts)}
        targets: dict[int, set[int]] = {}
        for last, first in self._edges:
            targets.setdefault(last, set()).add(number[first])
        blocks = []
        for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
            after = targets.get(pcs[end - 1], set())
            if end < len(pcs) and pcs[end] in self._passed:
                after = after | {index + 1}
            falls_through = [index + 1] if index + 1 in after else []
            others = sorted(after - {index + 1})
            blocks.append(BasicBlock(index, start, end, (*falls_through, *others)))
        return tuple(blocks)

    def _end_group(self) -> None:
        """Join the group to those that its lanes left last."""
        if self._first < 0:
            return
        still_open = []
        for last, lanes in self._open:
            if lanes & self._lanes:
                self._edges.add((last, self._first))
            if lanes & ~self._lanes:
                still_open.append((last, lanes & ~self._lanes))
        if self._lanes:
            still_open.append((self._last, self._lanes))
        self._open = still_open
        self._starts.add(self._first)
        self._ends.add(self._last)
        self._first = self._last = -1
        self._lanes = 0
