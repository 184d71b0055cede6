"""Copies from global to shared memory that a warp starts and waits for later; here done at once."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Address, Guard, Immediate, Operand, Register, Vector
from kernelcast.isas.ptx.opcodes import TYPE_BYTES
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import Lift
from kernelcast.isas.sass.meaning.memory import address

_WORDS = {"64": 2, "128": 4}
_HINTS = ("BYPASS", "LTC64B", "LTC128B", "LTC256B")


def asynchronous_copy(x: Lift) -> None:
    """`LDGSTS [shared], [global], P`: 4 bytes, `.64` or `.128`; zeros where P does not hold.

    With `.ZFILL` the low bits of the global address, which are zero in an aligned one, are how
    many bytes at the end are filled with zeros instead of copied.
    """
    x.only("E", "ZFILL", *_HINTS, *_WORDS)
    words = next((n for m, n in _WORDS.items() if x.has(m)), 1)
    target = x.take()
    source = address(x, x.take())
    condition = x.predicate(x.take()) if x.takes_predicate() else Immediate(1)
    x.done()
    guard = x.guard if condition == Immediate(1) else x.both(x.guard, condition)
    values = tuple(x.carried("b32" if words == 1 else "b64") for _ in range((words + 1) // 2))
    form = f"{'.v2' if len(values) == 2 else ''}.{values[0].type}"
    into: Operand = values[0] if len(values) == 1 else Vector(values)
    for value in values:
        x.do(f"mov.{value.type}", value, Immediate(0))
    if x.has("ZFILL"):
        source, guard = _load_beginning(x, values, source, guard)
    x.do(f"ld.global{form}", into, source, guard=guard)
    x.do(f"st.shared{form}", _shared_address(x, target), into, guard=x.guard)


def _load_beginning(
    x: Lift, values: Sequence[Register], source: Address, guard: Guard | None
) -> tuple[Address, Guard]:
    """Load what lanes copy that do not copy all, byte by byte: the rest may lie outside an array.

    Returns where the others load everything, and which lanes they are.
    """
    value_bytes = TYPE_BYTES[values[0].type]
    size_bytes = value_bytes * len(values)
    base = source.base if isinstance(source.base, Register) else Immediate(0)
    place = x.let("add.u64", base, Immediate(source.offset))
    start, is_whole, byte = x.carried("b64"), x.carried("pred"), x.carried(values[0].type)
    zeros, _ = x.halves(x.let("and.b64", place, Immediate(size_bytes - 1)))
    x.do("sub.u64", start, place, x.let("cvt.u64.u32", zeros))
    copied = x.let("sub.u32", Immediate(size_bytes), zeros)
    active = x.both(guard, Immediate(1)).register
    x.do("setp.eq.and.u32", is_whole, zeros, Immediate(0), active)
    partial = x.let("and.pred", active, x.let("not.pred", is_whole))
    for at in range(size_bytes - 1):
        inside = x.let("setp.gt.and.u32", copied, Immediate(at), partial)
        value = values[at // value_bytes]
        x.do(f"mov.{byte.type}", byte, Immediate(0))
        x.do("ld.global.u8", byte, Address(start, at), guard=Guard(inside))
        x.do(f"shl.{byte.type}", byte, byte, Immediate(8 * (at % value_bytes)))
        x.do(f"or.{byte.type}", value, value, byte)
    return Address(start), Guard(is_whole)


def _shared_address(x: Lift, operand: sass.Operand) -> Address:
    """An address of 32 bits, whatever the width of the other one."""
    if not isinstance(operand, sass.AddressOperand) or operand.space:
        raise x.refuse(f"operand {operand}")
    if any(set(r.decoration.suffixes) - {"reuse"} for r in operand.registers):
        raise x.refuse(f"operand {operand}")
    parts = [r for r in map(x.b32, operand.registers) if isinstance(r, Register)]
    base = parts[0] if parts else None
    for part in parts[1:]:
        base = x.let("add.u32", base, part)
    return Address(base, operand.offset or 0)


MEANINGS = {"LDGSTS": asynchronous_copy}
