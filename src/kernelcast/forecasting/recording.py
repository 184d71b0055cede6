"""Executes a launch for its trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelcast.analysis.slicing import Needed, needed_for_trace
from kernelcast.execution.consumers import Consumer
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.reference import check_defined
from kernelcast.execution.sampling import sample_blocks
from kernelcast.execution.trace import Progress
from kernelcast.ir import Kernel, Launch
from kernelcast.profiling.run import FEWEST_BLOCKS, Sampling
from kernelcast.toolchain.cache import Cache
from kernelcast.traces.stored import TraceHead

MAKER = "kernelcast"


@dataclass(frozen=True)
class Recording:
    """A launch that is ready to be executed for its trace."""

    head: TraceHead
    _memory: Memory = field(repr=False)
    _needed: Needed = field(repr=False)
    _budget: int | None
    _threads: int | None
    _cache: Cache | None = field(repr=False)

    def run(self, consumers: Sequence[Consumer] = (), progress: Progress | None = None) -> None:
        """Execute it, followed by `consumers`; once only, since it changes its memory.

        Raises ExecutionError where the kernel goes wrong.
        """
        execute(
            self.head.kernel,
            self.head.launch,
            self._memory,
            blocks=self.head.blocks,
            budget=self._budget,
            consumers=consumers,
            threads=self._threads,
            needed=self._needed,
            cache=self._cache,
            progress=progress,
        )


def prepare(
    launches: Sequence[tuple[Kernel, Launch]],
    sampling: Sampling,
    *,
    base_dir: Path | None = None,
    cache: Cache | None = None,
) -> Recording:
    """Make the last of some launches ready, after executing those before it on the same memory.

    Where `sampling` names no number of blocks, as few are executed as a profile ever takes: a
    trace is long. Raises LaunchError where the arguments of a launch do not fit, UnsupportedError
    for code that cannot be executed, and ExecutionError where an earlier launch goes wrong.
    """
    memory: Memory | None = None
    recording: Recording | None = None
    for at, (kernel, launch) in enumerate(launches, 1):
        if recording is not None:
            recording.run()
        memory = Memory.build(kernel, launch, base_dir=base_dir, earlier=memory)
        wanted = launch.blocks if sampling.exact else sampling.blocks or FEWEST_BLOCKS
        head = TraceHead(kernel, launch, sample_blocks(launch.blocks, wanted), memory.regions)
        needed = needed_for_trace(
            kernel, keeps_global=at < len(launches), pointers=memory.pointers(kernel)
        )
        check_defined(kernel, launch, memory, needed)
        # One thread executes the launches before, so that what they leave is the same every time.
        threads = sampling.threads if at == len(launches) else 1
        recording = Recording(head, memory, needed, sampling.budget, threads, cache)
    assert recording is not None, "no launch"
    return recording
