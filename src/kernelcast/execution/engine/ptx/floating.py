"""Floating-point arithmetic: f32, f64, f16, bf16 and their packed pairs.

A half or bfloat16 operation is computed in f32 and rounded once; `fma` is computed in f64 and
rounded to odd on the way, which makes the final rounding the only one.
"""

from __future__ import annotations

from collections.abc import Callable

from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.operands import pack, read, type_of, unpack, write
from kernelcast.execution.engine.ptx.rounding import MODES, directed
from kernelcast.execution.engine.values import PtxType, Value, mangled, ptx_type, vector
from kernelcast.ir import Instruction

Operation = Callable[..., Value]

_SIGN = {32: 0x8000_0000, 64: 0x8000_0000_0000_0000, 16: 0x8000}
_CANONICAL_NAN = {32: 0x7FFF_FFFF, 64: 0x7FFF_FFFF_FFFF_FFFF}


def to_float(lw: Lowering, value: Value, kind: PtxType) -> Value:
    """A half or bfloat16, carried as i16, as f32; other values as they are."""
    b = lw.b
    if kind.kind == "bf":
        wide = b.binary("shl", b.cast("zext", value, "i32"), b.constant("i32", 16))
        return b.cast("bitcast", wide, "float")
    if kind.bits == 16:
        return b.cast("fpext", b.cast("bitcast", value, "half"), "float")
    return value


def from_float(lw: Lowering, value: Value, kind: PtxType) -> Value:
    """An f32 rounded to a half or bfloat16, carried as i16."""
    b = lw.b
    if kind.kind == "bf":
        return _to_bfloat16(lw, value)
    if kind.bits == 16:
        return b.cast("bitcast", b.cast("fptrunc", value, "half"), "i16")
    return value


def _to_bfloat16(lw: Lowering, value: Value) -> Value:
    b = lw.b
    bits = b.as_bits(value)
    odd = b.binary("and", b.binary("lshr", bits, b.constant("i32", 16)), b.constant("i32", 1))
    rounded = b.binary("add", b.binary("add", bits, b.constant("i32", 0x7FFF)), odd)
    nan = b.compare("uno", value, value)
    rounded = b.select(nan, b.constant("i32", 0x7FFF_0000), rounded)
    return b.cast("trunc", b.binary("lshr", rounded, b.constant("i32", 16)), "i16")


def round_to_odd(lw: Lowering, value: Value) -> Value:
    """An f64 as f32, rounded to odd: a later rounding to 16 bits is then the only one."""
    b = lw.b
    bits = b.as_bits(value)
    low = b.constant("i64", (1 << 29) - 1)
    sticky = b.compare("ne", b.binary("and", bits, low), b.constant("i64", 0))
    odd = b.select(sticky, b.constant("i64", 1 << 29), b.constant("i64", 0))
    kept = b.binary("or", b.binary("and", bits, b.invert(low)), odd)
    return b.cast("fptrunc", b.cast("bitcast", kept, "double"), "float")


def flush(lw: Lowering, value: Value) -> Value:
    """Subnormal f32 become zeros of their sign."""
    b = lw.b
    bits = b.as_bits(value)
    exponent = b.binary("and", bits, b.constant("i32", 0x7F80_0000))
    small = b.compare("eq", exponent, b.constant("i32", 0))
    signed_zero = b.binary("and", bits, b.constant("i32", _SIGN[32]))
    return b.cast("bitcast", b.select(small, signed_zero, bits), "float")


def saturate(lw: Lowering, value: Value) -> Value:
    """Clamp to [0, 1]; NaN becomes +0."""
    b = lw.b
    one = b.cast("bitcast", b.constant("i32", 0x3F80_0000), "float")
    zero = b.constant("float", 0)
    if value.type == "double":
        one, zero = b.cast("fpext", one, "double"), b.constant("double", 0)
    above = b.select(b.compare("ogt", value, zero), value, zero)
    return b.select(b.compare("olt", above, one), above, one)


def not_negative(lw: Lowering, value: Value) -> Value:
    """Negative numbers become +0; NaN stays."""
    zero = lw.b.constant(value.type, 0)
    return lw.b.select(lw.b.compare("ugt", value, zero), value, zero)


