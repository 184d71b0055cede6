# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""What happens when an instruction issues, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.layout import SHARED
from kernelcast.profiling.loops import inlined
from kernelcast.simulation.banks import pass_by, shuffle_lanes
from kernelcast.simulation.blocks import arrive, end_warp
from kernelcast.simulation.choice import IN_LINE
from kernelcast.simulation.constants import load_constant, load_constants
from kernelcast.simulation.dependences import (
    advance,
    end_of_accesses,
    make_ready,
    raise_counter,
    remember,
    write_registers,
)
from kernelcast.simulation.layout import (
    ARITHMETIC,
    ARRIVE,
    ATOMIC,
    AWAIT,
    BARRIER,
    CONSTANT,
    COPY,
    DISPATCH,
    DRAIN,
    FAR_OFF,
    GROUP_COPIES,
    IMC_MISS,
    INDIRECT,
    LOAD,
    LONG_SCOREBOARD,
    NO_PIPE,
    NOT_SELECTED,
    SELECTED,
    SHUFFLE,
    SIGNAL,
    STORE,
    SYNCHRONISE,
    TRIES,
)
from kernelcast.simulation.mbarriers import await_arrivals, name_mbarrier, signal
from kernelcast.simulation.memory import request_memory
from kernelcast.simulation.pipes import hold_others, occupy, read_registers
from kernelcast.simulation.streams import (
    ACCESS,
    INSTRUCTION_MASK,
    INSTRUCTION_SHIFT,
    KIND_MASK,
    LINES_MASK,
    LINES_SHIFT,
    SPACE_MASK,
    SPACE_SHIFT,
)
from kernelcast.simulation.supply import fetch_next
from kernelcast.simulation.swaps import go_back, note_load, try_swap


@inlined
def _carry_out(
    code,
    warp,
    place,
    sm,
    scheduler,
    now,
    program,
    schedulers,
    residents,
    stages,
    clock,
    hardware,
):
    """Start what an instruction does; returns when its result is there, and its sources read."""
    done = np.float64(now) + code.latency
    read = np.float64(now) + code.sources_cycles
    if code.kind in (LOAD, STORE, ATOMIC, COPY, SIGNAL, AWAIT):
        local = np.int64(place) * np.int64(stages.system.local_lines)
        if code.kind in (SIGNAL, AWAIT):
            warp.mbarrier = -1
        first = warp.at
        while warp.at < warp.end:
            word = program.words[np.uint64(warp.at)]
            of = word >> INSTRUCTION_SHIFT & INSTRUCTION_MASK
            if word & KIND_MASK != ACCESS or of != warp.pc:
                break
            there, taken = request_memory(
                code,
                word,
                warp.at + 1,
                program.words,
                sm,
                scheduler,
                local,
                now,
                stages,
                clock,
                hardware,
            )
            done, read = max(done, there + code.computing), max(read, taken)
            if code.kind in (SIGNAL, AWAIT):
                name_mbarrier(warp, word, program)
            elif residents.swapped.shape[2] and word >> SPACE_SHIFT & SPACE_MASK == SHARED:
                if code.kind == LOAD:
                    note_load(warp, there, hardware)
                elif code.swap == TRIES:
                    try_swap(warp, sm, word, there, program, residents, hardware)
            warp.at += 1 + (word >> LINES_SHIFT & LINES_MASK)
        if warp.at == first and code.kind in (LOAD, STORE, ATOMIC, COPY):
            pass_by(code, sm, scheduler, now, stages, hardware)
        if code.kind == STORE and warp.at > first:
            warp.stores_done = max(warp.stores_done, done)
        elif code.kind == COPY:
            warp.copies_done = max(warp.copies_done, done)
    elif code.kind in (SYNCHRONISE, ARRIVE):
        # Where memory lies apart, the unit stands on the way to it, which no barrier takes.
        if not hardware.memory_apart:
            pass_by(code, sm, scheduler, now, stages, hardware)
    elif code.kind == CONSTANT:
        end = end_of_accesses(warp, program)
        if end > warp.at and not code.names_constant:
            constants = stages.constants
            done = load_constants(code, warp.at, program.words, sm, now, constants, hardware)
        elif not code.names_constant:
            done = load_constant(code, sm, now, stages.constants, hardware)
        warp.at = end
    elif code.kind == GROUP_COPIES:
        done = max(done, warp.copies_done)
    elif code.kind == SHUFFLE:
        start = shuffle_lanes(code, sm, scheduler, now, stages, hardware)
        done, read = start + code.latency, start + code.sources_cycles
    return done, read


