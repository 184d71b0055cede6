# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The load/store unit of an SM and its banks: who takes them from when on, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.layout import SHARED
from kernelcast.profiling.loops import inlined
from kernelcast.simulation.layout import ARRIVE, ATOMIC, COPY, LOAD, MEMORY_QUEUE, SYNCHRONISE
from kernelcast.simulation.streams import (
    LANES_MASK,
    LANES_SHIFT,
    PASSES_MASK,
    PASSES_SHIFT,
    TAGS_MASK,
    TAGS_SHIFT,
)


@inlined
def enter_banks(
    sm,
    scheduler,
    now,
    address_cycles,
    unit_cycles,
    bank_cycles,
    held_cycles,
    is_near,
    stages,
    hardware,
):
    """A request gets its addresses, and then the banks; returns from when on it has either.

    The next one of the scheduler gets its addresses when this one has the banks, and until then
    it holds its place in the queue. Where the way to memory is apart, those that are not near go
    there past the banks, and the others stay in the SM.
    """
    start = max(np.float64(now), stages.addresses[sm, scheduler])
    begun = start
    if not (hardware.memory_apart and is_near):
        group = sm // hardware.memory_group
        begun = max(start, stages.lsu[group])
        stages.lsu[group] = begun + unit_cycles
    if not hardware.memory_apart or is_near:
        begun = max(begun, stages.data[sm])
        stages.data[sm] = begun + bank_cycles
    stages.addresses[sm, scheduler] = max(start + address_cycles, begun)
    place = stages.queue_at[sm, scheduler]
    stages.queues[sm, scheduler, place] = max(start + held_cycles, begun)
    place = place + 1 if place + 1 < hardware.queue else 0
    stages.queue_at[sm, scheduler] = place
    stages.pipes[sm, scheduler, MEMORY_QUEUE] = stages.queues[sm, scheduler, place]
    return start, begun


@inlined
def turns_of_bank(code, word, hardware):
    """Turns of a bank that an atomic on shared memory takes."""
    passes = np.float64(word >> PASSES_SHIFT & PASSES_MASK)
    return passes * hardware.swap_turns if code.swap else passes


@inlined
def bank_cycles(code, word, space, hardware):
    """Cycles that the banks of the SM are busy with a request."""
    passes = np.float64(word >> PASSES_SHIFT & PASSES_MASK)
    if space == SHARED:
        if code.kind == ATOMIC:
            return turns_of_bank(code, word, hardware) * hardware.shared_atomic_cycles
        return passes * hardware.pass_cycles
    lanes = np.float64(word >> LANES_SHIFT & LANES_MASK)
    moved = lanes * code.bytes / hardware.l1_rate
    if code.kind in (LOAD, COPY):
        tags = np.float64(word >> TAGS_SHIFT & TAGS_MASK)
        in_banks = min(passes * hardware.pass_cycles, max(passes, lanes))
        return max(1.0, max(tags * hardware.tag_cycles, max(in_banks, moved)))
    return max(1.0, moved)


@inlined
def pass_by(code, sm, scheduler, now, stages, hardware):
    """What asks for nothing takes its turn in the load/store unit all the same.

    An instruction that no lane acts on: on an H100 the profiler counts it there, 7.60 M for a
    prefix sum of 7.34 M memory instructions, of which 7.11 M have a lane, and 0.26 M others. And a
    barrier, for one cycle, as no lane goes with it: on an RTX 3080, whose unit takes half a warp
    at a time, two prefix sums of HeCBench, a Haar transform and a radix sort come out at 0.89,
    0.99, 1.04 and 1.07 of their times so, at 0.79 and 0.80 (the sums) if it took none, and at 0.98,
    1.14, 1.24 and 1.14 if it took two.
    """
    held, address_cycles = code.sources_cycles + 1.0, hardware.shared_address_cycles
    cycles = hardware.lsu_cycles
    if code.kind in (SYNCHRONISE, ARRIVE):
        cycles = min(cycles, 1.0)
    enter_banks(sm, scheduler, now, address_cycles, cycles, 0.0, held, True, stages, hardware)


@inlined
def shuffle_lanes(code, sm, scheduler, now, stages, hardware):
    """Lanes exchange values through the banks of the SM; returns when that begins."""
    held = code.sources_cycles + 1.0
    address_cycles = hardware.shared_address_cycles
    _, begun = enter_banks(
        sm,
        scheduler,
        now,
        address_cycles,
        hardware.lsu_cycles,
        hardware.pass_cycles,
        held,
        True,
        stages,
        hardware,
    )
    return begun
