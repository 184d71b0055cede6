"""Execute a launch, or a sample of its blocks, and profile it as it runs."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.sampling import sample_blocks
from kernelcast.execution.trace import Trace
from kernelcast.ir import Kernel, Launch
from kernelcast.profiling.profile import Profile
from kernelcast.toolchain.cache import Cache

FEWEST_BLOCKS, MOST_BLOCKS = 32, 1024
"""Blocks of a sample whose size is not given; a grid of the fewest or less is executed whole."""

THREAD_INSTRUCTIONS = 80_000_000
"""What a sample may cost where its size is not given: about 0.3 s to execute and count."""

PILOT_BLOCKS = 4
"""Blocks executed first to learn what a block costs; they are part of the sample."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How much of a grid is executed: all of it, `blocks` blocks, or what seems enough.

    `budget` bounds the executed warp instructions; None leaves it to the executor.
    """

    exact: bool = False
    blocks: int | None = None
    budget: int | None = None


ENOUGH = Sampling()
"""As many blocks as seem enough."""


def profile_launch(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    sampling: Sampling = ENOUGH,
    cache: Cache | None = None,
) -> Profile:
    """Execute the launch on `memory` and profile it; `cache` keeps machine code.

    Raises
    ------
    ExecutionError
        If the kernel itself goes wrong: an access outside every array, a deadlock, or more
        instructions than the budget.
    UnsupportedError
        If the kernel holds an instruction that cannot be executed.
    """
    from kernelcast.profiling.builder import ProfileBuilder  # loads Numba

    pilot: Trace | None = None
    if sampling.exact or launch.blocks <= FEWEST_BLOCKS:
        chosen = tuple(range(launch.blocks))
    elif sampling.blocks is not None:
        chosen = sample_blocks(launch.blocks, sampling.blocks)
    else:
        first = sample_blocks(launch.blocks, PILOT_BLOCKS)
        pilot = execute(kernel, launch, memory, blocks=first, budget=sampling.budget, cache=cache)
        chosen = _sample_with(first, launch.blocks, affordable_blocks(pilot))
    builder = ProfileBuilder(kernel, launch, memory, chosen)
    done: tuple[int, ...] = ()
    seconds = 0.0
    if pilot is not None:
        builder.consume(pilot.words)
        done, seconds = pilot.blocks, pilot.seconds
    rest = tuple(block for block in chosen if block not in done)
    trace = execute(
        kernel,
        launch,
        memory,
        blocks=rest,
        budget=sampling.budget,
        sink=builder.consume,
        cache=cache,
    )
    return builder.finish(executor=trace.executor, seconds=seconds + trace.seconds)


def affordable_blocks(pilot: Trace) -> int:
    """How many blocks like those of the pilot `THREAD_INSTRUCTIONS` pay for, within bounds."""
    per_block = pilot.thread_instructions / len(pilot.blocks)
    affordable = int(THREAD_INSTRUCTIONS / per_block) if per_block else MOST_BLOCKS
    return max(FEWEST_BLOCKS, min(MOST_BLOCKS, affordable))


def _sample_with(pilot: tuple[int, ...], total: int, wanted: int) -> tuple[int, ...]:
    """A sample of the grid in which the pilot's blocks stand in for their nearest neighbours."""
    chosen = set(sample_blocks(total, wanted))
    for block in pilot:
        if block not in chosen:
            chosen.remove(min(chosen.difference(pilot), key=lambda other: abs(other - block)))
            chosen.add(block)
    return tuple(sorted(chosen))
