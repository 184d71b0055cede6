"""Runs a kernel with the engine: lowers and compiles it, and shares its blocks among threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kernelcast.analysis.meetings import NO_MEETINGS, meetings_of
from kernelcast.analysis.slicing import Needed
from kernelcast.execution.clusters import in_clusters, with_those_before
from kernelcast.execution.consumers import Consumer, are_splittable
from kernelcast.execution.engine.context import Slot
from kernelcast.execution.engine.jit import machine_code
from kernelcast.execution.engine.known_textures import with_known_textures
from kernelcast.execution.engine.module import LoweredKernel, lower_kernel
from kernelcast.execution.engine.ptx import Ptx
from kernelcast.execution.engine.worker import Worker, WorkQueue
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import Progress
from kernelcast.ir import Kernel, Launch
from kernelcast.toolchain.cache import Cache

_ALONE_SECONDS = 0.003
"""How long one thread executes before others join it: a launch that is over by then is not worth
their buffers."""


@dataclass(frozen=True, slots=True)
class EngineRun:
    """What a run did, besides its log and its effect on memory."""

    warp_instructions: int
    thread_instructions: int
    seconds: float
    compile_seconds: float


def run_engine(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    blocks: Sequence[int],
    *,
    budget: int,
    consumers: Sequence[Consumer] = (),
    threads: int = 1,
    resident: int = 1,
    most: int | None = None,
    needed: Needed | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
    check: Callable[[], None] | None = None,
) -> EngineRun:
    """Execute blocks of a launch, given in ascending order, and let `consumers` follow.

    With them run those of their clusters, and where blocks may see each other's work those before
    them and those that run at the same time, which nobody sees.

    `budget` limits the warp instructions of a block, `most` those of all by one thread. Where
    blocks may see each other's work, `resident` of them run at a time, and their clusters whole.
    More than one of `threads` takes part only where all consumers can be split. Where only the
    trace counts, `needed` says what has to be computed for it. `progress` is told the share of
    blocks done now and then. `check` says whether all instructions are defined, before the kernel
    is compiled; it is not asked where its machine code is there already. Raises UnsupportedError
    where the engine cannot lower an instruction, and the subclasses of ExecutionError where the
    kernel goes wrong: in the lowest of the blocks in which it does.
    """
    started = time.perf_counter()
    kernel = with_known_textures(kernel, memory.descriptors)
    can_meet = resident > kernel.cluster_blocks
    meetings = NO_MEETINGS
    if can_meet:
        meetings = meetings_of(kernel, memory.pointers(kernel), needed)
        if meetings.matter and consumers:
            threads = 1  # what blocks see of each other is the same in every run
    try:
        lowered = lower(kernel, needed, meetings.loops, logs=bool(consumers), is_shared=threads > 1)
    except Exception:
        # An instruction of which nobody knows what it does may be one that cannot even be read.
        if check is not None:
            check()
        raise
    code = machine_code(lowered.ir, cache, check)
    ready = time.perf_counter()
    executed = with_those_before(blocks, launch.blocks, resident) if meetings.matter else blocks
    together = in_clusters(executed, launch.grid, kernel.cluster)
    unseen = frozenset(together) - frozenset(blocks) if len(together) > len(blocks) else frozenset()
    chosen = np.array(together, np.uint64)
    clusters = -(-min(resident, len(chosen)) // kernel.cluster_blocks)
    work = WorkQueue(
        kernel,
        launch,
        memory,
        lowered,
        code,
        budget,
        chosen,
        seats=-(-clusters // threads) if meetings.matter else 1,
        most=most,
        unseen=unseen,
        progress=progress,
    )
    workers = _execute(work, consumers, threads)
    return EngineRun(
        sum(worker.get(Slot.WARP_INSTRUCTIONS) for worker in workers),
        sum(worker.get(Slot.THREAD_INSTRUCTIONS) for worker in workers),
        time.perf_counter() - ready,
        ready - started,
    )


@lru_cache(maxsize=128)
def lower(
    kernel: Kernel,
    needed: Needed | None = None,
    shared_loops: frozenset[int] = frozenset(),
    *,
    logs: bool = True,
    is_shared: bool = False,
) -> LoweredKernel:
    """LLVM IR of a kernel, kept for the next run: a pilot is followed by its sample, and
    programs launch the same kernels again and again."""
    return lower_kernel(kernel, Ptx(), needed, shared_loops, logs=logs, is_shared=is_shared)


def _execute(work: WorkQueue, consumers: Sequence[Consumer], threads: int) -> list[Worker]:
    """Execute all blocks; returns the threads that did, and raises what went wrong."""
    workers = [Worker(work, consumers)]
    workers[0].start()
    try:
        if threads > 1 and are_splittable(consumers) and not workers[0].join(_ALONE_SECONDS):
            for _ in range(min(threads - 1, work.unclaimed)):
                workers.append(Worker(work, [consumer.split() for consumer in consumers]))
                workers[-1].start()
        _join(workers)
    except BaseException:
        work.end_with(-1)
        _join(workers)
        raise
    errors = [(worker.block, worker.error) for worker in workers if worker.error is not None]
    if errors:
        raise min(errors, key=lambda error: error[0])[1]
    for other in workers[1:]:
        for consumer, part in zip(consumers, other.consumers, strict=True):
            consumer.merge(part)  # type: ignore[attr-defined]  # all are splittable
    return workers


def _join(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.join()
