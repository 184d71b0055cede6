"""Division, roots, and the functions that PTX calls approximate.

The special function unit takes and gives subnormal numbers of f32 as zeros; where PTX asks for
more, the compiler multiplies by powers of two before and after. The same is done here, so that
PTX and machine code agree.
"""

from __future__ import annotations

import struct
from math import inf

from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.floating import Operation, flush, lanewise, mode_of, quotient
from kernelcast.execution.engine.ptx.operands import type_of
from kernelcast.execution.engine.ptx.rounding import directed
from kernelcast.execution.engine.values import Value
from kernelcast.ir import Instruction

_LEAST_NORMAL, _GREAT = 2.0**-126, 2.0**126  # what is greater has a subnormal reciprocal
_SCALE = 2.0**24
_LEAST_NORMAL_F64 = 2.0**-1022
_TURNS_PER_RADIAN = 0x3E22_F983  # 1 / (2 pi) in f32
_FULL_TURN = 0x4019_21FB_5444_2D18  # 2 pi in f64
_HIGH_WORD, _HALF_OF_LOW_WORD = 0xFFFF_FFFF_0000_0000, 1 << 31
_SIGN_F64 = 1 << 63


def _number(lw: Lowering, like: Value, number: float) -> Value:
    """The same number in all lanes."""
    code = "<d" if like.type == "double" else "<f"
    return lw.b.constant(like.type, int.from_bytes(struct.pack(code, number), "little"))


def _times(lw: Lowering, a: Value, factor: float) -> Value:
    return lw.b.binary("fmul", a, _number(lw, a, factor))


def _magnitude(lw: Lowering, a: Value) -> Value:
    return lw.b.lanewise("fabs", a.type, a)


def _one_over(lw: Lowering, a: Value) -> Value:
    return lw.b.binary("fdiv", _number(lw, a, 1.0), a)


def _inverse_root(lw: Lowering, a: Value) -> Value:
    """By way of f64, in which the second rounding is lost."""
    root = lw.b.lanewise("sqrt", "double", lw.b.cast("fpext", a, "double"))
    return lw.b.cast("fptrunc", _one_over(lw, root), a.type)


def _intrinsic(name: str) -> Operation:
    """A function that LLVM has by name."""

    def operation(lw: Lowering, a: Value) -> Value:
        return lw.b.lanewise(name, a.type, a)

    return operation


_NEAREST: dict[str, Operation] = {
    "rcp": _one_over,
    "sqrt": _intrinsic("sqrt"),
    "rsqrt": _inverse_root,
    "ex2": _intrinsic("exp2"),
    "lg2": _intrinsic("log2"),
    "tanh": _intrinsic("tanh"),
}


def _of_unit(lw: Lowering, name: str, a: Value) -> Value:
    """A function of f32 as the special function unit computes it."""
    return flush(lw, _NEAREST[name](lw, flush(lw, a)))


def _scaled(lw: Lowering, name: str, a: Value) -> Value:
    """The same for subnormal numbers, too."""
    b = lw.b
    if name == "ex2":
        is_low = b.compare("olt", a, _number(lw, a, -126.0))
        result = _of_unit(lw, name, b.select(is_low, _times(lw, a, 0.5), a))
        return b.select(is_low, b.binary("fmul", result, result), result)
    if name == "rcp":
        factor = _factor(lw, a, is_great=True)
        result = _of_unit(lw, name, b.binary("fmul", a, factor))
        return b.binary("fmul", result, factor)
    is_small = b.compare("olt", _magnitude(lw, a), _number(lw, a, _LEAST_NORMAL))
    result = _of_unit(lw, name, b.select(is_small, _times(lw, a, _SCALE), a))
    if name == "lg2":
        back = b.binary("fsub", result, _number(lw, a, 24.0))
    else:
        back = _times(lw, result, 2.0**-12 if name == "sqrt" else 2.0**12)
    return b.select(is_small, back, result)


def _factor(lw: Lowering, a: Value, *, is_great: bool) -> Value:
    """What keeps numbers normal, and their reciprocals where `is_great`."""
    b = lw.b
    size = _magnitude(lw, a)
    is_small = b.compare("olt", size, _number(lw, a, _LEAST_NORMAL))
    factor = b.select(is_small, _number(lw, a, _SCALE), _number(lw, a, 1.0))
    if not is_great:
        return factor
    return b.select(b.compare("ogt", size, _number(lw, a, _GREAT)), _number(lw, a, 0.25), factor)


