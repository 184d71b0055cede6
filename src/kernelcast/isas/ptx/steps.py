"""Instructions of PTX made by name: the steps in which the meaning of others is given."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Location,
    Negated,
    Operand,
    Register,
    Vector,
)
from kernelcast.isas.ptx.opcodes import TYPE_BYTES, Form, known_form
from kernelcast.isas.ptx.traits import with_traits

BULK = "bulk"
"""Opcode of the steps of bulk copies."""

SYSTEM = "system"
"""Opcode of the steps that call the system: its modifier is what is called."""

_TEMPORARY = "#"
"""No register of an ISA has it in its name."""


class Steps:
    """The steps of one instruction as they are written.

    Attributes
    ----------
    index:
        The place of the instruction in the kernel.
    guard:
        The lanes in which it has an effect, for steps that need it.
    steps:
        What it does, so far.
    """

    def __init__(
        self, index: int, guard: Guard | None, line: int = 0, location: Location | None = None
    ) -> None:
        self.index = index
        self.guard = guard
        self.steps: list[Instruction] = []
        self._line = line
        self._location = location
        self._temporaries = 0

    def do(self, name: str, *operands: Operand, guard: Guard | None = None) -> None:
        """Add a step, unguarded unless `guard` is given."""
        self.steps.append(step(self.index, name, operands, guard, self._line, self._location))

    def let(self, name: str, *sources: Operand, type: str = "") -> Register:
        """Add a step into a fresh temporary and return it.

        Its type is `type`; else what the name says: a predicate for `setp`, the first type of a
        `cvt`, the last type of others, its bits doubled where the name says `wide`.
        """
        target = self.temporary(type or _result_type(name))
        self.do(name, target, *sources)
        return target

    def temporary(self, type: str) -> Register:
        """A register that no other instruction uses."""
        self._temporaries += 1
        return Register(f"{_TEMPORARY}{self.index}.{self._temporaries}", type)

    def carried(self, type: str) -> Register:
        """A register that also the next part of the instruction knows, where it has several."""
        self._temporaries += 1
        return Register(f"COPY.{type}.{self._temporaries}", type)

    def both(self, guard: Guard | None, condition: Operand) -> Guard:
        """The lanes in which a guard holds, and a condition as well."""
        if isinstance(condition, Immediate):
            condition = self.let("mov.pred", condition)
        assert isinstance(condition, Register)
        if guard is None:
            return Guard(condition)
        holds: Operand = guard.register
        if guard.negated:
            holds = self.let("not.pred", holds)
        return Guard(self.let("and.pred", holds, condition))

    def halves(self, value: Operand) -> tuple[Register, Register]:
        """The low and high word of 64 bits."""
        low, high = self.temporary("b32"), self.temporary("b32")
        self.do("mov.b64", Vector((low, high)), value)
        return low, high


def is_temporary(register: Register) -> bool:
    """Whether a register is one that only the steps of one instruction know."""
    return register.name.startswith(_TEMPORARY)


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
    is_bulk = form.opcode == BULK
    # Destinations come first; some are read as well.
    for position, operand in enumerate(operands):
        registers = writes if position < form.destinations else reads
        if position == 0 and form.is_in_place and isinstance(operand, Vector) and _keeps(operands):
            reads += [e for e in operand.elements if isinstance(e, Register)]
        if isinstance(operand, Register):
            registers.append(operand)
            if is_bulk and position:  # sizes and coordinates decide on what is accessed, too
                addresses.append(operand)
        elif isinstance(operand, Address):
            if isinstance(operand.base, Register):
                reads.append(operand.base)
                addresses.append(operand.base)
        elif isinstance(operand, Vector):
            registers += [e for e in operand.elements if isinstance(e, Register)]
        elif isinstance(operand, Negated):
            reads.append(operand.register)
    made = Instruction(
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
    return with_traits(made)


def _keeps(operands: Sequence[Operand]) -> bool:
    """Whether old sums count in a product of matrices: its fourth operand says so."""
    return operands[3] != Immediate(0)


def _result_type(name: str) -> str:
    opcode, *modifiers = name.split(".")
    types = [m for m in modifiers if m in TYPE_BYTES]
    if opcode in ("setp", "isspacep", "testp"):
        return "pred"
    type_ = types[0] if opcode in ("cvt", "set") else types[-1]
    if type_ == "pred":
        return type_
    size = TYPE_BYTES[type_] * (2 if "wide" in modifiers else 1)
    return f"b{8 * size}"
