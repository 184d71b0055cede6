"""Integer arithmetic, logic, shifts and bit fields."""

from __future__ import annotations

from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.operands import pack, read, resize, type_of, unpack, write
from kernelcast.execution.engine.values import (
    PtxType,
    Value,
    element_bits,
    mangled,
    ptx_type,
    vector,
)
from kernelcast.ir import Immediate, Instruction


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


def add(lw: Lowering, i: Instruction) -> None:
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


def sub(lw: Lowering, i: Instruction) -> None:
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


def addc(lw: Lowering, i: Instruction) -> None:
    """`addc`: add with carry in."""
    a, c = sources(lw, i, type_of(i))
    _with_carry(lw, i, a, c)


def subc(lw: Lowering, i: Instruction) -> None:
    """`subc`: subtract with borrow in."""
    b = lw.b
    a, c = sources(lw, i, type_of(i))
    borrow = b.cast("zext", lw.carry(), a.type)
    partial = b.binary("sub", a, c)
    if "cc" in i.modifiers:
        out = b.binary("or", b.compare("ult", a, c), b.compare("ult", partial, borrow))
        lw.set_carry(out)
    write(lw, i, i.operands[0], b.binary("sub", partial, borrow))


def product(lw: Lowering, i: Instruction, kind: PtxType, a: Value, c: Value) -> Value:
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


def mul(lw: Lowering, i: Instruction) -> None:
    """`mul.lo`, `mul.hi`, `mul.wide`."""
    kind = type_of(i)
    a, c = sources(lw, i, kind)
    write(lw, i, i.operands[0], product(lw, i, kind, a, c))


def mad(lw: Lowering, i: Instruction) -> None:
    """`mad`; for `.wide` the addend is twice as wide."""
    kind = type_of(i)
    a, c = (read(lw, o, kind) for o in i.operands[1:3])
    whole = product(lw, i, kind, a, c)
    addend = read(lw, i.operands[3], ptx_type(f"{kind.kind}{element_bits(whole.type)}"))
    if "sat" in i.modifiers:
        raise lw.unsupported("saturation")
    total = lw.b.binary("add", whole, addend)
    if "cc" in i.modifiers:
        lw.set_carry(lw.b.compare("ult", total, whole))
    write(lw, i, i.operands[0], total)


def madc(lw: Lowering, i: Instruction) -> None:
    """`madc`: multiply and add with carry in."""
    kind = type_of(i)
    a, c, addend = sources(lw, i, kind)
    _with_carry(lw, i, product(lw, i, kind, a, c), addend)


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


def mul24(lw: Lowering, i: Instruction) -> None:
    """`mul24`: product of the low 24 bits, its low or high 32 of 48 bits."""
    write(lw, i, i.operands[0], _product_24(lw, i, type_of(i)))


def mad24(lw: Lowering, i: Instruction) -> None:
    """`mad24`."""
    kind = type_of(i)
    addend = read(lw, i.operands[3], kind)
    write(lw, i, i.operands[0], lw.b.binary("add", _product_24(lw, i, kind), addend))


def sad(lw: Lowering, i: Instruction) -> None:
    """`sad`: c + |a - b|."""
    b = lw.b
    kind = type_of(i)
    a, c, addend = sources(lw, i, kind)
    above = b.compare("sgt" if kind.signed else "ugt", a, c)
    distance = b.select(above, b.binary("sub", a, c), b.binary("sub", c, a))
    write(lw, i, i.operands[0], b.binary("add", addend, distance))


def quotient(lw: Lowering, kind: PtxType, a: Value, c: Value) -> Value:
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


def div(lw: Lowering, i: Instruction) -> None:
    """Integer `div`."""
    kind = type_of(i)
    a, c = sources(lw, i, kind)
    write(lw, i, i.operands[0], quotient(lw, kind, a, c))


def rem(lw: Lowering, i: Instruction) -> None:
    """Integer `rem`: a - c (a / c), which is a where c is 0."""
    b = lw.b
    kind = type_of(i)
    a, c = sources(lw, i, kind)
    write(lw, i, i.operands[0], b.binary("sub", a, b.binary("mul", c, quotient(lw, kind, a, c))))


def absolute(lw: Lowering, i: Instruction) -> None:
    """Integer `abs`; the most negative number is its own."""
    (a,) = sources(lw, i, type_of(i))
    negative = lw.b.compare("slt", a, lw.b.constant(a.type, 0))
    write(lw, i, i.operands[0], lw.b.select(negative, lw.b.negate(a), a))


def neg(lw: Lowering, i: Instruction) -> None:
    """Integer `neg`."""
    (a,) = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], lw.b.negate(a))


