# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""One access to a line at the L1 cache of an SM, compiled.

Sets are large, so a line is found by a hash of its number: `buckets` holds the first entry of a
chain of those that share one, -1 for none. The entries of a set are two lists by their last use, of
which `ends` holds the newest and the oldest: those that leave first, as empty ones do, and others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.hierarchy.caches.indexing import HASH_FACTOR, set_of
from kernelcast.hierarchy.caches.layout import (
    ALL_SECTORS,
    ALLOCATES_L1,
    DIRTY_SHIFT,
    FIRST_LEAVING,
    LEAVES_FIRST,
    NEWEST,
    NO_LINE,
    OLDEST,
)
from kernelcast.profiling.loops import inlined, inner


class L1(NamedTuple):
    """The L1 caches of all SMs; see the head of this file."""

    entries: Any
    buckets: Any
    ends: Any


@inlined
def _bucket(line, sm, system):
    hashed = (line * HASH_FACTOR >> 7) & (system.l1_buckets - 1)
    return np.uint64(sm * system.l1_buckets + hashed)


@inlined
def _find(line, bucket, first, l1):
    """The entry of a line among those from `first` on, or -1."""
    at = np.int64(l1.buckets[bucket])
    while at >= 0:
        entry = l1.entries[np.uint64(first + at)]
        if entry.line == line:
            return at
        at = np.int64(entry.chained)
    return at


@inlined
def _use(at, first, chosen, rule, l1):
    """Make an entry the newest of those of its set, or of those among them that leave first."""
    ends = l1.ends
    target = np.int64(FIRST_LEAVING if rule & LEAVES_FIRST else 0)
    newest = np.int64(ends[chosen, np.uint64(target + NEWEST)])
    if newest == at:
        return
    entry = l1.entries[np.uint64(first + at)]
    older, newer = np.int64(entry.older), np.int64(entry.newer)
    if newer >= 0:
        l1.entries[np.uint64(first + newer)].older = older
    else:
        ends[chosen, np.uint64(entry.list + NEWEST)] = older
    if older >= 0:
        l1.entries[np.uint64(first + older)].newer = newer
    else:
        ends[chosen, np.uint64(entry.list + OLDEST)] = newer
    if newest >= 0:
        l1.entries[np.uint64(first + newest)].newer = at
    else:
        ends[chosen, np.uint64(target + OLDEST)] = at
    ends[chosen, np.uint64(target + NEWEST)] = at
    entry.older, entry.newer, entry.list = newest, -1, target


@inner
def _unchain(at, first, bucket, l1):
    """Take an entry out of the chain of its bucket."""
    following = l1.entries[np.uint64(first + at)].chained
    before = np.int64(l1.buckets[bucket])
    if before == at:
        l1.buckets[bucket] = following
        return
    while np.int64(l1.entries[np.uint64(first + before)].chained) != at:
        before = np.int64(l1.entries[np.uint64(first + before)].chained)
    l1.entries[np.uint64(first + before)].chained = following


@inlined
def _replace(line, sm, first, bucket, chosen, l1, system):
    """Give the oldest entry of a set to a line; returns the entry, dirty sectors and their line."""
    at = np.int64(l1.ends[chosen, FIRST_LEAVING + OLDEST])
    if at < 0:
        at = np.int64(l1.ends[chosen, OLDEST])
    entry = l1.entries[np.uint64(first + at)]
    left = np.int64(entry.line)
    dirty = np.int64(0)
    if left != NO_LINE:
        _unchain(at, first, _bucket(left, sm, system), l1)
        dirty = np.int64(entry.state) >> DIRTY_SHIFT & ALL_SECTORS
    entry.line = line
    entry.state = 0
    entry.chained = l1.buckets[bucket]
    l1.buckets[bucket] = at
    return at, dirty, left


@inlined
def _list_of(line, sm, system):
    """The list of a line's set."""
    at = sm * system.l1_sets + set_of(line, system.l1_sets, system.l1_hashes)
    return np.uint64(at)


@inlined
def load_l1(line, sectors, sm, rule, l1, system):
    """Look sectors up for a load, which brings them where the rule allocates.

    Returns those that are missing; and, where a line had to leave that lower levels have not seen,
    its sectors and the line.
    """
    bucket, first = _bucket(line, sm, system), sm * system.l1_entries
    at = _find(line, bucket, first, l1)
    if at < 0 and not rule & ALLOCATES_L1:
        return sectors, np.int64(0), line
    chosen = _list_of(line, sm, system)
    dirty, left = np.int64(0), line
    if at < 0:
        at, dirty, left = _replace(line, sm, first, bucket, chosen, l1, system)
    entry = l1.entries[np.uint64(first + at)]
    held = np.int64(entry.state)
    if rule & ALLOCATES_L1:
        entry.state = held | sectors
    _use(at, first, chosen, rule, l1)
    return sectors & ~held, dirty, left


@inlined
def store_l1(line, sectors, sm, rule, l1, system):
    """Keep up to date what the cache holds of a line that is written; bring it if it allocates.

    Returns sectors and line that had to leave, as `load_l1`. Sectors of local memory that lower
    levels do not see at once stay behind dirty.
    """
    bucket, first = _bucket(line, sm, system), sm * system.l1_entries
    at = _find(line, bucket, first, l1)
    if at < 0 and not rule & ALLOCATES_L1:
        return np.int64(0), line
    chosen = _list_of(line, sm, system)
    dirty, left = np.int64(0), line
    if at < 0:
        at, dirty, left = _replace(line, sm, first, bucket, chosen, l1, system)
    if rule & ALLOCATES_L1:
        entry = l1.entries[np.uint64(first + at)]
        kept = np.int64(0) if system.writes_through else sectors << DIRTY_SHIFT
        entry.state = np.int64(entry.state) | sectors | kept
    _use(at, first, chosen, rule, l1)
    return dirty, left
