# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop over the cycles of some SMs, compiled.

A warp's next instruction is known when the one before it has issued, and so is the cycle from which
it may issue: all that it waits for has been issued, too, and said then when it will be done. Only
who waits for other warps, at a barrier, is told later. So nothing happens between the cycles in
which some scheduler issues, and the loop goes from one to the next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.hierarchy.caches.l1 import L1
from kernelcast.hierarchy.caches.layout import ENTRY, SYSTEM
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.layout import SHARED
from kernelcast.profiling.loops import array, inlined, inner
from kernelcast.simulation.constants import (
    IN_STREAM,
    NOT_NAMED,
    ConstantCaches,
    line_told,
    load_constant,
    load_constants,
    name_constant,
)
from kernelcast.simulation.fetch import Fetched, fetch
from kernelcast.simulation.layout import (
    ARITHMETIC,
    ARRIVE,
    ATOMIC,
    AWAIT,
    BANKS,
    BARRIER,
    BARRIERS,
    BLOCK,
    BOTH_HALVES,
    CLOCK,
    CODE,
    CONSTANT,
    COPY,
    COUNTERS,
    DIRECT,
    DISPATCH,
    DRAIN,
    EVENT,
    FAR_OFF,
    FLIGHT,
    FLOAT_HALF,
    FP32_PIPE,
    FP32_PIPES,
    GROUP_COPIES,
    HARDWARE,
    IMC_MISS,
    INDIRECT,
    LG_THROTTLE,
    LOAD,
    LONG_SCOREBOARD,
    MBARRIERS,
    MEMORY_QUEUE,
    MULTIPLIERS,
    NO_INSTRUCTION,
    NO_PIPE,
    NOT_SELECTED,
    NOTHING,
    PENDING,
    ROW,
    SELECTED,
    SHUFFLE,
    SIGNAL,
    STORE,
    SWAPPED,
    SYNCHRONISE,
    TRIES,
    WAIT,
    WARP,
)
from kernelcast.simulation.memory import MemoryStages, pass_by, request_memory, shuffle_lanes
from kernelcast.simulation.streams import (
    ACCESS,
    ARRIVALS_SHIFT,
    BLOCK_MASK,
    BLOCK_SHIFT,
    INSTRUCTION_MASK,
    INSTRUCTION_SHIFT,
    KIND_MASK,
    LINE_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
    MBARRIER_MASK,
    MBARRIER_SHIFT,
    SPACE_MASK,
    SPACE_SHIFT,
)

DONE, DEADLOCK, CONTRADICTION = range(3)
"""How a simulation ends: as it should, with warps that wait for ever, or with a stream whose
accesses are not those of the code."""

_LOOSE_ROUND_ROBIN, _GREEDY_OLDEST, _GREEDY_YOUNGEST, _IN_LINE, _HIGHEST_PLACE = range(5)
"""Warps in line keep their place, the youngest first, until they give way: then they are last."""


class _WarpCode(NamedTuple):
    """What the warps execute."""

    words: Any
    starts: Any
    code: Any
    bounds: Any  # first instruction and end of every basic block
    registers: Any  # those that instructions read and write, one behind the other


class _Schedulers(NamedTuple):
    """The warps of every scheduler, side by side."""

    warps: Any
    ready: Any  # from which cycle each may issue
    door: Any  # what must be free for its next instruction, as in `CODE`
    ages: Any  # the lower, the older
    wake: Any  # by SM and scheduler: when one may issue next; behind them the SM's first
    free: Any  # from when on it is done with what it issued last
    last: Any  # the warp that issued last
    results: Any  # by warp and register: when it is there
    why: Any  # and why one waits that waits for it
    ports: Any  # by SM, scheduler and bank of registers: from when on it is free
    held: Any  # by SM and scheduler: the last cycles that it waited for them, and their end
    turns: Any  # by SM: the scheduler that comes first at a pipe that they share


class _Residents(NamedTuple):
    """The blocks of every SM."""

    blocks: Any
    order: Any  # by SM: which blocks of the stream it gets
    taken: Any  # by SM: how many it has begun, and how many there are
    places: Any  # by SM, slot and warp: the place of the warp, -1 for none
    held: Any  # by place: whether a warp of a resident block has it
    swapped: Any  # by SM and slot: the words of its block that lanes try to swap
    times: Any  # by block of the stream: when it began and ended


class _Told(NamedTuple):
    """What is counted."""

    issued: Any  # by instruction
    stalls: Any  # by instruction and reason: cycles of warps
    busy: Any  # by pipe: cycles
    events: Any


@inlined
def _raise(warp, counter, done, reason):
    """A counter is released when `done`; the releases of one are taken to be in order."""
    count = warp.raised[counter]
    if count:
        done = max(done, warp.pending[counter, (count - 1) % PENDING])
    warp.pending[counter, count % PENDING] = done
    warp.pending_reason[counter] = reason
    warp.raised[counter] = count + 1


