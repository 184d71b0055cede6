"""Copies from global to shared memory that a warp starts and waits for later; here done at once."""

from __future__ import annotations

from kernelcast.ir import Address, Immediate, Register
from kernelcast.isas.ptx.copies import copy
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift
from kernelcast.isas.sass.meaning.memory import address

_SIZES_BYTES = {"64": 8, "128": 16}
_HINTS = ("BYPASS", "LTC64B", "LTC128B", "LTC256B")


def _asynchronous_copy(x: SassLift) -> None:
    """`LDGSTS [shared], [global], P`: 4 bytes, `.64` or `.128`; zeros where P does not hold.

    With `.ZFILL` the low bits of the global address, which are zero in an aligned one, are how
    many bytes at the end are filled with zeros instead of copied.
    """
    x.only("E", "ZFILL", *_HINTS, *_SIZES_BYTES)
    size_bytes = next((n for m, n in _SIZES_BYTES.items() if x.has(m)), 4)
    target = x.take()
    source = address(x, x.take())
    condition = x.predicate(x.take()) if x.takes_predicate() else Immediate(1)
    x.done()
    guard = x.guard if condition == Immediate(1) else x.both(x.guard, condition)
    beginning = _beginning(x, source, size_bytes) if x.has("ZFILL") else None
    copy(x, size_bytes, source, lambda: _shared_address(x, target), guard, beginning)


def _beginning(x: SassLift, source: Address, size_bytes: int) -> tuple[Register, Register]:
    """Where the bytes start that are copied, and how many there are."""
    base = source.base if isinstance(source.base, Register) else Immediate(0)
    place = x.let("add.u64", base, Immediate(source.offset))
    zeros, _ = x.halves(x.let("and.b64", place, Immediate(size_bytes - 1)))
    start = x.let("sub.u64", place, x.let("cvt.u64.u32", zeros))
    return start, x.let("sub.u32", Immediate(size_bytes), zeros)


def _shared_address(x: SassLift, operand: sass.SassOperand) -> Address:
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


MEANINGS = {"LDGSTS": _asynchronous_copy}
