# mypy: allow-untyped-decorators
"""Stack distances: the hits of a cache of every size from one pass over its accesses.

A fully associative cache of W lines that replaces the line used longest ago holds a line if fewer
than W others were used since its last use (Mattson et al. 1970). Of a sector that holds for every
use of its line since its own last one. Other uses since a time are counted by a Fenwick tree over
the times at which every line was last used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.hierarchy.caches.layout import SECTORS
from kernelcast.hierarchy.caches.memory_system import MemorySystem
from kernelcast.hierarchy.caches.policies import policies
from kernelcast.hierarchy.caches.simulation import Caches
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.loops import array, inner
from kernelcast.profiling.streams import AccessStreams

_SECTOR_MASK = (1 << SECTORS) - 1


@dataclass(frozen=True)
class StackDistances:
    """How many sectors were asked for whose line so many other lines were used since.

    `counts[d]` sectors have distance d; those that nobody had asked for before are the last.
    `simulated` is the hit ratio of the cache that was simulated, of `lines` lines.
    """

    counts: NDArray[np.int64] = field(repr=False)
    simulated: float
    lines: int

    def hit_ratio(self, lines: int) -> float:
        """Share of the sectors that a fully associative cache of so many lines holds."""
        total = int(self.counts.sum())
        return (
            float(self.counts[: min(lines, len(self.counts) - 1)].sum()) / total if total else 0.0
        )

    @property
    def error(self) -> float:
        """How far the hit ratio at the simulated size is from the simulated one."""
        return self.hit_ratio(self.lines) - self.simulated


def l2_distances(
    streams: AccessStreams, after_waits: frozenset[int], system: MemorySystem
) -> StackDistances:
    """Of what the L1 caches of a machine ask an empty L2 cache to load, for the streams' blocks."""
    caches = Caches(system)
    log = np.zeros(len(streams.words), np.int64)
    rules = policies(streams.rows, after_waits, system)
    counts = caches.run(streams, rules, [range(len(streams.blocks))], log=log)
    log = log[: caches.logged]
    loaded = counts["l2_sectors"][0][[row.instruction.op_class == "load" for row in streams.rows]]
    held = counts["l2_hits"][0][[row.instruction.op_class == "load" for row in streams.rows]]
    simulated = float(held.sum() / loaded.sum()) if loaded.sum() else 0.0
    lines = system.partitions * system.l2.lines
    return StackDistances(distances(log >> SECTORS, log & _SECTOR_MASK), simulated, lines)


def distances(lines: NDArray[np.int64], sectors: NDArray[np.int64]) -> NDArray[np.int64]:
    """`StackDistances.counts` of accesses to sectors of lines, in order."""
    known, numbers = np.unique(lines, return_inverse=True)
    counts = np.zeros(len(known) + 1, np.int64)
    _count(
        np.ascontiguousarray(numbers, np.int64),
        np.ascontiguousarray(sectors, np.int64),
        np.full(len(known), -1, np.int64),
        np.full((len(known), SECTORS), len(known), np.int64),
        np.zeros(len(lines) + 1, np.int64),
        counts,
    )
    return counts


@inner
def _add(tree: Any, time: Any, change: Any) -> None:
    """Change the number of lines last used at a time."""
    at = time + 1
    while at < len(tree):
        tree[at] += change
        at += at & -at


@inner
def _until(tree: Any, time: Any) -> Any:
    """How many lines were last used at a time or before."""
    total = 0
    at = time + 1
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


@compiled(
    None,
    array(np.int64),
    array(np.int64),
    array(np.int64),
    array(np.int64, 2),
    array(np.int64),
    array(np.int64),
)
def _count(lines: Any, sectors: Any, last: Any, pending: Any, tree: Any, counts: Any) -> None:
    used = 0
    for time in range(len(lines)):
        line = lines[time]
        distance = len(last)
        if last[line] >= 0:
            distance = used - _until(tree, last[line])
            _add(tree, last[line], -1)
        else:
            used += 1
        _add(tree, time, 1)
        last[line] = time
        for sector in range(SECTORS):
            farthest = max(pending[line, sector], distance)
            pending[line, sector] = farthest
            if sectors[time] >> sector & 1:
                counts[farthest] += 1
                pending[line, sector] = 0
