# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Patterns of requests that were counted before, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling.layout import COUNTS, MEMO_ENTRIES, SHAPE_ROW_BITS
from kernelcast.profiling.loops import HALF_HASH_FACTOR, HALF_WORD, HASH_FACTOR, inlined, inner
from kernelcast.profiling.touches import first_line_of

_MEMO_SHIFT = 64 - MEMO_ENTRIES.bit_length() + 1


@inlined
def place_of_pattern(shape, stride, apart):
    """Where a pattern stands in the memo; where it had to give way, it stands at `beside`."""
    mixed = (stride * 31 + apart) * 31 + shape
    return np.uint64(mixed * HASH_FACTOR) >> np.uint64(_MEMO_SHIFT)


@inlined
def beside(place):
    """The other place of the patterns of a place."""
    return place ^ np.uint64(1)


@inlined
def stands_at(entry, shape, stride, apart):
    """Whether an entry is that of a pattern."""
    return (entry.shape ^ shape) | (entry.stride ^ stride) | (entry.apart ^ apart) == 0


@inlined
def hash_of_lanes(mask, lanes, base, state):
    """A hash of the distances of the active lanes from the base."""
    hashed = np.int64(0)
    for lane in range(state.warp_lanes):
        delta = (lanes[lane] - base) & -((mask >> lane) & 1)
        hashed += (delta & HALF_WORD) * ((lane * HALF_HASH_FACTOR + 1) & HALF_WORD)
    return hashed


@inlined
def lie_alike(entry, mask, lanes, base, state):
    """Whether the lanes of an entry, as many and the same, lie as these do."""
    differing = np.int64(0)
    for lane in range(state.warp_lanes):
        differing |= (entry.delta[lane] ^ (lanes[lane] - base)) & -((mask >> lane) & 1)
    return differing == 0


@inner
def remember(memo, shape, stride, apart, mask, lanes, base, lines, accesses, state):
    """Put the request that was counted into the memo; the counts of what it displaces go where they
    belong."""
    place = place_of_pattern(shape, stride, apart)
    entry, older = memo[place], memo[beside(place)]
    if entry.shape:
        if older.hits:
            counts = accesses[older.shape >> SHAPE_ROW_BITS].counts
            for column in range(COUNTS):
                counts[column] += older.hits * older.counts[column]
        memo[beside(place)] = entry
    entry.hits = 0
    entry.shape = 0
    for lane in range(WARP_LANES):
        delta = (lanes[lane] - base) & -((mask >> lane) & 1)
        if delta != np.int32(delta):
            return
        entry.delta[lane] = delta
    entry.shape, entry.stride, entry.apart, entry.lines = shape, stride, apart, lines
    base_line = first_line_of(base)
    for i in range(lines):
        entry.line[i] = (state.line[i] - base_line) << 4 | state.line_sectors[i]
    for column in range(COUNTS):
        entry.counts[column] = state.counts[column]
