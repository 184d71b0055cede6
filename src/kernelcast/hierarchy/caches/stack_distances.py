"""Stack distances: how often fully associative caches of every capacity hold what they are asked.

R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger, "Evaluation techniques for storage
hierarchies", IBM Systems Journal 9(2), 1970. Where the line leaves that was used longest ago, a
cache of C lines holds a line that it was asked for before if fewer than C others were used since:
their number is the stack distance. A sector is held if that is true of every use of its line since
the sector was brought. So one pass over what a cache is asked for serves all capacities.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelcast.hierarchy.caches.layout import NOTED_SHIFT, SECTORS
from kernelcast.hierarchy.caches.simulation import AskedWords
from kernelcast.hierarchy.caches.stack_loop import (
    BUCKETS,
    COLD,
    DIRTIED,
    EVENTS,
    FINE_BITS,
    LACKING,
    LEAST_TIMES,
    READ,
    STACK,
    distances_l1,
    distances_l2,
    number_lines,
)
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.profiling.profile import Floats


@dataclass(frozen=True)
class StackDistances:
    """What happens in caches of every capacity, by row of the stream.

    `events[row, event, bucket]` sectors are lacking, read from the next level, or made dirty, in
    all caches of at most as many lines as lie in the bucket; those of the last one, in all.
    Distances up to 31 lines have a bucket each, then sixteen share a power of two.
    """

    events: Floats

    def lacking_at(self, capacity_bytes: float) -> Floats:
        """By row, sectors that a cache is asked for and does not hold."""
        return self._at(LACKING, capacity_bytes)

    def hits_at(self, capacity_bytes: float) -> Floats:
        """By row, sectors that a cache is asked for and holds."""
        hits: Floats = self.sectors - self.lacking_at(capacity_bytes)
        return hits

    def read_at(self, capacity_bytes: float) -> Floats:
        """By row, sectors that the cache reads from the next level, neighbours included."""
        return self._at(READ, capacity_bytes)

    def dirtied_at(self, capacity_bytes: float) -> Floats:
        """By row, sectors that the cache is to write to the next level."""
        return self._at(DIRTIED, capacity_bytes)

    @cached_property
    def sectors(self) -> Floats:
        """By row, sectors that the cache is asked for."""
        asked: Floats = self.events[:, LACKING].sum(axis=1)
        return asked

    @property
    def buckets(self) -> NDArray[np.int64]:
        """The smallest distance of every bucket but the last, in lines."""
        starts: NDArray[np.int64] = _STARTS[:-1]
        return starts

    def _at(self, event: int, capacity_bytes: float) -> Floats:
        """Sectors of an event whose distance a cache does not reach over.

        Of a bucket that the capacity divides, as many as if it were evenly filled.
        """
        lines = capacity_bytes / (SECTORS * SECTOR_BYTES)
        within = np.clip((lines - _STARTS[:-1]) / np.diff(_STARTS), 0.0, 1.0)
        out_of_reach = np.append(1.0 - within, 1.0)
        found: Floats = self.events[:, event] @ out_of_reach
        return found

    def __add__(self, other: StackDistances) -> StackDistances:
        return StackDistances(self.events + other.events)

    def __mul__(self, times: float) -> StackDistances:
        return StackDistances(self.events * times)


@dataclass(frozen=True)
class CacheDistances:
    """Those of the L1 caches, and of the L2 cache behind them as they were simulated."""

    l1: StackDistances
    l2: StackDistances

    def __add__(self, other: CacheDistances) -> CacheDistances:
        return CacheDistances(self.l1 + other.l1, self.l2 + other.l2)

    def __mul__(self, times: float) -> CacheDistances:
        return CacheDistances(self.l1 * times, self.l2 * times)


def cache_distances(
    asked: AskedWords, rules: NDArray[np.int64], fetched_sectors: int
) -> CacheDistances:
    """Of both levels."""
    return CacheDistances(
        l1_distances(asked, rules), l2_distances(asked, len(rules), fetched_sectors)
    )


def l1_distances(asked: AskedWords, rules: NDArray[np.int64]) -> StackDistances:
    """Of the loads that the L1 caches are asked for, every SM having a cache of its own.

    One order of lines serves all capacities, so that what does not allocate leaves it as it is:
    stores to global memory, and loads that are not to stay. No line leaves before its turn.
    """
    by_sm = (asked.l1 >> NOTED_SHIFT).astype(np.uint8)
    words = asked.l1[np.argsort(by_sm, kind="stable")]
    lines, distinct = _numbered(words, _L1_MASK)
    events = np.zeros((len(rules), EVENTS, BUCKETS), np.int64)
    distances_l1(words, lines, rules, *_room(distinct, SECTORS), events, np.zeros(1, STACK))
    return StackDistances(events.astype(np.float64))


def l2_distances(asked: AskedWords, rows: int, fetched_sectors: int) -> StackDistances:
    """Of what the L2 cache is asked for behind L1 caches as they were simulated.

    Stores count as what is written, not as lookups. A cache of two partitions is one here: the
    copies that one keeps of the other's lines take no room. No line leaves before its turn.
    """
    lines, distinct = _numbered(asked.l2, _L2_MASK)
    events = np.zeros((rows, EVENTS, BUCKETS), np.int64)
    room = _room(distinct, 2 * SECTORS)
    distances_l2(asked.l2, lines, fetched_sectors, *room, events, np.zeros(1, STACK))
    return StackDistances(events.astype(np.float64))


_L1_MASK = (1 << 40) - 1
"""An L1 cache's line is told apart by the SM, too."""
_L2_MASK = (1 << 32) - 1


def _starts() -> NDArray[np.int64]:
    """The smallest distance of every bucket."""
    bucket = np.arange(BUCKETS, dtype=np.int64)
    halved = np.maximum(0, (bucket >> FINE_BITS) - 1)
    starts: NDArray[np.int64] = (bucket - (halved << FINE_BITS)) << halved
    return starts


_STARTS = _starts()


def _numbered(words: NDArray[np.int64], mask: int) -> tuple[NDArray[np.int32], int]:
    """For every word the number of its line, and how many lines there are."""
    lines = np.empty(len(words), np.int32)
    table = np.zeros(1 << (len(words) + 1).bit_length(), np.int32)
    known = np.empty(len(words), np.int64)
    return lines, int(number_lines(words, mask, table, known, lines))


def _room(distinct: int, limits: int) -> tuple[NDArray[np.generic], ...]:
    """Stamps, lines by time, marks, their sums, and the limits of every line."""
    times = 2 * distinct + LEAST_TIMES
    return (
        np.full(distinct, -1, np.int32),
        np.zeros(times, np.int32),
        np.zeros(times // 64 + 1, np.int64),
        np.zeros(times // 64 + 2, np.int32),
        np.full((distinct, limits), COLD, np.int16),
    )