@inlined
def _note(code, warp, place, sm, scheduler, now, stages, told, schedulers, residents, clock):
    """Count an issue, and the cycles since the last one by what the warp waited for."""
    code_at = np.uint64(warp.pc)
    stalls = told.stalls[code_at]
    first = warp.last + 1
    ready = max(first, schedulers.ready[np.uint64(place)])
    door = schedulers.door[np.uint64(place)]
    free = ready
    if door != NO_PIPE:
        free = max(ready, min(now, np.int64(stages.pipes[sm, scheduler, door])))
    # Before a constant that it named was missing, it waited for something else, and for its turn.
    reason, could, missed = warp.reason, ready, np.int64(0)
    if reason == IMC_MISS:
        reason, could, missed = warp.waited_for, warp.could_issue, warp.missed
    stood = min(warp.held, could - first)
    warp.held = 0
    stalls[reason] += could - first - stood
    stalls[IMC_MISS] += missed
    stalls[code.throttle] += free - ready
    held = schedulers.held[sm, scheduler]
    waited = max(np.int64(0), min(now, held[1]) - max(free, held[0]))
    stalls[DISPATCH] += waited + stood
    stalls[NOT_SELECTED] += now - free - waited + ready - could - missed
    stalls[SELECTED] += 1
    told.issued[code_at] += 1
    clock.issued += 1
    clock.resident_cycles += now - warp.last
    if clock.events < clock.most_events:
        event = told.events[np.uint64(clock.events)]
        clock.events += 1
        event.cycle, event.sm, event.scheduler = now, sm, scheduler
        event.block = residents.blocks[sm, warp.block].number
        event.warp, event.instruction = warp.number, warp.pc
        event.reason, event.waited, event.missed = reason, could - first - stood, missed
        event.throttle, event.throttled = code.throttle, free - ready
        event.held = waited + stood


@inlined
def issue(
    sm,
    scheduler,
    place,
    is_same,
    now,
    program,
    schedulers,
    residents,
    stages,
    told,
    clock,
    hardware,
):
    """Issue a warp's instruction; returns how many cycles its scheduler is busy with it."""
    warp = schedulers.warps[np.uint64(place)]
    code = program.code[np.uint64(warp.pc)]
    _note(code, warp, place, sm, scheduler, now, stages, told, schedulers, residents, clock)
    reads = code.reads if is_same else code.reads_after_others
    held = read_registers(reads, code.reads_after_others, sm, scheduler, now, schedulers, hardware)
    waited = occupy(code, sm, scheduler, now + held, stages, told, hardware) + held
    done, read = np.float64(now) + code.latency, np.float64(now) + code.sources_cycles
    if code.kind != ARITHMETIC:
        done, read = _carry_out(
            code,
            warp,
            place,
            sm,
            scheduler,
            now,
            program,
            schedulers,
            residents,
            stages,
            clock,
            hardware,
        )
    done += waited
    if code.reason == LONG_SCOREBOARD:
        remember(code, warp, now, done, hardware)
    if hardware.registers:
        write_registers(code, place, done, program, schedulers)
    else:
        if code.result_counter >= 0:
            raise_counter(warp, code.result_counter, done, code.reason)
        if code.sources_counter >= 0:
            raise_counter(warp, code.sources_counter, read, code.reason)
    if code.kind == SIGNAL:
        there, reason = done, np.int64(BARRIER)
        if code.after_copies:
            there, reason = max(done, warp.copies_done), np.int64(LONG_SCOREBOARD)
        signal(sm, warp, there, reason, program, schedulers, residents, hardware)
    warp.last, warp.waits_at = now, warp.pc
    held += code.holds
    busy = code.slots * hardware.issue_interval + held
    after = now + (0 if code.pairs else code.stall) + held
    if held:
        warp.held = held
        hold_others(sm, scheduler, place, held, schedulers, hardware)
    warp.gave_way = code.yields
    if code.yields and hardware.policy == IN_LINE:
        schedulers.ages[np.uint64(place)] = now
    issued_at = warp.pc
    # On to the next instruction, unless there is none or others have to come first.
    warp.pc += 1
    goes_on = go_back(code, warp, clock) or advance(warp, place, program, schedulers, hardware)
    if not goes_on:
        if warp.is_broken:
            clock.broken_warp, clock.broken_instruction = place, warp.waits_at
            clock.limit = 0
        schedulers.ready[np.uint64(place)] = FAR_OFF
        warp.reason = DRAIN
        end_warp(sm, warp, now, program, schedulers, residents, clock, hardware)
        return busy
    if code.jumps == INDIRECT or (code.jumps and warp.pc != issued_at + 1):
        after = max(after, now + np.int64(np.ceil(hardware.jump_cycles[code.jumps - 1])))
        busy += hardware.jump_holds[code.jumps - 1]
    fetch_next(warp, sm, scheduler, now, program, stages, clock, hardware)
    if code.kind == SYNCHRONISE:
        schedulers.ready[np.uint64(place)] = FAR_OFF
        warp.reason = BARRIER
        arrive(sm, warp, code, now, program, schedulers, residents, hardware)
        return busy
    if code.kind == ARRIVE:
        arrive(sm, warp, code, now, program, schedulers, residents, hardware)
    elif code.kind == AWAIT:
        await_arrivals(sm, warp, place, scheduler, after, program, schedulers, residents, hardware)
        return busy
    make_ready(warp, place, after, program, schedulers, hardware)
    return 0 if code.pairs else busy
