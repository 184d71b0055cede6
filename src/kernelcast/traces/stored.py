"""A trace that lies in a file: what it is of, and its words when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.blocks import Blocks
from kernelcast.execution.consumers import Consumer
from kernelcast.execution.memory import Region
from kernelcast.execution.trace import KIND_SHIFT, RecordKind, Words
from kernelcast.ir import Kernel, Launch
from kernelcast.traces.chunks import record_starts


@dataclass(frozen=True)
class TraceHead:
    """What a trace is of: all that is needed to read it alone.

    `blocks` are the linear indices of the traced blocks, ascending; `regions` the arrays in global
    and constant memory, by address.
    """

    kernel: Kernel
    launch: Launch
    blocks: tuple[int, ...]
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class StoredTrace:
    """A trace to be read from a file, as often as wanted.

    `words` gives the stream (see `execution.trace`) in chunks that end with a record; it raises
    InputError where the file turns out to be damaged. `maker` is who made the trace: an executor,
    or the tool it was imported from.
    """

    head: TraceHead
    maker: str
    words: Callable[[], Iterator[Words]] = field(repr=False)


@dataclass(frozen=True)
class StoredRun:
    """A stored trace as a run that consumers can follow again, over blocks that it holds."""

    trace: StoredTrace
    blocks: Blocks

    def over(self, blocks: Blocks) -> StoredRun:
        """The same launch, over other blocks."""
        return replace(self, blocks=blocks)

    def execute(self, *consumers: Consumer) -> None:
        """Hand what these blocks did to consumers; InputError where the file is damaged."""
        wanted = np.zeros(self.blocks.of, bool)
        wanted[list(self.blocks)] = True
        follows = False
        for words in self.trace.words():
            part, follows = _of_blocks(words, wanted, follows)
            for consumer in consumers:
                consumer.consume(part)


def _of_blocks(words: Words, wanted: NDArray[np.bool_], follows: bool) -> tuple[Words, bool]:
    """Records of wanted blocks; `follows` says whether the first ones are, and then the last."""
    starts = record_starts(words)
    is_warp = words[starts] >> np.uint64(KIND_SHIFT) == RecordKind.WARP
    at = starts[is_warp]
    kept = np.concatenate([[follows], wanted[words[at + 1].astype(np.int64)]])
    lengths = np.diff(np.concatenate([[0], at, [len(words)]]))
    return words[np.repeat(kept, lengths)], bool(kept[-1])
