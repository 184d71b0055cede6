# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""One access to a line at the L2 cache, compiled.

Of a set, the line leaves whose last use lies back furthest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.hierarchy.caches.indexing import set_of
from kernelcast.hierarchy.caches.layout import (
    ALL_SECTORS,
    CHUNKS,
    DIRTY_SHIFT,
    IS_LOCAL,
    LATER,
    LEAVES_FIRST,
    LINE_BITS,
    LOCAL_BIT,
    NO_LINE,
    PAGE_SHIFT,
    PARTIAL_SHIFT,
    TOGETHER,
)
from kernelcast.profiling.layout import LINE_SECTORS
from kernelcast.profiling.loops import fetch_ahead, inlined, inner, lowest_bit, matches, popcount

_LOW_BITS = 0xFFFFFFFF
_GOLDEN = 0x9E3779B1
_CHUNK_BITS = 32 - (CHUNKS.bit_length() - 1)
_CHUNK_SHIFT = LINE_BITS + 2
_CHUNK_MASK = (1 << _CHUNK_SHIFT) - 1
"""Of an entry of `Beyond.visited`, the bits of its chunk."""
_FETCHED = 16
"""Lines or stamps of ways that a CPU fetches together."""
_SIDE_SHIFT = 5
"""Two to this many lines, 4 KiB, lie in one partition."""


class L2(NamedTuple):
    """Every way of every set: its line, when it was last used, and its state (`layout`).

    `rows` says which access was the last to write the line in parts.
    """

    lines: Any
    stamps: Any
    states: Any
    rows: Any


class Beyond(NamedTuple):
    """What is counted of the accesses, and which sectors were touched at all, by page: of every
    line the sectors touched, and above these those that were to be written to the DRAM.

    `visited` holds chunks of the DRAM with the sectors that had moved when it was last there.
    """

    counts: Any
    touched: Any
    pages: Any
    visited: Any


@inlined
def _find(values, wanted, first, system):
    """The last way of a set, from `first` on, that has a value, or -1."""
    found = np.int64(-1)
    for way in range(first, first + system.l2_ways, TOGETHER):
        lanes = matches(values, np.uint64(way), wanted)
        found = way + lowest_bit(lanes) if lanes else found
    return found


@inlined
def _oldest(l2, first, system):
    """The way of a set that is to leave."""
    least = np.uint32(_LOW_BITS)
    for way in range(system.l2_ways):
        least = min(least, l2.stamps[np.uint64(first + way)])
    return _find(l2.stamps, np.int64(least), first, system)


@inlined
def _use(l2, at, rule, system):
    """Note that an entry is used."""
    system.clock += 1
    later = np.int64(0 if rule & LEAVES_FIRST else LATER)
    l2.stamps[np.uint64(at)] = np.uint32(system.clock + later)


@inlined
def _side(line, system):
    """The partition that a line belongs to, and its number among the lines of that partition.

    The side changes every 4 KiB in an order without a period, each of two neighbours taking one.
    """
    if system.partitions == 1:
        return np.int64(0), line
    pair = line >> (_SIDE_SHIFT + 1)
    side = (line >> _SIDE_SHIFT ^ popcount(pair)) & 1
    return side, pair << _SIDE_SHIFT | line & ((1 << _SIDE_SHIFT) - 1)


@inlined
def _fetch_ways(first, l2, system):
    """Let the CPU fetch the ways of a set."""
    for way in range(first, first + system.l2_ways, _FETCHED):
        fetch_ahead(l2.lines, np.uint64(way))
        fetch_ahead(l2.stamps, np.uint64(way))
        fetch_ahead(l2.states, np.uint64(way))


@inlined
def sets_of(line, near, l2, system):
    """The first ways of the sets where a line belongs and where an SM looks for it.

    They are the same but where the other partition of two is `near`. The CPU fetches them.
    """
    side, number = _side(line, system)
    chosen = set_of(number, system.l2_sets, system.l2_hashes)
    own = (side * system.l2_sets + chosen) * system.l2_ways
    nearest = own
    _fetch_ways(own, l2, system)
    if system.partitions == 2 and near != side:
        nearest = (near * system.l2_sets + chosen) * system.l2_ways
        _fetch_ways(nearest, l2, system)
    return own, nearest