def extreme(lw: Lowering, i: Instruction) -> None:
    """Integer `min` and `max`."""
    kind = type_of(i)
    if kind.lanes > 1:
        _packed(lw, i, i.opcode)
        return
    a, c = sources(lw, i, kind)
    name = ("s" if kind.signed else "u") + i.opcode
    write(lw, i, i.operands[0], lw.b.lanewise(name, a.type, a, c))


def logic(lw: Lowering, i: Instruction) -> None:
    """`and`, `or`, `xor`, on predicates too."""
    a, c = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], lw.b.binary(i.opcode, a, c))


def bit_not(lw: Lowering, i: Instruction) -> None:
    """`not`."""
    (a,) = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], lw.b.invert(a))


def cnot(lw: Lowering, i: Instruction) -> None:
    """`cnot`: 1 where the source is 0, else 0."""
    (a,) = sources(lw, i, type_of(i))
    zero = lw.b.compare("eq", a, lw.b.constant(a.type, 0))
    write(lw, i, i.operands[0], lw.b.cast("zext", zero, a.type))


def lop3(lw: Lowering, i: Instruction) -> None:
    """`lop3.b32`: any function of three bits, as the sum of its minterms."""
    b = lw.b
    kind = ptx_type("b32")
    if "BoolOp" in i.name or len(i.operands) != 5:
        raise lw.unsupported("a lop3 with predicates")
    a, c, d = (read(lw, o, kind) for o in i.operands[1:4])
    table = i.operands[4]
    assert isinstance(table, Immediate)
    result = b.constant("i32", 0)
    for row in range(8):
        if table.value >> row & 1:
            # Row 4a + 2c + d of the table: 0xF0 is the column of a, 0xCC of c, 0xAA of d.
            terms = [
                x if row >> shift & 1 else b.invert(x) for x, shift in ((a, 2), (c, 1), (d, 0))
            ]
            both = b.binary("and", b.binary("and", terms[0], terms[1]), terms[2])
            result = b.binary("or", result, both)
    write(lw, i, i.operands[0], result)


def shift(lw: Lowering, i: Instruction) -> None:
    """`shl` and `shr`: amounts beyond the width act like the width."""
    b = lw.b
    kind = type_of(i)
    a = read(lw, i.operands[1], kind)
    amount = read(lw, i.operands[2], ptx_type("u32"))
    left = i.opcode == "shl"
    operation = "shl" if left else "ashr" if kind.signed else "lshr"
    top = b.constant("i32", kind.bits - 1)
    clamped = b.lanewise("umin", "i32", amount, top)
    shifted = b.binary(operation, a, resize(b, clamped, a.type))
    if operation != "ashr":
        beyond = b.compare("ugt", amount, top)
        shifted = b.select(beyond, b.constant(a.type, 0), shifted)
    write(lw, i, i.operands[0], shifted)


def funnel_shift(lw: Lowering, i: Instruction) -> None:
    """`shf.l` and `shf.r` of the pair {c, a}, amount wrapped or clamped to 32."""
    b = lw.b
    low, high, amount = sources(lw, i, ptx_type("b32"))
    pair = b.binary(
        "or",
        b.binary("shl", b.cast("zext", high, "i64"), b.constant("i64", 32)),
        b.cast("zext", low, "i64"),
    )
    if "clamp" in i.modifiers:
        amount = b.lanewise("umin", "i32", amount, b.constant("i32", 32))
    else:
        amount = b.binary("and", amount, b.constant("i32", 31))
    wide = b.cast("zext", amount, "i64")
    if "l" in i.modifiers:
        shifted = b.binary("lshr", b.binary("shl", pair, wide), b.constant("i64", 32))
    else:
        shifted = b.binary("lshr", pair, wide)
    write(lw, i, i.operands[0], b.cast("trunc", shifted, "i32"))


def popc(lw: Lowering, i: Instruction) -> None:
    """`popc`: number of ones, as u32."""
    (a,) = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], resize(lw.b, lw.b.lanewise("ctpop", a.type, a), "i32"))


def clz(lw: Lowering, i: Instruction) -> None:
    """`clz`: leading zeros, as u32; the width for 0."""
    (a,) = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], resize(lw.b, _leading_zeros(lw, a), "i32"))


def _leading_zeros(lw: Lowering, a: Value) -> Value:
    kind = vector(a.type)
    text = lw.b.call(f"llvm.ctlz.{mangled(a.type)}", kind, [(kind, a.text), ("i1", "false")])
    return Value(text, a.type)