def _of_high_word(lw: Lowering, name: str, a: Value) -> Value:
    """A function of f64 of which only the high words are known, of the number and the result."""
    b = lw.b
    mask = b.constant("i64", _HIGH_WORD)
    known = _flushed_f64(lw, b.cast("bitcast", b.binary("and", b.as_bits(a), mask), "double"))
    bits = b.as_bits(_flushed_f64(lw, _NEAREST[name](lw, known)))
    bits = b.binary("add", bits, b.constant("i64", _HALF_OF_LOW_WORD))
    return b.cast("bitcast", b.binary("and", bits, mask), "double")


def _refined_root(lw: Lowering, a: Value) -> Value:
    """1 / sqrt(a) of f64 from the high words by one step of Halley's method, as the compiler has
    it."""
    b = lw.b
    is_small = b.compare("olt", _magnitude(lw, a), _number(lw, a, _LEAST_NORMAL_F64))
    scaled = b.select(is_small, _times(lw, a, 2.0**54), a)
    near = _of_high_word(lw, "rsqrt", scaled)
    square = b.binary("fmul", near, near)
    error = b.lanewise("fma", a.type, _times(lw, scaled, -1.0), square, _number(lw, a, 1.0))
    step = b.lanewise("fma", a.type, error, _number(lw, a, 0.375), _number(lw, a, 0.5))
    root = b.lanewise("fma", a.type, step, b.binary("fmul", near, error), near)
    size = _magnitude(lw, near)
    is_finite = b.compare("olt", size, _number(lw, a, inf))
    is_usual = b.binary("and", is_finite, b.compare("ogt", size, _number(lw, a, 0.0)))
    root = b.select(is_usual, root, near)
    return b.select(is_small, _times(lw, root, 2.0**27), root)


def _flushed_f64(lw: Lowering, a: Value) -> Value:
    b = lw.b
    is_small = b.compare("olt", _magnitude(lw, a), _number(lw, a, _LEAST_NORMAL_F64))
    zero = b.cast("bitcast", b.binary("and", b.as_bits(a), b.constant("i64", _SIGN_F64)), a.type)
    return b.select(is_small, zero, a)


def _function(lw: Lowering, i: Instruction) -> None:
    """A function of one number."""
    lanewise(lw, i, _variant(lw, i))


def _variant(lw: Lowering, i: Instruction) -> Operation:
    """The function that the modifiers ask for."""
    name, kind = i.opcode, type_of(i).name
    mode = mode_of(lw, i)
    if mode and name == "rcp":
        return lambda lw, a: directed(lw, mode, "fdiv", _number(lw, a, 1.0), a)
    if mode and name == "sqrt":
        return lambda lw, a: directed(lw, mode, "sqrt", a)
    if mode:
        raise lw.unsupported(f"rounding mode .{mode}")
    if "approx" in i.modifiers and kind == "f32" and name != "tanh":
        unit = _of_unit if "ftz" in i.modifiers else _scaled
        return lambda lw, a: unit(lw, name, a)
    if "approx" in i.modifiers and kind == "f64":
        if "ftz" in i.modifiers and name in ("rcp", "rsqrt"):
            return lambda lw, a: _of_high_word(lw, name, a)
        if name != "rsqrt":
            raise lw.unsupported("this form")
        return _refined_root
    return _NEAREST[name]


def _divide(lw: Lowering, i: Instruction) -> None:
    """`div`; the approximate ones multiply by the reciprocal."""
    if "approx" not in i.modifiers and "full" not in i.modifiers:
        quotient(lw, i)
        return

    def operation(lw: Lowering, a: Value, c: Value) -> Value:
        b = lw.b
        factor = _factor(lw, c, is_great="full" in i.modifiers)
        reciprocal = _of_unit(lw, "rcp", b.binary("fmul", c, factor))
        return b.binary("fmul", b.binary("fmul", a, factor), reciprocal)

    lanewise(lw, i, operation)


def _circular(lw: Lowering, i: Instruction) -> None:
    """`sin` and `cos` of radians; with `.turns`, which PTX lacks, of full turns, as the unit has
    it. The compiler makes turns of radians by a product that is rounded towards zero."""

    def operation(lw: Lowering, a: Value) -> Value:
        b = lw.b
        if "turns" not in i.modifiers:
            a = directed(lw, "rz", "fmul", a, b.constant(a.type, _TURNS_PER_RADIAN))
        turns = b.cast("fpext", flush(lw, a), "double")
        part = b.binary("fsub", turns, b.lanewise("roundeven", "double", turns))
        angle = b.binary("fmul", part, b.constant("double", _FULL_TURN))
        result = b.lanewise(i.opcode, "double", angle)
        return flush(lw, b.cast("fptrunc", result, a.type))

    lanewise(lw, i, operation)


FLOAT = {"div": _divide}
"""Float forms of opcodes that integers have too."""

OPCODES = {**dict.fromkeys(_NEAREST, _function), "sin": _circular, "cos": _circular}
