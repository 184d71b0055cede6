"""A launch made ready to be executed, for whoever wants to follow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.execution.blocks import FIRST, LAST, MIDDLE, Blocks, random_blocks, whole_waves
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.forecasting.build import (
    Build,
    chosen_isa,
    executable_kernel,
    open_module,
    with_fallback,
)
from kernelcast.frontends.launch_check import check_launch
from kernelcast.frontends.workloads import Workload
from kernelcast.ir import Kernel, Launch
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import occupancy_of_launch
from kernelcast.profiling.run import ENOUGH, FEWEST_BLOCKS, Sampling
from kernelcast.toolchain.cache import Cache
from kernelcast.traces.stored import TraceHead


def run_of_last(
    launches: Sequence[tuple[Kernel, Launch]],
    *,
    blocks: Blocks | None = None,
    sampling: Sampling = ENOUGH,
    base_dir: Path | None = None,
    cache: Cache | None = None,
    is_read: bool = True,
) -> Run:
    """Make the last of some launches ready, after executing those before it on the same memory.

    Only what a trace needs will be computed. `blocks` says which blocks of the last launch run;
    else `sampling` does, and where it names no number, as few are chosen as a profile ever takes: a
    trace is long. Where nobody asks what arrays hold (`is_read` is false, as in `Memory.build`),
    those before it need not be executed. Raises LaunchError where the arguments of a launch do not
    fit, UnsupportedError for code that cannot be executed, and ExecutionError where an earlier
    launch goes wrong.
    """
    from kernelcast.execution.reference import check_defined  # loads all definitions

    memory: Memory | None = None
    run: Run | None = None
    for at, (kernel, launch) in enumerate(launches, 1):
        if run is not None and is_read:
            # One thread, so that what an earlier launch leaves is the same every time.
            replace(run, threads=1).execute()
        memory = Memory.build(kernel, launch, base_dir=base_dir, earlier=memory, is_read=is_read)
        pointers = memory.pointers(kernel)
        needed = needed_for_trace(kernel, keeps_global=at < len(launches), pointers=pointers)
        check_defined(kernel, launch, memory, needed)
        run = Run(
            kernel,
            launch,
            memory,
            _sampled(launch, sampling),
            needed,
            sampling.budget,
            sampling.threads,
            cache,
        )
    assert run is not None, "no launch"
    return run if blocks is None else run.over(blocks)


def run_of_workload(
    work: Workload, number: int, chip: Machine, build: Build, sampling: Sampling = ENOUGH
) -> tuple[Run, str]:
    """Launch `number`, counted from 1, of a workload, made ready after those before it.

    Beside it, why PTX is executed where machine code was to be; empty where it is not. Raises as
    `run_of_last` does, and as `build.open_module`.
    """
    assert work.source is not None
    launches = work.launches[:number]
    module = open_module(work.source, chip, [one.kernel for one in launches], build)

    def ready(isa: str) -> Run:
        kernels = [executable_kernel(module, one.kernel, isa) for one in launches]
        fitted = [(k, check_launch(k, one)) for k, one in zip(kernels, launches, strict=True)]
        return run_of_last(fitted, sampling=sampling, base_dir=work.base_dir, cache=build.cache)

    return with_fallback(ready, chosen_isa(module, chip, build), build)


def waves_of_launch(
    kernel: Kernel,
    launch: Launch,
    chip: Machine,
    which: Sequence[str | int] = (FIRST, MIDDLE, LAST),
) -> Blocks:
    """Whole waves of the blocks that are resident together on a GPU.

    `which` names them: `first`, `middle`, `last`, or numbers from 1 on. Raises LaunchError for a
    wave that the grid does not have, or where no block fits on an SM, and MissingNumberError where
    the machine lacks `sm.count`.
    """
    held = occupancy_of_launch(chip, kernel.resources, launch)
    resident = held.blocks_per_sm * int(chip.number("sm.count", "waves of blocks"))
    return whole_waves(launch.blocks, resident, which)


def head_of(run: Run) -> TraceHead:
    """What a trace of the run is of."""
    return TraceHead(run.kernel, run.launch, tuple(run.blocks), run.memory.regions)


def _sampled(launch: Launch, sampling: Sampling) -> Blocks:
    wanted = launch.blocks if sampling.exact else sampling.blocks or FEWEST_BLOCKS
    return random_blocks(launch.blocks, wanted)
