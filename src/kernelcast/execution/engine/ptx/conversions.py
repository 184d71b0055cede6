"""`cvt` between all integer and float types."""

from __future__ import annotations

from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.floating import (
    flush,
    from_float,
    not_negative,
    round_to_odd,
    saturate,
    step_to_side,
    to_float,
)
from kernelcast.execution.engine.ptx.operands import pack, read, resize, types_of, write
from kernelcast.execution.engine.values import PtxType, Value, mangled, ptx_type, vector
from kernelcast.ir import Instruction

_TO_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def _cvt(lw: Lowering, i: Instruction) -> None:
    """One conversion, or two packed into one register."""
    if "pack" in i.modifiers:
        _pack(lw, i)
        return
    to, source = types_of(i)
    if to.lanes == 2:
        high, low = (read(lw, o, source) for o in i.operands[1:3])
        parts = [_float_to_float(lw, i, v, source, _half(to)) for v in (low, high)]
        write(lw, i, i.operands[0], pack(lw, parts, to))
        return
    if source.lanes == 2:
        raise lw.unsupported("a packed source")
    value = read(lw, i.operands[1], source)
    if source.is_float and to.is_float:
        result = _float_to_float(lw, i, value, source, to)
    elif source.is_float:
        result = _float_to_int(lw, i, value, source, to)
    elif to.is_float:
        result = _int_to_float(lw, i, value, source, to)
    else:
        result = _int_to_int(lw, i, value, source, to)
    write(lw, i, i.operands[0], result, signed=to.signed)


def _pack(lw: Lowering, i: Instruction) -> None:
    """`cvt.pack.sat`: two clamped integers side by side, the first one higher, below a third
    operand that is shifted out of their way."""
    b = lw.b
    part, source, *_ = types_of(i)
    if "sat" not in i.modifiers or part.bits not in (8, 16) or source.name != "s32":
        raise lw.unsupported("this form")
    high, low, *rest = (read(lw, o, source) for o in i.operands[1:])
    mask, width = b.constant("i32", (1 << part.bits) - 1), b.constant("i32", part.bits)
    result = rest[0] if rest else b.constant("i32", 0)
    for value in (high, low):
        bits = b.binary("and", _clamp(lw, value, source, part), mask)
        result = b.binary("or", b.binary("shl", result, width), bits)
    write(lw, i, i.operands[0], result)


def _half(packed: PtxType) -> PtxType:
    return ptx_type(f"{packed.kind}{packed.bits}")


def _int_to_int(lw: Lowering, i: Instruction, value: Value, source: PtxType, to: PtxType) -> Value:
    if "sat" in i.modifiers:
        value = _clamp(lw, value, source, to)
    return resize(lw.b, value, to.llvm, signed=source.signed)


def _clamp(lw: Lowering, value: Value, source: PtxType, to: PtxType) -> Value:
    """Clamp to the range of `to`, as far as it lies within that of `source`."""
    b = lw.b
    low = -(1 << to.bits - 1) if to.signed else 0
    high = (1 << to.bits - 1) - 1 if to.signed else (1 << to.bits) - 1
    source_low = -(1 << source.bits - 1) if source.signed else 0
    source_high = (1 << source.bits - 1) - 1 if source.signed else (1 << source.bits) - 1
    prefix = "s" if source.signed else "u"
    if low > source_low:
        value = b.lanewise(f"{prefix}max", value.type, value, b.constant(value.type, low))
    if high < source_high:
        value = b.lanewise(f"{prefix}min", value.type, value, b.constant(value.type, high))
    return value


def _float_to_int(
    lw: Lowering, i: Instruction, value: Value, source: PtxType, to: PtxType
) -> Value:
    """Round, saturate; NaN by the rule of docs/execution.md."""
    b = lw.b
    value = to_float(lw, value, source)
    if "ftz" in i.modifiers and source.bits == 32:
        value = flush(lw, value)
    mode = next((m for m in _TO_INTEGRAL if m in i.modifiers), "rzi")
    if mode != "rzi":
        value = b.lanewise(_TO_INTEGRAL[mode], value.type, value)
    name = "llvm.fpto{}i.sat.{}.{}".format(
        "s" if to.signed else "u", mangled(to.llvm), mangled(value.type)
    )
    text = b.call(name, vector(to.llvm), [(vector(value.type), value.text)])
    result = Value(text, to.llvm)
    if source.bits == 64 or to.bits == 64:
        nan = b.compare("uno", value, value)
        result = b.select(nan, b.constant(to.llvm, 1 << to.bits - 1), result)
    return result