@inlined
def _released(warp, counter, outstanding):
    """When at most so many releases of a counter are missing."""
    count = warp.raised[counter]
    if count <= outstanding:
        return 0.0
    return warp.pending[counter, (count - 1 - outstanding) % PENDING]


@inner
def _wait_for_counters(code, warp, ready):
    """From when on an instruction may issue, by the counters it names; the reason is the warp's."""
    latest = np.float64(ready)
    for counter in range(COUNTERS):
        if code.waits >> counter & 1:
            free = _released(warp, counter, np.int64(0))
            if free > latest:
                latest = free
                warp.reason = warp.pending_reason[counter]
    if code.waits_most >= 0:
        free = _released(warp, code.waits_most, code.outstanding)
        if free > latest:
            latest = free
            warp.reason = warp.pending_reason[code.waits_most]
    return latest


@inner
def _wait_for_registers(code, warp, place, ready, program, schedulers):
    """The same by the registers that it reads and writes."""
    latest = np.float64(ready)
    for at in range(code.first_read, code.end_written):
        register = program.registers[np.uint64(at)]
        free = schedulers.results[np.uint64(place), np.uint64(register)]
        if at >= code.end_read:
            # What it writes must not be there before the result of an earlier instruction.
            free -= code.latency
        if free > latest:
            latest = free
            warp.reason = schedulers.why[np.uint64(place), np.uint64(register)]
    return latest


@inlined
def _write_registers(code, place, done, program, schedulers):
    """The registers that an instruction writes are there when it is `done`."""
    for at in range(code.end_read, code.end_written):
        register = program.registers[np.uint64(at)]
        schedulers.results[np.uint64(place), np.uint64(register)] = done
        schedulers.why[np.uint64(place), np.uint64(register)] = code.reason


@inner
def _pass_on(code, place, program, schedulers):
    """What is no instruction of the machine hands on what it reads."""
    latest, why = 0.0, np.int64(WAIT)
    for at in range(code.first_read, code.end_read):
        register = np.uint64(program.registers[np.uint64(at)])
        if schedulers.results[np.uint64(place), register] > latest:
            latest = schedulers.results[np.uint64(place), register]
            why = np.int64(schedulers.why[np.uint64(place), register])
    for at in range(code.end_read, code.end_written):
        register = np.uint64(program.registers[np.uint64(at)])
        schedulers.results[np.uint64(place), register] = latest
        schedulers.why[np.uint64(place), register] = why


@inlined
def _advance(warp, place, program, schedulers, hardware):
    """Go to the next instruction of a warp; False where it has none."""
    while True:
        while warp.pc == warp.stop:
            if warp.at == warp.end:
                return False
            word = program.words[np.uint64(warp.at)]
            warp.at += 1
            if word & KIND_MASK == ACCESS:
                warp.is_broken = 1
                return False
            block = np.uint64(word >> BLOCK_SHIFT & BLOCK_MASK)
            warp.pc = program.bounds[block, 0]
            warp.stop = program.bounds[block, 1]
        code = program.code[np.uint64(warp.pc)]
        if code.kind != NOTHING:
            return True
        if hardware.registers:
            _pass_on(code, place, program, schedulers)
        warp.at = _behind(warp, program)
        warp.pc += 1


@inlined
def _behind(warp, program):
    """Where the words of the warp's instruction end: it may have accesses."""
    at = warp.at
    while at < warp.end:
        word = program.words[np.uint64(at)]
        of = word >> INSTRUCTION_SHIFT & INSTRUCTION_MASK
        if word & KIND_MASK != ACCESS or of != warp.pc:
            return at
        at += 1 + (word >> LINES_SHIFT & LINES_MASK)
    return at


@inlined
def _held_back(code, warp):
    """Until when a warp's own earlier loads, or its last store, keep it from the memory."""
    if code.kind == LOAD:
        return warp.flights[warp.flight]
    return warp.next_store if code.kind == STORE else 0.0


@inlined
def _remember(code, warp, now, done, hardware):
    """Note what holds later loads and stores of the warp back."""
    if code.kind == LOAD and hardware.loads_per_warp:
        warp.flights[warp.flight] = done
        warp.flight = warp.flight + 1 if warp.flight + 1 < hardware.loads_per_warp else 0
    elif code.kind == STORE:
        warp.next_store = now + hardware.store_next


@inlined
def _make_ready(warp, place, from_cycle, program, schedulers, hardware):
    """Find out from when on the next instruction of a warp may issue."""
    code = program.code[np.uint64(warp.pc)]
    warp.reason = WAIT
    if hardware.registers:
        latest = _wait_for_registers(code, warp, place, from_cycle, program, schedulers)
    elif code.waits or code.waits_most >= 0:
        latest = _wait_for_counters(code, warp, from_cycle)
    else:
        latest = np.float64(from_cycle)
    if code.reason == LONG_SCOREBOARD and (hardware.loads_per_warp or hardware.store_next > 0.0):
        held = _held_back(code, warp)
        if held > latest:
            latest = held
            warp.reason = LG_THROTTLE
    if hardware.policy == _IN_LINE and warp.reason != WAIT:
        # Its result comes when it comes: others have gone on meanwhile.
        warp.gave_way = 1
        schedulers.ages[np.uint64(place)] = np.int64(np.ceil(latest))
    if warp.fetched > latest:
        latest = warp.fetched
        warp.reason = NO_INSTRUCTION
    schedulers.ready[np.uint64(place)] = np.int64(np.ceil(latest))
    schedulers.door[np.uint64(place)] = code.door


