# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""What a simulation keeps of its warps, schedulers and blocks: arrays handed around together."""

from __future__ import annotations

from typing import Any, NamedTuple


class WarpCode(NamedTuple):
    """What the warps execute."""

    words: Any
    starts: Any
    code: Any
    bounds: Any  # first instruction and end of every basic block
    registers: Any  # those that instructions read and write, one behind the other


class Schedulers(NamedTuple):
    """The warps of every scheduler, side by side."""

    warps: Any
    ready: Any  # from which cycle each may issue
    door: Any  # what must be free for its next instruction, as in `CODE`
    ages: Any  # the lower, the older
    wake: Any  # by SM and scheduler: when one may issue next; behind them the SM's first
    free: Any  # from when on it is done with what it issued last
    last: Any  # the warp that issued last
    results: Any  # by warp and register: when it is there
    why: Any  # and why one waits that waits for it
    ports: Any  # by SM, scheduler and bank of registers: from when on it is free
    held: Any  # by SM and scheduler: the last cycles that it waited for them, and their end
    turns: Any  # by SM: the scheduler that comes first at a pipe that they share


class Residents(NamedTuple):
    """The blocks of every SM."""

    blocks: Any
    order: Any  # by SM: which blocks of the stream it gets
    taken: Any  # by SM: how many it has begun, and how many there are
    places: Any  # by SM, slot and warp: the place of the warp, -1 for none
    held: Any  # by place: whether a warp of a resident block has it
    swapped: Any  # by SM and slot: the words of its block that lanes try to swap
    times: Any  # by block of the stream: when it began and ended


class Told(NamedTuple):
    """What is counted."""

    issued: Any  # by instruction
    stalls: Any  # by instruction and reason: cycles of warps
    busy: Any  # by pipe: cycles
    events: Any