@inlined
def _entry(first, line, rule, count, l2, system):
    """The entry of a line in a set, which is made where there is none."""
    at = _find(l2.lines, line, first, system)
    if at < 0:
        at = _oldest(l2, first, system)
        left = np.int64(l2.lines[np.uint64(at)])
        if left >> LOCAL_BIT and left != NO_LINE:
            dirty = np.int64(l2.states[np.uint64(at)]) >> DIRTY_SHIFT & ALL_SECTORS
            count.spilled += popcount(dirty)
        l2.lines[np.uint64(at)] = line
        l2.states[np.uint64(at)] = 0
    _use(l2, at, rule, system)
    return at


@inner
def _complete(at, partial, l2, beyond):
    """Sectors written in parts are whole now: nobody has to read them when they leave."""
    l2.states[np.uint64(at)] = np.int64(l2.states[np.uint64(at)]) & ~(partial << PARTIAL_SHIFT)
    beyond.counts[np.uint64(l2.rows[np.uint64(at)])].fills -= popcount(partial)


@inlined
def _noted_at(line, beyond):
    """Where `touched` has a line of global memory."""
    page = np.int64(beyond.pages[np.uint64(line >> PAGE_SHIFT)])
    return np.uint64(page << PAGE_SHIFT | line & ((1 << PAGE_SHIFT) - 1))


@inlined
def _touch(line, sectors, beyond, system):
    """Of some sectors of a line of global memory, those that nobody has touched before."""
    if line >> LOCAL_BIT or not system.notes_first:
        return np.int64(0)
    at = _noted_at(line, beyond)
    before = np.int64(beyond.touched[at])
    beyond.touched[at] = before | sectors
    return sectors & ~before


@inlined
def _soiled_again(line, sectors, beyond, system):
    """Of some sectors of a line of global memory, how many were to be written before, too."""
    if not system.notes_first:
        return np.int64(0)
    at = _noted_at(line, beyond)
    before = np.int64(beyond.touched[at])
    beyond.touched[at] = before | sectors << LINE_SECTORS
    return popcount(sectors & before >> LINE_SECTORS)


@inlined
def _visit(line, sectors, is_write, in_parts, count, beyond, system):
    """Sectors of a line move: the DRAM turns to their chunk, unless it is there.

    It serves together what waits for it at the same time. Reads and writes wait apart; so do lines
    that are written `in_parts`, each by itself, if nobody completes their sectors: on an RTX 3080
    lanes that fill a line each, word by word (`gqsort_kernel` of quicksort), have 4 M sectors
    written at 6.7 G/s, where the chunks of 1 KiB that they lie in would allow eight times as many.
    """
    chunk = line >> system.chunk_shift << 1 | is_write
    at = np.uint64((chunk * _GOLDEN & _LOW_BITS) >> _CHUNK_BITS)
    last = np.int64(beyond.visited[at])
    since = system.moved - (last >> _CHUNK_SHIFT)
    if last & _CHUNK_MASK != chunk or since > system.waiting:
        count.visits += 1
    elif in_parts:
        count.apart += 1
    system.moved += popcount(sectors)
    beyond.visited[at] = system.moved << _CHUNK_SHIFT | chunk


@inlined
def _fetch(at, line, missing, count, l2, beyond, system):
    """Read sectors from the DRAM, with their neighbours where it delivers two together."""
    state = np.int64(l2.states[np.uint64(at)])
    if system.fetched == 2:
        missing = (missing | (missing & 5) << 1 | (missing & 10) >> 1) & ~state
    partial = state >> PARTIAL_SHIFT & missing
    if partial:
        _complete(at, partial, l2, beyond)
        state = np.int64(l2.states[np.uint64(at)])
    l2.states[np.uint64(at)] = state | missing
    _visit(line, missing, np.int64(0), False, count, beyond, system)
    first = popcount(_touch(line, missing, beyond, system))
    count.first_reads += first
    count.again_reads += popcount(missing) - first


