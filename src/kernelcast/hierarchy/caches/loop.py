# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop over the accesses of resident warps, in the order in which an SM issues them, compiled.

Blocks start in the order of their index, one on every SM in turn until all SMs are full, and then
wherever one has ended. SMs take turns, and so do the warps of an SM, each with the requests that it
issues until it waits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.hierarchy.caches.l1 import L1, load_l1, store_l1
from kernelcast.hierarchy.caches.l2 import L2, Beyond, change_l2, load_l2, store_l2
from kernelcast.hierarchy.caches.layout import (
    ALLOCATES_L1,
    ASKS_L1,
    CHANGES,
    COUNTS,
    ENTRY,
    FOLLOWS_WAIT,
    IS_ATOMIC,
    IS_LOCAL,
    IS_STORE,
    LINE_BITS,
    LOADS,
    LOCAL_BIT,
    NOTED_SHIFT,
    PAGE_SHIFT,
    RESIDENT,
    SECTORS,
    STORES,
    SYSTEM,
)
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.loops import array, inlined, inner, popcount
from kernelcast.profiling.streams import FIRST_BIT, LINE_SHIFT, PARTIAL_SHIFT, ROW_MASK, ROW_SHIFT

_LINE_MASK = (1 << LINE_BITS) - 1
_SECTOR_MASK = (1 << SECTORS) - 1


class _NotedWords(NamedTuple):
    """Room for what the L1 caches and the L2 cache are asked for, in order (`layout`)."""

    l1: Any
    l2: Any


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
def _note_l1(line, sectors, row, sm, asked, system):
    if system.notes_asked:
        word = _noted(line, sectors, np.int64(0), row, sm, system)
        asked.l1[np.uint64(system.asked_of_l1)] = word
        system.asked_of_l1 += 1


@inlined
def _note_l2(line, sectors, partial, row, what, asked, system):
    if system.notes_asked:
        word = _noted(line, sectors, partial, row, what, system)
        asked.l2[np.uint64(system.asked_of_l2)] = word
        system.asked_of_l2 += 1


@inlined
def _write_on(line, sectors, row, l2, beyond, asked, system):
    """Sectors that an L1 cache alone had, of local memory, go to the L2 cache."""
    if sectors:
        _note_l2(line, sectors, np.int64(0), row, np.int64(STORES), asked, system)
        store_l2(line, sectors, np.int64(0), np.int64(IS_LOCAL), row, l2, beyond, system)


@inlined
def _moved(count):
    """Sectors that accesses of a row have moved between L2 cache and DRAM."""
    return count.first_reads + count.again_reads + count.dirtied


@inlined
def _access(word, rule, row, sm, place, l1, l2, beyond, asked, system):
    """One line of a request; returns the sectors that the DRAM moves for it."""
    sectors = word & _SECTOR_MASK
    line = word >> LINE_SHIFT & _LINE_MASK
    if rule & IS_LOCAL:
        line = line + place * system.local_lines & _LINE_MASK | 1 << LOCAL_BIT
    count = beyond.counts[np.uint64(row)]
    before = _moved(count)
    count.lines += 1
    count.requests += word >> FIRST_BIT & 1
    if rule & IS_ATOMIC:
        _note_l2(line, sectors, np.int64(0), row, np.int64(CHANGES), asked, system)
        change_l2(line, sectors, rule, count, l2, beyond, system)
    elif rule & IS_STORE:
        is_kept = False
        if system.l1_sets:
            if rule & ALLOCATES_L1:
                _note_l1(line, sectors, row, sm, asked, system)
            spilled, left = store_l1(line, sectors, sm, rule, l1, system)
            _write_on(left, spilled, row, l2, beyond, asked, system)
            is_kept = rule & ALLOCATES_L1 and not system.writes_through
        if not is_kept:
            partial = word >> PARTIAL_SHIFT & sectors
            _note_l2(line, sectors, partial, row, np.int64(STORES), asked, system)
            store_l2(line, sectors, partial, rule, row, l2, beyond, system)
    else:
        missing = sectors
        if rule & ASKS_L1 and system.l1_sets:
            _note_l1(line, sectors, row, sm, asked, system)
            missing, spilled, left = load_l1(line, sectors, sm, rule, l1, system)
            _write_on(left, spilled, row, l2, beyond, asked, system)
            count.l1_sectors += popcount(sectors)
            count.l1_hits += popcount(sectors & ~missing)
        if missing:
            count.missed_lines += 1
            _note_l2(line, missing, np.int64(0), row, np.int64(LOADS), asked, system)
            load_l2(line, missing, sm & 1, rule, count, l2, beyond, system)
    return _moved(count) - before


