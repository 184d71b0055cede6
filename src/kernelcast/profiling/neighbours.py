"""What a block shares with the blocks before it in the grid: in its row, column and stack.

Blocks start in the order of their linear index, x fastest. Before a block come: along x, the block
beside it; along y, in the row before, the block at its place and the next one, which holds what is
beyond its far side in x; along z, in the layer before, the block at its place and the next ones in
x and y. `Footprint.fresh` holds for every set of axes, as bits 1 for x, 2 for y and 4 for z, the
share of the sectors of a block that none of the blocks before it along these axes has touched: 1
for the empty set. Along an axis of extent 1 there is none, and it changes nothing in a set.

A random sample holds few neighbours, so some are executed after it. Every set of predecessors,
followed by its block, has counters of its own: D(N + b) - D(N) sectors are fresh.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import ExecutionError
from kernelcast.execution.blocks import these_blocks
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import MOST_SAVED_BYTES, Run, restored
from kernelcast.execution.sampling import sample_blocks
from kernelcast.execution.trace import Words
from kernelcast.ir import Dim3
from kernelcast.profiling.builder import ProfileBuilder
from kernelcast.profiling.profile import Footprint, Profile
from kernelcast.profiling.splitting import end_of_block

AXES = 3
SETS = 1 << AXES

_FEWEST_GROUPS, MOST_GROUPS = 2, 16
"""Blocks whose neighbours are executed with them."""

_SAMPLE_SHARE = 1 / 8
"""How many blocks that may take beside the sample, where the fewest groups do not take more."""


@dataclass(frozen=True, slots=True)
class Group:
    """A block and those before it along every axis that has some."""

    block: int
    before: Mapping[int, tuple[int, ...]]

    def along(self, axes: int) -> set[int]:
        """The blocks before it along a set of axes."""
        return {b for axis, blocks in self.before.items() if axes >> axis & 1 for b in blocks}

    @property
    def sets(self) -> tuple[int, ...]:
        """All sets of the axes that have blocks before it."""
        held = sum(1 << axis for axis in self.before)
        return tuple(axes for axes in range(SETS) if axes & ~held == 0)


def distances(grid: Dim3) -> Dim3:
    """How many blocks earlier the one at the same place in the row or layer before is, by axis."""
    x, y, _ = grid
    return 1, x, x * y


def choose_groups(grid: Dim3, sampled: int) -> tuple[Group, ...]:
    """Blocks that have others before them along all axes; a larger sample pays for more of them."""
    extents = [max(1, n - 1) for n in grid]
    size = len(_group(grid, (1, 1, 1)).along(SETS - 1)) + 1
    wanted = max(_FEWEST_GROUPS, min(MOST_GROUPS, int(sampled * _SAMPLE_SHARE / size)))
    groups = []
    for inner in sample_blocks(math.prod(extents), wanted):
        x, rest = inner % extents[0], inner // extents[0]
        groups.append(_group(grid, (x + 1, rest % extents[1] + 1, rest // extents[1] + 1)))
    return tuple(groups)


def _group(grid: Dim3, place: Dim3) -> Group:
    """The group of the block at a place, which is 0 along an axis of extent 1 whatever is given."""
    place = _three(min(at, n - 1) for at, n in zip(place, grid, strict=True))
    steps = distances(grid)
    block = sum(at * step for at, step in zip(place, steps, strict=True))
    before = {}
    for axis in range(AXES):
        if grid[axis] > 1:
            beside = [step for a, step in enumerate(steps[:axis]) if place[a] + 1 < grid[a]]
            before[axis] = tuple(block - steps[axis] + step for step in (0, *beside))
    return Group(block, before)


def _three(numbers: Iterable[int]) -> Dim3:
    x, y, z = numbers
    return x, y, z


def is_shared(array: Footprint) -> bool:
    """Whether several blocks read the same sectors of an array."""
    return array.read and array.block_sectors > array.distinct_sectors


def with_neighbours(profile: Profile, run: Run, *, keeps_memory: bool) -> Profile:
    """The profile of a sample with what neighbours share, where that is worth to know.

    It is where blocks share an array that they read, in a grid of several rows. Neighbours are
    executed on the memory that the sample has left; with `keeps_memory` it stays as it was, where
    that can be (see `MOST_SAVED_BYTES`), else nothing is learnt. A block that goes wrong there, as
    one may that has run before, ends the search without a result.
    """
    grid, memory = profile.launch.grid, run.memory
    if sum(n > 1 for n in grid) < 2 or not any(is_shared(f) for f in profile.footprints):
        return profile
    written = [f for f in profile.footprints if f.written] if keeps_memory else []
    if sum(f.size_bytes for f in written) > MOST_SAVED_BYTES:
        return profile
    counter = _Counter(profile, memory, choose_groups(grid, profile.sample.blocks))
    try:
        labels = {f.label for f in written}
        with restored(memory, [r for r in memory.regions if r.label in labels]):
            run.over(these_blocks(profile.launch.blocks, counter.blocks)).execute(counter)
    except ExecutionError:
        return profile
    shares = {
        region.label: tuple((sectors / sectors[0]).tolist())
        for region, sectors in zip(memory.regions, counter.fresh().T, strict=True)
        if sectors[0]
    }
    footprints = tuple(replace(f, fresh=shares.get(f.label, ())) for f in profile.footprints)
    return replace(profile, footprints=footprints)


class _Counter:
    """Counts the trace of all groups, whose blocks run in the order of the grid."""

    def __init__(self, profile: Profile, memory: Memory, groups: Sequence[Group]) -> None:
        self._groups = [_GroupCounter(profile, memory, group) for group in groups]
        self._current = -1
        every = {block for g in groups for block in (*g.along(SETS - 1), g.block)}
        self.blocks = tuple(sorted(every))

    def consume(self, words: Words) -> None:
        """The next words of the trace."""
        stream = np.ascontiguousarray(words).view(np.int64)
        at = 0
        while at < len(stream):
            end = end_of_block(stream, at, self._current)
            for group in self._groups:
                group.consume(self._current, words[at:end])
            if end < len(stream):
                self._current = int(stream[end + 1])
            at = end

    def fresh(self) -> NDArray[np.int64]:
        """Fresh sectors of the groups' blocks, by set of axes and array."""
        return sum((group.fresh() for group in self._groups), np.zeros((), np.int64))


