"""Integer arithmetic."""

from __future__ import annotations

from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.operands import pack, read, type_of, unpack, write
from kernelcast.execution.engine.values import (
    PtxType,
    Value,
    element_bits,
    ptx_type,
)
from kernelcast.ir import Instruction


def sources(lw: Lowering, i: Instruction, kind: PtxType) -> list[Value]:
    """All operands but the first, as `kind`."""
    return [read(lw, operand, kind) for operand in i.operands[1:]]


def _packed(lw: Lowering, i: Instruction, name: str) -> None:
    """An operation on both halves of a packed pair."""
    b = lw.b
    kind = type_of(i)
    a, c = (unpack(lw, read(lw, o, kind), kind.lanes) for o in i.operands[1:])
    if name in ("min", "max"):
        intrinsic = ("s" if kind.signed else "u") + name
        halves = [b.lanewise(intrinsic, x.type, x, y) for x, y in zip(a, c, strict=True)]
    else:
        halves = [b.binary(name, x, y) for x, y in zip(a, c, strict=True)]
    write(lw, i, i.operands[0], pack(lw, halves, kind))


def _add(lw: Lowering, i: Instruction) -> None:
    """`add`, with carry-out for `.cc` and saturation for `.sat.s32`."""
    if type_of(i).lanes > 1:
        _packed(lw, i, "add")
        return
    a, c = sources(lw, i, type_of(i))
    if "sat" in i.modifiers:
        write(lw, i, i.operands[0], lw.b.lanewise("sadd.sat", a.type, a, c))
        return
    total = lw.b.binary("add", a, c)
    if "cc" in i.modifiers:
        lw.set_carry(lw.b.compare("ult", total, a))
    write(lw, i, i.operands[0], total)


def _sub(lw: Lowering, i: Instruction) -> None:
    """`sub`; the condition code holds the borrow."""
    a, c = sources(lw, i, type_of(i))
    if "sat" in i.modifiers:
        write(lw, i, i.operands[0], lw.b.lanewise("ssub.sat", a.type, a, c))
        return
    if "cc" in i.modifiers:
        lw.set_carry(lw.b.compare("ult", a, c))
    write(lw, i, i.operands[0], lw.b.binary("sub", a, c))


def _with_carry(lw: Lowering, i: Instruction, a: Value, c: Value) -> None:
    b = lw.b
    partial = b.binary("add", a, c)
    total = b.binary("add", partial, b.cast("zext", lw.carry(), a.type))
    if "cc" in i.modifiers:
        out = b.binary("or", b.compare("ult", partial, a), b.compare("ult", total, partial))
        lw.set_carry(out)
    write(lw, i, i.operands[0], total)


def _addc(lw: Lowering, i: Instruction) -> None:
    """`addc`: add with carry in."""
    a, c = sources(lw, i, type_of(i))
    _with_carry(lw, i, a, c)


def _subc(lw: Lowering, i: Instruction) -> None:
    """`subc`: subtract with borrow in."""
    b = lw.b
    a, c = sources(lw, i, type_of(i))
    borrow = b.cast("zext", lw.carry(), a.type)
    partial = b.binary("sub", a, c)
    if "cc" in i.modifiers:
        out = b.binary("or", b.compare("ult", a, c), b.compare("ult", partial, borrow))
        lw.set_carry(out)
    write(lw, i, i.operands[0], b.binary("sub", partial, borrow))


def _product(lw: Lowering, i: Instruction, kind: PtxType, a: Value, c: Value) -> Value:
    """`a * c` as the modifiers `.lo`, `.hi` and `.wide` want it."""
    b = lw.b
    if "lo" in i.modifiers or not ({"hi", "wide"} & set(i.modifiers)):
        return b.binary("mul", a, c)
    wide = f"i{2 * kind.bits}"
    extend = "sext" if kind.signed else "zext"
    whole = b.binary("mul", b.cast(extend, a, wide), b.cast(extend, c, wide))
    if "wide" in i.modifiers:
        return whole
    return b.cast("trunc", b.binary("lshr", whole, b.constant(wide, kind.bits)), a.type)


def _mul(lw: Lowering, i: Instruction) -> None:
    """`mul.lo`, `mul.hi`, `mul.wide`."""
    kind = type_of(i)
    a, c = sources(lw, i, kind)
    write(lw, i, i.operands[0], _product(lw, i, kind, a, c))


