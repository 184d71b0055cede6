"""What a block shares with the blocks before it in the grid: in its row, column and stack.

Blocks start in the order of their linear index, x fastest. The predecessor of block b along x is
b - 1, along y the block a row before it, along z the block a layer before it. `Footprint.fresh`
holds for every set of axes, as bits 1 for x, 2 for y and 4 for z, the share of the sectors of a
block that none of its predecessors along these axes has touched: 1 for the empty set. An axis of
extent 1 has no predecessors, and changes nothing in a set.

A random sample holds few neighbours, so some are executed after it, each set of predecessors
followed by its block with counters of its own: D(N + b) - D(N) sectors are fresh.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import ExecutionError
from kernelcast.execution.memory import Memory
from kernelcast.execution.sampling import sample_blocks
from kernelcast.execution.trace import Sink, Words
from kernelcast.ir import Dim3
from kernelcast.profiling.profile import Footprint, Profile

AXES = 3
SETS = 1 << AXES

FEWEST_GROUPS, MOST_GROUPS = 2, 16
"""Blocks whose predecessors are executed with them."""

SAMPLE_SHARE = 1 / 8
"""How many blocks that may take beside the sample, where the fewest are not more."""

MOST_SAVED_BYTES = 256 << 20
"""Arrays that are to keep what the sample wrote are saved up to this; beyond, nothing is learnt."""

Run = Callable[[int, Sink], object]
"""Executes one block and gives its trace to the sink."""


@dataclass(frozen=True, slots=True)
class Group:
    """A block and its predecessor along every axis of an extent above 1."""

    block: int
    before: Mapping[int, int]

    @property
    def blocks(self) -> tuple[int, ...]:
        """All of them, in the order of the grid."""
        return (*sorted(self.before.values()), self.block)


def distances(grid: Dim3) -> tuple[int, ...]:
    """How many blocks before a block its predecessor along x, y and z is."""
    x, y, _ = grid
    return tuple(accumulate((1, x, y), lambda a, b: a * b))


def choose_groups(grid: Dim3, sampled: int) -> tuple[Group, ...]:
    """Blocks with all their predecessors; a larger sample pays for more of them."""
    axes = [axis for axis in range(AXES) if grid[axis] > 1]
    extents = [n - 1 if n > 1 else 1 for n in grid]
    wanted = int(sampled * SAMPLE_SHARE / (1 + len(axes)))
    wanted = max(FEWEST_GROUPS, min(MOST_GROUPS, wanted))
    steps = distances(grid)
    groups = []
    for inner in sample_blocks(math.prod(extents), wanted):
        x, rest = inner % extents[0], inner // extents[0]
        place = (x, rest % extents[1], rest // extents[1])
        block = sum((place[a] + (a in axes)) * steps[a] for a in range(AXES))
        groups.append(Group(block, {a: block - steps[a] for a in axes}))
    return tuple(groups)


def with_neighbours(profile: Profile, memory: Memory, run: Run, *, keeps_memory: bool) -> Profile:
    """The profile of a sample with what neighbours share, where that is worth to know.

    It is where blocks share an array that they read, in a grid of several rows. Neighbours are
    executed on the memory that the sample has left; with `keeps_memory` it stays as it was. A
    block that goes wrong there, as one may that has run before, ends the search without a result.
    """
    rows = sum(n > 1 for n in profile.launch.grid) > 1
    if not rows or not any(is_shared(f) for f in profile.footprints):
        return profile
    written = [f for f in profile.footprints if f.written] if keeps_memory else []
    if sum(f.size_bytes for f in written) > MOST_SAVED_BYTES:
        return profile
    groups = choose_groups(profile.launch.grid, profile.sample.blocks)
    try:
        with _saved(memory, {f.label for f in written}):
            counted = np.sum([_fresh_sectors(profile, memory, run, g) for g in groups], axis=0)
    except ExecutionError:
        return profile
    shares = {
        region.label: tuple((sectors / sectors[0]).tolist())
        for region, sectors in zip(memory.regions, np.transpose(counted), strict=True)
        if sectors[0]
    }
    footprints = tuple(replace(f, fresh=shares.get(f.label, ())) for f in profile.footprints)
    return replace(profile, footprints=footprints)


def is_shared(array: Footprint) -> bool:
    """Whether several blocks read the same sectors of an array."""
    return array.read and array.block_sectors > array.distinct_sectors


def _fresh_sectors(profile: Profile, memory: Memory, run: Run, group: Group) -> NDArray[np.int64]:
    """Sectors of a group's block that its predecessors have not touched, by set and array."""
    from kernelcast.profiling.builder import ProfileBuilder  # loads Numba

    held = sum(1 << axis for axis in group.before)
    sets = [s for s in range(SETS) if s & ~held == 0]
    counters = {}
    for axes in sets:
        blocks = [b for axis, b in group.before.items() if axes >> axis & 1]
        executed = (*sorted(blocks), group.block)
        counters[axes] = ProfileBuilder(profile.kernel, profile.launch, memory, executed)
    for axis, block in sorted(group.before.items(), reverse=True):
        run(block, _all_of([counters[s].consume for s in sets if s >> axis & 1]))
    before = {s: counters[s].distinct_sectors() for s in sets}
    run(group.block, _all_of([counter.consume for counter in counters.values()]))
    return np.stack([counters[s & held].distinct_sectors() - before[s & held] for s in range(SETS)])


def _all_of(sinks: Sequence[Sink]) -> Sink:
    def consume(words: Words) -> None:
        for sink in sinks:
            sink(words)

    return consume


@contextmanager
def _saved(memory: Memory, labels: Collection[str]) -> Iterator[None]:
    """Give arrays back what they hold now."""
    views = [memory.bytes_at(r.address, r.size_bytes) for r in memory.regions if r.label in labels]
    held = [view.copy() for view in views]
    try:
        yield
    finally:
        for view, now in zip(views, held, strict=True):
            view[:] = now
