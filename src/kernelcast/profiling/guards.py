"""For how many threads the guard of an instruction held, as far as the trace tells.

A trace says which lanes came to an instruction, not which of them its guard let act. Those of an
access are its active lanes, and those of a branch are the lanes that did not go on behind it. Any
other instruction of the same basic block under the same value of the predicate has as many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kernelcast.ir import BasicBlock, Instruction, Kernel, Register, Space
from kernelcast.profiling.profile import AccessProfile, Floats

_TRACED = (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC)


def active_threads(
    kernel: Kernel, threads: Floats, accesses: Iterable[AccessProfile], passed: Sequence[float]
) -> Floats:
    """Threads for which each instruction acted; NaN where that is not known.

    `threads` came to each instruction, `passed` is for every basic block how many threads went on
    behind the branch at its end.
    """
    lanes = np.zeros(len(kernel.instructions))
    for access in accesses:
        lanes[access.instruction] += access.lanes
    active = threads.copy()
    for block, behind in zip(kernel.blocks, passed, strict=True):
        _of_block(kernel, block, behind, lanes, active)
    return active


def _of_block(
    kernel: Kernel, block: BasicBlock, behind: float, lanes: Floats, active: Floats
) -> None:
    """Replace the threads of the guarded instructions by those that acted."""
    values = _values(kernel.instructions[block.start : block.end])
    if not values or not active[block.start]:
        return
    came = float(active[block.start])
    held: dict[tuple[Register, int], float] = {}
    for instruction, value in values:
        acted = _seen(instruction, block, came - behind, lanes)
        if acted is not None:
            held[value] = _through(instruction, acted, came)
    for instruction, value in values:
        holds = held.get(value, np.nan)
        active[instruction.index] = _through(instruction, holds, came)


def _values(body: Sequence[Instruction]) -> list[tuple[Instruction, tuple[Register, int]]]:
    """The guarded instructions, each with its predicate and which of the predicate's values."""
    written: dict[Register, int] = {}
    found = []
    for instruction in body:
        if instruction.guard is not None:
            register = instruction.guard.register
            found.append((instruction, (register, written.get(register, 0))))
        for register in instruction.writes:
            written[register] = written.get(register, 0) + 1
    return found


def _seen(
    instruction: Instruction, block: BasicBlock, branched: float, lanes: Floats
) -> float | None:
    """Threads for which an instruction acted, where the trace shows it."""
    if instruction.op_class.is_memory and instruction.space in _TRACED:
        return float(lanes[instruction.index])
    is_last = instruction.index == block.end - 1
    return branched if is_last and len(block.successors) > 0 else None


def _through(instruction: Instruction, threads: float, came: float) -> float:
    """From threads whose predicate is true to those the guard lets act, and back."""
    assert instruction.guard is not None
    return came - threads if instruction.guard.negated else threads
