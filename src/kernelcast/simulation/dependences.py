# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""From when on a warp's next instruction may issue, by what it depends on, compiled.

By counters that code names, or by the registers that it reads and writes.
"""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.loops import inlined, inner
from kernelcast.simulation.choice import IN_LINE
from kernelcast.simulation.layout import (
    COUNTERS,
    LG_THROTTLE,
    LOAD,
    LONG_SCOREBOARD,
    NO_INSTRUCTION,
    NOTHING,
    PENDING,
    STORE,
    WAIT,
)
from kernelcast.simulation.streams import (
    ACCESS,
    BLOCK_MASK,
    BLOCK_SHIFT,
    INSTRUCTION_MASK,
    INSTRUCTION_SHIFT,
    KIND_MASK,
    LINES_MASK,
    LINES_SHIFT,
)


@inlined
def raise_counter(warp, counter, done, reason):
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
def write_registers(code, place, done, program, schedulers):
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
def advance(warp, place, program, schedulers, hardware):
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
        warp.at = end_of_accesses(warp, program)
        warp.pc += 1


@inlined
def end_of_accesses(warp, program):
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
def remember(code, warp, now, done, hardware):
    """Note what holds later loads and stores of the warp back."""
    if code.kind == LOAD and hardware.loads_per_warp:
        warp.flights[warp.flight] = done
        warp.flight = warp.flight + 1 if warp.flight + 1 < hardware.loads_per_warp else 0
    elif code.kind == STORE:
        warp.next_store = now + hardware.store_next


@inlined
def make_ready(warp, place, from_cycle, program, schedulers, hardware):
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
    if hardware.policy == IN_LINE and warp.reason != WAIT:
        # Its result comes when it comes: others have gone on meanwhile.
        warp.gave_way = 1
        schedulers.ages[np.uint64(place)] = np.int64(np.ceil(latest))
    if warp.fetched > latest:
        latest = warp.fetched
        warp.reason = NO_INSTRUCTION
    schedulers.ready[np.uint64(place)] = np.int64(np.ceil(latest))
    schedulers.door[np.uint64(place)] = code.door
