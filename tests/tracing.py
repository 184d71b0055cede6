"""A trace held whole, for tests that look at it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kernelcast.analysis.slicing import Needed
from kernelcast.execution.consumers import Keep
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import RecordKind, TraceRecord, Words, decode
from kernelcast.ir import Kernel, Launch
from kernelcast.profiling.builder import ProfileBuilder
from kernelcast.profiling.profile import Profile


@dataclass(frozen=True)
class Trace:
    """What the executed blocks of one launch did.

    `words` is the whole stream; `blocks` are the linear indices of the executed blocks, out of
    `launch.blocks`.
    """

    kernel: Kernel
    launch: Launch
    blocks: tuple[int, ...]
    memory: Memory
    words: Words = field(repr=False)
    executor: str = ""
    seconds: float = 0.0
    warp_instructions: int = 0
    thread_instructions: int = 0

    def records(self) -> Iterator[TraceRecord]:
        """The stream decoded, addresses of inactive lanes as 0: equal for equal behaviour."""
        return decode(self.words)


def traced(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    *,
    blocks: Iterable[int] | None = None,
    executor: str = "auto",
    budget: int | None = None,
    resident: int = 1,
    needed: Needed | None = None,
) -> Trace:
    """Execute blocks of a launch as `execute` does, and keep their trace."""
    keep = Keep()
    done = execute(
        kernel,
        launch,
        memory,
        blocks=blocks,
        consumers=[keep],
        executor=executor,
        budget=budget,
        resident=resident,
        needed=needed,
    )
    return Trace(
        kernel,
        launch,
        done.blocks,
        memory,
        keep.words,
        done.executor,
        done.seconds,
        done.warp_instructions,
        done.thread_instructions,
    )


def by_warp(
    records: Iterator[TraceRecord],
) -> dict[tuple[int, int], list[tuple[int, int, int, tuple[int, ...]]]]:
    """Group decoded records by (block, warp); an access is the same however it was encoded.

    Of what lanes compare, the number of values stands in the place of addresses.
    """
    streams: dict[tuple[int, int], list[tuple[int, int, int, tuple[int, ...]]]] = {}
    for r in records:
        access = int(r.kind is not RecordKind.BLOCK)
        told = (r.values,) if r.kind is RecordKind.VALUES else r.addresses
        streams.setdefault((r.block, r.warp), []).append((access, r.id, r.mask, told))
    return streams


def build_profile(trace: Trace) -> Profile:
    """The profile of a trace held whole.

    Raises `ExecutionError` where the words are not a trace of its kernel, launch and memory.
    """
    builder = ProfileBuilder(trace.kernel, trace.launch, trace.memory, trace.blocks)
    builder.consume(trace.words)
    return builder.finish(executor=trace.executor, seconds=trace.seconds)