def brev(lw: Lowering, i: Instruction) -> None:
    """`brev`: bits in reverse order."""
    (a,) = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], lw.b.lanewise("bitreverse", a.type, a))


def bfind(lw: Lowering, i: Instruction) -> None:
    """`bfind`: position of the leading non-sign bit, or its shift amount; all ones if none."""
    b = lw.b
    kind = type_of(i)
    (a,) = sources(lw, i, kind)
    if kind.signed:
        negative = b.compare("slt", a, b.constant(a.type, 0))
        a = b.select(negative, b.invert(a), a)
    zeros = resize(b, _leading_zeros(lw, a), "i32")
    position = zeros
    if "shiftamt" not in i.modifiers:
        position = b.binary("sub", b.constant("i32", kind.bits - 1), zeros)
    none = b.compare("eq", a, b.constant(a.type, 0))
    write(lw, i, i.operands[0], b.select(none, b.constant("i32", -1), position))


def bfe(lw: Lowering, i: Instruction) -> None:
    """`bfe`: field of `len` bits from `pos` (both mod 256), extended by its sign bit if signed.

    The sign of a field that reaches beyond the top is the top bit, as PTX's pseudo-code has it.
    """
    b = lw.b
    kind = type_of(i)
    a = read(lw, i.operands[1], kind)
    byte = b.constant("i32", 0xFF)
    position, length = (
        b.binary("and", read(lw, o, ptx_type("u32")), byte) for o in i.operands[2:4]
    )
    width = b.constant("i32", kind.bits)
    fill = b.constant(a.type, 0)
    if kind.signed:
        end = b.binary("sub", b.binary("add", position, length), b.constant("i32", 1))
        top = b.lanewise("umin", "i32", end, b.constant("i32", kind.bits - 1))
        sign = b.binary("lshr", a, resize(b, top, a.type))
        sign = b.binary("and", sign, b.constant(a.type, 1))
        empty = b.compare("eq", length, b.constant("i32", 0))
        fill = b.select(empty, fill, b.negate(sign))
    last = b.constant("i32", kind.bits - 1)
    near = b.lanewise("umin", "i32", position, last)
    moved = b.binary("lshr", a, resize(b, near, a.type))
    moved = b.select(b.compare("ult", position, width), moved, b.constant(a.type, 0))
    kept = _low_ones(lw, a.type, length)
    available = b.binary("sub", width, b.lanewise("umin", "i32", position, width))
    inside = _low_ones(lw, a.type, available)
    taken = b.binary("and", kept, inside)
    field = b.binary("and", moved, taken)
    rest = b.binary("and", fill, b.invert(taken))
    write(lw, i, i.operands[0], b.binary("or", field, rest))


def _low_ones(lw: Lowering, element: str, count: Value) -> Value:
    """`count` ones from bit 0, all where the count reaches the width."""
    b = lw.b
    bits = element_bits(element)
    near = b.lanewise("umin", "i32", count, b.constant("i32", bits - 1))
    ones = b.binary("shl", b.constant(element, -1), resize(b, near, element))
    ones = b.invert(ones)
    return b.select(b.compare("ult", count, b.constant("i32", bits)), ones, b.constant(element, -1))


def bfi(lw: Lowering, i: Instruction) -> None:
    """`bfi`: insert the low `len` bits of a into c at `pos`."""
    b = lw.b
    kind = type_of(i)
    a, base = (read(lw, o, kind) for o in i.operands[1:3])
    byte = b.constant("i32", 0xFF)
    position, length = (
        b.binary("and", read(lw, o, ptx_type("u32")), byte) for o in i.operands[3:5]
    )
    last = b.constant("i32", kind.bits - 1)
    near = resize(b, b.lanewise("umin", "i32", position, last), a.type)
    mask = b.binary("shl", _low_ones(lw, a.type, length), near)
    beyond = b.compare("ugt", position, last)
    mask = b.select(beyond, b.constant(a.type, 0), mask)
    moved = b.binary("and", b.binary("shl", a, near), mask)
    kept = b.binary("and", base, b.invert(mask))
    write(lw, i, i.operands[0], b.binary("or", moved, kept))