def step_to_side(lw: Lowering, near: Value, excess: Value, positive: Value, mode: str) -> Value:
    """The nearest number moved by one where it lies on the wrong side of the exact one.

    On the bits of a number, plus one leads away from zero and minus one towards it.
    """
    b = lw.b
    zero = b.constant("double", 0)
    above, below = b.compare("ogt", excess, zero), b.compare("olt", excess, zero)
    bits = b.as_bits(near)
    inwards, outwards = b.constant(bits.type, -1), b.constant(bits.type, 1)
    if mode == "rz":
        wrong, step = b.select(positive, above, below), inwards
    elif mode == "rm":
        wrong, step = above, b.select(positive, inwards, outwards)
    else:
        wrong, step = below, b.select(positive, outwards, inwards)
    moved = b.select(wrong, b.binary("add", bits, step), bits)
    return b.cast("bitcast", moved, near.type)


def lanes_of(lw: Lowering, value: Value, kind: PtxType) -> list[Value]:
    """The one or two numbers that a value of `kind` packs."""
    if kind.lanes == 1:
        return [value]
    scalar = ptx_type(f"{kind.kind}{kind.bits}")
    return [lw.b.cast("bitcast", v, scalar.llvm) for v in unpack(lw, value, kind.lanes)]


def lanewise(lw: Lowering, i: Instruction, operation: Operation) -> None:
    """Apply `operation` to all sources but for their packing, width, `.ftz` and `.sat`."""
    kind = type_of(i)
    packed = [lanes_of(lw, read(lw, o, kind), kind) for o in i.operands[1:]]
    scalar = ptx_type(f"{kind.kind}{kind.bits}")
    results = [_one(lw, i, scalar, operation, numbers) for numbers in zip(*packed, strict=True)]
    whole = results[0] if kind.lanes == 1 else pack(lw, results, kind)
    write(lw, i, i.operands[0], whole)


def _one(
    lw: Lowering, i: Instruction, kind: PtxType, operation: Operation, numbers: tuple[Value, ...]
) -> Value:
    values = [to_float(lw, n, kind) for n in numbers]
    flushed = "ftz" in i.modifiers and kind.bits == 32
    if flushed:
        values = [flush(lw, v) for v in values]
    result = operation(lw, *values)
    if flushed:
        result = flush(lw, result)
    if result.type == "double" and kind.bits == 16:
        result = round_to_odd(lw, result)
    if "sat" in i.modifiers:
        result = saturate(lw, result)
    if "relu" in i.modifiers:
        result = not_negative(lw, result)
    return from_float(lw, result, kind)


def _fma(lw: Lowering, a: Value, c: Value, d: Value) -> Value:
    return lw.b.lanewise("fma", a.type, a, c, d)


def _fma_16(lw: Lowering, a: Value, c: Value, d: Value) -> Value:
    return _fma(lw, *(lw.b.cast("fpext", v, "double") for v in (a, c, d)))


def fma(lw: Lowering, i: Instruction) -> None:
    """`fma`, and `mad` of floats, which is fused on every target from sm_20 on."""
    mode = mode_of(lw, i)
    if mode:
        lanewise(lw, i, lambda lw, *values: directed(lw, mode, "fma", *values))
    else:
        lanewise(lw, i, _fma_16 if type_of(i).bits == 16 else _fma)


def mode_of(lw: Lowering, i: Instruction) -> str:
    """The directed rounding mode that f32 and f64 may ask for, empty for to nearest."""
    mode = next((m for m in MODES if m in i.modifiers), "")
    if mode and type_of(i).bits == 16:
        raise lw.unsupported(f"rounding mode .{mode}")
    return mode


def _simple(operation: str) -> Callable[[Lowering, Instruction], None]:
    """`fadd`, `fsub`, `fmul` or `fdiv` of all float types."""

    def lower(lw: Lowering, i: Instruction) -> None:
        mode = mode_of(lw, i)

        def apply(lw: Lowering, a: Value, c: Value) -> Value:
            return directed(lw, mode, operation, a, c) if mode else lw.b.binary(operation, a, c)

        lanewise(lw, i, apply)

    return lower


quotient = _simple("fdiv")


