# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Requests by the rules of compute capability 1.x, which serves half-warps, compiled.

CUDA Programming Guide 2.3, section 5.1.2.1 (global memory) and 5.1.2.5 (banks of shared memory).
"""

from __future__ import annotations

import numpy as np

from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES
from kernelcast.profiling.layout import (
    BYTES_CC12,
    COALESCED_CC10,
    COALESCED_CC12,
    GLOBAL,
    LINE_BYTES,
    LOCAL,
    PASSES_HALF_WARP,
    SHARED,
    TRANSACTIONS_CC10,
    TRANSACTIONS_CC12,
)
from kernelcast.profiling.loops import inner, popcount

_HALF = WARP_LANES // 2
_HALF_MASK = (1 << _HALF) - 1


@inner
def count_half_warps(mask, width, space, lanes, state):
    """Add to `counts` what a request takes by these rules."""
    if space == SHARED:
        words = max(width >> 2, 1)
        for first in range(0, WARP_LANES, _HALF):
            state.counts[PASSES_HALF_WARP] += _bank_passes(mask, first, words, lanes, state)
    elif space in (GLOBAL, LOCAL):
        _count_transactions(mask, width, space == LOCAL, lanes, state)


@inner
def _bank_passes(mask, first, words, lanes, state):
    """Passes in which 16 banks serve different words of a half-warp."""
    found = np.int64(0)
    worst = np.int64(0)
    for bank in range(_HALF):
        state.load[bank] = 0
    for lane in range(first, first + _HALF):
        if mask >> lane & 1:
            for j in range(words):
                word = (lanes[lane] >> 2) + j
                if _place(word, found, state) == found:
                    state.found[found] = word
                    found += 1
                    state.load[word & (_HALF - 1)] += 1
                    worst = max(worst, state.load[word & (_HALF - 1)])
    return worst


@inner
def _place(number, count, state):
    """Where a number stands among the first so many of `found`; `count` where it does not."""
    at = np.int64(0)
    while at < count and state.found[at] != number:
        at += 1
    return at


@inner
def _count_transactions(mask, width, is_local, lanes, state):
    """Count by the rule of 1.0 and 1.1, and by that of 1.2 and 1.3.

    Local memory takes a request for every word of its lanes, which lie side by side.
    """
    counts, part = state.counts, state.part
    words = max(width >> 2, 1) if is_local else 1
    width = min(width, 4) if is_local else width
    all_coalesced = True
    for half in range(2):
        found = np.int64(0)
        for j in range(words):
            for lane in range(WARP_LANES):
                part[lane] = lanes[lane]
                if is_local:
                    word = (lanes[lane] >> 2) + j
                    part[lane] = word * LINE_BYTES + (lane << 2) + (lanes[lane] & 3)
            coalesced = _count_strict(mask, half * _HALF, width, state)
            all_coalesced = all_coalesced and coalesced
            found = _find_lines(mask, half * _HALF, found, state)
        for i in range(found):
            _count_segments(state.found_sectors[i], width, state)
    halves = (mask & _HALF_MASK != 0) + (mask >> _HALF != 0)
    counts[COALESCED_CC10] = all_coalesced
    counts[COALESCED_CC12] = counts[TRANSACTIONS_CC12] == halves


@inner
def _count_strict(mask, first, width, state):
    """Add the transactions of a half-warp by the rule of 1.0; return whether it is coalesced."""
    half = mask >> first & _HALF_MASK
    if half == 0:
        return True
    segment = np.int64(-1)
    coalesced = width in (4, 8, 16)
    for k in range(_HALF):
        if half >> k & 1:
            start = state.part[first + k] - k * width
            segment = start if segment == -1 else segment
            coalesced = coalesced and start == segment and start & (16 * width - 1) == 0
    if coalesced:
        state.counts[TRANSACTIONS_CC10] += 2 if width == 16 else 1
    else:
        state.counts[TRANSACTIONS_CC10] += popcount(half)
    return coalesced


@inner
def _find_lines(mask, first, found, state):
    """Add the lines of a half-warp and their sectors to those found; return how many there are."""
    for lane in range(first, first + _HALF):
        if mask >> lane & 1:
            line = state.part[lane] // LINE_BYTES
            at = _place(line, found, state)
            if at == found:
                state.found[at] = line
                state.found_sectors[at] = 0
                found += 1
            state.found_sectors[at] |= 1 << (state.part[lane] // SECTOR_BYTES & 3)
    return found


@inner
def _count_segments(sectors, width, state):
    """Add the segments of one line that a half-warp asks for by the rule of 1.2.

    They are of 32 B for 1 B, 64 B for 2 B, 128 B from 4 B on; one of which only a half is used
    moves that half.
    """
    segment_sectors = min(width, 4)
    for first in range(0, 4, segment_sectors):
        asked = sectors & (((1 << segment_sectors) - 1) << first)
        if asked:
            state.counts[TRANSACTIONS_CC12] += 1
            state.counts[BYTES_CC12] += _moved_bytes(asked)


@inner
def _moved_bytes(asked):
    """Bytes that move for the sectors of these bits."""
    if asked & (asked - 1) == 0:
        return SECTOR_BYTES
    is_half = asked == 0b0011 or asked == 0b1100
    return 2 * SECTOR_BYTES if is_half else 4 * SECTOR_BYTES
