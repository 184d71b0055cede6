# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""What one request of a warp takes, lane by lane: lines, sectors and passes, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling.half_warps import count_half_warps
from kernelcast.profiling.layout import (
    ASKED_ENTRIES,
    ASKED_LINE_BITS,
    AT_ONCE,
    BY_LANE,
    COUNTS,
    DIVERGENT,
    GLOBAL,
    IDEAL_PASSES,
    LANES,
    LINE_SECTORS,
    LINE_SHIFT,
    LINES,
    LOCAL,
    PASSES,
    READS,
    REQUEST_BITS,
    REQUESTS,
    SECTORS,
    SHARED,
    UNIT_BITS,
)
from kernelcast.profiling.loops import (
    HALF_HASH_FACTOR,
    HALF_WORD,
    inlined,
    inner,
    lowest_bit,
    popcount,
)

_BANKS_MASK = 31
_SECTOR_WORDS = 8
_FEWEST_LANES = 8
"""Wide accesses are served by groups of lanes, of no fewer than these."""
SECTOR = 1 << UNIT_BITS
_LINE_MASK = (1 << ASKED_LINE_BITS) - 1
_PLACE_SHIFT = 32 - ASKED_ENTRIES.bit_length() + 1


@inlined
def next_request(state):
    """A number for the request being counted, above the line in the keys of `asked`."""
    state.request += 1
    if state.request >> REQUEST_BITS:
        state.asked[:] = 0
        state.request = 1
    return state.request << ASKED_LINE_BITS


@inlined
def key_of(line, request):
    """What tells a line of a request from other ones in `asked`."""
    return request | line & _LINE_MASK


@inlined
def first_place_of(line):
    """Where in `asked` a line stands, or the search for it begins."""
    return ((line & HALF_WORD) * HALF_HASH_FACTOR & HALF_WORD) >> _PLACE_SHIFT


@inlined
def find_asked(key, place, state):
    """Enter a line of a request, searched from a place on: where, and what of it was asked for."""
    place = np.uint64(place)
    differing = state.asked[place, 0] ^ key
    # The place of another line of this request: one comparison, which is hardly ever true.
    while np.uint64(differing - 1) < np.uint64(_LINE_MASK):
        place = (place + np.uint64(1)) & np.uint64(ASKED_ENTRIES - 1)
        differing = state.asked[place, 0] ^ key
    state.asked[place, 0] = key
    return place, state.asked[place, 1] & -np.int64(differing == 0)


@inlined
def _ask(line, unit, sector, lines, request, state):
    """Note that a lane asks for a unit of a line; return how many lines are asked for then."""
    place, asked = find_asked(key_of(line, request), first_place_of(line), state)
    state.line[np.uint64(lines)] = line
    state.line_place[np.uint64(lines)] = place
    state.load[np.uint64(unit)] += ~(asked >> unit) & 1
    state.asked[place, 1] = asked | np.int64(1) << unit | SECTOR << sector
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
def _are_alike(mask, distance, lanes):
    """Whether lanes that lie a `distance` apart, in pairs, want the same where both are active."""
    rest = mask & mask >> distance
    while rest:
        lane = lowest_bit(rest)
        rest &= rest - 1
        other = lane + distance
        if not lane & distance and lanes[np.uint64(lane)] != lanes[np.uint64(other)]:
            return False
    return True


@inner
def _lanes_together(mask, shift, is_shared_load, lanes):
    """How many lanes the banks serve together: twice as many of a wide load from shared memory
    whose neighbouring lanes, or those one further, want the same in pairs."""
    least = lanes_of_group(shift)
    if not is_shared_load or least == WARP_LANES:
        return least
    if _are_alike(mask, 1, lanes) or _are_alike(mask, 2, lanes):
        return 2 * least
    return least


@inner
def _ask_lines(mask, shift, has_sectors, group_lanes, lanes, request, state):
    """Ask for words of arrays or of shared memory; return how many lines, or rows of banks."""
    group = -group_lanes
    lines = np.int64(0)
    rest = mask
    while rest:
        lane = lowest_bit(rest)
        rest &= rest - 1
        address = lanes[np.uint64(lane)]
        sector = address >> 5 & 3 if has_sectors else np.int64(0)
        unit = unit_of(lane, address, shift, group)
        lines = _ask(address >> LINE_SHIFT, unit, sector, lines, request, state)
    return lines


@inner
def _ask_local(mask, shift, lanes, request, state):
    """Ask for words of local memory; return how many lines.

    The hardware lays the local memories of a warp's lanes side by side, word by word.
    """
    lines = np.int64(0)
    for j in range(np.int64(1) << shift):
        rest = mask
        while rest:
            lane = lowest_bit(rest)
            rest &= rest - 1
            word = (lanes[np.uint64(lane)] >> 2) + j
            lines = _ask(word, lane, lane >> 3, lines, request, state)
    return lines


