"""Instructions of PTX made by name: the steps in which the meaning of other ISAs is given."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import (
    Address,
    Guard,
    Instruction,
    Location,
    Negated,
    Operand,
    Register,
    Vector,
)
from kernelcast.isas.ptx.opcodes import Form, known_form


def step(
    index: int,
    name: str,
    operands: Sequence[Operand],
    guard: Guard | None = None,
    line: int = 0,
    location: Location | None = None,
) -> Instruction:
    """The instruction called `name`, for example `add.u32`."""
    return instruction(index, known_form(name), operands, guard, line, location)


def instruction(
    index: int,
    form: Form,
    operands: Sequence[Operand],
    guard: Guard | None,
    line: int,
    location: Location | None,
) -> Instruction:
    """An instruction of a known form, with what it reads and writes."""
    reads: list[Register] = [] if guard is None else [guard.register]
    writes: list[Register] = []
    addresses: list[Register] = []
    for position, operand in enumerate(operands):
        registers = writes if position < form.destinations else reads
        if isinstance(operand, Register):
            registers.append(operand)
        elif isinstance(operand, Address):
            if isinstance(operand.base, Register):
                reads.append(operand.base)
                addresses.append(operand.base)
        elif isinstance(operand, Vector):
            registers += [e for e in operand.elements if isinstance(e, Register)]
        elif isinstance(operand, Negated):
            reads.append(operand.register)
    return Instruction(
        index=index,
        opcode=form.opcode,
        modifiers=form.modifiers,
        operands=tuple(operands),
        op_class=form.op_class,
        guard=guard,
        reads=tuple(reads),
        writes=tuple(writes),
        space=form.space,
        access_bytes=form.access_bytes,
        location=location,
        line=line,
        address_reads=tuple(addresses),
    )
