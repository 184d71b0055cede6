# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Requests of a warp to memory: what they take, and what they touch, compiled.

The pattern of a request, how its lanes lie to each other, decides nearly all that is counted of it.
A loop repeats few patterns, so each is counted once and remembered; where an instruction's differ
from time to time its requests are counted one by one.

The lanes of a request are two rows, of lanes 0 to 15 and 16 to 31, with one stride and `apart` from
each other, or listed one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.ir.sizes import HALF_WARP_LANES, WARP_LANES
from kernelcast.profiling.layout import (
    ADDED_WORDS,
    COUNTS,
    DOUBLES,
    FLOATS_ADDED,
    GENERIC,
    GENERIC_SPACES,
    GLOBAL,
    LANES_ADDED,
    LINE_SHIFT,
    MERGED,
    MERGED_TURNS,
    READS,
    REPEATED_TURNS,
    SHAPE_BASE_BITS,
    SHAPE_LISTED_BIT,
    SHAPE_ROW_BITS,
    SHARED,
    SHARED_SECTORS,
    TURNS,
    WRITES,
)
from kernelcast.profiling.loops import inlined, inner, lowest_bit, popcount
from kernelcast.profiling.memo import (
    beside,
    hash_of_lanes,
    lie_alike,
    place_of_pattern,
    remember,
    stands_at,
)
from kernelcast.profiling.patterns import chunk_of, count_pattern, turns_of_line
from kernelcast.profiling.scattered import count_scattered
from kernelcast.profiling.touches import (
    PERIOD,
    count_known_tag_passes,
    count_tag_passes,
    first_line_of,
    touch_counted,
    touch_known,
)

_DOUBLE_BYTES = 8
_SHARED_PERIOD = 16
"""What `PERIOD` is in shared memory: a shift by the widest access goes on to other banks, all
alike."""
_MISSES = 16
"""Requests in a row of unknown patterns after which those of an instruction are not looked up."""
_RETRY = 64
"""Every so many of them are all the same."""


class RequestTables(NamedTuple):
    """What requests are counted in: accesses by row, the patterns that are known, the arrays."""

    accesses: Any
    memo: Any
    arrays: Any


@inner
def _count_words(mask, adds_floats, lanes, state):
    """Count the lanes of an atomic by the word that each goes to, and once where that is one.

    Returns whether it is, and a sum of the lanes would be the same in any order.
    """
    first = np.int64(-1)
    is_one = True
    rest = mask
    while rest:
        lane = lowest_bit(rest)
        rest &= rest - 1
        word = lanes[lane] >> 2
        first = word if first < 0 else first
        is_one = is_one and word == first
        place = word & (ADDED_WORDS - 1)
        state.added[LANES_ADDED, place] += 1
        state.added[MERGED, place] += 1
        state.added[FLOATS_ADDED, place] += adds_floats
    if not is_one or adds_floats:
        return False
    state.added[MERGED, first & (ADDED_WORDS - 1)] -= popcount(mask) - 1
    return True


@inner
def _count_added(mask, instruction, lanes, access, state):
    """Count an atomic by word and by chunk, and its rounds and turns."""
    is_merged = _count_words(mask, instruction.adds_floats, lanes, state)
    adds_doubles = instruction.adds_floats and instruction.bytes == _DOUBLE_BYTES
    rest = mask
    while rest:
        line = lanes[np.uint64(lowest_bit(rest))] >> LINE_SHIFT
        together, rounds, of_sectors, shared, repeated = turns_of_line(line, rest, lanes, state)
        rest &= ~together
        chunk = chunk_of(line) & (ADDED_WORDS - 1)
        state.added[TURNS, chunk] += of_sectors
        state.added[MERGED_TURNS, chunk] += 1 if is_merged else of_sectors
        if adds_doubles:
            state.added[DOUBLES, chunk] += popcount(together) - of_sectors
        else:
            state.added[SHARED_SECTORS, chunk] += shared
            state.added[REPEATED_TURNS, chunk] += repeated
        access.rounds += rounds
        access.turns += of_sectors


@inlined
def _count_known(entry, base, instruction, access, arrays, state):
    """Count a request of a known pattern; False where it leaves every array."""
    access.misses = 0
    entry.hits += 1
    if entry.lines == 0:
        return True
    base_line = first_line_of(base)
    if instruction.effect == READS and state.tag_bank_bits[0]:
        access.tag_passes += count_known_tag_passes(entry, base_line, state)
    return touch_known(entry, base_line, instruction.effect, access, arrays, state)


@inlined
def _is_looked_up(access):
    """Whether a request is worth looking up, by those of its instruction before."""
    return access.misses < _MISSES or access.misses & (_RETRY - 1) == 0


