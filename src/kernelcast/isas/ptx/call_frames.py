"""The `.param` variables of inlined calls become registers, or local memory where they must."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from kernelcast.ir import Address, Operand, Register, Space, Symbol, Variable, Vector
from kernelcast.isas.ptx.declarations import Declaration
from kernelcast.isas.ptx.inlining import BranchTarget, Draft, DraftStream, Label, in_local_memory
from kernelcast.isas.ptx.opcodes import TYPE_BYTES, known_form


@dataclass(slots=True)
class _FrameUse:
    """How a frame is accessed: the size at every offset, and whether registers can hold it."""

    sizes: dict[int, int] = field(default_factory=dict)
    in_memory: bool = False
    is_read: bool = False

    def add(self, offset: int, size_bytes: int) -> None:
        if self.sizes.setdefault(offset, size_bytes) != size_bytes:
            self.in_memory = True

    @property
    def overlaps(self) -> bool:
        spans = sorted(self.sizes.items())
        return any(a + size > b for (a, size), (b, _) in pairwise(spans))


def lower_frames(
    stream: DraftStream, frames: dict[str, Declaration]
) -> tuple[DraftStream, list[Variable]]:
    """Replace loads and stores of frames by moves; return the new stream and local variables.

    A frame whose every access has a constant offset and the width of its register lives in one
    register per offset. Any other lives in local memory.
    """
    if not frames:
        return stream, []
    uses = _uses(stream, frames)
    lowered: DraftStream = []
    for item in stream:
        frame = _frame_of(item, frames)
        if frame is None or isinstance(item, Label):
            lowered.append(item)
        elif uses[frame].in_memory:
            is_access = item.form.space is Space.PARAM or item.form.opcode == "cvta"
            form = in_local_memory(item.form) if is_access else item.form
            lowered.append(item._replace(form=form))
        elif uses[frame].is_read:
            lowered += _moves(item)
    variables = [
        Variable(name, Space.LOCAL, declaration.size_bytes, declaration.align_bytes)
        for name, declaration in frames.items()
        if uses[name].in_memory
    ]
    return lowered, variables


def _uses(stream: DraftStream, frames: dict[str, Declaration]) -> defaultdict[str, _FrameUse]:
    uses: defaultdict[str, _FrameUse] = defaultdict(_FrameUse)
    for item in stream:
        frame = _frame_of(item, frames)
        if frame is None or isinstance(item, Label):
            continue
        use = uses[frame]
        if item.form.space is not Space.PARAM:
            use.in_memory = True
            continue
        use.is_read |= item.form.opcode == "ld"
        address, values = _access(item)
        size_bytes = item.form.access_bytes // item.form.elements
        for at, value in enumerate(values):
            use.add(address.offset + at * size_bytes, size_bytes)
            if isinstance(value, Register) and TYPE_BYTES[value.type] != size_bytes:
                use.in_memory = True
    for use in uses.values():
        use.in_memory |= use.overlaps
    return uses


def _frame_of(item: Draft | Label, frames: dict[str, Declaration]) -> str | None:
    """The frame that an instruction names."""
    if isinstance(item, Draft):
        for operand in item.operands:
            symbol = operand.base if isinstance(operand, Address) else operand
            if isinstance(symbol, Symbol) and symbol.name in frames:
                return symbol.name
    return None


def _access(item: Draft) -> tuple[Address, tuple[Operand | BranchTarget, ...]]:
    """Address and values of a load or store."""
    first, second = item.operands[:2]
    address, value = (second, first) if item.form.opcode == "ld" else (first, second)
    assert isinstance(address, Address)
    return address, value.elements if isinstance(value, Vector) else (value,)


def _moves(item: Draft) -> list[Draft]:
    """One move for each element of a load or store."""
    address, values = _access(item)
    assert isinstance(address.base, Symbol)
    size_bytes = item.form.access_bytes // item.form.elements
    type_ = f"b{8 * size_bytes}"
    moves = []
    for at, value in enumerate(values):
        if value is None:
            continue
        cell = Register(f"{address.base.name}+{address.offset + at * size_bytes}", type_)
        operands = (value, cell) if item.form.opcode == "ld" else (cell, value)
        moves.append(item._replace(form=known_form(f"mov.{type_}"), operands=operands))
    return moves
