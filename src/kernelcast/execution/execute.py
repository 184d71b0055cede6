"""Executes a launch: the engine where it can, the reference interpreter where it cannot."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from kernelcast.analysis.global_writes import depends_on_order
from kernelcast.analysis.slicing import Needed
from kernelcast.errors import InputError, UnsupportedError
from kernelcast.execution.consumers import Consumer, are_splittable
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import Progress
from kernelcast.ir import Kernel, Launch
from kernelcast.toolchain.cache import Cache

_DEFAULT_BUDGET = 100_000_000
"""Warp instructions after which a block is taken to be endless: some seconds of the engine."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What was executed: the blocks, ascending, by whom, in how long, and how much it was."""

    blocks: tuple[int, ...]
    executor: str
    seconds: float
    warp_instructions: int
    thread_instructions: int


def execute(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    *,
    blocks: Iterable[int] | None = None,
    consumers: Sequence[Consumer] = (),
    executor: str = "auto",
    threads: int | None = None,
    resident: int = 1,
    budget: int | None = None,
    most: int | None = None,
    needed: Needed | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Execution:
    """Execute blocks of a launch on `memory`, which holds the results.

    Parameters
    ----------
    blocks:
        Linear indices into the grid; all of it by default. They are begun in ascending order; of
        a cluster all blocks are executed together where one of them is asked for, and consumers
        see those that are.
    consumers:
        Who follows the run: each is given the stream of the trace. Without any, none is written.
    executor:
        `engine`, `reference`, or `auto`: the engine, and the reference interpreter for a kernel
        with an instruction that only it knows.
    threads:
        Most threads of the CPU that execute blocks; by default as many as there are cores for this
        process. One does where a consumer cannot be split, and where what the consumers see
        depends on the order of blocks.
    resident:
        How many blocks run at a time where they may see each other's work (`analysis/meetings.py`):
        a round each in turn, and where one has ended the next begins. Those that run before
        `blocks` and beside them are executed, too, unseen. Others run one after another.
    budget:
        Most warp instructions that a block may execute; `_DEFAULT_BUDGET` by default.
    most:
        Most warp instructions that all blocks together may execute by one thread of the engine; any
        number by default.
    needed:
        Where only the trace counts: what the engine has to compute for it. `memory` then holds no
        results, and instructions that nobody can execute do no harm where they are not needed.
    cache:
        Where the engine keeps machine code between processes.
    progress:
        Told by the engine which share of the blocks is done.

    Raises
    ------
    InputError
        If there is no such executor, or no such number of threads.
    UnsupportedError
        If an instruction cannot be executed.
    LaunchError
        If the grid is no whole number of clusters.
    ExecutionError
        If the kernel goes wrong: a bad access, a deadlock, or a block runs past the budget.
    """
    chosen = tuple(sorted(range(launch.blocks) if blocks is None else blocks))
    most_of_block = _DEFAULT_BUDGET if budget is None else budget
    if executor not in ("auto", "engine", "reference"):
        raise InputError(f"unknown executor {executor!r}", hint="use auto, engine or reference")
    count = _cores() if threads is None else threads
    if count < 1:
        raise InputError(f"{count} threads", where="threads", hint="give 1 or more")
    if executor != "reference":
        if count > 1 and consumers and not _can_share(kernel, memory, needed, consumers):
            count = 1
        try:
            return _with_engine(
                kernel,
                launch,
                memory,
                chosen,
                most_of_block,
                consumers,
                count,
                resident,
                most,
                needed,
                cache,
                progress,
            )
        except (UnsupportedError, ImportError):
            _check_defined(kernel, launch, memory, needed)
            if executor == "engine":
                raise
    return _with_reference(kernel, launch, memory, chosen, most_of_block, resident, consumers)


def _cores() -> int:
    """Cores of the CPU that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _check_defined(kernel: Kernel, launch: Launch, memory: Memory, needed: Needed | None) -> None:
    """What an instruction means is the reference's to say, and the engine's to do faster."""
    from kernelcast.execution.reference import check_defined  # loads all definitions

    check_defined(kernel, launch, memory, needed)


def _can_share(
    kernel: Kernel, memory: Memory, needed: Needed | None, consumers: Sequence[Consumer]
) -> bool:
    """Whether several threads give consumers what one does."""
    if not are_splittable(consumers):
        return False
    return not _depends_on_order(kernel, needed, tuple(memory.pointers(kernel).items()))


@lru_cache(maxsize=8)
def _depends_on_order(
    kernel: Kernel, needed: Needed | None, pointers: tuple[tuple[int, str], ...]
) -> bool:
    return depends_on_order(kernel, needed, dict(pointers))


def _with_engine(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    blocks: tuple[int, ...],
    budget: int,
    consumers: Sequence[Consumer],
    threads: int,
    resident: int,
    most: int | None,
    needed: Needed | None,
    cache: Cache | None,
    progress: Progress | None,
) -> Execution:
    from kernelcast.execution.engine import run_engine

    run = run_engine(
        kernel,
        launch,
        memory,
        blocks,
        budget=budget,
        consumers=consumers,
        threads=threads,
        resident=resident,
        most=most,
        needed=needed,
        cache=cache,
        progress=progress,
        check=partial(_check_defined, kernel, launch, memory, needed),
    )
    return Execution(blocks, "engine", run.seconds, run.warp_instructions, run.thread_instructions)


def _with_reference(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    blocks: tuple[int, ...],
    budget: int,
    resident: int,
    consumers: Sequence[Consumer],
) -> Execution:
    from kernelcast.execution.reference import run_reference

    started = time.perf_counter()
    words, warp_instructions, thread_instructions = run_reference(
        kernel, launch, memory, blocks, budget=budget, resident=resident
    )
    for consumer in consumers:
        consumer.consume(words)
    seconds = time.perf_counter() - started
    return Execution(blocks, "reference", seconds, warp_instructions, thread_instructions)
