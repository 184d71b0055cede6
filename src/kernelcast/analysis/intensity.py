"""Arithmetic intensity of code: instructions that stay on the chip for each that leaves it.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 6.3. An instruction is on-chip if all that it reads comes from compute instructions or
from shared memory; what reads a variable that lies in global memory, or a value just loaded from
there, is off-chip.

Algorithm 6.3, as printed, puts the result of on-chip arithmetic among the off-chip variables: its
last branch asks for "ld/st and on-chip" where the text means that only a memory instruction with an
off-chip operand has an off-chip result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernelcast.ir import Instruction, Kernel, Register, Space

_OFF_CHIP = (Space.GLOBAL, Space.LOCAL, Space.GENERIC)


@dataclass(frozen=True, slots=True)
class ArithmeticIntensity:
    """Executions of on-chip (n) and off-chip (m) instructions."""

    on_chip: float
    off_chip: float

    @property
    def ratio(self) -> float:
        """n / m, infinite where nothing leaves the chip."""
        return self.on_chip / self.off_chip if self.off_chip else math.inf


def arithmetic_intensity(
    kernel: Kernel, times: Sequence[float] | None = None
) -> ArithmeticIntensity:
    """Algorithm 6.3 as meant; every instruction counts `times` as often, once where none are given.

    Parameters and constants are no variables: what reads them is not counted for it.
    """
    off: set[Register] = set()
    on_chip = off_chip = 0.0
    for instruction in kernel.instructions:
        weight = 1.0 if times is None else float(times[instruction.index])
        if instruction.space is Space.PARAM:
            off.difference_update(instruction.writes)
            continue
        leaves = _leaves(instruction)
        if leaves or not off.isdisjoint(instruction.reads):
            off_chip += weight
        else:
            on_chip += weight
        if leaves:
            off.update(instruction.writes)
        else:
            off.difference_update(instruction.writes)
    return ArithmeticIntensity(on_chip, off_chip)


def _leaves(instruction: Instruction) -> bool:
    """Whether one of its operands is a variable in global memory."""
    return instruction.op_class.is_memory and instruction.space in _OFF_CHIP
