"""From the waves of blocks that were simulated to the whole grid.

A grid whose accesses are all known is simulated whole. Of another, blocks at its start run through
empty caches, and blocks in the middle and at the end after some before them, which fill the caches
and are not counted; those in the middle stand for all that are left out. Where few are known, these
lie in the middle alone.

What comes before these goes unseen: what they touch first may have been read long before. Beyond
the sectors that the grid touches at all, such reads are misses where the blocks before filled the
L2 cache, and hits where it holds all that the grid touches. Elsewhere that is open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.blocks import Span
from kernelcast.hierarchy.caches.layout import COUNTS
from kernelcast.hierarchy.caches.memory_system import MemorySystem
from kernelcast.hierarchy.caches.policies import policies
from kernelcast.hierarchy.caches.simulation import Caches
from kernelcast.hierarchy.caches.stack_distances import CacheDistances, cache_distances
from kernelcast.profiling.streams import AccessStreams

_Totals = NDArray[np.void]
"""Counts by row, of the layout `_TOTALS`."""

_TOTALS = np.dtype([(name, np.float64) for name in COUNTS.names or ()])
"""As `layout.COUNTS`, of a whole grid."""


@dataclass(frozen=True)
class SimulatedGrid:
    """What the accesses of every row of a stream do in the caches, in the whole grid.

    `totals` are by row. `blocks` were simulated, from their beginning to their end unless the grid
    `is_cut`, and those of later spans that are not counted
    `filled` the L2 cache or not. `spread` says how far spans differ: the standard deviation of the
    sectors that a block brings into the L2 cache or writes there, over their mean. `left_dirty`
    sectors of global memory are in the L2 cache at the end and not in the DRAM. Before what counts
    of a later span, at least `least_moved` sectors came into the `share` of the L2 cache that was
    simulated or were written there. `moved` are the sectors that the DRAM moves for every word of
    the stream. `distances` are there where they were asked for.
    """

    totals: _Totals
    blocks: int
    of: int
    has_later_spans: bool
    filled: bool
    spread: float
    left_dirty: float
    least_moved: float
    share: float
    moved: NDArray[np.uint8]
    distances: CacheDistances | None = None
    is_cut: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return self.blocks == self.of and not self.is_cut


def simulate(
    streams: AccessStreams,
    after_waits: Collection[int],
    system: MemorySystem,
    after: Caches | None = None,
    *,
    with_distances: bool = False,
) -> tuple[SimulatedGrid, Caches]:
    """Let the blocks of streams run; `after` other launches on their caches. Returns these, too.

    What blocks at the start of the grid find there is not there for later spans: those have blocks
    of their own before them. Where not even a wave is known, its blocks fill a part of the machine.
    `after_waits` are the instructions before which warps wait.
    """
    whole = system
    if len(streams.blocks) < streams.of:
        system = system.part_for(min(map(len, streams.spans)), streams.of)
    rules = policies(streams.rows, after_waits, system)
    totals = np.zeros(len(rules), _TOTALS)
    moved: list[float] = []
    seen: list[float] = []
    distances: CacheDistances | None = None
    by_word = np.zeros(len(streams.words), np.uint8)
    caches = Caches(system, after)
    for number, (span, parts) in enumerate(_parts(streams)):
        caches = Caches(system) if number else caches
        weight = _weights(streams)[number]
        if with_distances:
            run, asked = caches.run_noted(streams, rules, parts)
            own = cache_distances(asked, rules, system.fetched_sectors) * weight
            distances = own if distances is None else distances + own
        else:
            run = caches.run(streams, rules, parts)
        by_word |= run.moved
        *before, counted = run.counts
        for name in _TOTALS.names or ():
            totals[name] += weight * counted[name]
        moved.append(moved_sectors(counted) / (len(span) - span.history))
        seen.append(sum(map(moved_sectors, before if number else [counted])))
    share = system.l2.sets / whole.l2.sets
    more = share * moved_sectors(totals) / max(1.0, moved_sectors(run.counts))
    grid = SimulatedGrid(
        totals=totals,
        blocks=len(streams.blocks),
        of=streams.of,
        has_later_spans=len(moved) > 1,
        filled=min(seen) >= system.held_sectors,
        spread=_spread(moved),
        left_dirty=_at_the_end(caches, more) / share,
        least_moved=min(seen),
        share=share,
        moved=by_word,
        distances=distances,
        is_cut=streams.is_cut,
    )
    return grid, caches


def _at_the_end(caches: Caches, more: float) -> float:
    """Dirty sectors, where the whole grid moves `more` times what has filled these caches.

    So much more of them is full at the end, of the same things.
    """
    full = caches.filled_share()
    return caches.dirty_sectors() * max(1.0, min(more, 1 / full)) if full else 0.0


def moved_sectors(counts: NDArray[np.void]) -> float:
    """Sectors that came into the L2 cache or were written in it."""
    return float(sum(counts[name].sum() for name in ("first_reads", "again_reads", "dirtied")))


def _parts(streams: AccessStreams) -> Iterator[tuple[Span, tuple[range, ...]]]:
    """Every span, with the places of its blocks: those before, if any, and those that count."""
    first = 0
    for span in streams.spans:
        counted, end = first + span.history, first + len(span)
        parts = (range(first, counted), range(counted, end))
        yield span, tuple(part for part in parts if part)
        first = end


def _weights(streams: AccessStreams) -> Sequence[float]:
    """How many blocks a counted block of every span stands for."""
    counted = [len(span) - span.history for span in streams.spans]
    stand_in = min(1, len(counted) - 1)
    weights = [1.0] * len(counted)
    weights[stand_in] += (streams.of - sum(counted)) / max(1, counted[stand_in])
    return weights


def _spread(moved: Sequence[float]) -> float:
    mean = float(np.mean(moved))
    return float(np.std(moved)) / mean if mean else 0.0
