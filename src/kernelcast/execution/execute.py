"""Executes a launch: the engine where it can, the reference interpreter where it cannot."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from kernelcast.analysis.slicing import Needed
from kernelcast.errors import InputError, UnsupportedError
from kernelcast.execution.memory import Memory
from kernelcast.execution.reference import check_defined, run_reference
from kernelcast.execution.trace import Progress, Sink, Trace, Words
from kernelcast.ir import Kernel, Launch
from kernelcast.toolchain.cache import Cache

DEFAULT_BUDGET = 100_000_000
"""Warp instructions after which a block is taken to be endless: some seconds of the engine."""


def execute(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    *,
    blocks: Sequence[int] | None = None,
    executor: str = "auto",
    budget: int | None = None,
    sink: Sink | None = None,
    needed: Needed | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Execute blocks of a launch on `memory`, which holds the results.

    Parameters
    ----------
    blocks:
        Linear indices into the grid; all of it by default. They run in ascending order.
    executor:
        `engine`, `reference`, or `auto`: the engine, and the reference interpreter for a kernel
        with an instruction that only it knows.
    budget:
        Most warp instructions that a block may execute; `DEFAULT_BUDGET` by default.
    sink:
        Takes the stream of the trace in chunks that end with a record and are valid during the
        call only. Without one, the trace returned holds the stream.
    needed:
        Where only the trace counts: what the engine has to compute for it. `memory` then holds no
        results, and instructions that nobody can execute do no harm where they are not needed.
    cache:
        Where the engine keeps machine code between processes.
    progress:
        Told by the engine which share of the blocks is done.

    Raises
    ------
    UnsupportedError
        If an instruction cannot be executed, or the kernel asks for clusters of several blocks.
    ExecutionError
        If the kernel goes wrong: a bad access, a deadlock, or a block runs past the budget.
    """
    chosen = tuple(sorted(range(launch.blocks) if blocks is None else blocks))
    most = DEFAULT_BUDGET if budget is None else budget
    if executor not in ("auto", "engine", "reference"):
        raise InputError(f"unknown executor {executor!r}", hint="use auto, engine or reference")
    if kernel.cluster_blocks > 1:
        raise UnsupportedError(
            f"clusters of {kernel.cluster_blocks} blocks are not supported",
            where=f"kernel {kernel.label or kernel.name}",
            hint="ask for clusters of one block: every block is executed on its own",
        )
    if executor != "reference":
        # What an instruction means is the reference's to say, and the engine's to do faster.
        _check_defined_once(kernel, launch, memory, needed)
        try:
            return _with_engine(kernel, launch, memory, chosen, most, sink, needed, cache, progress)
        except (UnsupportedError, ImportError):
            if executor == "engine":
                raise
    return _with_reference(kernel, launch, memory, chosen, most, sink)


_checked: tuple[Kernel, Launch, Needed | None] | None = None
"""What was executed last: a sample is executed in several parts."""


def _check_defined_once(
    kernel: Kernel, launch: Launch, memory: Memory, needed: Needed | None
) -> None:
    global _checked
    asked = (kernel, launch, needed)
    if _checked is None or any(a is not b for a, b in zip(asked, _checked, strict=True)):
        check_defined(*asked[:2], memory, needed)
        _checked = asked


def _with_engine(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    blocks: tuple[int, ...],
    budget: int,
    sink: Sink | None,
    needed: Needed | None,
    cache: Cache | None,
    progress: Progress | None,
) -> Trace:
    from kernelcast.execution.engine import run_engine

    chunks: list[Words] = []
    run = run_engine(
        kernel,
        launch,
        memory,
        blocks,
        budget=budget,
        sink=sink or (lambda words: chunks.append(words.copy())),
        needed=needed,
        cache=cache,
        progress=progress,
    )
    return Trace(
        kernel,
        launch,
        blocks,
        memory,
        np.concatenate(chunks) if chunks else np.empty(0, np.uint64),
        "engine",
        run.seconds,
        run.warp_instructions,
        run.thread_instructions,
    )


def _with_reference(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    blocks: tuple[int, ...],
    budget: int,
    sink: Sink | None,
) -> Trace:
    started = time.perf_counter()
    words, warp_instructions, thread_instructions = run_reference(
        kernel, launch, memory, blocks, budget=budget
    )
    if sink is not None:
        sink(words)
        words = np.empty(0, np.uint64)
    return Trace(
        kernel,
        launch,
        blocks,
        memory,
        words,
        "reference",
        time.perf_counter() - started,
        warp_instructions,
        thread_instructions,
    )
