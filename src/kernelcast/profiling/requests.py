# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Requests of a warp to memory: what they take, and what they touch, compiled.

The pattern of a request, how its lanes lie to each other, decides nearly all that is counted of it.
A loop repeats few patterns, so each is counted once and remembered; where an instruction's differ
from time to time its requests are counted one by one.
"""

from __future__ import annotations

import numpy as np

from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling.compilation import inlined, inner, lowest_bit, popcount
from kernelcast.profiling.half_warps import count_half_warps
from kernelcast.profiling.layout import (
    ADDED_WORDS,
    ASKED_BITS,
    BLOCK_BITS,
    COUNTS,
    GENERIC,
    GENERIC_SPACES,
    GLOBAL,
    IDEAL_PASSES,
    LANES,
    LANES_ADDED,
    LINE_SHIFT,
    LINES,
    LOCAL,
    MEMO_AFFINE_BIT,
    MEMO_BASE_BITS,
    MEMO_ENTRIES,
    MEMO_ROW_BITS,
    MERGED,
    PASSES,
    READS,
    REQUEST_BITS,
    REQUESTS,
    SCRATCH_ROWS,
    SECTORS,
    SHARED,
    STAMP_BITS,
    UNIT_BITS,
    WRITES,
)

_FULL_MASK = (1 << WARP_LANES) - 1
_BANKS_MASK = 31
_FEWEST_LANES = 8
"""Wide accesses are served by groups of lanes, of no fewer than these."""

_PERIOD = 256
"""Shifting all addresses of a request by this many bytes changes none of its counts: no segment
is larger, nor is a row of banks."""
_SHARED_PERIOD = 16
"""The same of shared memory: a shift by the widest access goes on to other banks, all alike."""
_PATIENCE = 16
"""Requests in a row of unknown patterns after which those of an instruction are not looked up."""
_RETRY = 64
"""Every so many of them are all the same."""
_MEMO_SHIFT = 64 - MEMO_ENTRIES.bit_length() + 1
_HASH_FACTOR = -7046029254386353131  # 2**64 / golden ratio, as a signed number
_LANE_FACTOR = 0x9E3779B1  # the same for 32 bits
_LOW_BITS = 0xFFFFFFFF
_BLOCK_MASK = (1 << BLOCK_BITS) - 1
_SECTOR = 1 << UNIT_BITS
_SUM_BITS = 8
_SUM_MASK = (1 << _SUM_BITS) - 1


@inner
def _region_of(line, regions):
    """The array that a line lies in, or -1."""
    region = np.int64(len(regions)) - 1
    while region >= 0 and line < regions[region].first_line:
        region -= 1
    return region if region >= 0 and line < regions[region].end_line else np.int64(-1)


@inlined
def _next_request(state, marks):
    """A number for the request being counted, above the units and sectors in `asked`."""
    state.request += 1
    if state.request >> REQUEST_BITS:
        for i in range(len(marks)):
            if marks[i].asked:
                marks[i].asked = 0
        state.request = 1
    return state.request << ASKED_BITS


@inlined
def _ask(line, mark, unit, sector, lines, request, state, marks):
    """Note that a lane asks for a unit of a line; return how many lines are asked for then."""
    row = marks[np.uint64(mark)]
    asked = row.asked ^ request
    asked = asked if asked >> ASKED_BITS == 0 else np.int64(0)
    state.line[np.uint64(lines)] = line
    state.line_mark[np.uint64(lines)] = mark
    state.load[np.uint64(unit)] += ~(asked >> unit) & 1
    row.asked = request | asked | np.int64(1) << unit | _SECTOR << sector
    return lines + (asked == 0)


@inlined
def _unit(lane, address, shift, group):
    """Which bank is the first of a lane's, in units of its width, beside its group of lanes."""
    return (lane & group) + ((address >> 2 & _BANKS_MASK) >> shift)


@inlined
def _group_lanes(shift):
    return max(np.int64(WARP_LANES) >> shift, _FEWEST_LANES)


