"""The steps of bulk copies, and calls of the system: the host does them, lane by lane."""

from __future__ import annotations

from kernelcast.execution.engine.context import Slot
from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.memory import address_of
from kernelcast.execution.engine.ptx.operands import guard_of, read, resize
from kernelcast.execution.engine.values import Value, ptx_type, vector
from kernelcast.ir import Address, Instruction, Operand, Register
from kernelcast.isas.ptx.steps import BULK, SYSTEM

MAX_OPERANDS = 8
"""A tensor map, an address and five coordinates are the most."""


def _bulk(lw: Lowering, i: Instruction) -> None:
    """Hand the operands to the host, which also logs the accesses."""
    _call_host(lw, i)


def _system(lw: Lowering, i: Instruction) -> None:
    """Let the host do it; the result stands where the first operand was."""
    target = i.operands[0]
    assert isinstance(target, Register)
    _call_host(lw, i)
    buffer = lw.slot(Slot.OPERANDS, "ptr")
    result = lw.b.value("i64", f"load {vector('i64')}, ptr {buffer}, align 64")
    lw.set_register(target, resize(lw.b, result, ptx_type(target.type).llvm), guard_of(lw, i))


def _call_host(lw: Lowering, i: Instruction) -> None:
    b = lw.b
    number = next(n for n, s in enumerate(lw.kernel.steps(lw.position)) if s is i)
    lanes = guard_of(lw, i)
    mask = lw.mask if lanes is None else b.mask_of(lanes)
    some, done = b.fresh("copies"), b.fresh("copied")
    none = b.scalar(f"icmp eq i32 {mask}, 0")
    values = [_operand(lw, operand) for operand in i.operands[1:]]
    b.line(f"br i1 {none}, label %{done}, label %{some}")
    b.label(some)
    buffer = lw.slot(Slot.OPERANDS, "ptr")
    for at, value in enumerate(values):
        pointer = b.scalar(f"getelementptr {vector('i64')}, ptr {buffer}, i64 {at}")
        b.line(f"store {vector('i64')} {value.text}, ptr {pointer}, align 64")
    lw.set_slot(Slot.LOG, lw.log_position())
    function = lw.slot(Slot.BULK, "ptr")
    failed = b.scalar(
        f"call i32 {function}(ptr %ctx, i32 {lw.position}, i32 {number}, i32 {mask}, "
        f"i32 {int(not lw.is_address_only)})"
    )
    lw.advance_log(lw.slot(Slot.LOG))
    lw.stop_if(b.scalar(f"icmp ne i32 {failed}, 0"))
    b.line(f"br label %{done}")
    b.label(done)


def _operand(lw: Lowering, operand: Operand) -> Value:
    if isinstance(operand, Address):
        return address_of(lw, operand)
    type_name = operand.type if isinstance(operand, Register) and operand.type == "b64" else "u32"
    return resize(lw.b, read(lw, operand, ptx_type(type_name)), "i64")


OPCODES = {BULK: _bulk, SYSTEM: _system}
