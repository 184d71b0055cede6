"""Instruction-level parallelism of straight code: how many of its instructions may run at once.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 6.2:

    ILP = n_insns / p                                                                   (6.1)

p is the longest path in the data flow in static single assignment form. Registers are renamed on
the way, so that one that is written again is another value, and a path runs from the last write.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Instruction, Kernel, Register


def instruction_parallelism(instructions: Sequence[Instruction]) -> float:
    """ILP of instructions that are executed one after another, 1 of none.

    What an instruction writes under a guard depends on what was there before.
    """
    depth: dict[Register, int] = {}
    longest = 0
    for instruction in instructions:
        read = instruction.reads + (instruction.writes if instruction.guard else ())
        own = 1 + max((depth.get(register, 0) for register in read), default=0)
        depth.update(dict.fromkeys(instruction.writes, own))
        longest = max(longest, own)
    return len(instructions) / longest if longest else 1.0


def block_parallelism(kernel: Kernel) -> tuple[float, ...]:
    """ILP of every basic block: paths do not run on from one to the next."""
    bodies = (kernel.instructions[block.start : block.end] for block in kernel.blocks)
    return tuple(map(instruction_parallelism, bodies))
