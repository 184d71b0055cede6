"""Which instructions a scheduler issues together with the one before.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, section 3.8:
neighbours in a basic block, the second of which needs nothing of the first, and not both loads.
Pairs are taken greedily from the front, and an instruction belongs to one at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelcast.ir import Instruction, Kernel, OpClass
from kernelcast.machines.machine import Machine

_ALONE = frozenset({OpClass.BARRIER, OpClass.FENCE})


def second_of_pairs(
    kernel: Kernel, machine: Machine, is_issued: Callable[[Instruction], bool]
) -> dict[int, int]:
    """Index of the first of every pair, by that of the second; empty where the chip pairs none.

    Instructions that `is_issued` denies are not there in machine code.
    """
    if not machine.get("sm.dual_issue"):
        return {}
    found: dict[int, int] = {}
    for block in kernel.blocks:
        found |= _pairs([i for i in kernel.instructions[block.start : block.end] if is_issued(i)])
    return found


def _pairs(instructions: Sequence[Instruction]) -> dict[int, int]:
    found: dict[int, int] = {}
    position = 0
    while position + 1 < len(instructions):
        first, second = instructions[position], instructions[position + 1]
        if _fit(first, second):
            found[second.index] = first.index
            position += 1
        position += 1
    return found


def _fit(first: Instruction, second: Instruction) -> bool:
    if first.op_class in _ALONE or second.op_class in _ALONE:
        return False
    if first.op_class is OpClass.LOAD and second.op_class is OpClass.LOAD:
        return False
    return not set(first.writes) & (set(second.reads) | set(second.writes))
