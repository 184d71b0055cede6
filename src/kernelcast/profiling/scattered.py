# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Requests whose lanes lie otherwise every time: counted and touched in one go, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling.layout import (
    DIVERGENT,
    IDEAL_PASSES,
    LANES,
    LINE_SHIFT,
    LINES,
    PASSES,
    READS,
    REQUESTS,
    SECTORS,
    UNIT_BITS,
)
from kernelcast.profiling.loops import inlined, inner, lowest_bit, popcount
from kernelcast.profiling.patterns import (
    SECTOR,
    count_passes,
    find_asked,
    first_place_of,
    key_of,
    lanes_of_group,
    next_request,
    unit_of,
)
from kernelcast.profiling.touches import (
    add_new,
    count_tag_passes,
    enter_region,
    mark_of,
    mark_sectors,
    marks_of,
    page_at,
    stamp_of_block,
)

_UNITS = (1 << UNIT_BITS) - 1


@inner
def count_scattered(mask, instruction, access, lanes, arrays, state):
    """Count and touch what a request asks of arrays, lane by lane; False outside every array.

    The same as counting its pattern and touching its lines, but in one go.
    """
    shift, effect = instruction.shift, instruction.effect
    for unit in range(WARP_LANES):
        state.load[unit] = 0
    _ask_each(lanes, shift, next_request(state), state)
    lines, sectors = np.int64(0), np.int64(0)
    rest = mask
    while rest:
        line = state.lane_line[np.uint64(lowest_bit(rest))]
        outside = line < access.first_line or line >= access.end_line
        if outside and not enter_region(line, effect, access, arrays.regions):
            return False
        inside = rest & _lanes_in_array(access, state)
        more_lines, more_sectors = _touch_each(inside, lines, effect, access, arrays, state)
        lines, sectors = lines + more_lines, sectors + more_sectors
        rest &= ~inside
    counts = access.counts
    counts[REQUESTS] += 1
    counts[LANES] += popcount(mask)
    counts[SECTORS] += sectors
    counts[LINES] += lines
    counts[DIVERGENT] += lines > 1
    if effect == READS:
        passes, ideal = count_passes(mask, lanes_of_group(shift), state)
        counts[PASSES] += passes
        counts[IDEAL_PASSES] += ideal
        if state.tag_bank_bits[0]:
            access.tag_passes += count_tag_passes(lines, state)
    return True


@inlined
def _touch_each(mask, lines, effect, access, arrays, state):
    """Touch what lanes ask of one array; return how many lines, behind those there are, and sectors
    they ask for first."""
    of_sector, stamped = marks_of(effect), stamp_of_block(state)
    first, sectors, new = lines, np.int64(0), np.int64(0)
    rest = mask
    while rest:
        lane = np.uint64(lowest_bit(rest))
        rest &= rest - 1
        place, asked = find_asked(state.lane_key[lane], state.lane_place[lane], state)
        asks, line = state.part[lane], state.lane_line[lane]
        state.asked[place, 1] = asked | asks
        state.line[np.uint64(lines)] = line
        lines += asked == 0
        fresh = asks & ~asked
        sectors += fresh >> UNIT_BITS != 0
        state.load[np.uint64(lowest_bit(asks))] += fresh & _UNITS != 0
        mark = mark_of(line, state.lane_page[lane], arrays.pages, state)
        sector = lowest_bit(asks >> UNIT_BITS)
        new += mark_sectors(arrays.marks, mark, of_sector << sector, stamped, False) >> sector
    region = arrays.regions[np.uint64(access.region)]
    region.requested += sectors
    add_new(region, new)
    return lines - first, sectors


@inlined
def _ask_each(lanes, shift, request, state):
    """What each lane asks for: bits for its unit and its sector, and of which line."""
    group = -lanes_of_group(shift)
    for lane in range(state.warp_lanes):
        address = lanes[lane]
        line, unit = address >> LINE_SHIFT, unit_of(lane, address, shift, group)
        state.part[lane] = np.int64(1) << unit | SECTOR << (address >> 5 & 3)
        state.lane_line[lane] = line
        state.lane_key[lane] = key_of(line, request)
        state.lane_place[lane] = first_place_of(line)


@inlined
def _lanes_in_array(access, state):
    """The lanes whose lines lie in the array that an access is about; finds all their pages."""
    inside, to_page = np.int64(0), access.to_page
    first, end = access.first_line, access.end_line
    for lane in range(state.warp_lanes):
        line = state.lane_line[lane]
        inside |= np.int64((line >= first) & (line < end)) << lane
        state.lane_page[lane] = page_at(line, to_page)
    return inside
