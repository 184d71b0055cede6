# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop over what resident warps ask of the caches, compiled.

An L1 cache is asked by its SM alone, and the order of all requests (`turns`) does not depend on
what caches hold. So many turns go through the L1 caches first, SM by SM, and what is missing then
through the L2 cache in order: that keeps in the caches of the CPU what it works on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.hierarchy.caches.l1 import L1, load_l1, store_l1
from kernelcast.hierarchy.caches.l2 import L2, Beyond, change_l2, load_l2, sets_of, store_l2
from kernelcast.hierarchy.caches.layout import (
    ALLOCATES_L1,
    ASKS_L1,
    CHANGES,
    COUNTS,
    ENTRY,
    IS_ATOMIC,
    IS_LOCAL,
    IS_STORE,
    LINE_MASK,
    LOADS,
    LOCAL_BIT,
    NOTED_SHIFT,
    PAGE_SHIFT,
    REQUEST,
    RESIDENT,
    ROUNDS,
    SECTORS,
    STORES,
    SYSTEM,
    TURN,
    WAITING,
)
from kernelcast.hierarchy.caches.turns import RuledStream, TurnOrder, fill, take_turns
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.loops import array, fetch_ahead, inlined, inner, popcount
from kernelcast.profiling.streams import FIRST_BIT, LINE_SHIFT, PARTIAL_SHIFT, ROW_MASK, ROW_SHIFT

_SECTOR_MASK = (1 << SECTORS) - 1
_TURNS_AHEAD = 8
"""Words of so many turns are on their way to the CPU."""


class _NotedWords(NamedTuple):
    """Room for what the L1 caches and the L2 cache are asked for, in order (`layout`)."""

    l1: Any
    l2: Any


class _Passed(NamedTuple):
    """What words pass on from L1 cache to L2 cache and DRAM.

    Of every word, `sectors` has those of which it asks the L2 cache and, above them, those of the
    line `left` that leave its L1 cache dirty for it; then those that the DRAM moves. Requests wait
    at the L2 cache together.
    """

    sectors: Any
    left: Any
    requests: Any


@inlined
def _noted(line, sectors, partial, row, above, system):
    """What is noted of an access to a line."""
    counted = np.int64(row >= system.counted_from) << FIRST_BIT
    own = (row - system.counted_from if counted else row) << ROW_SHIFT
    return (
        above << NOTED_SHIFT
        | line << LINE_SHIFT
        | own
        | counted
        | partial << PARTIAL_SHIFT
        | sectors
    )


@inlined
def _line_of(word, rule, place, system):
    """The line of a word, as it is told apart from those of other warps."""
    line = word >> LINE_SHIFT & LINE_MASK
    if rule & IS_LOCAL:
        line = line + place * system.local_lines & LINE_MASK | 1 << LOCAL_BIT
    return line


@inlined
def _note_l1(word, rule, row, sm, place, asked, system):
    """Note what an L1 cache is asked for by a word, if it is."""
    is_load = not rule & (IS_ATOMIC | IS_STORE)
    takes = rule & ASKS_L1 if is_load else rule & ALLOCATES_L1 and not rule & IS_ATOMIC
    if takes and system.l1_sets:
        line = _line_of(word, rule, place, system)
        noted = _noted(line, word & _SECTOR_MASK, np.int64(0), row, sm, system)
        asked.l1[np.uint64(system.asked_of_l1)] = noted
        system.asked_of_l1 += 1


@inlined
def _note_l2(line, sectors, partial, row, what, asked, system):
    if system.notes_asked:
        word = _noted(line, sectors, partial, row, what, system)
        asked.l2[np.uint64(system.asked_of_l2)] = word
        system.asked_of_l2 += 1


@inlined
def _ask_l1(word, rule, row, sm, place, l1, counts, system):
    """One line of a request at the L1 cache: the sectors that the L2 cache is asked for.

    Returns also sectors that had to leave, of local memory, which it alone had, and their line.
    """
    sectors = word & _SECTOR_MASK
    line = _line_of(word, rule, place, system)
    spilled, left = np.int64(0), line
    count = counts[np.uint64(row)]
    count.lines += 1
    count.requests += word >> FIRST_BIT & 1
    if rule & IS_ATOMIC:
        return sectors, spilled, left
    if rule & IS_STORE:
        if system.l1_sets:
            spilled, left = store_l1(line, sectors, sm, rule, l1, system)
            if rule & ALLOCATES_L1 and not system.writes_through:
                sectors = np.int64(0)
        return sectors, spilled, left
    if rule & ASKS_L1 and system.l1_sets:
        missing, spilled, left = load_l1(line, sectors, sm, rule, l1, system)
        count.l1_sectors += popcount(sectors)
        count.l1_hits += popcount(sectors & ~missing)
        sectors = missing
    if sectors:
        count.missed_lines += 1
    return sectors, spilled, left