@inlined
def _fetch_next(warp, sm, scheduler, now, program, stages, clock, hardware):
    """Ask for the line of a warp's next instruction, if it is another one."""
    line = program.code[np.uint64(warp.pc)].address >> hardware.fetch_line
    if line != warp.line and hardware.l0_lines:
        warp.line = line
        asked = np.float64(now)
        warp.fetched = fetch(line, sm, scheduler, asked, stages.fetched, clock, hardware)


@inner
def _fetch_first(warp, place, sm, scheduler, now, program, schedulers, stages, clock, hardware):
    """Ask for the first instruction of a warp; returns whether it is there."""
    _fetch_next(warp, sm, scheduler, now, program, stages, clock, hardware)
    if warp.fetched <= now:
        return True
    schedulers.ready[np.uint64(place)] = np.int64(np.ceil(warp.fetched))
    warp.reason = NO_INSTRUCTION
    return False


@inlined
def _names_what_is_there(warp, place, sm, scheduler, now, program, schedulers, stages, hardware):
    """Whether the constant that a warp's next instruction names is there, if it names one."""
    code = program.code[np.uint64(warp.pc)]
    if not code.names_constant or hardware.constant_lines == 0:
        return True
    line = code.constant
    if line == IN_STREAM:
        line = line_told(warp.at, warp.end, warp.pc, program.words)
    if line < 0 or line == warp.constant:
        warp.constant = NOT_NAMED
        return True
    there = name_constant(line, sm, scheduler, np.float64(now), stages.constants, hardware)
    if there <= now:
        return True
    warp.constant = line
    warp.could_issue = max(warp.last + 1, schedulers.ready[np.uint64(place)])
    warp.waited_for, warp.reason = warp.reason, IMC_MISS
    schedulers.ready[np.uint64(place)] = np.int64(np.ceil(there))
    warp.missed = schedulers.ready[np.uint64(place)] - now
    return False


@inner
def _begin_block(sm, slot, cycle, program, schedulers, residents, clock, hardware):
    """Give the place of a block to the next one of the SM that does anything, if there is one."""
    while residents.taken[sm, 0] < residents.taken[sm, 1]:
        if _begin_next(sm, slot, cycle, program, schedulers, residents, clock, hardware):
            return


@inlined
def _begin_next(sm, slot, cycle, program, schedulers, residents, clock, hardware):
    """Begin the next block of an SM; returns whether it does anything."""
    number = residents.order[sm, residents.taken[sm, 0]]
    residents.taken[sm, 0] += 1
    block = residents.blocks[sm, slot]
    block.number, block.left, block.done = number, 0, 0.0
    for barrier in range(BARRIERS):
        block.arrived[barrier] = 0
    for mbarrier in range(MBARRIERS):
        block.arrivals[mbarrier], block.completed[mbarrier] = 0, 0.0
    residents.times[number, 0] = cycle
    _give_places(sm, slot, residents, hardware)
    for w in range(hardware.warps):
        scheduler, place = _place_of(sm, slot, w, residents, hardware)
        warp = schedulers.warps[place]
        warp.at = program.starts[number * hardware.warps + w]
        warp.end = program.starts[number * hardware.warps + w + 1]
        warp.pc = warp.stop = 0
        warp.block, warp.number = slot, w
        clock.age += 1
        # In line, places are counted by cycles: who has not given way comes before.
        schedulers.ages[place] = -clock.age if hardware.policy == _IN_LINE else clock.age
        warp.gave_way = warp.held = 0
        warp.mbarrier = warp.loaded_at = warp.tried_at = -1
        warp.goes_back = 0
        warp.last = cycle - 1
        warp.line = -1 if hardware.l0_lines else 0
        warp.constant = NOT_NAMED
        warp.fetched = 0.0
        warp.stores_done = warp.copies_done = warp.next_store = 0.0
        for place_of_load in range(hardware.loads_per_warp):
            warp.flights[place_of_load] = 0.0
        warp.flight = 0
        for counter in range(COUNTERS):
            warp.raised[counter] = 0
        for register in range(hardware.registers):
            schedulers.results[place, register] = 0.0
        if _advance(warp, place, program, schedulers, hardware):
            block.left += 1
            _make_ready(warp, place, cycle, program, schedulers, hardware)
            at = schedulers.wake[sm, scheduler]
            schedulers.wake[sm, scheduler] = min(at, schedulers.ready[place])
        elif warp.is_broken:
            clock.broken_warp, clock.broken_instruction = place, warp.pc
            clock.limit = 0
    if block.left == 0:
        residents.times[number, 1] = cycle
    return block.left > 0


