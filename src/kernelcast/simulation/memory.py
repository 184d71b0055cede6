# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""A request to memory: its way through the SM and its share of the chip, compiled.

Every stage serves one request after the other, and is known by the cycle from which it is free: the
addresses of a scheduler's requests, the load/store unit of the SM, its banks of tags and data, the
way to the L2 cache, and the DRAM. Latencies are those of an idle machine, to which the waits for
these stages add.
"""

from __future__ import annotations

import numpy as np

from kernelcast.hierarchy.caches.layout import ASKS_L1
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.profiling.layout import GLOBAL, LOCAL, SHARED
from kernelcast.profiling.loops import inlined, inner, popcount
from kernelcast.simulation.banks import bank_cycles, enter_banks, turns_of_bank
from kernelcast.simulation.chip import fetch_line, hold_back, owe, owe_l1
from kernelcast.simulation.flights import arrival, line_of, look_up_l1, take_off
from kernelcast.simulation.layout import ATOMIC, COPY, STORE
from kernelcast.simulation.stores import send_store
from kernelcast.simulation.streams import (
    IDEAL_MASK,
    IDEAL_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
    PASSES_MASK,
    PASSES_SHIFT,
    SECTORS_MASK,
    SECTORS_SHIFT,
    SPACE_MASK,
    SPACE_SHIFT,
    TAGS_MASK,
    TAGS_SHIFT,
)


@inlined
def _fill(missing, sm, stages, clock, hardware):
    """What comes for a load is written through the banks that it is read through, as fast.

    Products of tiles on an H100, whose banks and slices are both busy, take 0.96 of the measured
    time with it, and 0.86 without.
    """
    if hardware.fills_banks:
        cycles = np.float64(popcount(missing)) * SECTOR_BYTES / hardware.l1_rate
        stages.data[sm] += cycles
        clock.l1_busy += cycles


@inlined
def _load_line(word, is_copy, row_number, sm, local, at, stages, clock, hardware):
    """One line of a load; returns when the SM could ask for it, and when it is there."""
    row = stages.rows[np.uint64(row_number)]
    line, sectors = line_of(word, local), word >> SECTORS_SHIFT & SECTORS_MASK
    missing, there = sectors, at
    owe(word, row_number, stages)
    if row.rule & ASKS_L1 and hardware.has_l1:
        missing, there = look_up_l1(line, sectors, row.rule, sm, at, stages, hardware)
        clock.l1_sectors += popcount(sectors)
        clock.l1_hits += popcount(sectors & ~missing)
    elif row.l1_miss < 1.0:
        asked = owe_l1(row_number, row.l1_miss, np.float64(popcount(sectors)), stages)
        missing = (np.int64(1) << np.int64(asked)) - 1
        there = arrival(line, sm, at, stages, hardware)
    if not missing:
        return at, there
    begins, arrives = fetch_line(line, missing, row_number, sm, at, False, stages, clock, hardware)
    take_off(line, missing, row.rule, sm, arrives, stages, hardware)
    if not is_copy:  # what a copy brings is written once, which is all that its passes are
        _fill(missing, sm, stages, clock, hardware)
    return begins, max(there, arrives)


@inlined
def _load(word, at, words, is_copy, row_number, sm, local, begun, cycles, stages, clock, hardware):
    """The lines of a load whose banks have `begun`; returns when all is there."""
    done = begun + hardware.l1_latency + cycles - 1.0
    latest = begun
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        line = words[np.uint64(at + i)]
        begins, there = _load_line(
            line, is_copy, row_number, sm, local, begun, stages, clock, hardware
        )
        latest = max(latest, begins)
        done = max(done, there)
    hold_back(sm, latest, stages, hardware)
    return done


@inlined
def _take_slices(word, gives_back, clock, hardware):
    """What an atomic takes of the slices of the L2 cache beyond what a store of its lines does.

    It asks for a line once for each lane on one word, and what it gives back may pass two slices.
    """
    rounds, lines = word >> TAGS_SHIFT & TAGS_MASK, word >> LINES_SHIFT & LINES_MASK
    taken = 2.0 * max(0.0, np.float64(rounds - lines)) * hardware.l2_request_cycles
    if gives_back:
        taken += np.float64(lines) * (hardware.l2_change_cycles - hardware.l2_request_cycles)
    clock.l2_slices_free += taken
    clock.l2_slices_busy += taken


@inlined
def _change(word, at, words, row_number, sm, begun, cycles, stages, clock, hardware):
    """An atomic on global memory, carried out by the L2 cache; returns when its results are there.

    The SM sends a line after the other, for which its banks wait. Lanes that want one word follow
    each other, in turns of the L2 cache's slices; and so do all of the chip on the slice that is
    busiest.
    """
    row = stages.rows[np.uint64(row_number)]
    done, latest, sent = begun, begun, begun
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        told = words[np.uint64(at + i)]
        line, sectors = line_of(told, np.int64(-1)), told >> SECTORS_SHIFT & SECTORS_MASK
        owe(told, row_number, stages)
        begins, there = fetch_line(
            line, sectors, row_number, sm, sent, True, stages, clock, hardware
        )
        latest = max(latest, begins)
        done = max(done, there)
        sent += hardware.atomic_line
    turns = np.float64(word >> PASSES_SHIFT & PASSES_MASK)
    _take_slices(word, row.gives_back, clock, hardware)
    if row.in_turn_cycles > 0.0:
        starts = max(latest, clock.atomics_free)
        clock.atomics_free = starts + turns * row.in_turn_cycles
        done = max(done, clock.atomics_free + hardware.l2_latency)
        latest = max(latest, starts - hardware.most_dram_wait)
    hold_back(sm, max(latest, sent), stages, hardware)
    clock.l1_busy += max(0.0, sent - begun - cycles)
    return done


@inner
def request_memory(code, word, at, words, sm, scheduler, local, now, stages, clock, hardware):
    """Carry a request out; `at` is where the words of its lines begin.

    Returns when its result is there (of a store, when it has arrived), and when the addresses and
    what it stores have been read.
    """
    space = word >> SPACE_SHIFT & SPACE_MASK
    row_number = code.row + space if code.is_generic else code.row
    is_shared = space == SHARED
    address_cycles = hardware.shared_address_cycles if is_shared else hardware.address_cycles
    held = code.sources_cycles + 1.0
    cycles = bank_cycles(code, word, space, hardware)
    is_near = space not in (GLOBAL, LOCAL)
    start, begun = enter_banks(
        sm,
        scheduler,
        now,
        address_cycles,
        hardware.lsu_cycles,
        cycles,
        held,
        is_near,
        stages,
        hardware,
    )
    read = start + code.sources_cycles
    if is_near:
        clock.shared_busy += cycles
        least = max(1.0, np.float64(word >> IDEAL_SHIFT & IDEAL_MASK)) * hardware.pass_cycles
        each = hardware.conflict_cycles
        if code.computing > 0.0:
            each = hardware.operand_conflict_cycles
        further = (cycles - least) / hardware.pass_cycles * each
        if code.kind == ATOMIC:
            turns = turns_of_bank(code, word, hardware)
            further = max(0.0, turns - 1.0) * hardware.atomic_conflict_cycles
            return begun + hardware.atomic_shared_latency + further, read
        return begun + hardware.shared_latency + max(0.0, further), read
    clock.l1_busy += cycles
    place = local if space == LOCAL else np.int64(-1)
    if code.kind == ATOMIC:
        done = _change(word, at, words, row_number, sm, begun, cycles, stages, clock, hardware)
        return done, read
    if code.kind == STORE:
        width = code.bytes
        return send_store(
            word, at, words, row_number, sm, place, begun, cycles, width, stages, clock, hardware
        ), read
    is_copy = code.kind == COPY
    return _load(
        word, at, words, is_copy, row_number, sm, place, begun, cycles, stages, clock, hardware
    ), read
