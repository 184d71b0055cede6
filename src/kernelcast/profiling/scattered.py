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
    STAMP_BITS,
    UNIT_BITS,
    WRITES,
)
from kernelcast.profiling.loops import inlined, inner, lowest_bit, popcount
from kernelcast.profiling.patterns import (
    SECTOR,
    count_passes,
    lanes_of_group,
    next_request,
    place_of,
    unit_of,
)
from kernelcast.profiling.touches import (
    add_new,
    count_tag_passes,
    enter_region,
    mark_of,
    mark_sectors,
)

_UNITS = (1 << UNIT_BITS) - 1


@inner
def count_scattered(mask, instruction, access, lanes, arrays, state):
    """Count and touch what a request asks of arrays, lane by lane; False outside every array.

    The same as counting its pattern and touching its lines, but in one go.
    """
    shift, effect = instruction.shift, instruction.effect
    stamped = (state.ordinal + 1) << STAMP_BITS
    request = next_request(state)
    load, asked_by = state.load, state.part
    for unit in range(WARP_LANES):
        load[unit] = 0
    _ask_each(lanes, shift, state)
    both = np.int64(0b10001) if effect & WRITES else np.int64(1)
    lines, sectors = np.int64(0), np.int64(0)
    rest = mask
    while rest:
        line = lanes[np.uint64(lowest_bit(rest))] >> LINE_SHIFT
        outside = line < access.first_line or line >= access.end_line
        if outside and not enter_region(line, effect, access, arrays.regions):
            return False
        first, end = access.first_line, access.end_line
        before = sectors
        in_block, in_run = np.int64(0), np.int64(0)
        written_in_block, written = np.int64(0), np.int64(0)
        while rest:
            lane = np.uint64(lowest_bit(rest))
            line = lanes[lane] >> LINE_SHIFT
            if line < first or line >= end:
                break
            rest &= rest - 1
            place, asked = place_of(line, request, state)
            asks = asked_by[lane]
            state.asked[place, 1] = asked | asks
            state.line[np.uint64(lines)] = line
            lines += asked == 0
            fresh = asks & ~asked
            sectors += fresh >> UNIT_BITS != 0
            load[np.uint64(lowest_bit(asks))] += fresh & _UNITS != 0
            touched = (asks >> UNIT_BITS) * both
            mark = mark_of(line, access, arrays.pages, state)
            new, unseen = mark_sectors(arrays.marks, mark, touched, stamped, False)
            in_block += new & 15 != 0
            in_run += unseen & 15 != 0
            if effect & WRITES:
                written_in_block += new >> 4 != 0
                written += unseen >> 4 != 0
        region = arrays.regions[np.uint64(access.region)]
        region.requested += sectors - before
        add_new(region, in_block, in_run, written_in_block, written)
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
def _ask_each(lanes, shift, state):
    """What each lane asks for: bits for its unit and its sector."""
    group = -lanes_of_group(shift)
    for lane in range(state.warp_lanes):
        address = lanes[lane]
        unit = unit_of(lane, address, shift, group)
        state.part[lane] = np.int64(1) << unit | SECTOR << (address >> 5 & 3)