@inlined
def _issue(words, moved, at, end, rules, base, sm, place, l1, l2, beyond, asked, system):
    """The accesses of a warp from `at` on, until it waits; returns where others begin."""
    row = words[np.uint64(at)] >> ROW_SHIFT & ROW_MASK
    is_waiting = False
    while not is_waiting:
        rule = rules[np.uint64(row)]
        word = words[np.uint64(at)]
        sectors = _access(word, rule, base + row, sm, place, l1, l2, beyond, asked, system)
        moved[np.uint64(at)] = sectors
        at += 1
        if at == end:
            return at
        word = words[np.uint64(at)]
        row = word >> ROW_SHIFT & ROW_MASK
        is_waiting = word >> FIRST_BIT & 1 and rules[np.uint64(row)] & FOLLOWS_WAIT
    return at


@inner
def _start(place, sm, next_block, end_block, parts, warps, starts, residents, turns, system):
    """Put the next block that does anything where one has ended; returns the block after it.

    `place` is the first of the block's warps among those of the SM.
    """
    while next_block < end_block:
        first = next_block * system.warps
        next_block += 1
        started = 0
        for warp in range(system.warps):
            at, end = starts[first + warp], starts[first + warp + 1]
            if at < end:
                slot = place + warp
                turns[sm, 2 + turns[sm, 0]] = slot
                turns[sm, 0] += 1
                residents[sm * warps + slot].at = at
                residents[sm * warps + slot].end = end
                started += 1
        if started:
            block_slot = sm * system.resident + place // system.warps
            parts[block_slot, 0] = started
            parts[block_slot, 1] = next_block - 1
            return next_block
    return next_block


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
        line = word >> LINE_SHIFT & _LINE_MASK
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
    turns,
    parts,
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
    residents, turns, parts:
        Room for the warps of all SMs, those of every SM in turn behind their number and whose turn
        it is, and how many warps of every resident block are left.
    asked_of_l1, asked_of_l2:
        Room for what is asked of these, where it is noted: a word for every one of `words`, and two
        in the L2 cache.
    moved:
        Output: for every one of `words` that is run, the sectors that the DRAM moves for it.
    """
    system = systems[0]
    l1 = L1(entries, buckets, ends)
    l2 = L2(l2_lines, l2_stamps, l2_states, l2_rows)
    beyond = Beyond(counts, touched, pages, visited)
    asked = _NotedWords(asked_of_l1, asked_of_l2)
    warps = system.resident * system.warps
    next_block = first_block
    for place in range(system.resident):
        for sm in range(system.sms):
            next_block = _start(
                place * system.warps,
                sm,
                next_block,
                end_block,
                parts,
                warps,
                starts,
                residents,
                turns,
                system,
            )
    done = np.int64(0)
    is_busy = True
    while is_busy:
        is_busy = False
        for sm in range(system.sms):
            live = turns[np.uint64(sm), np.uint64(0)]
            if live == 0:
                continue
            is_busy = True
            turn = turns[np.uint64(sm), np.uint64(1)]
            if turn >= live:
                turn = 0
            slot = turns[np.uint64(sm), np.uint64(2 + turn)]
            place = sm * warps + slot
            resident = residents[np.uint64(place)]
            at, end = resident.at, resident.end
            block_slot = sm * system.resident + slot // system.warps
            base = bases[np.uint64(parts[np.uint64(block_slot), np.uint64(1)])]
            begun = at
            at = _issue(
                words, moved, at, end, rules, base, sm, place, l1, l2, beyond, asked, system
            )
            done += at - begun
            if at < end:
                resident.at = at
                turns[np.uint64(sm), np.uint64(1)] = turn + 1
                continue
            for later in range(turn, live - 1):
                turns[sm, 2 + later] = turns[sm, 3 + later]
            turns[sm, 0] = live - 1
            turns[sm, 1] = turn
            parts[block_slot, 0] -= 1
            if parts[block_slot, 0] == 0:
                next_block = _start(
                    slot - slot % system.warps,
                    sm,
                    next_block,
                    end_block,
                    parts,
                    warps,
                    starts,
                    residents,
                    turns,
                    system,
                )
    return done