@inlined
def _fetch_words(at, turns, stream, passed):
    """Let the CPU fetch the words of a later turn, if there is one in this place."""
    begun = turns[np.uint64(at)].at
    fetch_ahead(stream.words, np.uint64(begun))
    fetch_ahead(passed.sectors, np.uint64(begun))


@inlined
def _go_through_l1(rounds, stream, turns, passed, l1, counts, system):
    """What turns ask of the L1 caches, those of every SM together."""
    for sm in range(system.sms):
        for number in range(rounds):
            turn = turns[np.uint64(sm * ROUNDS + number)]
            later = min(number + _TURNS_AHEAD, rounds - 1)
            _fetch_words(sm * ROUNDS + later, turns, stream, passed)
            base, place = turn.base, turn.place
            for at in range(turn.at, turn.end):
                word = stream.words[np.uint64(at)]
                row = word >> ROW_SHIFT & ROW_MASK
                rule = stream.rules[np.uint64(row)]
                sectors, spilled, left = _ask_l1(
                    word, rule, base + row, sm, place, l1, counts, system
                )
                passed.sectors[np.uint64(at)] = sectors | spilled << SECTORS
                if spilled:
                    passed.left[np.uint64(at)] = left


@inlined
def _moved(count):
    """Sectors that accesses of a row have moved between L2 cache and DRAM."""
    return count.first_reads + count.again_reads + count.dirtied


@inlined
def _ask_l2(word, sectors, rule, request, l2, beyond, noted, system):
    """Sectors of one line of a request at the L2 cache."""
    line, row, own, nearest = request.line, request.row, request.own, request.nearest
    count = beyond.counts[np.uint64(row)]
    if rule & IS_ATOMIC:
        _note_l2(line, sectors, np.int64(0), row, np.int64(CHANGES), noted, system)
        change_l2(line, sectors, own, rule, count, l2, beyond, system)
    elif rule & IS_STORE:
        partial = word >> PARTIAL_SHIFT & sectors
        _note_l2(line, sectors, partial, row, np.int64(STORES), noted, system)
        store_l2(line, sectors, partial, own, nearest, rule, row, l2, beyond, system)
    else:
        _note_l2(line, sectors, np.int64(0), row, np.int64(LOADS), noted, system)
        load_l2(line, sectors, own, nearest, rule, count, l2, beyond, system)


@inlined
def _write_on(line, sectors, row, l2, beyond, noted, system):
    """Sectors that an L1 cache alone had, of local memory, go to the L2 cache."""
    _note_l2(line, sectors, np.int64(0), row, np.int64(STORES), noted, system)
    own, _ = sets_of(line, np.int64(0), l2, system)
    store_l2(line, sectors, np.int64(0), own, own, np.int64(IS_LOCAL), row, l2, beyond, system)


@inner
def _serve(waiting, stream, passed, l2, beyond, noted, system):
    """What waits at the L2 cache."""
    for number in range(waiting):
        request = passed.requests[np.uint64(number)]
        at, row = np.uint64(request.at), request.row
        word, what = stream.words[at], np.int64(passed.sectors[at])
        rule = stream.rules[np.uint64(word >> ROW_SHIFT & ROW_MASK)]
        count = beyond.counts[np.uint64(row)]
        before = _moved(count)
        sectors, spilled = what & _SECTOR_MASK, what >> SECTORS
        if spilled:
            _write_on(np.int64(passed.left[at]), spilled, row, l2, beyond, noted, system)
        if sectors:
            _ask_l2(word, sectors, rule, request, l2, beyond, noted, system)
        passed.sectors[at] = _moved(count) - before