@inner
def _ask_global(mask, shift, lanes, request, regions, state, marks):
    """Ask for words of arrays; return how many lines, or -1 outside every array."""
    group = -_group_lanes(shift)
    lines, first, end, to_mark = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    rest = mask
    while rest:
        lane = lowest_bit(rest)
        rest &= rest - 1
        address = lanes[np.uint64(lane)]
        line = address >> LINE_SHIFT
        if line < first or line >= end:
            number = _region_of(line, regions)
            if number < 0:
                return number
            region = regions[number]
            first, end = region.first_line, region.end_line
            to_mark = region.first_mark - first
        unit = _unit(lane, address, shift, group)
        lines = _ask(line, to_mark + line, unit, address >> 5 & 3, lines, request, state, marks)
    return lines


@inner
def _ask_shared(mask, shift, lanes, request, state, marks):
    """Ask for words of shared memory; return how many rows of banks."""
    group = -_group_lanes(shift)
    scratch = len(marks) - SCRATCH_ROWS
    lines = np.int64(0)
    rest = mask
    while rest:
        lane = lowest_bit(rest)
        rest &= rest - 1
        address = lanes[np.uint64(lane)]
        line = address >> LINE_SHIFT
        mark = scratch + (line & (SCRATCH_ROWS - 1))
        lines = _ask(
            line, mark, _unit(lane, address, shift, group), 0, lines, request, state, marks
        )
    return lines


@inner
def _ask_local(mask, shift, lanes, request, state, marks):
    """Ask for words of local memory; return how many lines.

    The hardware lays the local memories of a warp's lanes side by side, word by word.
    """
    scratch = len(marks) - SCRATCH_ROWS
    lines = np.int64(0)
    for j in range(np.int64(1) << shift):
        rest = mask
        while rest:
            lane = lowest_bit(rest)
            rest &= rest - 1
            word = (lanes[np.uint64(lane)] >> 2) + j
            mark = scratch + (word & (SCRATCH_ROWS - 1))
            lines = _ask(word, mark, lane, lane >> 3, lines, request, state, marks)
    return lines


@inlined
def _passes(mask, shift, state):
    """Passes in which the banks serve what was asked for, group of lanes by group, and how few
    they would be without conflicts."""
    passes = np.int64(0)
    ideal = np.int64(0)
    group_lanes = _group_lanes(shift)
    for first in range(0, WARP_LANES, group_lanes):
        worst = np.int64(0)
        for unit in range(first, first + group_lanes):
            worst = max(worst, state.load[unit])
        passes += worst
        ideal += (mask >> first) & ((1 << group_lanes) - 1) != 0
    return passes, ideal


@inlined
def _take_sectors(lines, state, marks):
    """Fill `line_sectors` with what was asked for; return all sectors."""
    sectors = np.int64(0)
    for i in range(lines):
        row = marks[np.uint64(state.line_mark[i])]
        state.line_sectors[i] = row.asked >> UNIT_BITS & 15
        sectors += popcount(state.line_sectors[i])
    return sectors


@inner
def _count_pattern(mask, instruction, space, lanes, regions, state, marks):
    """Fill `counts`, `line` and `line_sectors`; return how many lines of arrays, or -1 outside."""
    counts, shift = state.counts, instruction.shift
    for column in range(COUNTS):
        counts[column] = 0
    counts[REQUESTS] = 1
    counts[LANES] = popcount(mask)
    for unit in range(WARP_LANES):
        state.load[unit] = 0
    lines, request = np.int64(0), _next_request(state, marks)
    if space == GLOBAL:
        lines = _ask_global(mask, shift, lanes, request, regions, state, marks)
        if lines < 0:
            return lines
    elif space == SHARED:
        lines = _ask_shared(mask, shift, lanes, request, state, marks)
    elif space == LOCAL:
        lines = _ask_local(mask, shift, lanes, request, state, marks)
    if space == SHARED or (space == GLOBAL and instruction.effect == READS):
        counts[PASSES], counts[IDEAL_PASSES] = _passes(mask, shift, state)
    sectors = _take_sectors(lines, state, marks)
    if space in (GLOBAL, LOCAL):
        counts[SECTORS], counts[LINES] = sectors, lines
    if state.counts_half_warps:
        count_half_warps(mask, instruction.bytes, space, lanes, state)
    return lines if space == GLOBAL else np.int64(0)


