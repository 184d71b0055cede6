"""A trace that lies in a file: what it is of, and its words when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kernelcast.execution.memory import Region
from kernelcast.execution.trace import Words
from kernelcast.ir import Kernel, Launch


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
