# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""When the stages on the way to memory are free: arrays that are handed around together."""

from __future__ import annotations

from typing import Any, NamedTuple


class MemoryStages(NamedTuple):
    """When the stages of all SMs are free; the last columns of the queues are their places."""

    pipes: Any  # by SM, scheduler and pipe
    queues: Any  # by SM, scheduler: when each entry is free
    queue_at: Any
    addresses: Any  # by SM and scheduler
    lsu: Any  # by group of SMs
    data: Any  # by SM
    misses: Any  # by group of SMs: when each miss register is free
    miss_at: Any
    flying: Any  # by SM and hash: what was asked for last
    fills: Any  # by SM, in a ring: what is yet to take its place in the L1 cache
    fills_at: Any  # by SM: the first of these, and how many there are
    channels: Any  # by channel of the DRAM, where writes wait for theirs, too
    reading: Any  # by channel, where they do not: the L2 cache keeps them
    leaving: Any  # by SM: when it has sent what it stores, and asked for what its L1 cache lacks
    stored: Any  # by SM and place of its store buffer: the line there, and its sectors
    pages: Any  # of global memory: when each is in the TLB, -1 where it is not
    translated: Any  # those that are there, in the order in which they came, -1 for none
    owed: Any  # by row: sectors that the DRAM and the L2 cache are yet to be asked for
    rows: Any
    fetched: Any  # instructions
    constants: Any
    l1: Any
    system: Any
