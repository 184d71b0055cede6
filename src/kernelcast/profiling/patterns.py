# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""What one request of a warp takes, lane by lane: lines, sectors and passes, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling.half_warps import count_half_warps
from kernelcast.profiling.layout import (
    ASKED_BITS,
    COUNTS,
    DIVERGENT,
    GLOBAL,
    IDEAL_PASSES,
    LANES,
    LINE_SHIFT,
    LINES,
    LOCAL,
    PASSES,
    READS,
    REQUEST_BITS,
    REQUESTS,
    SCRATCH_ROWS,
    SECTORS,
    SHARED,
    UNIT_BITS,
)
from kernelcast.profiling.loops import inlined, inner, lowest_bit, popcount
from kernelcast.profiling.touches import region_of

_BANKS_MASK = 31
_FEWEST_LANES = 8
"""Wide accesses are served by groups of lanes, of no fewer than these."""
SECTOR = 1 << UNIT_BITS


@inlined
def next_request(state, marks):
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
    row.asked = request | asked | np.int64(1) << unit | SECTOR << sector
    return lines + (asked == 0)


@inlined
def unit_of(lane, address, shift, group):
    """Which bank is the first of a lane's, in units of its width, beside its group of lanes."""
    return (lane & group) + ((address >> 2 & _BANKS_MASK) >> shift)


@inlined
def lanes_of_group(shift):
    """How many lanes are served together where a lane's are two to `shift` words."""
    return max(np.int64(WARP_LANES) >> shift, _FEWEST_LANES)


@inner
def _ask_global(mask, shift, lanes, request, regions, state, marks):
    """Ask for words of arrays; return how many lines, or -1 outside every array."""
    group = -lanes_of_group(shift)
    lines, first, end, to_mark = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    rest = mask
    while rest:
        lane = lowest_bit(rest)
        rest &= rest - 1
        address = lanes[np.uint64(lane)]
        line = address >> LINE_SHIFT
        if line < first or line >= end:
            number = region_of(line, regions)
            if number < 0:
                return number
            region = regions[number]
            first, end = region.first_line, region.end_line
            to_mark = region.first_mark - first
        unit = unit_of(lane, address, shift, group)
        lines = _ask(line, to_mark + line, unit, address >> 5 & 3, lines, request, state, marks)
    return lines


@inner
def _ask_shared(mask, shift, lanes, request, state, marks):
    """Ask for words of shared memory; return how many rows of banks."""
    group = -lanes_of_group(shift)
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
            line, mark, unit_of(lane, address, shift, group), 0, lines, request, state, marks
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
def count_passes(mask, shift, state):
    """Passes in which the banks serve what was asked for, group of lanes by group, and how few
    they would be without conflicts."""
    passes = np.int64(0)
    ideal = np.int64(0)
    group_lanes = lanes_of_group(shift)
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
def count_pattern(mask, instruction, space, lanes, regions, state, marks):
    """Fill `counts`, `line` and `line_sectors`; return how many lines of arrays, or -1 outside."""
    counts, shift = state.counts, instruction.shift
    for column in range(COUNTS):
        counts[column] = 0
    counts[REQUESTS] = 1
    counts[LANES] = popcount(mask)
    for unit in range(WARP_LANES):
        state.load[unit] = 0
    lines, request = np.int64(0), next_request(state, marks)
    if space == GLOBAL:
        lines = _ask_global(mask, shift, lanes, request, regions, state, marks)
        if lines < 0:
            return lines
    elif space == SHARED:
        lines = _ask_shared(mask, shift, lanes, request, state, marks)
    elif space == LOCAL:
        lines = _ask_local(mask, shift, lanes, request, state, marks)
    if space == SHARED or (space == GLOBAL and instruction.effect == READS):
        counts[PASSES], counts[IDEAL_PASSES] = count_passes(mask, shift, state)
    sectors = _take_sectors(lines, state, marks)
    if space in (GLOBAL, LOCAL):
        counts[SECTORS], counts[LINES], counts[DIVERGENT] = sectors, lines, lines > 1
    if state.counts_half_warps:
        count_half_warps(mask, instruction.bytes, space, lanes, state)
    return lines if space == GLOBAL else np.int64(0)
