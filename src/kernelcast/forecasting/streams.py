"""The access streams of a launch, by waves as they are on a GPU."""

from __future__ import annotations

from kernelcast.execution.blocks import all_blocks
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.runs import resident_blocks
from kernelcast.ir import Kernel, Launch
from kernelcast.machines.machine import Machine
from kernelcast.profiling.run import ENOUGH, Sampling
from kernelcast.profiling.stream_run import streams_of_run
from kernelcast.profiling.streams import AccessStreams
from kernelcast.toolchain.cache import Cache


def streams_of_launch(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    chip: Machine,
    sampling: Sampling = ENOUGH,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> AccessStreams:
    """The access streams of a launch on `memory` as it is now, which stays so.

    They depend on the GPU only where not all blocks are affordable: by how many are resident on it.
    `sampling` says whether to take all, what one may execute, and on how many threads; `cache` and
    `progress` are as for `profile_launch`.

    Raises UnsupportedError, which says why, where there can be none, LaunchError where no block
    fits on an SM, and MissingNumberError where the machine lacks `sm.count`.
    """
    run = Run(
        kernel,
        launch,
        memory,
        all_blocks(launch.blocks),
        budget=sampling.budget,
        threads=sampling.threads,
        cache=cache,
    )
    wave_blocks = resident_blocks(kernel, launch, chip)
    return streams_of_run(run, wave_blocks, exact=sampling.exact, progress=progress)
