# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Patterns of requests that were counted before, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.ir.sizes import FULL_MASK, WARP_LANES
from kernelcast.profiling.layout import COUNTS, MEMO_ENTRIES, MEMO_ROW_BITS
from kernelcast.profiling.loops import inlined, inner
from kernelcast.profiling.touches import first_line_of

_MEMO_SHIFT = 64 - MEMO_ENTRIES.bit_length() + 1
_HASH_FACTOR = -7046029254386353131  # 2**64 / golden ratio, as a signed number
_LANE_FACTOR = 0x9E3779B1  # the same for 32 bits
_LOW_BITS = 0xFFFFFFFF


@inlined
def _pattern(mask, lanes, base, state):
    """A hash of the distances of the active lanes from the base."""
    hashed = np.int64(0)
    for lane in range(state.warp_lanes):
        delta = (lanes[lane] - base) & -((mask >> lane) & 1)
        hashed += (delta & _LOW_BITS) * ((lane * _LANE_FACTOR + 1) & _LOW_BITS)
    return hashed


@inlined
def _is_remembered(entry, mask, lanes, base, state):
    """Whether the lanes of an entry lie as these do; they are as many and the same."""
    known = state.memo_delta[entry]
    differing = np.int64(0)
    if mask == FULL_MASK:
        for lane in range(state.warp_lanes):
            differing |= known[lane] ^ (lanes[lane] - base)
    else:
        for lane in range(state.warp_lanes):
            differing |= (known[lane] ^ (lanes[lane] - base)) & -((mask >> lane) & 1)
    return differing == 0


@inner
def remember(entry, shape, stride, mask, lanes, base, lines, accesses, state):
    """Put the request that was counted into the memo, whose entry's counts go where they belong."""
    if state.memo_hits[entry]:
        counts = accesses[state.memo_key[entry, 0] >> MEMO_ROW_BITS].counts
        for column in range(COUNTS):
            counts[column] += state.memo_hits[entry] * state.memo_counts[entry, column]
    state.memo_hits[entry] = 0
    state.memo_key[entry, 0] = -1
    for lane in range(WARP_LANES):
        delta = (lanes[lane] - base) & -((mask >> lane) & 1)
        if delta != np.int32(delta):
            return
        state.memo_delta[entry, lane] = delta
    state.memo_key[entry, 0] = shape
    state.memo_key[entry, 1] = stride
    state.memo_lines[entry] = lines
    base_line = first_line_of(base)
    for i in range(lines):
        state.memo_line[entry, i] = (state.line[i] - base_line) << 4 | state.line_sectors[i]
    for column in range(COUNTS):
        state.memo_counts[entry, column] = state.counts[column]


@inlined
def _place(shape, pattern):
    return np.uint64((shape * 31 + pattern) * _HASH_FACTOR) >> np.uint64(_MEMO_SHIFT)


@inlined
def _stands_at(entry, shape, stride, mask, is_affine, base, lanes, state):
    key = state.memo_key[entry]
    if key[0] != shape:
        return False
    return key[1] == stride if is_affine else _is_remembered(entry, mask, lanes, base, state)


@inlined
def lookup(shape, mask, is_affine, base, stride, lanes, state):
    """Where the counts of a request stand or would, and whether they do.

    The place of the first pattern of a shape depends on the shape alone, that of others on both.
    """
    entry = _place(shape, np.int64(0))
    if _stands_at(entry, shape, stride, mask, is_affine, base, lanes, state):
        return np.int64(entry), True
    if state.memo_key[entry, 0] != shape:
        return np.int64(entry), False
    entry = _place(shape, stride if is_affine else _pattern(mask, lanes, base, state))
    is_known = _stands_at(entry, shape, stride, mask, is_affine, base, lanes, state)
    return np.int64(entry), is_known