@inlined
def _give_places(sm, slot, residents, hardware):
    """Give the warps of an SM's next block the places of the slot's last one, and free others.

    Each goes to the scheduler with the fewest warps; of several, to the first from one on that is
    another for every block of the SM.
    """
    first = sm * hardware.schedulers * hardware.places
    turn = residents.taken[sm, 0] - 1
    for w in range(hardware.warps):
        place = residents.places[sm, slot, w]
        if place >= 0:
            residents.held[place] = 0
    for w in range(hardware.warps):
        chosen, fewest = np.int64(0), hardware.places
        for k in range(hardware.schedulers):
            scheduler = (turn + k) % hardware.schedulers
            count = np.int64(0)
            for place in range(hardware.places):
                count += residents.held[first + scheduler * hardware.places + place]
            if count < fewest:
                chosen, fewest = scheduler, count
        place = first + chosen * hardware.places
        while residents.held[place]:
            place += 1
        residents.held[place] = 1
        residents.places[sm, slot, w] = place


@inlined
def _place_of(sm, slot, number, residents, hardware):
    """The scheduler of a warp of a block, and its place there."""
    place = residents.places[sm, slot, number]
    return place // hardware.places % hardware.schedulers, np.uint64(place)


@inlined
def _go_on(warp, place, sm, scheduler, cycle, reason, program, schedulers, hardware):
    """A warp that waited at a barrier goes on from a cycle on; the reason is what it waited for."""
    _make_ready(warp, place, cycle, program, schedulers, hardware)
    if schedulers.ready[place] <= cycle:
        warp.reason = reason
    at = schedulers.wake[sm, scheduler]
    schedulers.wake[sm, scheduler] = min(at, schedulers.ready[place])


@inner
def _release(sm, slot, barrier, cycle, program, schedulers, residents, hardware):
    """Let all warps of a block go that wait at a barrier."""
    for w in range(hardware.warps):
        scheduler, place = _place_of(sm, slot, w, residents, hardware)
        warp = schedulers.warps[place]
        if warp.reason == BARRIER and schedulers.ready[place] == FAR_OFF:
            code = program.code[np.uint64(warp.waits_at)]
            if code.kind == SYNCHRONISE and code.barrier == barrier:
                _go_on(warp, place, sm, scheduler, cycle, BARRIER, program, schedulers, hardware)


@inlined
def _needed_at(block, barrier_warps):
    """Warps that a barrier waits for."""
    return block.left if barrier_warps == 0 else min(barrier_warps, block.left)


@inner
def _arrive(sm, warp, code, now, program, schedulers, residents, hardware):
    """A warp comes to a barrier; returns whether that lets those go that wait there."""
    block = residents.blocks[sm, warp.block]
    block.arrived[code.barrier] += 1
    if block.arrived[code.barrier] < _needed_at(block, code.barrier_warps):
        return False
    block.arrived[code.barrier] = 0
    cycle = now + np.int64(np.ceil(hardware.sync_cycles))
    _release(sm, warp.block, code.barrier, cycle, program, schedulers, residents, hardware)
    return True


@inner
def _end_warp(sm, warp, now, program, schedulers, residents, clock, hardware):
    """A warp has ended, and with it maybe its block, whose place another one takes."""
    slot = warp.block
    block = residents.blocks[sm, slot]
    block.left -= 1
    block.done = max(block.done, max(warp.stores_done, warp.copies_done))
    clock.end = max(clock.end, max(now + 1, np.int64(np.ceil(block.done))))
    if block.left:
        # Those that are left may be all that a barrier waits for.
        for barrier in range(BARRIERS):
            if 0 < block.left <= block.arrived[barrier]:
                block.arrived[barrier] = 0
                cycle = now + np.int64(np.ceil(hardware.sync_cycles))
                _release(sm, slot, barrier, cycle, program, schedulers, residents, hardware)
        return
    residents.times[block.number, 1] = max(now + 1, np.int64(np.ceil(block.done)))
    handed_out = max(np.float64(now), clock.handed_out)
    clock.handed_out = handed_out + hardware.block_interval / hardware.sms
    again = max(handed_out + hardware.replacement, block.done)
    _begin_block(
        sm, slot, np.int64(np.ceil(again)), program, schedulers, residents, clock, hardware
    )


@inlined
def _name_mbarrier(warp, word, program):
    """Note the barrier in shared memory that a request is about, where the stream names it."""
    if word >> LINES_SHIFT & LINES_MASK:
        told = program.words[np.uint64(warp.at + 1)]
        warp.mbarrier = (told >> MBARRIER_SHIFT & MBARRIER_MASK) % MBARRIERS
        warp.arrivals = told >> ARRIVALS_SHIFT


