# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The life of a block on an SM: it begins, its warps meet at barriers, and it ends, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.loops import inlined, inner
from kernelcast.simulation.choice import IN_LINE
from kernelcast.simulation.constants import NOT_NAMED
from kernelcast.simulation.dependences import advance, make_ready
from kernelcast.simulation.layout import (
    BARRIER,
    BARRIERS,
    COUNTERS,
    FAR_OFF,
    MBARRIERS,
    SYNCHRONISE,
)


@inner
def begin_block(sm, slot, cycle, program, schedulers, residents, clock, hardware):
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
        scheduler, place = place_of(sm, slot, w, residents, hardware)
        warp = schedulers.warps[place]
        warp.at = program.starts[number * hardware.warps + w]
        warp.end = program.starts[number * hardware.warps + w + 1]
        warp.pc = warp.stop = 0
        warp.block, warp.number = slot, w
        clock.age += 1
        # In line, places are counted by cycles: who has not given way comes before.
        schedulers.ages[place] = -clock.age if hardware.policy == IN_LINE else clock.age
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
        if advance(warp, place, program, schedulers, hardware):
            block.left += 1
            make_ready(warp, place, cycle, program, schedulers, hardware)
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
def place_of(sm, slot, number, residents, hardware):
    """The scheduler of a warp of a block, and its place there."""
    place = residents.places[sm, slot, number]
    return place // hardware.places % hardware.schedulers, np.uint64(place)


@inlined
def go_on(warp, place, sm, scheduler, cycle, reason, program, schedulers, hardware):
    """A warp that waited at a barrier goes on from a cycle on; the reason is what it waited for."""
    make_ready(warp, place, cycle, program, schedulers, hardware)
    if schedulers.ready[place] <= cycle:
        warp.reason = reason
    at = schedulers.wake[sm, scheduler]
    schedulers.wake[sm, scheduler] = min(at, schedulers.ready[place])


@inner
def _release(sm, slot, barrier, cycle, program, schedulers, residents, hardware):
    """Let all warps of a block go that wait at a barrier."""
    for w in range(hardware.warps):
        scheduler, place = place_of(sm, slot, w, residents, hardware)
        warp = schedulers.warps[place]
        if warp.reason == BARRIER and schedulers.ready[place] == FAR_OFF:
            code = program.code[np.uint64(warp.waits_at)]
            if code.kind == SYNCHRONISE and code.barrier == barrier:
                go_on(warp, place, sm, scheduler, cycle, BARRIER, program, schedulers, hardware)


@inlined
def _needed_at(block, barrier_warps):
    """Warps that a barrier waits for."""
    return block.left if barrier_warps == 0 else min(barrier_warps, block.left)


@inner
def arrive(sm, warp, code, now, program, schedulers, residents, hardware):
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
def end_warp(sm, warp, now, program, schedulers, residents, clock, hardware):
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
    if residents.taken[sm, 0] == residents.taken[sm, 1] and clock.full_until == 0:
        clock.full_until, clock.issued_full = now, clock.issued
    handed_out = max(np.float64(now), clock.handed_out)
    clock.handed_out = handed_out + hardware.block_interval / hardware.sms
    replacement = hardware.replacement - (0.0 if block.done else hardware.drain)
    again = max(handed_out + replacement, block.done)
    begin_block(sm, slot, np.int64(np.ceil(again)), program, schedulers, residents, clock, hardware)
