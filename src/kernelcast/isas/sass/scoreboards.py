"""Scoreboards: which earlier instructions each wait of the control codes waits for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kernelcast.isas.sass.control import BARRIERS
from kernelcast.isas.sass.flow import FlowGraph
from kernelcast.isas.sass.instruction import SassFunction, SassInstruction
from kernelcast.isas.sass.operands import (
    IntegerOperand,
    RegisterFile,
    RegisterOperand,
    SetOperand,
)


class Release(Enum):
    """When a scoreboard is released."""

    RESULT = "the result is written"
    SOURCES = "the sources have been read"


@dataclass(frozen=True, slots=True)
class RequestedWait:
    """A wait for a scoreboard until at most `outstanding` releases are missing."""

    barrier: int
    outstanding: int = 0


@dataclass(frozen=True, slots=True)
class ScoreboardWait:
    """A wait with the instructions, by index, that may still hold the scoreboard."""

    barrier: int
    outstanding: int
    producers: tuple[int, ...]


def raised(instruction: SassInstruction) -> tuple[tuple[int, Release], ...]:
    """The scoreboards an instruction takes."""
    control = instruction.control
    found = []
    if control.write_barrier is not None:
        found.append((control.write_barrier, Release.RESULT))
    if control.read_barrier is not None:
        found.append((control.read_barrier, Release.SOURCES))
    return tuple(found)


def requests(instruction: SassInstruction) -> tuple[RequestedWait, ...]:
    """What an instruction waits for: its wait mask, and what DEPBAR names."""
    found = [RequestedWait(barrier) for barrier in instruction.control.waits]
    if instruction.opcode == "DEPBAR":
        found += _depbar(instruction)
    return tuple(found)


def waits(function: SassFunction, graph: FlowGraph) -> Mapping[int, tuple[ScoreboardWait, ...]]:
    """The waits of every instruction that has some, by its index.

    A scoreboard may be held on some path to the wait only (a forward may-analysis over the graph;
    a called function starts with all free).
    """
    # Fixed point: which instructions may hold each scoreboard where a block begins.
    before: list[_PendingReleases | None] = [None] * len(graph.blocks)
    pending = list(graph.entries)
    for entry in pending:
        before[entry] = _FREE
    while pending:
        number = pending.pop()
        state = before[number]
        assert state is not None
        block = graph.blocks[number]
        for instruction in function.instructions[block.start : block.end]:
            state = _after(state, instruction)
        for successor in block.successors:
            known = before[successor]
            merged = state if known is None else _union(known, state)
            if merged != known:
                before[successor] = merged
                pending.append(successor)
    # Once more through every block, noting what each wait waits for.
    found: dict[int, tuple[ScoreboardWait, ...]] = {}
    for block, state in zip(graph.blocks, before, strict=True):
        state = _FREE if state is None else state
        for instruction in function.instructions[block.start : block.end]:
            if asked := requests(instruction):
                found[instruction.index] = tuple(
                    ScoreboardWait(r.barrier, r.outstanding, tuple(sorted(state[r.barrier])))
                    for r in asked
                )
            state = _after(state, instruction)
    return found


_PendingReleases = tuple[frozenset[int], ...]
"""For every scoreboard, the instructions that may hold it."""

_FREE: _PendingReleases = (frozenset(),) * BARRIERS


def _after(state: _PendingReleases, instruction: SassInstruction) -> _PendingReleases:
    asked, taken = requests(instruction), raised(instruction)
    if not asked and not taken:
        return state
    held = list(state)
    for request in asked:
        if request.outstanding == 0:
            held[request.barrier] = frozenset()
    for barrier, _ in taken:
        if barrier < BARRIERS:
            held[barrier] |= {instruction.index}
    return tuple(held)


def _union(a: _PendingReleases, b: _PendingReleases) -> _PendingReleases:
    return tuple(x | y for x, y in zip(a, b, strict=True))


def _depbar(instruction: SassInstruction) -> list[RequestedWait]:
    """`DEPBAR.LE SB0, 0x1, {5,4}`: SB0 down to one, the others to none."""
    found: list[RequestedWait] = []
    for operand in instruction.operands:
        match operand:
            case RegisterOperand(register) if register.file is RegisterFile.SCOREBOARD:
                found.append(RequestedWait(register.number or 0))
            case IntegerOperand(value) if found:
                found[-1] = RequestedWait(found[-1].barrier, value)
            case SetOperand(numbers):
                found += [RequestedWait(number) for number in numbers]
    return [request for request in found if request.barrier < BARRIERS]