@inner
def _signal(sm, warp, done, reason, program, schedulers, residents, hardware):
    """A warp's arrival at a barrier in shared memory is there when it is `done`.

    Those whose last arrival it is go on then.
    """
    if warp.mbarrier < 0:
        return
    block = residents.blocks[sm, warp.block]
    block.arrivals[warp.mbarrier] += 1
    if done >= block.completed[warp.mbarrier]:
        block.completed[warp.mbarrier], block.last_reason[warp.mbarrier] = done, reason
    cycle = np.int64(np.ceil(block.completed[warp.mbarrier]))
    reason = block.last_reason[warp.mbarrier]
    for w in range(hardware.warps):
        scheduler, place = _place_of(sm, warp.block, w, residents, hardware)
        other = schedulers.warps[place]
        if schedulers.ready[place] < FAR_OFF or other.reason != BARRIER:
            continue
        is_told = program.code[np.uint64(other.waits_at)].kind == AWAIT
        is_told = is_told and other.mbarrier == warp.mbarrier
        if is_told and other.arrivals <= block.arrivals[warp.mbarrier]:
            _go_on(other, place, sm, scheduler, cycle, reason, program, schedulers, hardware)


@inlined
def _await(sm, warp, place, scheduler, after, program, schedulers, residents, hardware):
    """A warp goes on when the arrivals are there that it waits for, if it waits for any."""
    block = residents.blocks[sm, warp.block]
    there = np.int64(0)
    if warp.mbarrier >= 0 and warp.arrivals > 0:
        if block.arrivals[warp.mbarrier] < warp.arrivals:
            schedulers.ready[np.uint64(place)] = FAR_OFF
            warp.reason = BARRIER
            return
        there = np.int64(np.ceil(block.completed[warp.mbarrier]))
    if there > after:
        reason = block.last_reason[warp.mbarrier]
        _go_on(warp, place, sm, scheduler, there, reason, program, schedulers, hardware)
    else:
        _make_ready(warp, place, after, program, schedulers, hardware)


@inlined
def _note_load(warp, there, hardware):
    """Note where a warp loads from shared memory, maybe what it then tries to swap, and when."""
    warp.loaded_at, warp.loaded_pc, warp.loaded_stop = warp.at, warp.pc, warp.stop
    warp.loaded = there - hardware.shared_latency


@inner
def _try(warp, sm, word, done, program, residents, hardware):
    """Swap words of shared memory, of those that nobody has swapped since the warp loaded them.

    Of others it goes back to that load at the end of the loop, and then tries to swap these alone.
    """
    wanted = warp.failed if warp.tried_at == warp.at else np.int64(-1)
    warp.tried_at, warp.failed = warp.at, 0
    words = residents.swapped[sm, warp.block]
    number = residents.blocks[sm, warp.block].number
    begun = done - hardware.atomic_shared_latency
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        if wanted >> i & 1 == 0:
            continue
        tried = program.words[np.uint64(warp.at + 1 + i)] >> LINE_SHIFT
        known = words[np.uint64(tried % len(words))]
        is_same = known.word == tried and known.block == number
        if is_same and known.at > warp.loaded:
            warp.failed |= np.int64(1) << i
        else:
            known.word, known.block, known.at = tried, number, begun
    warp.goes_back = warp.failed != 0 and warp.loaded_at >= 0


@inlined
def _goes_back(code, warp, clock):
    """Whether a loop goes round once more as words were not swapped; goes back to its load then."""
    if code.jumps != DIRECT or not warp.goes_back:
        return False
    warp.goes_back = 0
    clock.repeated += max(np.int64(1), warp.waits_at - warp.loaded_pc + 1)
    warp.at, warp.pc, warp.stop = warp.loaded_at, warp.loaded_pc, warp.loaded_stop
    return True


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
                _name_mbarrier(warp, word, program)
            elif residents.swapped.shape[2] and word >> SPACE_SHIFT & SPACE_MASK == SHARED:
                if code.kind == LOAD:
                    _note_load(warp, there, hardware)
                elif code.swap == TRIES:
                    _try(warp, sm, word, there, program, residents, hardware)
            warp.at += 1 + (word >> LINES_SHIFT & LINES_MASK)
        if warp.at == first and code.kind in (LOAD, STORE, ATOMIC, COPY):
            pass_by(code, sm, scheduler, now, stages, hardware)
        if code.kind == STORE:
            warp.stores_done = max(warp.stores_done, done)
        elif code.kind == COPY:
            warp.copies_done = max(warp.copies_done, done)
    elif code.kind in (SYNCHRONISE, ARRIVE):
        # Where memory lies apart, the unit stands on the way to it, which no barrier takes.
        if not hardware.memory_apart:
            pass_by(code, sm, scheduler, now, stages, hardware)
    elif code.kind == CONSTANT:
        end = _behind(warp, program)
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
def _occupy_half(code, pipes, now):
    """Keep a half of the FP32 pipe busy, that which is free first, or both; returns the wait."""
    half = MULTIPLIERS
    if code.pipe == FP32_PIPE and pipes[FLOAT_HALF] <= pipes[MULTIPLIERS]:
        half = FLOAT_HALF
    free = max(pipes[BOTH_HALVES if code.pipe == BOTH_HALVES else half], np.float64(now))
    pipes[half] = free + code.interval
    if code.pipe == BOTH_HALVES:
        pipes[FLOAT_HALF] = free + code.interval
    pipes[FP32_PIPE] = min(pipes[FLOAT_HALF], pipes[MULTIPLIERS])
    pipes[BOTH_HALVES] = max(pipes[FLOAT_HALF], pipes[MULTIPLIERS])
    return free - now


