# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Requests of a warp to memory: what they take, and what they touch, compiled.

The pattern of a request, how its lanes lie to each other, decides nearly all that is counted of it.
A loop repeats few patterns, so each is counted once and remembered; where an instruction's differ
from time to time its requests are counted one by one.
"""

from __future__ import annotations

import numpy as np

from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling.layout import (
    ADDED_WORDS,
    COUNTS,
    GENERIC,
    GENERIC_SPACES,
    GLOBAL,
    LANES_ADDED,
    MEMO_AFFINE_BIT,
    MEMO_BASE_BITS,
    MEMO_ROW_BITS,
    MERGED,
    READS,
    SHARED,
    WRITES,
)
from kernelcast.profiling.loops import inlined, inner, lowest_bit, popcount
from kernelcast.profiling.memo import lookup, remember
from kernelcast.profiling.patterns import count_pattern
from kernelcast.profiling.scattered import count_scattered
from kernelcast.profiling.touches import PERIOD, count_tag_passes, first_line_of, touch

_SHARED_PERIOD = 16
"""The same of shared memory: a shift by the widest access goes on to other banks, all alike."""
_MISSES = 16
"""Requests in a row of unknown patterns after which those of an instruction are not looked up."""
_RETRY = 64
"""Every so many of them are all the same."""


@inner
def _count_added(mask, is_affine, base, stride, lanes, state):
    """Count the lanes of an atomic by the word that each goes to, and once where that is one."""
    first = np.int64(-1)
    is_one = True
    rest = mask
    while rest:
        lane = lowest_bit(rest)
        rest &= rest - 1
        address = base + lane * stride if is_affine else lanes[lane]
        word = address >> 2 & (ADDED_WORDS - 1)
        first = word if first < 0 else first
        is_one = is_one and word == first
        state.added[LANES_ADDED, word] += 1
        state.added[MERGED, word] += 1
    if is_one:
        state.added[MERGED, first] -= popcount(mask) - 1


@inner
def _count_unknown(
    instruction,
    row,
    space,
    mask,
    lanes,
    base,
    entry,
    shape,
    stride,
    accesses,
    regions,
    marks,
    state,
):
    """Count a request of an unknown pattern, and remember it where it has an entry.

    Returns how many lines of arrays it has, or -1 outside every array.
    """
    lines = count_pattern(mask, instruction, space, lanes, regions, state, marks)
    if lines < 0:
        return lines
    if entry >= 0:
        remember(entry, shape, stride, mask, lanes, base, lines, accesses, state)
    counts = accesses[row].counts
    for column in range(COUNTS):
        counts[column] += state.counts[column]
    return lines


@inlined
def _record_request(
    instruction,
    row,
    space,
    mask,
    is_affine,
    base,
    stride,
    lanes,
    scratch,
    accesses,
    regions,
    marks,
    state,
):
    """Count one request in one space; False where it leaves every array.

    Affine requests are `base + lane * stride`; the addresses of others stand in `lanes`.
    """
    effect = instruction.effect
    if effect == READS | WRITES and space == GLOBAL:
        _count_added(mask, is_affine, base, stride, lanes, state)
    if not is_affine:
        base = lanes[np.uint64(lowest_bit(mask))]
    access = accesses[np.uint64(row)]
    shape, entry, is_known = np.int64(0), np.int64(-1), False
    if access.misses < _MISSES or access.misses & (_RETRY - 1) == 0:
        period = _SHARED_PERIOD if space == SHARED else PERIOD
        shape = mask | (base & (period - 1)) << MEMO_BASE_BITS
        shape |= np.int64(is_affine) << MEMO_AFFINE_BIT | row << MEMO_ROW_BITS
        entry, is_known = lookup(shape, mask, is_affine, base, stride, lanes, state)
    if is_known:
        access.misses = 0
        state.memo_hits[np.uint64(entry)] += 1
        lines = state.memo_lines[np.uint64(entry)]
    else:
        access.misses += 1
        if is_affine:
            lanes = scratch
            for lane in range(WARP_LANES):
                lanes[lane] = base + lane * stride
        if entry < 0 and space == GLOBAL and not state.counts_half_warps:
            return count_scattered(mask, instruction, access, lanes, regions, marks, state)
        lines = _count_unknown(
            instruction,
            row,
            space,
            mask,
            lanes,
            base,
            entry,
            shape,
            stride,
            accesses,
            regions,
            marks,
            state,
        )
        entry = np.int64(-1)
    if lines <= 0:
        return lines == 0
    base_line = first_line_of(base)
    if effect == READS and state.tag_bank_bits[0]:
        access.tag_passes += count_tag_passes(lines, entry, base_line, state)
    return touch(lines, entry, base_line, effect, regions, marks, state)


@inner
def _record_generic(
    instruction, mask, is_affine, base, stride, lanes, scratch, accesses, regions, marks, state
):
    """Count an access by the spaces that its lanes lead to; False where it leaves every array."""
    row, rest = instruction.row, mask
    asked = scratch[WARP_LANES:]
    for space in range(GENERIC_SPACES):
        inside, subtract = np.int64(0), state.window[space, 2]
        among = rest
        while among:
            lane = lowest_bit(among)
            among &= among - 1
            address = base + lane * stride if is_affine else lanes[lane]
            is_inside = state.window[space, 0] <= address < state.window[space, 1]
            inside |= np.int64(is_inside) << lane
            asked[lane] = address - subtract
        if inside and not _record_request(
            instruction,
            row + space,
            space,
            inside,
            is_affine,
            base - subtract,
            stride,
            asked,
            scratch,
            accesses,
            regions,
            marks,
            state,
        ):
            return False
        rest &= ~inside
    return True


@inlined
def record_access(
    instruction, mask, is_affine, base, stride, lanes, scratch, accesses, regions, marks, state
):
    """Count one access, a generic one by the spaces that its lanes lead to.

    `scratch` has room for the addresses of two requests. False where it leaves every array.
    """
    if instruction.space == GENERIC:
        return _record_generic(
            instruction,
            mask,
            is_affine,
            base,
            stride,
            lanes,
            scratch,
            accesses,
            regions,
            marks,
            state,
        )
    return mask == 0 or _record_request(
        instruction,
        instruction.row,
        instruction.space,
        mask,
        is_affine,
        base,
        stride,
        lanes,
        scratch,
        accesses,
        regions,
        marks,
        state,
    )
