"""Sums, differences and dot products of bytes and halves that share a register."""

from __future__ import annotations

from collections.abc import Callable

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.sass.meaning.lift import SassLift
from kernelcast.isas.sass.meaning.sums import Term, is_zero, read_term, write_sum

_LOW_BYTES = Immediate(0x00FF_00FF)
_ABOVE_LOW_BYTES = Immediate(0x0100_0100)
_ONES = Immediate(0x0101_0101)
_HALF_ONES = Immediate(0x0001_0001)
_DOT_TYPES = {"U8": "u32", "S8": "s32", "U16": "u32", "S16": "s32"}


def by_pairs_of_bytes(
    x: SassLift, a: Operand, b: Operand, function: Callable[[Operand, Operand], Operand]
) -> Operand:
    """A function of every byte of a and b.

    `function` gets two of their bytes at a time, each extended by zeros to 16 bits, and what it
    returns in the low byte of each half is kept.
    """
    parts = []
    for shift in (0, 8):
        sides = []
        for side in (a, b):
            moved = x.let("shr.u32", side, Immediate(shift)) if shift else side
            sides.append(x.let("and.b32", moved, _LOW_BYTES))
        kept = x.let("and.b32", function(*sides), _LOW_BYTES)
        parts.append(x.let("shl.b32", kept, Immediate(shift)) if shift else kept)
    return x.let("or.b32", *parts)


def _add(x: SassLift) -> None:
    """`VIADD d, a, b`; `.16x2` and `.U8x4` add halves and bytes, `.ISAT` saturates."""
    x.only("16x2", "U8x4", "S32", "ISAT")
    target = x.take()
    a, b = read_term(x, x.take()), read_term(x, x.take())
    x.done()
    if x.has("ISAT"):
        if a.is_negated and b.is_negated:
            raise x.refuse(f"operand {x.native.operands[1]}")
        first, second = (b, a) if a.is_negated else (a, b)
        name = "sub.sat.s32" if second.is_negated else "add.sat.s32"
        x.set(target, name, first.value, second.value)
    elif x.has("16x2"):
        x.write(target, x.let("add.u16x2", _half(x, a), _half(x, b)))
    elif x.has("U8x4"):
        if a.is_negated:
            raise x.refuse(f"operand {x.native.operands[1]}")
        x.write(target, _byte_sum(x, a.value, b))
    else:
        write_sum(x, target, [], [a, b])


def _half(x: SassLift, term: Term) -> Operand:
    """Two halves with their sign."""
    if not term.is_negated or is_zero(term.value):
        return term.value
    return x.let("add.u16x2", x.let("not.b32", term.value), _HALF_ONES)


def _byte_sum(x: SassLift, a: Operand, b: Term) -> Operand:
    if not b.is_negated:
        return by_pairs_of_bytes(x, a, b.value, lambda c, d: x.let("add.u32", c, d))
    # A one above each byte, so that none borrows from the next.
    return by_pairs_of_bytes(
        x, a, b.value, lambda c, d: x.let("sub.u32", x.let("or.b32", c, _ABOVE_LOW_BYTES), d)
    )


def _dot_product(x: SassLift) -> None:
    """`IDP.4A.U8.S8 d, a, b, c`: c plus the products of bytes; `.2A` of the halves of a and two
    bytes of b, the low ones (`.LO`) or the high ones (`.HI`)."""
    x.only("4A", "2A", "LO", "HI", *_DOT_TYPES)
    target = x.take()
    a, b, c = (x.b32(x.take()) for _ in range(3))
    x.done()
    types = ".".join(_DOT_TYPES[m] for m in x.native.modifiers if m in _DOT_TYPES)
    part = "".join(f".{m.lower()}" for m in ("LO", "HI") if x.has(m))
    x.set(target, f"dp4a.{types}" if x.has("4A") else f"dp2a{part}.{types}", a, b, c)


def _absolute_difference(x: SassLift) -> None:
    """`VABSDIFF d, a, b, c`: c + |a - b|."""
    x.only("U32", "S32")
    target = x.take()
    a, b, c = (x.u32(x.take()) for _ in range(3))
    x.done()
    x.set(target, "sad.u32" if x.has("U32") else "sad.s32", a, b, c)


def _absolute_differences(x: SassLift) -> None:
    """`VABSDIFF4.U8 d, a, b, c`: |a - b| of every byte, c being without effect; `.ACC` adds all of
    them to c."""
    x.only("U8", "ACC")
    target = x.take()
    a, b, c = (x.b32(x.take()) for _ in range(3))
    x.done()
    value = by_pairs_of_bytes(
        x,
        a,
        b,
        lambda d, e: x.let("sub.u32", x.let("max.u16x2", d, e), x.let("min.u16x2", d, e)),
    )
    if x.has("ACC"):
        x.set(target, "dp4a.u32.u32", value, _ONES, c)
    else:
        x.write(target, value)


MEANINGS = {
    **dict.fromkeys(("VIADD", "UVIADD"), _add),
    **dict.fromkeys(("IDP", "UIDP"), _dot_product),
    "VABSDIFF": _absolute_difference,
    "VABSDIFF4": _absolute_differences,
}
