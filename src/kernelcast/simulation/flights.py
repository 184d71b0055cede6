# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Lines on their way to an SM, and those that its L1 cache has, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.hierarchy.caches.l1 import load_l1
from kernelcast.hierarchy.caches.layout import ALLOCATES_L1, ASKS_L1, LINE_MASK, LOCAL_BIT
from kernelcast.profiling.loops import HASH_FACTOR, inlined, inner
from kernelcast.simulation.layout import IN_FLIGHT
from kernelcast.simulation.streams import LINE_SHIFT

_FLIGHT_SHIFT = 64 - IN_FLIGHT.bit_length() + 1


@inlined
def line_of(word, local):
    """The number by which caches know a line; that of a warp's own memory begins at `local`."""
    line = word >> LINE_SHIFT
    if local >= 0:
        return line + local & LINE_MASK | 1 << LOCAL_BIT
    return line & LINE_MASK


@inlined
def _flight_of(line):
    return np.uint64(line * HASH_FACTOR) >> np.uint64(_FLIGHT_SHIFT)


@inlined
def _awaited(flight, at, hardware):
    """When a load has what another one asked for, which it reads from the L1 cache afterwards.

    Stencils by small blocks on an A100 and a V100, three and five of whose loads want one line,
    take as much longer than a copy.
    """
    return flight.arrives + hardware.l1_latency if flight.arrives > at else at


@inlined
def arrival(line, sm, at, stages, hardware):
    """When a line is there that was asked for."""
    flight = stages.flying[sm, _flight_of(line)]
    return _awaited(flight, at, hardware) if flight.line == line else at


@inlined
def take_off(line, sectors, rule, sm, arrives, stages, hardware):
    """Note that sectors of a line are on their way."""
    if hardware.fills_late:
        if not (rule & ASKS_L1 and rule & ALLOCATES_L1):
            return
        count = stages.fills_at[sm, 1]
        fill = stages.fills[sm, np.uint64((stages.fills_at[sm, 0] + count) % IN_FLIGHT)]
        fill.line, fill.sectors, fill.rule, fill.arrives = line, sectors, rule, arrives
        stages.fills_at[sm, 1] = count + 1
    flight = stages.flying[sm, _flight_of(line)]
    if flight.line != line:
        flight.line, flight.sectors = line, 0
    flight.sectors |= sectors
    flight.arrives = arrives


@inner
def _land(sm, now, stages):
    """What has come takes its place in the L1 cache of an SM, in the order of the requests."""
    first, count = stages.fills_at[sm, 0], stages.fills_at[sm, 1]
    while count > 0:
        fill = stages.fills[sm, np.uint64(first)]
        if fill.arrives > now and count < IN_FLIGHT:
            break
        load_l1(fill.line, fill.sectors, sm, fill.rule, stages.l1, stages.system)
        flight = stages.flying[sm, _flight_of(fill.line)]
        if flight.line == fill.line and flight.arrives == fill.arrives:
            flight.line = -1
        first, count = (first + 1) % IN_FLIGHT, count - 1
    stages.fills_at[sm, 0], stages.fills_at[sm, 1] = first, count


@inlined
def look_up_l1(line, sectors, rule, sm, at, stages, hardware):
    """Sectors to be asked for, and when the others are there.

    Where a line takes its place when it comes, what is on its way leaves those in the cache that it
    will replace.
    """
    if not hardware.fills_late:
        missing, _, _ = load_l1(line, sectors, sm, rule, stages.l1, stages.system)
        return missing, at if missing else arrival(line, sm, at, stages, hardware)
    _land(sm, at, stages)
    kept = rule & ~ALLOCATES_L1
    missing, _, _ = load_l1(line, sectors, sm, kept, stages.l1, stages.system)
    flight = stages.flying[sm, _flight_of(line)]
    if missing and flight.line == line and missing & flight.sectors:
        return missing & ~flight.sectors, _awaited(flight, at, hardware)
    return missing, at