def _mad(lw: Lowering, i: Instruction) -> None:
    """`mad`; for `.wide` the addend is twice as wide."""
    kind = type_of(i)
    a, c = (read(lw, o, kind) for o in i.operands[1:3])
    whole = _product(lw, i, kind, a, c)
    addend = read(lw, i.operands[3], ptx_type(f"{kind.kind}{element_bits(whole.type)}"))
    if "sat" in i.modifiers:
        if "hi" not in i.modifiers or kind.name != "s32":
            raise lw.unsupported("saturation")
        write(lw, i, i.operands[0], lw.b.lanewise("sadd.sat", whole.type, whole, addend))
        return
    total = lw.b.binary("add", whole, addend)
    if "cc" in i.modifiers:
        lw.set_carry(lw.b.compare("ult", total, whole))
    write(lw, i, i.operands[0], total)


def _madc(lw: Lowering, i: Instruction) -> None:
    """`madc`: multiply and add with carry in."""
    kind = type_of(i)
    a, c, addend = sources(lw, i, kind)
    _with_carry(lw, i, _product(lw, i, kind, a, c), addend)


def _low_24_bits(lw: Lowering, a: Value, signed: bool) -> Value:
    b = lw.b
    up = b.binary("shl", a, b.constant("i32", 8))
    return b.binary("ashr" if signed else "lshr", up, b.constant("i32", 8))


def _product_24(lw: Lowering, i: Instruction, kind: PtxType) -> Value:
    b = lw.b
    a, c = (_low_24_bits(lw, read(lw, o, kind), kind.signed) for o in i.operands[1:3])
    extend = "sext" if kind.signed else "zext"
    whole = b.binary("mul", b.cast(extend, a, "i64"), b.cast(extend, c, "i64"))
    shift = 16 if "hi" in i.modifiers else 0
    return b.cast("trunc", b.binary("lshr", whole, b.constant("i64", shift)), "i32")


def _mul24(lw: Lowering, i: Instruction) -> None:
    """`mul24`: product of the low 24 bits, its low or high 32 of 48 bits."""
    write(lw, i, i.operands[0], _product_24(lw, i, type_of(i)))


def _mad24(lw: Lowering, i: Instruction) -> None:
    """`mad24`."""
    kind = type_of(i)
    addend = read(lw, i.operands[3], kind)
    write(lw, i, i.operands[0], lw.b.binary("add", _product_24(lw, i, kind), addend))


def _sad(lw: Lowering, i: Instruction) -> None:
    """`sad`: c + |a - b|."""
    b = lw.b
    kind = type_of(i)
    a, c, addend = sources(lw, i, kind)
    above = b.compare("sgt" if kind.signed else "ugt", a, c)
    distance = b.select(above, b.binary("sub", a, c), b.binary("sub", c, a))
    write(lw, i, i.operands[0], b.binary("add", addend, distance))


def _quotient(lw: Lowering, kind: PtxType, a: Value, c: Value) -> Value:
    """`a / c` towards zero; all ones where c is 0.

    Up to 32 bits the quotient of the two as f64 is exact after truncation: its error is below
    1 / c. It also avoids the CPU's divide, which traps.
    """
    b = lw.b
    zero = b.compare("eq", c, b.constant(c.type, 0))
    one = b.constant(c.type, 1)
    if kind.bits <= 32:
        to_float, to_int = ("sitofp", "fptosi") if kind.signed else ("uitofp", "fptoui")
        divisor = b.select(zero, one, c)
        exact = b.binary("fdiv", b.cast(to_float, a, "double"), b.cast(to_float, divisor, "double"))
        # The one quotient out of range, -2^31 / -1, wraps when it is cut from 64 bits.
        whole = b.cast("trunc", b.cast(to_int, exact, "i64"), a.type)
    else:
        unsafe = zero
        if kind.signed:
            minus_one = b.compare("eq", c, b.constant(c.type, -1))
            unsafe = b.binary("or", zero, minus_one)
        divisor = b.select(unsafe, one, c)
        whole = b.binary("sdiv" if kind.signed else "udiv", a, divisor)
        if kind.signed:
            whole = b.select(minus_one, b.negate(a), whole)
    return b.select(zero, b.constant(a.type, -1), whole)


def _div(lw: Lowering, i: Instruction) -> None:
    """Integer `div`."""
    kind = type_of(i)
    a, c = sources(lw, i, kind)
    write(lw, i, i.operands[0], _quotient(lw, kind, a, c))


