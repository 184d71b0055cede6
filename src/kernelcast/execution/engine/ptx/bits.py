"""Logic, shifts, permutations and bit fields."""

from __future__ import annotations

from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.integer import sources
from kernelcast.execution.engine.ptx.operands import read, resize, type_of, write
from kernelcast.execution.engine.values import (
    Value,
    element_bits,
    mangled,
    ptx_type,
    vector,
)
from kernelcast.ir import Immediate, Instruction


def _logic(lw: Lowering, i: Instruction) -> None:
    """`and`, `or`, `xor`, on predicates too."""
    a, c = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], lw.b.binary(i.opcode, a, c))


def _bit_not(lw: Lowering, i: Instruction) -> None:
    """`not`."""
    (a,) = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], lw.b.invert(a))


def _cnot(lw: Lowering, i: Instruction) -> None:
    """`cnot`: 1 where the source is 0, else 0."""
    (a,) = sources(lw, i, type_of(i))
    zero = lw.b.compare("eq", a, lw.b.constant(a.type, 0))
    write(lw, i, i.operands[0], lw.b.cast("zext", zero, a.type))


def _lop3(lw: Lowering, i: Instruction) -> None:
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


def _shift(lw: Lowering, i: Instruction) -> None:
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


def _funnel_shift(lw: Lowering, i: Instruction) -> None:
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


def _popc(lw: Lowering, i: Instruction) -> None:
    """`popc`: number of ones, as u32."""
    (a,) = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], resize(lw.b, lw.b.lanewise("ctpop", a.type, a), "i32"))


def _clz(lw: Lowering, i: Instruction) -> None:
    """`clz`: leading zeros, as u32; the width for 0."""
    (a,) = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], resize(lw.b, _leading_zeros(lw, a), "i32"))


def _leading_zeros(lw: Lowering, a: Value) -> Value:
    kind = vector(a.type)
    text = lw.b.call(f"llvm.ctlz.{mangled(a.type)}", kind, [(kind, a.text), ("i1", "false")])
    return Value(text, a.type)


def _brev(lw: Lowering, i: Instruction) -> None:
    """`brev`: bits in reverse order."""
    (a,) = sources(lw, i, type_of(i))
    write(lw, i, i.operands[0], lw.b.lanewise("bitreverse", a.type, a))


def _bfind(lw: Lowering, i: Instruction) -> None:
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


def _bfe(lw: Lowering, i: Instruction) -> None:
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


def _bfi(lw: Lowering, i: Instruction) -> None:
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


def _prmt(lw: Lowering, i: Instruction) -> None:
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


def _limited(lw: Lowering, i: Instruction, value: Value) -> Value:
    """An amount wrapped or clamped to 32."""
    b = lw.b
    if "wrap" in i.modifiers:
        return b.binary("and", value, b.constant("i32", 31))
    return b.lanewise("umin", "i32", value, b.constant("i32", 32))


def _bmsk(lw: Lowering, i: Instruction) -> None:
    """`bmsk`: `b` ones from bit `a` on."""
    b = lw.b
    position, length = (_limited(lw, i, v) for v in sources(lw, i, ptx_type("u32")))
    near = b.lanewise("umin", "i32", position, b.constant("i32", 31))
    ones = b.binary("shl", _low_ones(lw, "i32", length), near)
    beyond = b.compare("ugt", position, b.constant("i32", 31))
    write(lw, i, i.operands[0], b.select(beyond, b.constant("i32", 0), ones))


def _szext(lw: Lowering, i: Instruction) -> None:
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
    "and": _logic,
    "or": _logic,
    "xor": _logic,
    "not": _bit_not,
    "cnot": _cnot,
    "lop3": _lop3,
    "shl": _shift,
    "shr": _shift,
    "shf": _funnel_shift,
    "popc": _popc,
    "clz": _clz,
    "brev": _brev,
    "bfind": _bfind,
    "bfe": _bfe,
    "bfi": _bfi,
    "prmt": _prmt,
    "bmsk": _bmsk,
    "szext": _szext,
}
