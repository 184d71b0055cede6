# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Which of its warps a scheduler takes, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.loops import inlined
from kernelcast.simulation.layout import FAR_OFF

_LOOSE_ROUND_ROBIN, _GREEDY_OLDEST, _GREEDY_YOUNGEST, IN_LINE = range(4)
"""Warps in line keep their place, the youngest first, until they give way: then they are last.

The oldest and the youngest give way for one turn, where their code yields."""


@inlined
def choose(sm, scheduler, first, now, schedulers, stages, hardware):
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
    """How much a scheduler prefers a warp to others; the last one has given way to them here."""
    if hardware.policy == _LOOSE_ROUND_ROBIN:
        # Those behind the last one come first, in order.
        behind = k - last - 1
        return -(behind if behind >= 0 else behind + hardware.places)
    if hardware.policy != IN_LINE and k == last:
        return -FAR_OFF
    age = schedulers.ages[np.uint64(place)]
    return age if hardware.policy == _GREEDY_YOUNGEST else -age