def _sign_bit(operation: str) -> Callable[[Lowering, Instruction], None]:
    """`neg` (xor) or `abs` (and) on the sign bits, which also holds for NaN."""

    def lower(lw: Lowering, i: Instruction) -> None:
        b = lw.b
        kind = type_of(i)
        value = read(lw, i.operands[1], kind)
        if "ftz" in i.modifiers and kind.bits == 32:
            value = flush(lw, value)
        bits = b.as_bits(value)
        signs = sum(_SIGN[kind.bits] << kind.bits * n for n in range(kind.lanes))
        constant = b.constant(bits.type, signs if operation == "xor" else ~signs)
        write(lw, i, i.operands[0], b.binary(operation, bits, constant))

    return lower


def _extreme(lw: Lowering, a: Value, c: Value, name: str) -> Value:
    """The operand that is a number; -0 below +0."""
    b = lw.b
    relation = "olt" if name == "min" else "ogt"
    first = b.compare(relation, a, c)
    chosen = b.select(first, a, c)
    equal = b.compare("oeq", a, c)
    joined = b.binary("or" if name == "min" else "and", b.as_bits(a), b.as_bits(c))
    chosen = b.select(equal, b.cast("bitcast", joined, a.type), chosen)
    chosen = b.select(b.compare("uno", c, c), a, chosen)
    return b.select(b.compare("uno", a, a), c, chosen)


def extreme(lw: Lowering, i: Instruction) -> None:
    """`min` and `max` of two or three operands; `.xorsign.abs` of two magnitudes, with the sign of
    the product."""
    propagate, of_magnitudes = "NaN" in i.modifiers, "xorsign" in i.modifiers
    if of_magnitudes != ("abs" in i.modifiers):
        raise lw.unsupported("this form")

    def operation(lw: Lowering, *values: Value) -> Value:
        b = lw.b
        numbers = [_magnitude(lw, v) for v in values] if of_magnitudes else values
        result = numbers[0]
        for value in numbers[1:]:
            number = _extreme(lw, result, value, i.opcode)
            if propagate:
                either = b.compare("uno", result, value)
                nan = b.cast(
                    "bitcast",
                    b.constant(f"i{number.bits}", _CANONICAL_NAN[number.bits]),
                    number.type,
                )
                number = b.select(either, nan, number)
            result = number
        return _with_sign_of_product(lw, result, values) if of_magnitudes else result

    lanewise(lw, i, operation)


def _magnitude(lw: Lowering, value: Value) -> Value:
    return lw.b.lanewise("fabs", value.type, value)


def _with_sign_of_product(lw: Lowering, magnitude: Value, factors: tuple[Value, ...]) -> Value:
    b = lw.b
    bits = b.as_bits(magnitude)
    signs = b.constant(bits.type, _SIGN[magnitude.bits])
    for factor in factors:
        bits = b.binary("xor", bits, b.binary("and", b.as_bits(factor), signs))
    return b.cast("bitcast", bits, magnitude.type)


def _copysign(lw: Lowering, i: Instruction) -> None:
    """`copysign a, b`: the sign of a on the magnitude of b."""
    kind = type_of(i)
    sign, magnitude = (read(lw, o, kind) for o in i.operands[1:])
    write(lw, i, i.operands[0], lw.b.lanewise("copysign", magnitude.type, magnitude, sign))


_CLASSES = {
    "finite": 0x1F8,
    "infinite": 0x204,
    "number": 0x3FC,
    "notanumber": 0x003,
    "normal": 0x168,
    "subnormal": 0x090,
}
"""Masks of LLVM's `is.fpclass`; PTX counts zeros as normal."""


def _testp(lw: Lowering, i: Instruction) -> None:
    """`testp`: to which class a number belongs."""
    value = read(lw, i.operands[1], type_of(i))
    name = f"llvm.is.fpclass.{mangled(value.type)}"
    kind = vector(value.type)
    text = lw.b.call(
        name, vector("i1"), [(kind, value.text), ("i32", str(_CLASSES[i.modifiers[0]]))]
    )
    write(lw, i, i.operands[0], Value(text, "i1"))


FLOAT = {
    "add": _simple("fadd"),
    "sub": _simple("fsub"),
    "mul": _simple("fmul"),
    "mad": fma,
    "neg": _sign_bit("xor"),
    "abs": _sign_bit("and"),
    "min": extreme,
    "max": extreme,
}
"""Float forms of opcodes that integers have too."""

OPCODES = {
    "fma": fma,
    "copysign": _copysign,
    "testp": _testp,
}
