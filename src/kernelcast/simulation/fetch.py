# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Instructions on their way to a scheduler, line by line, compiled.

Every scheduler has a small cache of instructions (L0), and the SM a larger one (L1), which asks the
L2 cache. Lines are known by the place of their code, from 0 on. What a scheduler misses, and the
lines behind it, come as a stream: whoever reads on in it has it go on. In a full cache, a new line
takes the place of the one that came first. Code that the SM's own cache holds is in it from the
launch before; of longer code, nothing is, and where the L2 cache is cold, it comes from the DRAM.

R. Huerta et al.: Analyzing Modern NVIDIA GPU cores. MICRO 2025, section 5.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.profiling.loops import inlined, inner
from kernelcast.simulation.chip import cross

_SECTOR_BYTES = 32.0
_SCHEDULERS = 2
"""Where those of schedulers begin in `Fetched.free`."""
NOT_KEPT, NEVER_SEEN = -1.0, -2.0
"""When a line is there that a cache lacks, and one that the L2 cache lacks, too."""


class Fetched(NamedTuple):
    """The caches of instructions: of every SM those of its schedulers, and then its own."""

    arrives: Any  # by SM, cache and line: when it is there, or `NOT_KEPT`, or `NEVER_SEEN`
    kept: Any  # by SM, cache and place: its line, or -1
    place: Any  # by SM and cache: which one the next line takes
    ahead: Any  # by SM and scheduler: the end of its stream
    free: Any  # by SM: when its cache can give and get a line, and each scheduler's get one
    asked: Any  # lines that schedulers, and SMs, had to ask for


@inlined
def _keep(sm, cache, size, line, at, fetched):
    """A line comes to a cache of so many lines."""
    place = fetched.place[sm, cache]
    fetched.place[sm, cache] = place + 1 if place + 1 < size else 0
    old = fetched.kept[sm, cache, place]
    if old >= 0:
        fetched.arrives[sm, cache, old] = NOT_KEPT
    fetched.kept[sm, cache, place] = line
    fetched.arrives[sm, cache, line] = at


@inner
def _ask(line, sm, scheduler, cycle, fetched, clock, hardware):
    """A scheduler asks the SM for a line, and the SM the L2 cache for what it lacks."""
    own = _SCHEDULERS + scheduler
    at = max(cycle, max(fetched.free[sm, 0], fetched.free[sm, own]))
    fetched.free[sm, 0] = at + hardware.fetch_interval
    fetched.free[sm, own] = at + hardware.fetch_l0_interval
    fetched.asked[0] += 1
    there = fetched.arrives[sm, hardware.schedulers, line]
    if there < 0.0:
        fetched.asked[1] += 1
        begins = max(at, fetched.free[sm, 1])
        is_cold = there == NEVER_SEEN
        taken = hardware.fetch_dram_interval if is_cold else hardware.fetch_l2_interval
        fetched.free[sm, 1] = begins + taken
        begins = cross(begins, np.float64(hardware.fetch_bytes) / _SECTOR_BYTES, clock, hardware)
        there = begins + hardware.fetch_l2_latency - hardware.fetch_latency
        _keep(sm, hardware.schedulers, hardware.instruction_lines, line, there, fetched)
    there = max(at, there) + hardware.fetch_latency
    _keep(sm, scheduler, hardware.l0_lines, line, there, fetched)


@inner
def fetch(line, sm, scheduler, cycle, fetched, clock, hardware):
    """A warp goes on to another line; returns when its instructions are there."""
    end = fetched.ahead[sm, scheduler]
    follows = end - hardware.fetch_ahead <= line <= end
    if fetched.arrives[sm, scheduler, line] < 0.0:
        _ask(line, sm, scheduler, cycle, fetched, clock, hardware)
        if not follows:
            end, follows = line, True
    if follows:
        last = min(line + hardware.fetch_ahead, fetched.arrives.shape[2] - 1)
        for following in range(end + 1, last + 1):
            if fetched.arrives[sm, scheduler, following] < 0.0:
                _ask(following, sm, scheduler, cycle, fetched, clock, hardware)
        fetched.ahead[sm, scheduler] = last
    return fetched.arrives[sm, scheduler, line]