@inlined
def count_passes(mask, group_lanes, state):
    """Passes in which the banks serve what was asked for, group of lanes by group, and how few
    they would be without conflicts."""
    passes = np.int64(0)
    ideal = np.int64(0)
    if group_lanes == WARP_LANES:
        for unit in range(state.warp_lanes):
            passes = max(passes, state.load[unit])
        return passes, np.int64(mask != 0)
    for first in range(0, WARP_LANES, group_lanes):
        worst = np.int64(0)
        for unit in range(first, first + group_lanes):
            worst = max(worst, state.load[unit])
        passes += worst
        ideal += (mask >> first) & ((1 << group_lanes) - 1) != 0
    return passes, ideal


@inner
def _load_by_lanes(mask, shift, lanes, state):
    """Fill `load` with the lanes that want each bank, those that want one word too."""
    group = -lanes_of_group(shift)
    for unit in range(WARP_LANES):
        state.load[unit] = 0
    rest = mask
    while rest:
        lane = lowest_bit(rest)
        rest &= rest - 1
        state.load[np.uint64(unit_of(lane, lanes[np.uint64(lane)], shift, group))] += 1


@inlined
def chunk_of(line):
    """The chunk that a line lies in (`layout.PAGE_CHUNKS`)."""
    return line >> 3 << 1 | line >> 1 & 1


@inner
def turns_of_line(line, mask, lanes, state):
    """Of an atomic, the lanes on one line, and how its sectors serve them.

    Returns the lanes, the rounds in which the line is asked for, and the turns that its sectors
    take together: as many each as lanes go to one of its words. Of the sectors of which lanes go to
    several words, also how many there are, and their turns beyond the first.
    """
    for word in range(WARP_LANES):
        state.load[word] = 0
    together = np.int64(0)
    rest = mask
    while rest:
        lane = lowest_bit(rest)
        rest &= rest - 1
        address = lanes[np.uint64(lane)]
        if address >> LINE_SHIFT == line:
            together |= np.int64(1) << lane
            state.load[np.uint64(address >> 2 & _BANKS_MASK)] += 1
    rounds, turns = np.int64(0), np.int64(0)
    shared, repeated = np.int64(0), np.int64(0)
    for sector in range(LINE_SECTORS):
        most, words = np.int64(0), np.int64(0)
        for word in range(_SECTOR_WORDS):
            wanted = state.load[np.uint64(_SECTOR_WORDS * sector + word)]
            most = max(most, wanted)
            words += wanted > 0
        rounds = max(rounds, most)
        turns += most
        if words > 1:
            shared += 1
            repeated += most - 1
    return together, rounds, turns, shared, repeated


@inner
def count_rounds(mask, lanes, state):
    """Rounds of all lines of an atomic, and turns of their sectors."""
    rounds, turns = np.int64(0), np.int64(0)
    rest = mask
    while rest:
        line = lanes[np.uint64(lowest_bit(rest))] >> LINE_SHIFT
        together, of_line, of_sectors, _, _ = turns_of_line(line, rest, lanes, state)
        rounds += of_line
        turns += of_sectors
        rest &= ~together
    return rounds, turns


@inlined
def _take_sectors(lines, state):
    """Fill `line_sectors` with what was asked for; return all sectors."""
    sectors = np.int64(0)
    for i in range(lines):
        state.line_sectors[i] = state.asked[np.uint64(state.line_place[i]), 1] >> UNIT_BITS & 15
        sectors += popcount(state.line_sectors[i])
    return sectors


@inner
def count_pattern(mask, instruction, space, lanes, state):
    """Fill `counts`, `line` and `line_sectors`; return how many lines of arrays."""
    counts, shift = state.counts, instruction.shift
    for column in range(COUNTS):
        counts[column] = 0
    counts[REQUESTS] = 1
    counts[LANES] = popcount(mask)
    for unit in range(WARP_LANES):
        state.load[unit] = 0
    lines, request = np.int64(0), next_request(state)
    is_shared_load = space == SHARED and instruction.effect == READS
    together = _lanes_together(mask, shift, is_shared_load, lanes)
    if space in (GLOBAL, SHARED):
        lines = _ask_lines(mask, shift, space == GLOBAL, together, lanes, request, state)
    elif space == LOCAL:
        lines = _ask_local(mask, shift, lanes, request, state)
    if space == SHARED and instruction.turns == BY_LANE:
        _load_by_lanes(mask, shift, lanes, state)
    if space == SHARED or (space == GLOBAL and instruction.effect == READS):
        counts[PASSES], counts[IDEAL_PASSES] = count_passes(mask, together, state)
    if space == SHARED and instruction.turns == AT_ONCE:
        counts[PASSES] = counts[IDEAL_PASSES]
    sectors = _take_sectors(lines, state)
    if space in (GLOBAL, LOCAL):
        counts[SECTORS], counts[LINES], counts[DIVERGENT] = sectors, lines, lines > 1
    if state.counts_half_warps:
        count_half_warps(mask, instruction.bytes, space, lanes, state)
    return lines if space == GLOBAL else np.int64(0)
