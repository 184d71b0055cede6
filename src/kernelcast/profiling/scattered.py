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

_SUM_BITS = 8
_SUM_MASK = (1 << _SUM_BITS) - 1


@inner
def count_scattered(mask, instruction, access, lanes, regions, pages, marks, state):
    """Count and touch what a request asks of arrays, lane by lane; False outside every array.

    The same as counting its pattern and touching its lines, but in one go.
    """
    shift, effect = instruction.shift, instruction.effect
    group = -lanes_of_group(shift)
    stamped = (state.ordinal + 1) << STAMP_BITS
    request = next_request(state)
    load = state.load
    for unit in range(WARP_LANES):
        load[unit] = 0
    both = np.int64(0b10001) if effect & WRITES else np.int64(1)
    lines, sectors = np.int64(0), np.int64(0)
    rest = mask
    while rest:
        line = lanes[np.uint64(lowest_bit(rest))] >> LINE_SHIFT
        outside = line < access.first_line or line >= access.end_line
        if outside and not enter_region(line, effect, access, regions):
            return False
        first, end = access.first_line, access.end_line
        before, touched = sectors, np.int64(0)
        while rest:
            lane = lowest_bit(rest)
            address = lanes[np.uint64(lane)]
            line = address >> LINE_SHIFT
            if line < first or line >= end:
                break
            rest &= rest - 1
            sector = address >> 5 & 3
            unit = unit_of(lane, address, shift, group)
            place, is_known = place_of(line, request, state)
            asked = state.asked[place, 1] if is_known else np.int64(0)
            state.asked[place, 1] = asked | np.int64(1) << unit | SECTOR << sector
            state.line[np.uint64(lines)] = line
            lines += asked == 0
            sectors += ~(asked >> UNIT_BITS + sector) & 1
            load[np.uint64(unit)] += ~(asked >> unit) & 1
            mark = mark_of(line, access, pages, state)
            new, unseen = mark_sectors(marks, mark, both << sector, stamped)
            if new:
                touched += _spread(new) + (_spread(unseen) << 2 * _SUM_BITS)
        region = regions[np.uint64(access.region)]
        region.requested += sectors - before
        _add_touched(region, touched)
    counts = access.counts
    counts[REQUESTS] += 1
    counts[LANES] += popcount(mask)
    counts[SECTORS] += sectors
    counts[LINES] += lines
    counts[DIVERGENT] += lines > 1
    if effect == READS:
        passes, ideal = count_passes(mask, shift, state)
        counts[PASSES] += passes
        counts[IDEAL_PASSES] += ideal
        if state.tag_bank_bits[0]:
            access.tag_passes += count_tag_passes(lines, state)
    return True


@inlined
def _spread(sectors):
    """Whether a lane's sector is touched, and whether it is written, as two sums in one number."""
    return np.int64(sectors & 15 != 0) | np.int64(sectors >> 4 != 0) << _SUM_BITS


@inlined
def _add_touched(region, touched):
    """Add four sums in one number: touched and written by the block, then both by the run."""
    in_block, written_in_block = touched & _SUM_MASK, touched >> _SUM_BITS & _SUM_MASK
    in_run, written = touched >> 2 * _SUM_BITS & _SUM_MASK, touched >> 3 * _SUM_BITS
    add_new(region, in_block, in_run, written_in_block, written)