class _GroupCounter:
    """Counts the blocks of one group, for every set of axes on its own."""

    def __init__(self, profile: Profile, memory: Memory, group: Group) -> None:
        self._profile, self._memory, self._group = profile, memory, group
        self._counters: dict[int, ProfileBuilder] = {}
        self._before: dict[int, NDArray[np.int64]] = {}
        self._fresh: dict[int, NDArray[np.int64]] = {}

    def consume(self, block: int, words: Words) -> None:
        """A part of a block's trace."""
        group = self._group
        if block > group.block:
            self._close()
        elif block == group.block:
            if not self._before:
                self._before = {s: self._counter(s).distinct_sectors() for s in group.sets}
            for axes in group.sets:
                self._counter(axes).consume(words)
        else:
            for axes in group.sets:
                if block in group.along(axes):
                    self._counter(axes).consume(words)

    def fresh(self) -> NDArray[np.int64]:
        """Fresh sectors of the group's block, by set of axes and array."""
        self._close()
        held = self._group.sets[-1]
        return np.stack([self._fresh[axes & held] for axes in range(SETS)])

    def _counter(self, axes: int) -> ProfileBuilder:
        if axes not in self._counters:
            blocks = sorted({*self._group.along(axes), self._group.block})
            self._counters[axes] = ProfileBuilder(
                self._profile.kernel, self._profile.launch, self._memory, blocks
            )
        return self._counters[axes]

    def _close(self) -> None:
        """Take the counts and let the counters go."""
        for axes, counter in self._counters.items():
            self._fresh[axes] = counter.distinct_sectors() - self._before[axes]
        self._counters.clear()