@inlined
def _pattern(mask, lanes, base, state):
    """A hash of the ways of the active lanes from the base."""
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
    if mask == _FULL_MASK:
        for lane in range(state.warp_lanes):
            differing |= known[lane] ^ (lanes[lane] - base)
    else:
        for lane in range(state.warp_lanes):
            differing |= (known[lane] ^ (lanes[lane] - base)) & -((mask >> lane) & 1)
    return differing == 0


@inner
def _remember(entry, shape, stride, mask, lanes, base, lines, accesses, state):
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
    base_line = _base_line(base)
    for i in range(lines):
        state.memo_line[entry, i] = (state.line[i] - base_line) << 4 | state.line_sectors[i]
    for column in range(COUNTS):
        state.memo_counts[entry, column] = state.counts[column]


@inlined
def _base_line(base):
    """The first line of the period that the base lies in."""
    return base // _PERIOD * (_PERIOD >> LINE_SHIFT)


@inlined
def _line_of(i, entry, base_line, state):
    """A line of a request and its sectors: of a remembered one, or of that just counted."""
    if entry >= 0:
        known = np.int64(state.memo_line[np.uint64(entry), np.uint64(i)])
        return base_line + (known >> 4), known & 15
    return state.line[np.uint64(i)], state.line_sectors[np.uint64(i)]


@inlined
def _tag_passes(lines, entry, base_line, state):
    """Passes in which four banks of tags look up the lines of a request."""
    loads = np.int64(0)  # of the four banks, 16 bits each
    for i in range(lines):
        line, _ = _line_of(i, entry, base_line, state)
        bank = popcount(line & state.tag_bank_bits[0]) & 1
        bank |= (popcount(line & state.tag_bank_bits[1]) & 1) << 1
        loads += np.int64(1) << (bank << 4)
    return max(max(loads & 0xFF, loads >> 16 & 0xFF), max(loads >> 32 & 0xFF, loads >> 48 & 0xFF))


@inlined
def _stamp(mark, asked, stamped):
    """Mark some sectors of a line as touched; return those new to the block and to the run."""
    stamp = mark.stamp
    by_block = stamp & _BLOCK_MASK if (stamp ^ stamped) >> STAMP_BITS == 0 else np.int64(0)
    new = asked & ~by_block
    if new == 0:
        return new, new
    ever = stamp >> BLOCK_BITS & _BLOCK_MASK
    mark.stamp = stamped | (ever | asked) << BLOCK_BITS | by_block | asked
    return new, new & ~ever


@inlined
def _add_sums(region, effect, requested, in_block, in_run, written_in_block, written):
    """Add what a request has touched of an array."""
    region.requested += requested
    region.block_distinct += in_block
    region.distinct += in_run
    region.block_written += written_in_block
    region.written += written
    region.is_read |= effect & READS
    region.is_written |= effect & WRITES


@inlined
def _touch(lines, entry, base_line, effect, regions, marks, state):
    """Mark the sectors of a request as touched; False where they leave every array."""
    stamped = (state.ordinal + 1) << STAMP_BITS
    number = np.int64(0)
    at = np.int64(0)
    while at < lines:
        line, _ = _line_of(at, entry, base_line, state)
        if line < regions[number].first_line or line >= regions[number].end_line:
            number = _region_of(line, regions)
            if number < 0:
                return False
        region = regions[np.uint64(number)]
        first, end, to_mark = region.first_line, region.end_line, region.first_mark
        requested, in_block, in_run = np.int64(0), np.int64(0), np.int64(0)
        written_in_block, written = np.int64(0), np.int64(0)
        while at < lines:
            line, sectors = _line_of(at, entry, base_line, state)
            if line < first or line >= end:
                break
            at += 1
            requested += popcount(sectors)
            asked = sectors | sectors << 4 if effect & WRITES else sectors
            new, unseen = _stamp(marks[np.uint64(to_mark + line - first)], asked, stamped)
            if new:
                in_block += popcount(new & 15)
                written_in_block += popcount(new >> 4)
                in_run += popcount(unseen & 15)
                written += popcount(unseen >> 4)
        _add_sums(region, effect, requested, in_block, in_run, written_in_block, written)
    return True


