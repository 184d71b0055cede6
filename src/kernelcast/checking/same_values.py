"""Stores that write the same, whoever makes them: threads that meet there leave what one would."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kernelcast.ir import (
    Address,
    Immediate,
    Instruction,
    Kernel,
    OpClass,
    Operand,
    Register,
    Space,
    Symbol,
    Vector,
)

_DEEPEST = 8
"""Definitions that are followed from a store back."""

_KnownSteps = Mapping[str, Sequence[tuple[int, Instruction]]]


def stores_of_one_value(kernel: Kernel) -> frozenset[int]:
    """Store instructions whose value follows from constants and parameters alone.

    It has to be the last definition in the basic block, or the only one in the kernel.
    """
    home = {at: b.index for b in kernel.blocks for at in range(b.start, b.end)}
    definitions: dict[str, list[tuple[int, Instruction]]] = defaultdict(list)
    order = 0
    stores: list[tuple[int, Instruction]] = []
    for instruction in kernel.instructions:
        for step in kernel.steps(instruction.index):
            order += 1
            for register in step.writes:
                definitions[register.name].append((order, step))
            if step.op_class is OpClass.STORE:
                stores.append((order, step))
    followed = _Followed(definitions, home)
    return frozenset(
        step.index
        for at, step in stores
        if all(
            followed.is_one_value(operand, at, home.get(step.index, -1), _DEEPEST)
            for operand in step.operands
            if not isinstance(operand, Address)
        )
    )


class _Followed:
    def __init__(self, definitions: _KnownSteps, home: Mapping[int, int]) -> None:
        self._definitions = definitions
        self._home = home

    def is_one_value(self, operand: Operand, at: int, block: int, deepest: int) -> bool:
        """Whether an operand is the same in every thread, at a place in the order of all steps."""
        match operand:
            case Immediate():
                return True
            case Vector(elements=elements):
                return all(self.is_one_value(e, at, block, deepest) for e in elements)
            case Register(name=name) if deepest:
                return self._is_defined_once(name, at, block, deepest - 1)
        return False

    def _is_defined_once(self, name: str, at: int, block: int, deepest: int) -> bool:
        known = self._definitions.get(name, ())
        before = [d for d in known if d[0] < at and self._home.get(d[1].index) == block]
        if not before and len(known) != 1:
            return False
        order, step = (before or known)[-1]
        if step.guard is not None:
            return False
        where = self._home.get(step.index, -1)
        return all(
            _is_parameter(operand, step) or self.is_one_value(operand, order, where, deepest)
            for operand in step.operands[1:]
        )


def _is_parameter(operand: Operand, step: Instruction) -> bool:
    """Whether an operand is the address of a parameter, which all threads share."""
    return (
        isinstance(operand, Address)
        and step.space is Space.PARAM
        and (operand.base is None or isinstance(operand.base, Symbol))
    )
