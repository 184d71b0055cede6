# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Barriers in shared memory, at which warps, copies and other blocks arrive, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.loops import inlined, inner
from kernelcast.simulation.blocks import go_on, place_of
from kernelcast.simulation.dependences import make_ready
from kernelcast.simulation.layout import AWAIT, BARRIER, FAR_OFF, MBARRIERS
from kernelcast.simulation.streams import (
    ARRIVALS_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
    MBARRIER_MASK,
    MBARRIER_SHIFT,
)


@inlined
def name_mbarrier(warp, word, program):
    """Note the barrier in shared memory that a request is about, where the stream names it."""
    if word >> LINES_SHIFT & LINES_MASK:
        told = program.words[np.uint64(warp.at + 1)]
        warp.mbarrier = (told >> MBARRIER_SHIFT & MBARRIER_MASK) % MBARRIERS
        warp.arrivals = told >> ARRIVALS_SHIFT


@inner
def signal(sm, warp, done, reason, program, schedulers, residents, hardware):
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
        scheduler, place = place_of(sm, warp.block, w, residents, hardware)
        other = schedulers.warps[place]
        if schedulers.ready[place] < FAR_OFF or other.reason != BARRIER:
            continue
        is_told = program.code[np.uint64(other.waits_at)].kind == AWAIT
        is_told = is_told and other.mbarrier == warp.mbarrier
        if is_told and other.arrivals <= block.arrivals[warp.mbarrier]:
            go_on(other, place, sm, scheduler, cycle, reason, program, schedulers, hardware)


@inlined
def await_arrivals(sm, warp, place, scheduler, after, program, schedulers, residents, hardware):
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
        go_on(warp, place, sm, scheduler, there, reason, program, schedulers, hardware)
    else:
        make_ready(warp, place, after, program, schedulers, hardware)