@inlined
def _occupy(code, sm, scheduler, now, stages, told, hardware):
    """Keep the pipe of an instruction busy; returns how long it waits for it."""
    pipe = code.pipe
    if pipe >= NO_PIPE:
        return 0.0
    if hardware.fp32_halves and pipe in FP32_PIPES:
        told.busy[FP32_PIPE] += code.interval if pipe == BOTH_HALVES else code.interval / 2
        return _occupy_half(code, stages.pipes[sm, scheduler], now)
    told.busy[pipe] += code.interval
    queued = hardware.queued[np.uint64(pipe)]
    free = max(stages.pipes[sm, scheduler, pipe] + queued, np.float64(now))
    if hardware.of_sm[np.uint64(pipe)]:
        for other in range(hardware.schedulers):
            stages.pipes[sm, other, pipe] = free + code.interval - queued
    else:
        stages.pipes[sm, scheduler, pipe] = free + code.interval - queued
    if code.door == MEMORY_QUEUE:
        entered = stages.pipes[sm, scheduler, MEMORY_QUEUE]
        stages.pipes[sm, scheduler, MEMORY_QUEUE] = max(entered, free)
    return free - now


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
def _read_registers(reads, named, sm, scheduler, now, schedulers, hardware):
    """Reserve what an instruction reads; returns for how many cycles its scheduler waits for that.

    A bank b gives one register in a cycle, and f_b is when it has given all that were reserved. Of
    n_b registers, all are read in the w cycles from t on:

        t = max(now, f_b + n_b - w),    f_b <- max(f_b, t) + n_b
    """
    if hardware.read_cycles == 0.0:
        return np.int64(0)
    ports = schedulers.ports[sm, scheduler]
    start = np.float64(now)
    window = max(hardware.read_cycles, max(named[0], named[1]))
    for bank in range(BANKS):
        if reads[bank] > 0.0:
            start = max(start, ports[bank] + reads[bank] - window)
    for bank in range(BANKS):
        ports[bank] = max(ports[bank], start) + reads[bank]
    waited = np.int64(start) - now
    if waited:
        schedulers.held[sm, scheduler, 0] = now + 1
        schedulers.held[sm, scheduler, 1] = now + 1 + waited
    return waited


@inner
def _hold_others(sm, scheduler, place, held, schedulers, hardware):
    """While registers are read, the stall counts of a scheduler's warps stand still, too.

    They stand for latencies, which begin with the reading.
    """
    first = (sm * hardware.schedulers + scheduler) * hardware.places
    now = schedulers.warps[np.uint64(place)].last
    for other in range(first, first + hardware.places):
        ready = schedulers.ready[np.uint64(other)]
        is_counting = schedulers.warps[np.uint64(other)].reason == WAIT
        if is_counting and other != place and now < ready < FAR_OFF:
            schedulers.ready[np.uint64(other)] = ready + held
            schedulers.warps[np.uint64(other)].held += held


