# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Stack distances of what a cache was asked for, compiled.

How many other lines were used since a line was: as many as marks stand behind its own, where every
line that was used has one at the time of its last use. Marks are bits of words, and a Fenwick tree
adds words up. When time runs out, marks move together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.hierarchy.caches.layout import (
    ALLOCATES_L1,
    IS_STORE,
    LOADS,
    LOCAL_BIT,
    NOTED_SHIFT,
    SECTORS,
    STORES,
)
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.loops import HASH_FACTOR, array, inlined, inner, popcount
from kernelcast.profiling.streams import FIRST_BIT, LINE_SHIFT, PARTIAL_SHIFT, ROW_MASK, ROW_SHIFT

FINE_BITS = 4
"""Distances in lines are told apart exactly below two to this and one, then by so many bits."""
COLD = 28 << FINE_BITS
"""The bucket of what was never used before; all distances of lines of 32 bits lie below it."""
BUCKETS = COLD + 1

LACKING, READ, DIRTIED = range(3)
"""What is counted by the largest cache where it happens: see `StackDistances`."""
EVENTS = 3

LEAST_TIMES = 1 << 12
"""Times that marks have at the least; all beyond are for twice as many as there are marks."""

_NEVER = -1
_DIRTY = SECTORS
_SM_MASK = 0xFF

STACK = np.dtype([("clock", np.int64), ("live", np.int64), ("end", np.int64)])


class _Marks(NamedTuple):
    """When every line was last used (`stamps`), and which line was at every time.

    `words` are the marks, and `tree` sums of them: element k of those up to the k-th word.
    """

    stamps: Any
    lines_at: Any
    words: Any
    tree: Any


@inlined
def _bucket(distance):
    halved = 0
    while distance >> halved >= 2 << FINE_BITS:
        halved += 1
    return (halved << FINE_BITS) + (distance >> halved)


@inlined
def _up_to(time, marks):
    """How many marks stand at a time or before it."""
    word = time >> 6
    found = popcount(marks.words[np.uint64(word)] & ((np.int64(2) << (time & 63)) - 1))
    while word > 0:
        found += np.int64(marks.tree[np.uint64(word)])
        word &= word - 1
    return found


@inlined
def _flip(time, change, marks, stack):
    """Set or take away the mark at a time."""
    marks.words[np.uint64(time >> 6)] ^= np.int64(1) << (time & 63)
    at = (time >> 6) + 1
    while at <= stack.end >> 6:
        marks.tree[np.uint64(at)] += change
        at += at & -at


@inner
def _move_together(marks, stack):
    """Number the times of marks anew, from 0 on."""
    live = 0
    for time in range(stack.clock):
        if marks.words[time >> 6] >> (time & 63) & 1:
            line = marks.lines_at[time]
            marks.lines_at[live] = line
            marks.stamps[line] = live
            live += 1
    stack.clock, stack.live = live, live
    stack.end = (2 * live + LEAST_TIMES) >> 6 << 6
    words = stack.end >> 6
    for at in range(words):
        ones = min(max(live - (at << 6), 0), 64)
        marks.words[at] = np.int64(-1) if ones == 64 else (np.int64(1) << ones) - 1
        marks.tree[at + 1] = ones
    for at in range(1, words + 1):
        above = at + (at & -at)
        if above <= words:
            marks.tree[above] += marks.tree[at]


@inner
def _forget(marks, stack):
    """Take all marks away, as another cache begins."""
    for time in range(stack.clock):
        if marks.words[time >> 6] >> (time & 63) & 1:
            marks.stamps[marks.lines_at[time]] = _NEVER
    for at in range(len(marks.words)):
        marks.words[at] = 0
    stack.clock = 0
    _move_together(marks, stack)


@inlined
def _bucket_of_use(line, marks, stack):
    """The bucket of a line's distance; the line is used now."""
    before = np.int64(marks.stamps[np.uint64(line)])
    bucket = np.int64(COLD)
    if before == stack.clock - 1 and before >= 0:
        return np.int64(0)
    if before >= 0:
        bucket = _bucket(stack.live - _up_to(before, marks))
        _flip(before, -1, marks, stack)
        stack.live -= 1
    if stack.clock == stack.end:
        _move_together(marks, stack)
    marks.stamps[np.uint64(line)] = stack.clock
    marks.lines_at[np.uint64(stack.clock)] = line
    _flip(stack.clock, 1, marks, stack)
    stack.clock += 1
    stack.live += 1
    return bucket


@inlined
def _reach(line, bucket, first, limits):
    """A line was out of caches up to a distance since its sectors were used."""
    for sector in range(SECTORS):
        at = np.uint64(first + sector)
        limits[np.uint64(line), at] = max(np.int64(limits[np.uint64(line), at]), bucket)


@compiled(
    np.int64,
    array(np.int64),
    np.int64,
    array(np.int32),
    array(np.int64),
    array(np.int32),
)
def number_lines(asked, line_mask, table, known, lines):
    """Number the lines of words in the order in which they come first; how many there are.

    `table` has a power of two of zeros, more than there are words. `line_mask` says which of the
    bits above `LINE_SHIFT` tell lines apart, and `known` keeps these for every line.
    """
    found = np.int64(0)
    mask = np.int64(len(table) - 1)
    for at in range(len(asked)):
        line = asked[np.uint64(at)] >> LINE_SHIFT & line_mask
        # Neighbours stay together.
        slot = ((line >> 4) * HASH_FACTOR >> 20 << 4 | line & 15) & mask
        number = np.int64(table[np.uint64(slot)]) - 1
        while number >= 0 and known[np.uint64(number)] != line:
            slot = (slot + 1) & mask
            number = np.int64(table[np.uint64(slot)]) - 1
        if number < 0:
            number = found
            table[np.uint64(slot)] = found + 1
            known[np.uint64(found)] = line
            found += 1
        lines[np.uint64(at)] = number
    return found


