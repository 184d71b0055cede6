# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Pipes and banks of registers that an instruction keeps busy, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.loops import inlined, inner
from kernelcast.simulation.layout import (
    BANKS,
    BOTH_HALVES,
    FAR_OFF,
    FLOAT_HALF,
    FP32_PIPE,
    FP32_PIPES,
    MEMORY_QUEUE,
    MULTIPLIERS,
    NO_PIPE,
    WAIT,
)


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
def occupy(code, sm, scheduler, now, stages, told, hardware):
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
def read_registers(reads, named, sm, scheduler, now, schedulers, hardware):
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
def hold_others(sm, scheduler, place, held, schedulers, hardware):
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