@inlined
def _go_through_l2(rounds, stream, turns, passed, l2, beyond, noted, system):
    """What turns ask of the L2 cache, in order.

    While requests are collected, the CPU fetches what it will read for them.
    """
    waiting = np.int64(0)
    for number in range(rounds):
        for sm in range(system.sms):
            turn = turns[np.uint64(sm * ROUNDS + number)]
            later = min(sm + _TURNS_AHEAD, system.sms - 1)
            _fetch_words(later * ROUNDS + number, turns, stream, passed)
            for at in range(turn.at, turn.end):
                word = stream.words[np.uint64(at)]
                row = word >> ROW_SHIFT & ROW_MASK
                rule = stream.rules[np.uint64(row)]
                if system.notes_asked:
                    _note_l1(word, rule, turn.base + row, sm, turn.place, noted, system)
                if passed.sectors[np.uint64(at)] == 0:
                    continue
                line = _line_of(word, rule, turn.place, system)
                request = passed.requests[np.uint64(waiting)]
                request.line, request.at, request.row = line, at, turn.base + row
                request.own, request.nearest = sets_of(line, sm & 1, l2, system)
                waiting += 1
                if waiting == WAITING:
                    _serve(waiting, stream, passed, l2, beyond, noted, system)
                    waiting = np.int64(0)
    _serve(waiting, stream, passed, l2, beyond, noted, system)


@compiled(
    np.int64,
    array(np.int64),
    array(np.int64),
    array(np.int32),
    np.int64,
    np.int64,
    array(SYSTEM),
)
def survey(words, rules, pages, start, end, systems):
    """How many pages of global memory words touch, marked in `pages`; and lines of local memory."""
    system = systems[0]
    found = np.int64(0)
    for at in range(start, end):
        word = words[np.uint64(at)]
        line = word >> LINE_SHIFT & LINE_MASK
        if rules[np.uint64(word >> ROW_SHIFT & ROW_MASK)] & IS_LOCAL:
            system.local_lines = max(system.local_lines, line + 1)
        elif pages[np.uint64(line >> PAGE_SHIFT)] < 0:
            pages[np.uint64(line >> PAGE_SHIFT)] = found
            found += 1
    return found


@compiled(
    np.int64,
    array(np.int64),
    array(np.int64),
    array(np.int64),
    array(np.int64),
    np.int64,
    np.int64,
    array(ENTRY),
    array(np.int16),
    array(np.int16, 2),
    array(np.uint32),
    array(np.uint32),
    array(np.uint16),
    array(np.int32),
    array(COUNTS),
    array(np.uint8),
    array(np.int32),
    array(np.int64),
    array(RESIDENT),
    array(np.int64, 2),
    array(np.int64, 2),
    array(TURN),
    array(REQUEST),
    array(np.uint32),
    array(np.int64),
    array(np.int64),
    array(np.uint8),
    array(SYSTEM),
)
def run_blocks(
    words,
    starts,
    bases,
    rules,
    first_block,
    end_block,
    entries,
    buckets,
    ends,
    l2_lines,
    l2_stamps,
    l2_states,
    l2_rows,
    counts,
    touched,
    pages,
    visited,
    residents,
    live,
    parts,
    turns,
    requests,
    left,
    asked_of_l1,
    asked_of_l2,
    moved,
    systems,
):
    """Let blocks from `first_block` to before `end_block` run to their end; returns the accesses.

    Parameters
    ----------
    words, starts:
        As in `AccessStreams`.
    bases:
        For every block the first row of `counts` where its accesses are counted.
    rules:
        For every row what its accesses do (`layout`).
    residents, live, parts, turns, requests, left:
        Room for what `TurnOrder` has, and for what `_Passed` has.
    asked_of_l1, asked_of_l2:
        Room for what is asked of these, where it is noted: a word for every one of `words`, and two
        in the L2 cache.
    moved:
        Output: for every one of `words` that is run, the sectors that the DRAM moves for it.
    """
    system = systems[0]
    stream = RuledStream(words, starts, rules, bases)
    order = TurnOrder(residents, live, parts, turns)
    passed = _Passed(moved, left, requests)
    l1 = L1(entries, buckets, ends)
    l2 = L2(l2_lines, l2_stamps, l2_states, l2_rows)
    beyond = Beyond(counts, touched, pages, visited)
    noted = _NotedWords(asked_of_l1, asked_of_l2)
    next_block = fill(first_block, end_block, stream, order, system)
    done, rounds = np.int64(0), np.int64(1)
    while rounds:
        rounds, taken, next_block = take_turns(next_block, end_block, stream, order, system)
        _go_through_l1(rounds, stream, turns, passed, l1, counts, system)
        _go_through_l2(rounds, stream, turns, passed, l2, beyond, noted, system)
        done += taken
    return done