def _int_to_float(
    lw: Lowering, i: Instruction, value: Value, source: PtxType, to: PtxType
) -> Value:
    b = lw.b
    mode = _rounding(i)
    convert = "sitofp" if source.signed else "uitofp"
    near = b.cast(convert, value, "float" if to.bits == 32 else "double")
    if mode != "rn" or (to.bits == 16 and source.bits == 64):
        wide = b.cast("fpext", near, "double")
        excess = _excess(lw, value, source, wide)
        positive = b.compare("ogt", wide, b.constant("double", 0))
        if to.bits == 16:
            near = _odd(lw, near, excess, positive)
        else:
            near = step_to_side(lw, near, excess, positive, mode)
    if to.bits == 16:
        near = round_to_odd(lw, near)
    if "sat" in i.modifiers:
        near = saturate(lw, near)
    return _finish(lw, near, mode, to)


def _finish(lw: Lowering, value: Value, mode: str, to: PtxType) -> Value:
    """Round an f32 to 16 bits; wider targets have their value.

    The f32 may be rounded to odd: it compares with every number of 16 bits as the exact one does.
    """
    if to.bits > 16:
        return value
    b = lw.b
    near = from_float(lw, value, to)
    if mode == "rn":
        return near
    back, exact = (b.cast("fpext", v, "double") for v in (to_float(lw, near, to), value))
    positive = b.compare("ogt", exact, b.constant("double", 0))
    return step_to_side(lw, near, b.binary("fsub", back, exact), positive, mode)


def _excess(lw: Lowering, value: Value, source: PtxType, near: Value) -> Value:
    """`near` minus the integer it stands for, exactly: both halves of it are exact as f64."""
    b = lw.b
    wide = resize(b, value, "i64", signed=source.signed)
    shift = b.constant("i64", 32)
    convert = "sitofp" if source.signed else "uitofp"
    high = b.cast(convert, b.binary("ashr" if source.signed else "lshr", wide, shift), "double")
    low = b.cast("uitofp", b.binary("and", wide, b.constant("i64", 0xFFFF_FFFF)), "double")
    scale = b.cast("bitcast", b.constant("i64", 0x41F0_0000_0000_0000), "double")
    return b.binary("fsub", b.binary("fsub", near, b.binary("fmul", high, scale)), low)


def _odd(lw: Lowering, near: Value, excess: Value, positive: Value) -> Value:
    """The number cut off towards zero, its last bit set where anything was lost."""
    b = lw.b
    bits = b.as_bits(step_to_side(lw, near, excess, positive, "rz"))
    lost = b.compare("one", excess, b.constant("double", 0))
    one = b.select(lost, b.constant(bits.type, 1), b.constant(bits.type, 0))
    return b.cast("bitcast", b.binary("or", bits, one), near.type)


def _rounding(i: Instruction) -> str:
    return next((m for m in ("rz", "rm", "rp") if m in i.modifiers), "rn")


def _narrow(lw: Lowering, value: Value, mode: str, to: PtxType) -> Value:
    """An f64 as f32, rounded to odd where 16 bits are to follow."""
    b = lw.b
    near = b.cast("fptrunc", value, "float")
    if mode == "rn" and to.bits > 16:
        return near
    excess = b.binary("fsub", b.cast("fpext", near, "double"), value)
    positive = b.compare("ogt", value, b.constant("double", 0))
    if to.bits == 16:
        return _odd(lw, near, excess, positive)
    return step_to_side(lw, near, excess, positive, mode)


def _float_to_float(
    lw: Lowering, i: Instruction, value: Value, source: PtxType, to: PtxType
) -> Value:
    b = lw.b
    mode = _rounding(i)
    value = to_float(lw, value, source)
    if "ftz" in i.modifiers and value.type == "float":
        value = flush(lw, value)
    integral = next((m for m in _TO_INTEGRAL if m in i.modifiers), None)
    if integral:
        value = b.lanewise(_TO_INTEGRAL[integral], value.type, value)
    if value.type == "float" and to.bits == 64:
        value = b.cast("fpext", value, "double")
    elif value.type == "double" and to.bits < 64:
        value = _narrow(lw, value, mode, to)
    if "ftz" in i.modifiers and to.bits == 32:
        value = flush(lw, value)
    if "sat" in i.modifiers:
        value = saturate(lw, value)
    if "relu" in i.modifiers:
        value = not_negative(lw, value)
    return _finish(lw, value, mode, to)


OPCODES = {"cvt": _cvt}
