# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""What requests touch of the arrays: sectors of lines, by block and by run, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.layout import BLOCK_BITS, LINE_SHIFT, READS, STAMP_BITS, WRITES
from kernelcast.profiling.loops import inlined, inner, popcount

PERIOD = 256
"""Shifting all addresses of a request by this many bytes changes none of its counts: no segment
is larger, nor is a row of banks."""
_BLOCK_MASK = (1 << BLOCK_BITS) - 1


@inner
def region_of(line, regions):
    """The array that a line lies in, or -1."""
    region = np.int64(len(regions)) - 1
    while region >= 0 and line < regions[region].first_line:
        region -= 1
    return region if region >= 0 and line < regions[region].end_line else np.int64(-1)


@inlined
def first_line_of(base):
    """The first line of the period that the base lies in."""
    return base // PERIOD * (PERIOD >> LINE_SHIFT)


@inlined
def _line_of(i, entry, base_line, state):
    """A line of a request and its sectors: of a remembered one, or of that just counted."""
    if entry >= 0:
        known = np.int64(state.memo_line[np.uint64(entry), np.uint64(i)])
        return base_line + (known >> 4), known & 15
    return state.line[np.uint64(i)], state.line_sectors[np.uint64(i)]


@inlined
def count_tag_passes(lines, entry, base_line, state):
    """Passes in which four banks of tags look up the lines of a request."""
    loads = np.int64(0)  # of the four banks, 16 bits each
    for i in range(lines):
        line, _ = _line_of(i, entry, base_line, state)
        bank = popcount(line & state.tag_bank_bits[0]) & 1
        bank |= (popcount(line & state.tag_bank_bits[1]) & 1) << 1
        loads += np.int64(1) << (bank << 4)
    return max(max(loads & 0xFF, loads >> 16 & 0xFF), max(loads >> 32 & 0xFF, loads >> 48 & 0xFF))


@inlined
def mark_sectors(mark, asked, stamped):
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
def add_sums(region, effect, requested, in_block, in_run, written_in_block, written):
    """Add what a request has touched of an array."""
    region.requested += requested
    region.block_distinct += in_block
    region.distinct += in_run
    region.block_written += written_in_block
    region.written += written
    region.is_read |= effect & READS
    region.is_written |= effect & WRITES


@inlined
def touch(lines, entry, base_line, effect, regions, marks, state):
    """Mark the sectors of a request as touched; False where they leave every array."""
    stamped = (state.ordinal + 1) << STAMP_BITS
    number = np.int64(0)
    at = np.int64(0)
    while at < lines:
        line, _ = _line_of(at, entry, base_line, state)
        if line < regions[number].first_line or line >= regions[number].end_line:
            number = region_of(line, regions)
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
            new, unseen = mark_sectors(marks[np.uint64(to_mark + line - first)], asked, stamped)
            if new:
                in_block += popcount(new & 15)
                written_in_block += popcount(new >> 4)
                in_run += popcount(unseen & 15)
                written += popcount(unseen >> 4)
        add_sums(region, effect, requested, in_block, in_run, written_in_block, written)
    return True