def _rem(lw: Lowering, i: Instruction) -> None:
    """Integer `rem`: a - c (a / c), which is a where c is 0."""
    b = lw.b
    kind = type_of(i)
    a, c = sources(lw, i, kind)
    write(lw, i, i.operands[0], b.binary("sub", a, b.binary("mul", c, _quotient(lw, kind, a, c))))


def _absolute(lw: Lowering, i: Instruction) -> None:
    """Integer `abs`; the most negative number is its own."""
    (a,) = sources(lw, i, type_of(i))
    negative = lw.b.compare("slt", a, lw.b.constant(a.type, 0))
    write(lw, i, i.operands[0], lw.b.select(negative, lw.b.negate(a), a))


def _neg(lw: Lowering, i: Instruction) -> None:
    """Integer `neg`."""
    (a,) = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], lw.b.negate(a))


def _extreme(lw: Lowering, i: Instruction) -> None:
    """Integer `min` and `max`."""
    kind = type_of(i)
    if kind.lanes > 1:
        _packed(lw, i, i.opcode)
        return
    a, c = sources(lw, i, kind)
    name = ("s" if kind.signed else "u") + i.opcode
    write(lw, i, i.operands[0], lw.b.lanewise(name, a.type, a, c))


def _dp4a(lw: Lowering, i: Instruction) -> None:
    """`dp4a`: c plus the dot product of four bytes."""
    b = lw.b
    types = [m for m in i.modifiers if m in ("u32", "s32")]
    a, c, total = sources(lw, i, ptx_type("b32"))
    for number in range(4):
        parts = []
        for value, kind in zip((a, c), types, strict=True):
            parts.append(_field(lw, value, 8 * number, 8, kind == "s32"))
        total = b.binary("add", total, b.binary("mul", *parts))
    write(lw, i, i.operands[0], total)


def _dp2a(lw: Lowering, i: Instruction) -> None:
    """`dp2a`: c plus the products of two 16-bit halves with the low or high two bytes."""
    b = lw.b
    wide, narrow = (m for m in i.modifiers if m in ("u32", "s32"))
    a, c, total = sources(lw, i, ptx_type("b32"))
    first = 2 if "hi" in i.modifiers else 0
    for number in range(2):
        half = _field(lw, a, 16 * number, 16, wide == "s32")
        byte = _field(lw, c, 8 * (first + number), 8, narrow == "s32")
        total = b.binary("add", total, b.binary("mul", half, byte))
    write(lw, i, i.operands[0], total)


def _vabsdiff4(lw: Lowering, i: Instruction) -> None:
    """`vabsdiff4` of unsigned bytes: their differences without sign, side by side, or with `.add`
    the sum of these and c."""
    b = lw.b
    if i.modifiers not in (("u32",) * 3, (*("u32",) * 3, "add")):
        raise lw.unsupported("this form")
    a, c, addend = sources(lw, i, ptx_type("b32"))
    total = addend if "add" in i.modifiers else b.constant("i32", 0)
    for at in range(0, 32, 8):
        sides = [_field(lw, value, at, 8, signed=False) for value in (a, c)]
        greatest, least = (b.lanewise(name, "i32", *sides) for name in ("umax", "umin"))
        difference = b.binary("sub", greatest, least)
        if "add" not in i.modifiers:
            difference = b.binary("shl", difference, b.constant("i32", at))
        total = b.binary("add", total, difference)
    write(lw, i, i.operands[0], total)


def _field(lw: Lowering, value: Value, position: int, length: int, signed: bool) -> Value:
    """A field of constant place, extended to 32 bits."""
    b = lw.b
    up = b.binary("shl", value, b.constant("i32", 32 - position - length))
    return b.binary("ashr" if signed else "lshr", up, b.constant("i32", 32 - length))


OPCODES = {
    "addc": _addc,
    "subc": _subc,
    "madc": _madc,
    "mul24": _mul24,
    "mad24": _mad24,
    "sad": _sad,
    "rem": _rem,
    "dp4a": _dp4a,
    "dp2a": _dp2a,
    "vabsdiff4": _vabsdiff4,
}
"""Opcodes that act on integers only; those shared with floats are in `arithmetic`."""

INTEGER = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "mad": _mad,
    "div": _div,
    "abs": _absolute,
    "neg": _neg,
    "min": _extreme,
    "max": _extreme,
}