@inner
def _count_other(
    instruction,
    row,
    space,
    mask,
    lanes,
    base,
    shape,
    stride,
    apart,
    tables,
    state,
):
    """Count a request whose pattern does not stand where it was looked up first.

    One that is unknown is remembered unless that is the rule.
    """
    access = tables.accesses[row]
    is_remembered = _is_looked_up(access)
    if is_remembered:
        older = tables.memo[beside(place_of_pattern(shape, stride, apart))]
        is_known = stands_at(older, shape, stride, apart)
        if is_known and lie_alike(older, mask, lanes, base, state):
            return _count_known(older, base, instruction, access, tables.arrays, state)
    access.misses += 1
    if not is_remembered and space == GLOBAL and not state.counts_half_warps:
        return count_scattered(mask, instruction, access, lanes, tables.arrays, state)
    lines = count_pattern(mask, instruction, space, lanes, state)
    if is_remembered:
        remember(
            tables.memo, shape, stride, apart, mask, lanes, base, lines, tables.accesses, state
        )
    for column in range(COUNTS):
        access.counts[column] += state.counts[column]
    if lines and instruction.effect == READS and state.tag_bank_bits[0]:
        access.tag_passes += count_tag_passes(lines, state)
    return touch_counted(lines, instruction.effect, access, tables.arrays, state)


@inlined
def _shape(row, space, mask, base):
    """What two requests of one pattern have alike, besides how the lanes lie to each other."""
    period = _SHARED_PERIOD if space == SHARED else PERIOD
    return row << SHAPE_ROW_BITS | (base & (period - 1)) << SHAPE_BASE_BITS | mask


@inlined
def _list_rows(base, stride, apart, lanes):
    """Write the addresses of two rows lane by lane."""
    for lane in range(HALF_WARP_LANES):
        lanes[lane] = base + lane * stride
        lanes[lane + HALF_WARP_LANES] = base + apart + lane * stride


@inlined
def record_rows(
    instruction,
    mask,
    base,
    stride,
    apart,
    scratch,
    tables,
    state,
):
    """Count a request of two rows; False where it leaves every array.

    `scratch` has room for the addresses of two requests.
    """
    if not instruction.is_plain or mask == 0:
        lanes = scratch[WARP_LANES:]
        _list_rows(base, stride, apart, lanes)
        return _record_special(instruction, mask, lanes, scratch, tables, state)
    row, space = instruction.row, instruction.space
    shape = _shape(row, space, mask, base)
    entry = tables.memo[place_of_pattern(shape, stride, apart)]
    if stands_at(entry, shape, stride, apart):
        access = tables.accesses[np.uint64(row)]
        return _count_known(entry, base, instruction, access, tables.arrays, state)
    _list_rows(base, stride, apart, scratch)
    return _count_other(
        instruction,
        row,
        space,
        mask,
        scratch,
        base,
        shape,
        stride,
        apart,
        tables,
        state,
    )


@inlined
def record_lanes(instruction, mask, lanes, scratch, tables, state):
    """Count a request of listed lanes; False where it leaves every array.

    `scratch` has room for the addresses of a request.
    """
    if instruction.is_plain and mask:
        row, space = instruction.row, instruction.space
        return _record_listed(instruction, row, space, mask, lanes, tables, state)
    return _record_special(instruction, mask, lanes, scratch, tables, state)


@inlined
def _record_listed(instruction, row, space, mask, lanes, tables, state):
    """The same of lanes that all lead to one space."""
    access = tables.accesses[np.uint64(row)]
    base = lanes[np.uint64(lowest_bit(mask))]
    shape = _shape(row, space, mask, base) | 1 << SHAPE_LISTED_BIT
    hashed = np.int64(0)
    if _is_looked_up(access):
        hashed = hash_of_lanes(mask, lanes, base, state)
        entry = tables.memo[place_of_pattern(shape, hashed, np.int64(0))]
        is_known = stands_at(entry, shape, hashed, np.int64(0))
        if is_known and lie_alike(entry, mask, lanes, base, state):
            return _count_known(entry, base, instruction, access, tables.arrays, state)
    elif space == GLOBAL and not state.counts_half_warps:
        access.misses += 1
        return count_scattered(mask, instruction, access, lanes, tables.arrays, state)
    return _count_other(
        instruction,
        row,
        space,
        mask,
        lanes,
        base,
        shape,
        hashed,
        np.int64(0),
        tables,
        state,
    )


@inner
def _record_special(instruction, mask, lanes, scratch, tables, state):
    """The same of lanes that may lead to several spaces, or add to global memory."""
    rest = mask
    for space in range(GENERIC_SPACES):
        inside, row, subtract = rest, instruction.row, np.int64(0)
        if instruction.space == GENERIC:
            row += space
            inside, subtract = _lanes_inside(space, rest, lanes, state), state.window[space, 2]
        elif instruction.space != space:
            continue
        if inside == 0:
            continue
        for lane in range(WARP_LANES):
            scratch[lane] = lanes[lane] - subtract
        if space == GLOBAL and instruction.effect == READS | WRITES:
            access = tables.accesses[row]
            _count_added(inside, instruction, scratch, access, state)
        if not _record_listed(instruction, row, space, inside, scratch, tables, state):
            return False
        rest &= ~inside
    return True


@inlined
def _lanes_inside(space, among, lanes, state):
    """Those of some lanes whose generic addresses lead to a space."""
    inside = np.int64(0)
    while among:
        lane = lowest_bit(among)
        among &= among - 1
        is_inside = state.window[space, 0] <= lanes[lane] < state.window[space, 1]
        inside |= np.int64(is_inside) << lane
    return inside
