# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Whether a warp's next instruction is at hand, and the constant that it names, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.loops import inlined, inner
from kernelcast.simulation.constants import IN_STREAM, NOT_NAMED, line_told, name_constant
from kernelcast.simulation.fetch import fetch
from kernelcast.simulation.layout import IMC_MISS, NO_INSTRUCTION


@inlined
def fetch_next(warp, sm, scheduler, now, program, stages, clock, hardware):
    """Ask for the line of a warp's next instruction, if it is another one."""
    line = program.code[np.uint64(warp.pc)].address >> hardware.fetch_line
    if line != warp.line and hardware.l0_lines:
        warp.line = line
        asked = np.float64(now)
        warp.fetched = fetch(line, sm, scheduler, asked, stages.fetched, clock, hardware)


@inner
def fetch_first(warp, place, sm, scheduler, now, program, schedulers, stages, clock, hardware):
    """Ask for the first instruction of a warp; returns whether it is there."""
    fetch_next(warp, sm, scheduler, now, program, stages, clock, hardware)
    if warp.fetched <= now:
        return True
    schedulers.ready[np.uint64(place)] = np.int64(np.ceil(warp.fetched))
    warp.reason = NO_INSTRUCTION
    return False


@inlined
def names_what_is_there(warp, place, sm, scheduler, now, program, schedulers, stages, hardware):
    """Whether the constant that a warp's next instruction names is there, if it names one."""
    code = program.code[np.uint64(warp.pc)]
    if not code.names_constant or hardware.constant_lines == 0:
        return True
    line = code.constant
    is_told = line == IN_STREAM
    if is_told:
        line = line_told(warp.at, warp.end, warp.pc, program.words)
    if line < 0 or line == warp.constant:
        warp.constant = NOT_NAMED
        return True
    there = name_constant(line, is_told, sm, scheduler, np.float64(now), stages.constants, hardware)
    if there <= now:
        return True
    warp.constant = line
    warp.could_issue = max(warp.last + 1, schedulers.ready[np.uint64(place)])
    warp.waited_for, warp.reason = warp.reason, IMC_MISS
    schedulers.ready[np.uint64(place)] = np.int64(np.ceil(there))
    warp.missed = schedulers.ready[np.uint64(place)] - now
    return False