@inner
def _count_scattered(mask, instruction, access, lanes, regions, marks, state):
    """Count and touch what a request asks of arrays, lane by lane; False outside every array.

    The same as counting its pattern and touching its lines, but in one go. What `asked` holds of
    earlier requests is told by their number, so that nobody has to clear it.
    """
    shift, effect = instruction.shift, instruction.effect
    group = -_group_lanes(shift)
    stamped = (state.ordinal + 1) << STAMP_BITS
    request = _next_request(state, marks)
    load = state.load
    for unit in range(WARP_LANES):
        load[unit] = 0
    both = np.int64(0b10001) if effect & WRITES else np.int64(1)
    lines, sectors = np.int64(0), np.int64(0)
    rest = mask
    while rest:
        number = _region_of(lanes[np.uint64(lowest_bit(rest))] >> LINE_SHIFT, regions)
        if number < 0:
            return False
        region = regions[np.uint64(number)]
        first, end = region.first_line, region.end_line
        to_mark = region.first_mark - first
        before, touched = sectors, np.int64(0)
        while rest:
            address = lanes[np.uint64(lowest_bit(rest))]
            line = address >> LINE_SHIFT
            if line < first or line >= end:
                break
            lane = lowest_bit(rest)
            rest &= rest - 1
            mark = marks[np.uint64(to_mark + line)]
            sector = address >> 5 & 3
            unit = _unit(lane, address, shift, group)
            asked = mark.asked ^ request
            asked = asked if asked >> ASKED_BITS == 0 else np.int64(0)
            mark.asked = request | asked | np.int64(1) << unit | _SECTOR << sector
            state.line[np.uint64(lines)] = line
            lines += asked == 0
            sectors += ~(asked >> UNIT_BITS + sector) & 1
            load[np.uint64(unit)] += ~(asked >> unit) & 1
            new, unseen = _stamp(mark, both << sector, stamped)
            if new:
                touched += _spread(new) + (_spread(unseen) << 2 * _SUM_BITS)
        _add_touched(region, effect, sectors - before, touched)
    counts = access.counts
    counts[REQUESTS] += 1
    counts[LANES] += popcount(mask)
    counts[SECTORS] += sectors
    counts[LINES] += lines
    if effect == READS:
        passes, ideal = _passes(mask, shift, state)
        counts[PASSES] += passes
        counts[IDEAL_PASSES] += ideal
        if state.tag_bank_bits[0]:
            access.tag_passes += _tag_passes(lines, np.int64(-1), np.int64(0), state)
    return True


@inlined
def _spread(sectors):
    """Whether a lane's sector is touched, and whether it is written, as two sums in one number."""
    return np.int64(sectors & 15 != 0) | np.int64(sectors >> 4 != 0) << _SUM_BITS


@inlined
def _add_touched(region, effect, requested, touched):
    """Add four sums in one number: touched and written by the block, then both by the run."""
    in_block, written_in_block = touched & _SUM_MASK, touched >> _SUM_BITS & _SUM_MASK
    in_run, written = touched >> 2 * _SUM_BITS & _SUM_MASK, touched >> 3 * _SUM_BITS
    _add_sums(region, effect, requested, in_block, in_run, written_in_block, written)


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
def _lookup(shape, mask, is_affine, base, stride, lanes, state):
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
    lines = _count_pattern(mask, instruction, space, lanes, regions, state, marks)
    if lines < 0:
        return lines
    if entry >= 0:
        _remember(entry, shape, stride, mask, lanes, base, lines, accesses, state)
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
    if access.misses < _PATIENCE or access.misses & (_RETRY - 1) == 0:
        period = _SHARED_PERIOD if space == SHARED else _PERIOD
        shape = mask | (base & (period - 1)) << MEMO_BASE_BITS
        shape |= np.int64(is_affine) << MEMO_AFFINE_BIT | row << MEMO_ROW_BITS
        entry, is_known = _lookup(shape, mask, is_affine, base, stride, lanes, state)
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
            return _count_scattered(mask, instruction, access, lanes, regions, marks, state)
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
    base_line = _base_line(base)
    if effect == READS and state.tag_bank_bits[0]:
        access.tag_passes += _tag_passes(lines, entry, base_line, state)
    return _touch(lines, entry, base_line, effect, regions, marks, state)


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
