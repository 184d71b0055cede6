# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""What requests touch of the arrays: sectors of lines, by block and by run, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.profiling.layout import (
    EVER_SHIFT,
    LINE_SHIFT,
    PAGE_BITS,
    PAGE_LINES,
    READS,
    STAMP_SHIFT,
    WRITES,
    WRITTEN_SHIFT,
)
from kernelcast.profiling.loops import inlined, inner, popcount

PERIOD = 256
"""Shifting all addresses of a request by this many bytes changes none of its counts: no segment
is larger, nor is a row of banks."""
_OF_BLOCK = 15 | 15 << WRITTEN_SHIFT
_OF_RUN = _OF_BLOCK << EVER_SHIFT
_OF_BOTH = _OF_BLOCK | _OF_RUN
_TOUCHED = 1 | 1 << EVER_SHIFT
_WRITTEN_TOO = _TOUCHED | _TOUCHED << WRITTEN_SHIFT


class TouchedArrays(NamedTuple):
    """The arrays that requests touch, and the marks of their sectors, found by page."""

    regions: Any
    pages: Any
    marks: Any


@inner
def _region_of(line, regions):
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
def _line_of(known, base_line):
    """A line of a remembered request, and its sectors."""
    return base_line + (known >> 4), known & 15


@inlined
def _bank_of(line, state):
    """A one in the 16 bits of the bank of tags that holds a line."""
    bank = popcount(line & state.tag_bank_bits[0]) & 1
    bank |= (popcount(line & state.tag_bank_bits[1]) & 1) << 1
    return np.int64(1) << (bank << 4)


@inlined
def _fullest(loads):
    """The largest of four sums of 16 bits."""
    return max(max(loads & 0xFF, loads >> 16 & 0xFF), max(loads >> 32 & 0xFF, loads >> 48 & 0xFF))


@inner
def count_tag_passes(lines, state):
    """Passes in which four banks of tags look up the lines of the request just counted."""
    loads = np.int64(0)
    for i in range(lines):
        loads += _bank_of(state.line[i], state)
    return _fullest(loads)


@inner
def count_known_tag_passes(entry, base_line, state):
    """The same of a remembered one."""
    loads = np.int64(0)
    for i in range(entry.lines):
        line, _ = _line_of(np.int64(entry.line[i]), base_line)
        loads += _bank_of(line, state)
    return _fullest(loads)


@inner
def _new_page(place, pages, state):
    """The number of a page that is touched for the first time."""
    state.pages += 1
    pages[place] = state.pages
    return state.pages


@inlined
def page_at(line, to_page):
    """Where the number of the page of a line stands, in an array whose pages are `to_page` on."""
    return (line >> PAGE_BITS) + to_page


@inlined
def mark_of(line, page_at, pages, state):
    """Which mark is that of a line, by where the number of its page stands."""
    place = np.uint64(page_at)
    page = np.int64(pages[place])
    if page == 0:
        page = _new_page(place, pages, state)
    return page << PAGE_BITS | line & (PAGE_LINES - 1)


@inlined
def marks_of(effect):
    """What stands in the mark of a line for its first sector once a request has touched it."""
    return np.int64(_WRITTEN_TOO if effect & WRITES else _TOUCHED)


@inlined
def stamp_of_block(state):
    """What stands in the marks that the block being read has made, above the bits for sectors."""
    return (state.ordinal + 1) << STAMP_SHIFT


@inlined
def mark_sectors(marks, mark, asked, stamped, is_rare):
    """Set the bits that are asked for in the mark of a line; return those that were not set.

    Where new ones are not rare, that there are none is not worth a branch.
    """
    stamp = marks[np.uint64(mark)]
    kept = stamp & (_OF_BOTH if (stamp ^ stamped) >> STAMP_SHIFT == 0 else _OF_RUN)
    new = asked & ~kept
    if is_rare and new == 0:
        return new
    marks[np.uint64(mark)] = stamped | kept | asked
    return new


@inlined
def add_new(region, counts):
    """Add to the sums of an array how many sectors are new: a byte for each group of bits of a
    mark."""
    region.block_distinct += counts & 0xFF
    region.block_written += counts >> WRITTEN_SHIFT & 0xFF
    region.distinct += counts >> EVER_SHIFT & 0xFF
    region.written += counts >> EVER_SHIFT + WRITTEN_SHIFT & 0xFF


@inner
def enter_region(line, effect, access, regions):
    """Let `access` be about the array that a line lies in; False where it lies in none."""
    number = _region_of(line, regions)
    if number < 0:
        return False
    region = regions[number]
    region.is_read |= effect & READS
    region.is_written |= effect & WRITES
    access.region = number
    access.first_line, access.end_line = region.first_line, region.end_line
    access.to_page = region.first_page - (region.first_line >> PAGE_BITS)
    return True


@inlined
def _sectors_in(bits):
    """How many sectors stand in each byte of the bits of a mark."""
    first_of_each = np.int64(_WRITTEN_TOO)
    return (
        (bits & first_of_each)
        + (bits >> 1 & first_of_each)
        + (bits >> 2 & first_of_each)
        + (bits >> 3 & first_of_each)
    )


@inlined
def _touch(line, sectors, effect, access, arrays, stamped, state):
    """Mark sectors of a line as touched; False where it lies outside every array."""
    outside = line < access.first_line or line >= access.end_line
    if outside and not enter_region(line, effect, access, arrays.regions):
        return False
    region = arrays.regions[np.uint64(access.region)]
    region.requested += popcount(sectors)
    mark = mark_of(line, page_at(line, access.to_page), arrays.pages, state)
    new = mark_sectors(arrays.marks, mark, sectors * marks_of(effect), stamped, True)
    if new:
        add_new(region, _sectors_in(new))
    return True


@inlined
def touch_known(entry, base_line, effect, access, arrays, state):
    """Mark what a remembered request touches; False where it leaves every array."""
    stamped = stamp_of_block(state)
    for i in range(entry.lines):
        line, sectors = _line_of(np.int64(entry.line[np.uint64(i)]), base_line)
        if not _touch(line, sectors, effect, access, arrays, stamped, state):
            return False
    return True


@inner
def touch_counted(lines, effect, access, arrays, state):
    """Mark what the request just counted touches; False where it leaves every array."""
    stamped = stamp_of_block(state)
    for i in range(lines):
        line, sectors = state.line[i], state.line_sectors[i]
        if not _touch(line, sectors, effect, access, arrays, stamped, state):
            return False
    return True