_PERMUTATIONS = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""Selectors of the modes of `prmt`, by the low two bits of c (PTX ISA, `prmt`)."""


def _chosen(lw: Lowering, index: Value, table: tuple[int, ...]) -> Value:
    """The entry of a table of four that the low two bits of `index` name."""
    b = lw.b
    low = b.binary("and", index, b.constant("i32", 3))
    result = b.constant("i32", table[0])
    for number, entry in enumerate(table[1:], 1):
        here = b.compare("eq", low, b.constant("i32", number))
        result = b.select(here, b.constant("i32", entry), result)
    return result


def prmt(lw: Lowering, i: Instruction) -> None:
    """`prmt`: four bytes chosen from {b, a} by four nibbles; bit 3 spreads the sign."""
    b = lw.b
    low, high, selector = sources(lw, i, ptx_type("b32"))
    if i.modifiers[-1] in _PERMUTATIONS:
        selector = _chosen(lw, selector, _PERMUTATIONS[i.modifiers[-1]])
    pair = b.binary(
        "or",
        b.binary("shl", b.cast("zext", high, "i64"), b.constant("i64", 32)),
        b.cast("zext", low, "i64"),
    )
    result = b.constant("i32", 0)
    for number in range(4):
        nibble = b.binary("lshr", selector, b.constant("i32", 4 * number))
        which = b.binary("and", nibble, b.constant("i32", 7))
        amount = b.cast("zext", b.binary("shl", which, b.constant("i32", 3)), "i64")
        byte = b.cast("trunc", b.binary("lshr", pair, amount), "i8")
        spread = b.binary("and", nibble, b.constant("i32", 8))
        sign = b.binary("ashr", byte, b.constant("i8", 7))
        byte = b.select(b.compare("ne", spread, b.constant("i32", 0)), sign, byte)
        wide = b.cast("zext", byte, "i32")
        result = b.binary("or", result, b.binary("shl", wide, b.constant("i32", 8 * number)))
    write(lw, i, i.operands[0], result)


def dp4a(lw: Lowering, i: Instruction) -> None:
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


def dp2a(lw: Lowering, i: Instruction) -> None:
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


def _field(lw: Lowering, value: Value, position: int, length: int, signed: bool) -> Value:
    """A field of constant place, extended to 32 bits."""
    b = lw.b
    up = b.binary("shl", value, b.constant("i32", 32 - position - length))
    return b.binary("ashr" if signed else "lshr", up, b.constant("i32", 32 - length))


def _limited(lw: Lowering, i: Instruction, value: Value) -> Value:
    """An amount wrapped or clamped to 32."""
    b = lw.b
    if "wrap" in i.modifiers:
        return b.binary("and", value, b.constant("i32", 31))
    return b.lanewise("umin", "i32", value, b.constant("i32", 32))


def bmsk(lw: Lowering, i: Instruction) -> None:
    """`bmsk`: `b` ones from bit `a` on."""
    b = lw.b
    position, length = (_limited(lw, i, v) for v in sources(lw, i, ptx_type("u32")))
    near = b.lanewise("umin", "i32", position, b.constant("i32", 31))
    ones = b.binary("shl", _low_ones(lw, "i32", length), near)
    beyond = b.compare("ugt", position, b.constant("i32", 31))
    write(lw, i, i.operands[0], b.select(beyond, b.constant("i32", 0), ones))


def szext(lw: Lowering, i: Instruction) -> None:
    """`szext`: the low `b` bits of a, extended by their sign or by zeros."""
    b = lw.b
    kind = type_of(i)
    a = read(lw, i.operands[1], kind)
    width = _limited(lw, i, read(lw, i.operands[2], ptx_type("u32")))
    unused = b.binary("sub", b.constant("i32", 32), width)
    near = b.lanewise("umin", "i32", unused, b.constant("i32", 31))
    up = b.binary("shl", a, near)
    field = b.binary("ashr" if kind.signed else "lshr", up, near)
    empty = b.compare("eq", width, b.constant("i32", 0))
    write(lw, i, i.operands[0], b.select(empty, b.constant("i32", 0), field))


OPCODES = {
    "addc": addc,
    "subc": subc,
    "madc": madc,
    "mul24": mul24,
    "mad24": mad24,
    "sad": sad,
    "rem": rem,
    "and": logic,
    "or": logic,
    "xor": logic,
    "not": bit_not,
    "cnot": cnot,
    "lop3": lop3,
    "shl": shift,
    "shr": shift,
    "shf": funnel_shift,
    "popc": popc,
    "clz": clz,
    "brev": brev,
    "bfind": bfind,
    "bfe": bfe,
    "bfi": bfi,
    "prmt": prmt,
    "dp4a": dp4a,
    "dp2a": dp2a,
    "bmsk": bmsk,
    "szext": szext,
}
"""Opcodes that act on integers only; those shared with floats are in `arithmetic`."""

INTEGER = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "mad": mad,
    "div": div,
    "abs": absolute,
    "neg": neg,
    "min": extreme,
    "max": extreme,
}