@compiled(
    None,
    array(np.int64),
    array(np.int32),
    array(np.int64),
    array(np.int32),
    array(np.int32),
    array(np.int64),
    array(np.int32),
    array(np.int16, 2),
    array(np.int64, 3),
    array(STACK),
)
def distances_l1(asked, lines, rules, stamps, lines_at, words, tree, limits, events, stacks):
    """Count the events of L1 caches; words stand SM by SM, lines of different SMs are different.

    `limits` has for every line and sector the largest cache, as a bucket, that lacks it.
    """
    stack = stacks[0]
    marks = _Marks(stamps, lines_at, words, tree)
    sm = np.int64(-1)
    for at in range(len(asked)):
        word = asked[np.uint64(at)]
        line = np.int64(lines[np.uint64(at)])
        row = word >> ROW_SHIFT & ROW_MASK
        rule = rules[np.uint64(row)]
        if word >> NOTED_SHIFT & _SM_MASK != sm:
            sm = word >> NOTED_SHIFT & _SM_MASK
            _forget(marks, stack)
        if not rule & ALLOCATES_L1:
            # Looked up where it is, but neither brought nor, so that one order does for all
            # capacities, kept for longer.
            bucket = np.int64(COLD)
            if stamps[np.uint64(line)] >= 0:
                bucket = _bucket(stack.live - _up_to(np.int64(stamps[np.uint64(line)]), marks))
            for sector in range(SECTORS):
                if word >> sector & word >> FIRST_BIT & 1:
                    limit = max(bucket, np.int64(limits[np.uint64(line), np.uint64(sector)]))
                    events[np.uint64(row), LACKING, np.uint64(limit)] += 1
            continue
        _reach(line, _bucket_of_use(line, marks, stack), 0, limits)
        for sector in range(SECTORS):
            if word >> sector & 1:
                limit = limits[np.uint64(line), np.uint64(sector)]
                if word >> FIRST_BIT & 1 and not rule & IS_STORE:
                    events[np.uint64(row), LACKING, np.uint64(limit)] += 1
                limits[np.uint64(line), np.uint64(sector)] = _NEVER


@inlined
def _load(word, line, row, counts, fetched, limits, events):
    """Sectors are looked up, and read where they are not, with their neighbours."""
    for sector in range(SECTORS):
        if not word >> sector & 1:
            continue
        limit = np.int64(limits[np.uint64(line), np.uint64(sector)])
        if counts:
            events[np.uint64(row), LACKING, np.uint64(limit)] += 1
            events[np.uint64(row), READ, np.uint64(limit)] += 1
        other = sector ^ 1
        if fetched == 2 and not word >> other & 1:
            least = min(limit, np.int64(limits[np.uint64(line), np.uint64(other)]))
            if counts:
                events[np.uint64(row), READ, np.uint64(least)] += 1
            if np.int64(limits[np.uint64(line), np.uint64(other)]) <= limit:
                limits[np.uint64(line), np.uint64(other)] = _NEVER
        limits[np.uint64(line), np.uint64(sector)] = _NEVER


@inlined
def _store(word, line, row, counts, limits, events):
    """Sectors are written: dirty from now on, and held unless they were written in parts."""
    is_local = word >> LINE_SHIFT >> LOCAL_BIT & 1
    for sector in range(SECTORS):
        if not word >> sector & 1:
            continue
        dirty = np.uint64(_DIRTY + sector)
        limit = np.int64(limits[np.uint64(line), dirty])
        if counts and not is_local:
            events[np.uint64(row), DIRTIED, np.uint64(limit)] += 1
        if word >> PARTIAL_SHIFT >> sector & 1:
            # The second write in parts counts as the rest.
            held = np.int64(limits[np.uint64(line), np.uint64(sector)])
            limits[np.uint64(line), np.uint64(sector)] = min(held, limit)
        else:
            limits[np.uint64(line), np.uint64(sector)] = _NEVER
        limits[np.uint64(line), dirty] = _NEVER


@compiled(
    None,
    array(np.int64),
    array(np.int32),
    np.int64,
    array(np.int32),
    array(np.int32),
    array(np.int64),
    array(np.int32),
    array(np.int16, 2),
    array(np.int64, 3),
    array(STACK),
)
def distances_l2(asked, lines, fetched, stamps, lines_at, words, tree, limits, events, stacks):
    """Count the events of the L2 cache, whose DRAM delivers `fetched` sectors together.

    `limits` has for every line and sector the largest cache, as a bucket, that lacks it, and then
    for every sector the largest where it is not dirty.
    """
    stack = stacks[0]
    marks = _Marks(stamps, lines_at, words, tree)
    _forget(marks, stack)
    for at in range(len(asked)):
        word = asked[np.uint64(at)]
        line = np.int64(lines[np.uint64(at)])
        row = word >> ROW_SHIFT & ROW_MASK
        what = word >> NOTED_SHIFT
        counts = word >> FIRST_BIT & 1
        bucket = _bucket_of_use(line, marks, stack)
        _reach(line, bucket, 0, limits)
        _reach(line, bucket, _DIRTY, limits)
        if what != STORES:
            _load(word, line, row, counts, fetched, limits, events)
        if what != LOADS:
            _store(word, line, row, counts, limits, events)
