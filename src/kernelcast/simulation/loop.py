# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop over the cycles of some SMs, compiled.

A warp's next instruction is known when the one before it has issued, and so is the cycle from which
it may issue: all that it waits for has been issued, too, and said then when it will be done. Only
who waits for other warps, at a barrier, is told later. So nothing happens between the cycles in
which some scheduler issues, and the loop goes from one to the next.
"""

from __future__ import annotations

import numpy as np

from kernelcast.hierarchy.caches.l1 import L1
from kernelcast.hierarchy.caches.layout import ENTRY, SYSTEM
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.loops import array, inlined, inner
from kernelcast.simulation.blocks import begin_block
from kernelcast.simulation.choice import choose
from kernelcast.simulation.constants import ConstantCaches
from kernelcast.simulation.fetch import Fetched
from kernelcast.simulation.issue import issue
from kernelcast.simulation.layout import (
    BARRIER,
    BLOCK,
    CLOCK,
    CODE,
    EVENT,
    FAR_OFF,
    FLIGHT,
    HARDWARE,
    ROW,
    SWAPPED,
    WARP,
)
from kernelcast.simulation.stages import MemoryStages
from kernelcast.simulation.state import Residents, Schedulers, Told, WarpCode
from kernelcast.simulation.supply import fetch_first, names_what_is_there

DONE, DEADLOCK, CONTRADICTION = range(3)
"""How a simulation ends: as it should, with warps that wait for ever, or with a stream whose
accesses are not those of the code."""


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
        place, soonest = choose(sm, scheduler, first, now, schedulers, stages, hardware)
        wake[sm, scheduler] = soonest
        if place >= 0:
            warp = schedulers.warps[np.uint64(place)]
            if warp.line < 0 and not fetch_first(
                warp, place, sm, scheduler, now, program, schedulers, stages, clock, hardware
            ):
                wake[sm, scheduler] = now
                continue
            if not names_what_is_there(
                warp, place, sm, scheduler, now, program, schedulers, stages, hardware
            ):
                wake[sm, scheduler] = now
                continue
            is_same = last[sm, scheduler] == place - first
            last[sm, scheduler] = place - first
            if hardware.of_sm[np.uint64(schedulers.door[np.uint64(place)])]:
                schedulers.turns[sm] = (scheduler + 1) % hardware.schedulers
            wake[sm, scheduler] = FAR_OFF
            spent = issue(
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

    Parameters are those of `WarpCode`, `Schedulers`, `Residents`, `Told` and `MemoryStages`, in
    that order, and a record of `HARDWARE` and of `CLOCK`. Returns how it ended.
    """
    program = WarpCode(words, starts, code, bounds, registers)
    schedulers = Schedulers(
        warps, ready, pipe, ages, wake, free, last, results, why, ports, held, turns
    )
    residents = Residents(blocks, order, taken, places, places_held, swapped, times)
    told = Told(issued, stalls, busy, events)
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
            begin_block(sm, slot, cycle, program, schedulers, residents, clock, hardware)
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