@inlined
def load_l2(line, sectors, own, nearest, rule, count, l2, beyond, system):
    """Look sectors of a line up (in `sets_of` the line); what is missing is read from the DRAM.

    Of two partitions, the one that is near to the SM keeps a copy of what the other has.
    """
    lacking = sectors
    if nearest != own:
        copy = _entry(nearest, line, rule, count, l2, system)
        held = np.int64(l2.states[np.uint64(copy)])
        lacking = sectors & ~held
        l2.states[np.uint64(copy)] = held | sectors
    if lacking:
        at = _entry(own, line, rule, count, l2, system)
        lacking &= ~np.int64(l2.states[np.uint64(at)])
        if lacking:
            _fetch(at, line, lacking, count, l2, beyond, system)
    count.l2_sectors += popcount(sectors)
    count.l2_hits += popcount(sectors & ~lacking)


@inlined
def _own_entry(line, sectors, own, rule, count, l2, system):
    """The entry of a line that is written, of which no other partition has a copy any more."""
    if system.partitions == 2:
        half = system.l2_sets * system.l2_ways
        other = own + half if own < half else own - half
        copy = _find(l2.lines, line, other, system)
        if copy >= 0:
            l2.states[np.uint64(copy)] = np.int64(l2.states[np.uint64(copy)]) & ~sectors
    return _entry(own, line, rule, count, l2, system)


@inlined
def _soil(at, line, sectors, in_parts, rule, count, l2, beyond, system):
    """Sectors of an entry are written. The DRAM gets them while they are new.

    What is written `in_parts`, and stays so, leaves as it came: of a line, sectors that different
    stores begin do so apart. On an H100, threads that each store a word to sector after sector of
    138 MB, by four stores in a row to a line, do so at 13.3 G sectors a second, as if they lay
    anywhere.
    """
    state = np.int64(l2.states[np.uint64(at)])
    dirtied = sectors & ~(state >> DIRTY_SHIFT)
    if dirtied and not rule & IS_LOCAL:
        count.dirtied += popcount(dirtied)
        count.dirtied_again += _soiled_again(line, dirtied, beyond, system)
        _visit(line, dirtied, np.int64(1), in_parts, count, beyond, system)
    l2.states[np.uint64(at)] = state | sectors << DIRTY_SHIFT


@inlined
def store_l2(line, sectors, partial, own, nearest, rule, row, l2, beyond, system):
    """Write sectors of a line (in `sets_of` the line), `partial` of them in parts only, unread.

    A sector that is written in parts a second time is taken for whole. Of two partitions, the one
    that is near to the SM keeps a copy of what it writes in the other.
    """
    count = beyond.counts[np.uint64(row)]
    at = _own_entry(line, sectors, own, rule, count, l2, system)
    state = np.int64(l2.states[np.uint64(at)])
    begun = partial & ~(state | state >> DIRTY_SHIFT)
    ended = sectors & state >> PARTIAL_SHIFT
    if ended:
        _complete(at, ended, l2, beyond)
    if begun:
        count.fills += popcount(begun)
        count.begun += popcount(begun)
        l2.rows[np.uint64(at)] = row
    state = np.int64(l2.states[np.uint64(at)])
    whole = sectors & ~begun
    l2.states[np.uint64(at)] = state | whole | begun << PARTIAL_SHIFT
    _soil(at, line, sectors, begun != 0, rule, count, l2, beyond, system)
    if nearest != own:
        copy = _entry(nearest, line, rule, count, l2, system)
        l2.states[np.uint64(copy)] = np.int64(l2.states[np.uint64(copy)]) | whole
    if sectors & ~state:
        _touch(line, sectors, beyond, system)
    count.l2_sectors += popcount(sectors)
    count.l2_hits += popcount(sectors)


@inlined
def change_l2(line, sectors, own, rule, count, l2, beyond, system):
    """An atomic or a reduction: sectors of a line are read and written where the line belongs."""
    at = _own_entry(line, sectors, own, rule, count, l2, system)
    lacking = sectors & ~np.int64(l2.states[np.uint64(at)])
    if lacking:
        _fetch(at, line, lacking, count, l2, beyond, system)
    _soil(at, line, sectors, False, rule, count, l2, beyond, system)
    count.l2_sectors += popcount(sectors)
    count.l2_hits += popcount(sectors & ~lacking)
