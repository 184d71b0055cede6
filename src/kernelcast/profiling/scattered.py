# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Requests whose lanes lie otherwise every time: counted and touched in one go, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling.layout import (
    ASKED_BITS,
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
    unit_of,
)
from kernelcast.profiling.touches import add_sums, count_tag_passes, mark_sectors, region_of

_SUM_BITS = 8
_SUM_MASK = (1 << _SUM_BITS) - 1


@inner
def count_scattered(mask, instruction, access, lanes, regions, marks, state):
    """Count and touch what a request asks of arrays, lane by lane; False outside every array.

    The same as counting its pattern and touching its lines, but in one go. What `asked` holds of
    earlier requests is told by their number, so that nobody has to clear it.
    """
    shift, effect = instruction.shift, instruction.effect
    group = -lanes_of_group(shift)
    stamped = (state.ordinal + 1) << STAMP_BITS
    request = next_request(state, marks)
    load = state.load
    for unit in range(WARP_LANES):
        load[unit] = 0
    both = np.int64(0b10001) if effect & WRITES else np.int64(1)
    lines, sectors = np.int64(0), np.int64(0)
    rest = mask
    while rest:
        number = region_of(lanes[np.uint64(lowest_bit(rest))] >> LINE_SHIFT, regions)
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
            unit = unit_of(lane, address, shift, group)
            asked = mark.asked ^ request
            asked = asked if asked >> ASKED_BITS == 0 else np.int64(0)
            mark.asked = request | asked | np.int64(1) << unit | SECTOR << sector
            state.line[np.uint64(lines)] = line
            lines += asked == 0
            sectors += ~(asked >> UNIT_BITS + sector) & 1
            load[np.uint64(unit)] += ~(asked >> unit) & 1
            new, unseen = mark_sectors(mark, both << sector, stamped)
            if new:
                touched += _spread(new) + (_spread(unseen) << 2 * _SUM_BITS)
        _add_touched(region, effect, sectors - before, touched)
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
            access.tag_passes += count_tag_passes(lines, np.int64(-1), np.int64(0), state)
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
    add_sums(region, effect, requested, in_block, in_run, written_in_block, written)
