"""Which blocks of a launch a GPU holds at a time, and whether they are executed so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelcast.analysis.meetings import meetings_of
from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import ExecutionError, LaunchError, UnsupportedError
from kernelcast.execution.blocks import Wave
from kernelcast.execution.run import Run
from kernelcast.ir import Kernel, Launch
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import occupancy_of_launch
from kernelcast.profiling.run import FEWEST_BLOCKS, MOST_BLOCKS, Sampling

MOST_TOGETHER = 150_000_000
"""Warp instructions of a whole launch whose blocks see each other's work, as far as its trace
depends on them; beyond, a few blocks run alone. About 2 s on one core, each time it is followed."""

_MOST_PROFILED = 20_000_000
"""The same of the blocks of a profile, whose traces are held until those before have ended."""


def with_residents(
    run: Run, sampling: Sampling, machines: Sequence[Machine]
) -> tuple[Run, Sampling]:
    """The run of a launch, and how it is sampled, with as many blocks at a time as the first of the
    machines holds.

    So it is where the trace depends on how far other blocks have come, and the whole launch, all of
    which then is executed for any of its blocks, is affordable. Else both are as they were.
    """
    held = resident_wave(run.kernel, run.launch, machines[0]).blocks
    pointers = run.memory.pointers(run.kernel)
    needed = needed_for_trace(run.kernel, pointers=pointers)
    if min(held, run.launch.blocks) < 2 or not meetings_of(run.kernel, pointers, needed).matter:
        return run, sampling
    together = replace(run, resident=held)
    try:
        done = replace(together, needed=needed, most=MOST_TOGETHER, threads=1).follow()
    except (ExecutionError, LaunchError, UnsupportedError):
        return run, sampling
    blocks = run.launch.blocks
    affordable = blocks * _MOST_PROFILED // max(done.warp_instructions, 1)
    sample = min(blocks, MOST_BLOCKS, max(FEWEST_BLOCKS, affordable))
    return together, replace(sampling, resident=held, blocks=sampling.blocks or sample)


def resident_wave(kernel: Kernel, launch: Launch, chip: Machine) -> Wave:
    """Blocks that are resident at a time on a whole GPU, none where none fits an SM."""
    try:
        per_sm = occupancy_of_launch(chip, kernel.resources, launch).blocks_per_sm
    except LaunchError:
        per_sm = 0
    return Wave(int(chip.number("sm.count")), per_sm)