@inlined
def _issue(
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
    held = _read_registers(reads, code.reads_after_others, sm, scheduler, now, schedulers, hardware)
    waited = _occupy(code, sm, scheduler, now + held, stages, told, hardware) + held
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
        _remember(code, warp, now, done, hardware)
    if hardware.registers:
        _write_registers(code, place, done, program, schedulers)
    else:
        if code.result_counter >= 0:
            _raise(warp, code.result_counter, done, code.reason)
        if code.sources_counter >= 0:
            _raise(warp, code.sources_counter, read, code.reason)
    if code.kind == SIGNAL:
        there, reason = done, np.int64(BARRIER)
        if code.after_copies:
            there, reason = max(done, warp.copies_done), np.int64(LONG_SCOREBOARD)
        _signal(sm, warp, there, reason, program, schedulers, residents, hardware)
    warp.last, warp.waits_at = now, warp.pc
    held += code.holds
    busy = code.slots * hardware.issue_interval + held
    after = now + (0 if code.pairs else code.stall) + held
    if held:
        warp.held = held
        _hold_others(sm, scheduler, place, held, schedulers, hardware)
    if hardware.policy == _IN_LINE:
        warp.gave_way = code.yields
        if code.yields:
            schedulers.ages[np.uint64(place)] = now
    issued_at = warp.pc
    # On to the next instruction, unless there is none or others have to come first.
    warp.pc += 1
    goes_on = _goes_back(code, warp, clock) or _advance(warp, place, program, schedulers, hardware)
    if not goes_on:
        if warp.is_broken:
            clock.broken_warp, clock.broken_instruction = place, warp.waits_at
            clock.limit = 0
        schedulers.ready[np.uint64(place)] = FAR_OFF
        warp.reason = DRAIN
        _end_warp(sm, warp, now, program, schedulers, residents, clock, hardware)
        return busy
    if code.jumps == INDIRECT or (code.jumps and warp.pc != issued_at + 1):
        after = max(after, now + np.int64(np.ceil(hardware.jump_cycles[code.jumps - 1])))
        busy += hardware.jump_holds[code.jumps - 1]
    _fetch_next(warp, sm, scheduler, now, program, stages, clock, hardware)
    if code.kind == SYNCHRONISE:
        schedulers.ready[np.uint64(place)] = FAR_OFF
        warp.reason = BARRIER
        _arrive(sm, warp, code, now, program, schedulers, residents, hardware)
        return busy
    if code.kind == ARRIVE:
        _arrive(sm, warp, code, now, program, schedulers, residents, hardware)
    elif code.kind == AWAIT:
        _await(sm, warp, place, scheduler, after, program, schedulers, residents, hardware)
        return busy
    _make_ready(warp, place, after, program, schedulers, hardware)
    return 0 if code.pairs else busy


@inlined
def _choose(sm, scheduler, first, now, schedulers, stages, hardware):
    """The warp that a scheduler issues from, or -1; and from when on another one may issue."""
    best, soonest = np.int64(-1), np.int64(FAR_OFF)
    last = schedulers.last[sm, scheduler]
    keeps = last >= 0 and hardware.policy != _LOOSE_ROUND_ROBIN
    if keeps and not schedulers.warps[np.uint64(first + last)].gave_way:
        place = np.uint64(first + last)
        free = stages.pipes[sm, scheduler, np.uint64(schedulers.door[place])]
        if schedulers.ready[place] <= now and free < now + 1:
            return first + last, now
    best_rank = np.int64(0)
    for k in range(hardware.places):
        place = first + k
        ready = schedulers.ready[np.uint64(place)]
        if ready <= now:
            free = stages.pipes[sm, scheduler, np.uint64(schedulers.door[np.uint64(place)])]
            if free < now + 1:
                rank = _rank(place, k, last, schedulers, hardware)
                if best >= 0:
                    soonest = now
                if best < 0 or rank > best_rank:
                    best, best_rank = place, rank
                continue
            ready = np.int64(free)
        soonest = min(soonest, ready)
    return best, soonest


@inlined
def _rank(place, k, last, schedulers, hardware):
    """How much a scheduler prefers a warp that is not the last one, unless they take turns."""
    if hardware.policy == _LOOSE_ROUND_ROBIN:
        # Those behind the last one come first, in order.
        behind = k - last - 1
        return -(behind if behind >= 0 else behind + hardware.places)
    if hardware.policy == _HIGHEST_PLACE:
        return k
    age = schedulers.ages[np.uint64(place)]
    return age if hardware.policy == _GREEDY_YOUNGEST else -age


@inlined
def _issue_of_sm(sm, now, program, schedulers, residents, stages, told, clock, hardware):
    """Issue what the schedulers of an SM can, and find out when the next one may be able to."""
    wake, last, turn = schedulers.wake, schedulers.last, schedulers.turns[sm]
    for k in range(hardware.schedulers):
        scheduler = turn + k if turn + k < hardware.schedulers else turn + k - hardware.schedulers
        if wake[sm, scheduler] > now:
            continue
        if schedulers.free[sm, scheduler] > now:
            # A block that began or a barrier has woken it meanwhile.
            wake[sm, scheduler] = schedulers.free[sm, scheduler]
            continue
        first = (sm * hardware.schedulers + scheduler) * hardware.places
        place, soonest = _choose(sm, scheduler, first, now, schedulers, stages, hardware)
        wake[sm, scheduler] = soonest
        if place >= 0:
            warp = schedulers.warps[np.uint64(place)]
            if warp.line < 0 and not _fetch_first(
                warp, place, sm, scheduler, now, program, schedulers, stages, clock, hardware
            ):
                wake[sm, scheduler] = now
                continue
            if not _names_what_is_there(
                warp, place, sm, scheduler, now, program, schedulers, stages, hardware
            ):
                wake[sm, scheduler] = now
                continue
            is_same = last[sm, scheduler] == place - first
            last[sm, scheduler] = place - first
            if hardware.of_sm[np.uint64(schedulers.door[np.uint64(place)])]:
                schedulers.turns[sm] = (scheduler + 1) % hardware.schedulers
            wake[sm, scheduler] = FAR_OFF
            spent = _issue(
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
            )
            schedulers.free[sm, scheduler] = now + spent
            # A barrier may have woken the scheduler's others meanwhile.
            soonest = min(soonest, min(wake[sm, scheduler], schedulers.ready[np.uint64(place)]))
            wake[sm, scheduler] = max(now + spent, soonest)
    # What one has issued may have woken another.
    following = np.int64(FAR_OFF)
    for scheduler in range(hardware.schedulers):
        following = min(following, wake[sm, scheduler])
    wake[sm, hardware.schedulers] = following


@inner
def _broken(schedulers, clock):
    """Note a warp that waits for ever; returns whether there is one."""
    for place in range(len(schedulers.ready)):
        warp = schedulers.warps[np.uint64(place)]
        if warp.reason == BARRIER and schedulers.ready[np.uint64(place)] == FAR_OFF:
            clock.broken_warp, clock.broken_instruction = place, warp.waits_at
            return True
    return False


@compiled(
    np.int64,
    array(np.int64),
    array(np.int64),
    array(CODE),
    array(np.int64, 2),
    array(np.int32),
    array(WARP),
    array(np.int64),
    array(np.int64),
    array(np.int64),
    array(np.int64, 2),
    array(np.int64, 2),
    array(np.int64, 2),
    array(np.float64, 2),
    array(np.int8, 2),
    array(np.float64, 3),
    array(np.int64, 3),
    array(np.int64),
    array(BLOCK, 2),
    array(np.int64, 2),
    array(np.int64, 2),
    array(np.int64, 3),
    array(np.int64),
    array(SWAPPED, 3),
    array(np.int64, 2),
    array(np.int64),
    array(np.int64, 2),
    array(np.float64),
    array(EVENT),
    array(np.float64, 3),
    array(np.float64, 3),
    array(np.int64, 2),
    array(np.float64, 2),
    array(np.float64),
    array(np.float64),
    array(np.float64, 2),
    array(np.int64),
    array(FLIGHT, 2),
    array(FLIGHT, 2),
    array(np.int64, 2),
    array(np.float64),
    array(np.float64),
    array(np.float64),
    array(np.int64, 3),
    array(np.float64),
    array(np.int64),
    array(np.float64, 2),
    array(ROW),
    array(np.float64, 3),
    array(np.int64, 3),
    array(np.int64, 2),
    array(np.int64, 2),
    array(np.float64, 2),
    array(np.int64),
    array(np.int64, 3),
    array(np.float64, 3),
    array(np.float64, 2),
    array(ENTRY),
    array(np.int16),
    array(np.int16, 2),
    array(SYSTEM),
    array(HARDWARE),
    array(CLOCK),
)
def run_sms(
    words,
    starts,
    code,
    bounds,
    registers,
    warps,
    ready,
    pipe,
    ages,
    wake,
    free,
    last,
    results,
    why,
    ports,
    held,
    turns,
    blocks,
    order,
    taken,
    places,
    places_held,
    swapped,
    times,
    issued,
    stalls,
    busy,
    events,
    pipes,
    queues,
    queue_at,
    addresses,
    lsu,
    data,
    misses,
    miss_at,
    flying,
    fills,
    fills_at,
    channels,
    reading,
    leaving,
    stored,
    pages,
    translated,
    owed,
    rows,
    lines,
    kept,
    next_kept,
    ahead,
    given,
    asked,
    constants,
    constants_there,
    constants_free,
    entries,
    buckets,
    ends,
    systems,
    hardwares,
    clocks,
):
    """Let some SMs run until all their blocks have ended, or the limit of instructions is reached.

    Parameters are those of `_WarpCode`, `_Schedulers`, `_Residents`, `_Told` and `MemoryStages`, in
    that order, and a record of `HARDWARE` and of `CLOCK`. Returns how it ended.
    """
    program = _WarpCode(words, starts, code, bounds, registers)
    schedulers = _Schedulers(
        warps, ready, pipe, ages, wake, free, last, results, why, ports, held, turns
    )
    residents = _Residents(blocks, order, taken, places, places_held, swapped, times)
    told = _Told(issued, stalls, busy, events)
    hardware, clock = hardwares[0], clocks[0]
    stages = MemoryStages(
        pipes,
        queues,
        queue_at,
        addresses,
        lsu,
        data,
        misses,
        miss_at,
        flying,
        fills,
        fills_at,
        channels,
        reading,
        leaving,
        stored,
        pages,
        translated,
        owed,
        rows,
        Fetched(lines, kept, next_kept, ahead, given, asked),
        ConstantCaches(constants, constants_there, constants_free),
        L1(entries, buckets, ends),
        systems[0],
    )
    for slot in range(hardware.resident):
        for sm in range(hardware.sms):
            cycle = np.int64(slot * hardware.block_interval)
            _begin_block(sm, slot, cycle, program, schedulers, residents, clock, hardware)
            wake[sm, hardware.schedulers] = 0
    clock.handed_out = hardware.resident * hardware.block_interval
    now = np.int64(0)
    while clock.issued < clock.limit:
        following = np.int64(FAR_OFF)
        for sm in range(hardware.sms):
            if wake[sm, hardware.schedulers] <= now:
                _issue_of_sm(sm, now, program, schedulers, residents, stages, told, clock, hardware)
            following = min(following, wake[sm, hardware.schedulers])
        if following == FAR_OFF:
            break
        now = max(now, following)
        clock.now = now
    if clock.limit == 0:
        return CONTRADICTION
    if clock.issued < clock.limit and _broken(schedulers, clock):
        return DEADLOCK
    return DONE
