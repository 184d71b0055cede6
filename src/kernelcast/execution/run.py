"""A run: a launch and the blocks of it that are executed, to be followed as often as needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from kernelcast.analysis.arrays import name_of_variable
from kernelcast.analysis.global_writes import arrays_written
from kernelcast.analysis.slicing import Needed
from kernelcast.errors import LaunchError
from kernelcast.execution.blocks import Blocks
from kernelcast.execution.consumers import Consumer
from kernelcast.execution.execute import Execution, execute
from kernelcast.execution.memory import Memory, Region
from kernelcast.execution.trace import Progress
from kernelcast.ir import Kernel, Launch
from kernelcast.toolchain.cache import Cache

MOST_SAVED_BYTES = 1 << 30
"""Arrays are saved up to this, all together, to be as they were after a run."""


class Replay(Protocol):
    """What can be followed again, block by block."""

    def over(self, blocks: Blocks) -> Replay:
        """The same launch, over other blocks."""
        ...

    def execute(self, *consumers: Consumer) -> object:
        """Let consumers follow what the blocks do."""
        ...


@dataclass(frozen=True)
class Run:
    """A kernel, its launch and memory, and which blocks; what `execute` takes besides is as there.

    `execute` changes memory, `follow` leaves it as it was and so can be called again and again.
    """

    kernel: Kernel
    launch: Launch
    memory: Memory = field(repr=False)
    blocks: Blocks
    needed: Needed | None = field(default=None, repr=False)
    budget: int | None = None
    threads: int | None = None
    cache: Cache | None = field(default=None, repr=False)
    resident: int = 1
    most: int | None = None

    def over(self, blocks: Blocks) -> Run:
        """The same launch, over other blocks."""
        return replace(self, blocks=blocks)

    def execute(self, *consumers: Consumer, progress: Progress | None = None) -> Execution:
        """Execute the blocks, followed by consumers; memory holds what they leave."""
        return execute(
            self.kernel,
            self.launch,
            self.memory,
            blocks=self.blocks,
            consumers=consumers,
            threads=self.threads,
            resident=self.resident,
            budget=self.budget,
            most=self.most,
            needed=self.needed,
            cache=self.cache,
            progress=progress,
        )

    def follow(self, *consumers: Consumer, progress: Progress | None = None) -> Execution:
        """Execute the blocks, followed by consumers, and put global memory back as it was.

        What the blocks see is the same every time: shared and local memory begin as zeros. Raises
        LaunchError where the arrays that may change have more than `MOST_SAVED_BYTES`.
        """
        undo = self.memory.undo
        if undo is None:
            with restored(self.memory, self._changed()):
                return self.execute(*consumers, progress=progress)
        try:
            return self.execute(*consumers, progress=progress)
        finally:
            undo()

    def _changed(self) -> tuple[Region, ...]:
        """The arrays that the launch may change."""
        memory = self.memory
        written = arrays_written(self.kernel, self.needed, memory.pointers(self.kernel))
        changed = tuple(
            region
            for region in memory.regions
            if region.writable and (written is None or _name(region) in written)
        )
        size_bytes = sum(region.size_bytes for region in changed)
        if size_bytes > MOST_SAVED_BYTES:
            raise LaunchError(
                f"the launch writes arrays of {size_bytes >> 20} MiB, too much to put them back",
                where=f"kernel {self.kernel.shown}",
                hint=f"use arrays of {MOST_SAVED_BYTES >> 20} MiB or less",
            )
        return changed


def _name(region: Region) -> str:
    return region.label if region.is_argument else name_of_variable(region.label)


@contextmanager
def restored(memory: Memory, regions: Iterable[Region]) -> Iterator[None]:
    """Give arrays back what they hold now."""
    views = [memory.bytes_at(r.address, r.size_bytes) for r in regions]
    held = [view.copy() for view in views]
    try:
        yield
    finally:
        for view, now in zip(views, held, strict=True):
            view[:] = now
