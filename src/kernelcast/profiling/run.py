"""Execute a launch, or a sample of its blocks, and profile it as it runs."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.execution.blocks import all_blocks, random_blocks, these_blocks
from kernelcast.execution.execute import Execution
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.execution.sampling import sample_blocks
from kernelcast.execution.trace import Progress, Words
from kernelcast.ir import Kernel, Launch
from kernelcast.profiling.builder import ProfileBuilder
from kernelcast.profiling.neighbours import with_neighbours
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.rules import NO_RULES, AccessRules
from kernelcast.profiling.time_limit import limited
from kernelcast.toolchain.cache import Cache

FEWEST_BLOCKS, MOST_BLOCKS = 32, 1024
"""Blocks of a sample whose size is not given; a grid of the fewest or less is executed whole."""

THREAD_INSTRUCTIONS = 80_000_000
"""What a sample may cost where its size is not given: about 0.3 s to execute and count."""

_PILOT_BLOCKS = 4
"""Blocks executed first to learn what a block costs; they are part of the sample."""

_PILOT_BYTES = 64 << 20
"""Most words of a pilot's trace to keep; beyond, its blocks are expensive whatever follows."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How much of a grid is executed: all of it, `blocks` blocks, or what seems enough.

    `budget` bounds the warp instructions of a block, `threads` those of the CPU that execute it,
    and `time_limit` the seconds for which a launch is; None leaves it to the executor, and to the
    launch. Without `caches` nothing is executed for what only they depend on: which blocks run at a
    time, and what neighbours share. `resident` is as for `execute`; of more than one block `blocks`
    says how many are followed: after a pilot memory would not be what it was.
    """

    exact: bool = False
    blocks: int | None = None
    budget: int | None = None
    threads: int | None = None
    time_limit: float | None = None
    caches: bool = True
    resident: int = 1


ENOUGH = Sampling()
"""As many blocks as seem enough."""


def profile_launch(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    sampling: Sampling = ENOUGH,
    cache: Cache | None = None,
    progress: Progress | None = None,
    *,
    keeps_memory: bool = False,
    rules: AccessRules = NO_RULES,
) -> Profile:
    """Execute the launch on `memory` and profile it; `cache` keeps machine code.

    Only what the profile needs is computed; with `keeps_memory`, also what the launch leaves in
    global memory. `rules` are those of the machines that the profile is for.

    A grid of several rows whose blocks share what they read is sampled once more, for what
    neighbours share (`profiling.neighbours`), unless the whole of it was executed.

    `progress` is told the share of the sample that is done, once its size is known.

    Raises
    ------
    ExecutionError
        If the kernel itself goes wrong: an access outside every array, a deadlock, or more
        instructions than the budget.
    UnsupportedError
        If the kernel holds an instruction that cannot be executed.
    TimeLimitError
        If it takes longer than it may.
    """
    total = launch.blocks
    needed = needed_for_trace(kernel, keeps_global=keeps_memory, pointers=memory.pointers(kernel))
    run = Run(
        kernel,
        launch,
        memory,
        all_blocks(total),
        needed,
        sampling.budget,
        sampling.threads,
        cache,
        sampling.resident,
    )
    known = _known_size(total, sampling)
    first = random_blocks(total, known or _PILOT_BLOCKS)
    sample = _SampleConsumer(kernel, launch, memory, rules)
    builder = sample.choose(known) if known else None
    until = limited(progress if known else None, sampling.time_limit, len(first))
    done = run.over(first).execute(builder or sample, progress=until)
    seconds = done.seconds
    builder = sample.builder or sample.choose(affordable_blocks(done))
    rest = these_blocks(total, sorted({*sample.blocks} - {*first}))
    if len(rest):
        until = limited(progress, sampling.time_limit, len(rest))
        done = run.over(rest).execute(builder, progress=until)
        seconds += done.seconds
    profile = builder.finish(executor=done.executor, seconds=seconds)
    if total <= FEWEST_BLOCKS or not sampling.caches or sampling.resident > 1:
        return profile
    return with_neighbours(profile, run, keeps_memory=keeps_memory)


def _known_size(total: int, sampling: Sampling) -> int | None:
    """Blocks to execute, None where a pilot has to tell."""
    if sampling.exact or total <= FEWEST_BLOCKS:
        return total
    return sampling.blocks


class _SampleConsumer:
    """Takes the trace of a pilot before the size of the sample is known.

    A sample contains the pilot's blocks (see `sample_blocks`), so its words are kept until then. A
    pilot whose words are many needs no end to be measured: its blocks are expensive, and the sample
    is the smallest.
    """

    def __init__(self, kernel: Kernel, launch: Launch, memory: Memory, rules: AccessRules) -> None:
        self._case = (kernel, launch, memory)
        self._rules = rules
        self._kept: list[Words] = []
        self._kept_bytes = 0
        self.builder: ProfileBuilder | None = None
        self.blocks: tuple[int, ...] = ()

    def consume(self, words: Words) -> None:
        """The next words of the trace."""
        if self.builder is not None:
            self.builder.consume(words)
            return
        self._kept.append(words.copy())
        self._kept_bytes += words.nbytes
        if self._kept_bytes > _PILOT_BYTES:
            self.choose(FEWEST_BLOCKS)

    def choose(self, size: int) -> ProfileBuilder:
        """Fix the sample, and profile what was kept."""
        kernel, launch, memory = self._case
        self.blocks = sample_blocks(launch.blocks, size)
        self.builder = ProfileBuilder(kernel, launch, memory, self.blocks, rules=self._rules)
        for words in self._kept:
            self.builder.consume(words)
        self._kept.clear()
        return self.builder


def affordable_blocks(pilot: Execution) -> int:
    """How many blocks like those of the pilot `THREAD_INSTRUCTIONS` pay for, within bounds."""
    per_block = pilot.thread_instructions / len(pilot.blocks)
    affordable = int(THREAD_INSTRUCTIONS / per_block) if per_block else MOST_BLOCKS
    return max(FEWEST_BLOCKS, min(MOST_BLOCKS, affordable))
