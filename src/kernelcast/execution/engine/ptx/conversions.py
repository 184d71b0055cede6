"""`cvt` between all integer and float types."""

from __future__ import annotations

from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.floating import (
    flush,
    from_float,
    round_to_odd,
    saturate,
    to_float,
)
from kernelcast.execution.engine.ptx.operands import pack, read, resize, types_of, write
from kernelcast.execution.engine.values import PtxType, Value, mangled, ptx_type, vector
from kernelcast.ir import Instruction

_TO_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def cvt(lw: Lowering, i: Instruction) -> None:
    """One conversion, or two f32 packed into a pair of halves."""
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
    convert = "sitofp" if source.signed else "uitofp"
    mode = _rounding(i)
    exact_in_double = source.bits <= 32
    if to.bits == 64:
        if mode != "rn" and not exact_in_double:
            raise lw.unsupported(f"rounding mode .{mode} from 64 bits")
        return b.cast(convert, value, "double")
    if to.bits == 32 and mode == "rn":
        result = b.cast(convert, value, "float")
    elif exact_in_double or (to.name == "f16" and mode == "rn"):
        # Beyond 2^53, where the f64 would be rounded, an f16 is infinite anyway.
        result = _narrow(lw, b.cast(convert, value, "double"), mode, to)
    else:
        raise lw.unsupported(f"conversion of 64-bit integers to {to.name} with .{mode}")
    if "sat" in i.modifiers:
        result = saturate(lw, result)
    return result if to.bits == 32 else from_float(lw, result, to)


def _rounding(i: Instruction) -> str:
    return next((m for m in ("rz", "rm", "rp") if m in i.modifiers), "rn")


def _narrow(lw: Lowering, value: Value, mode: str, to: PtxType) -> Value:
    """An f64 as f32 in a rounding mode; for 16-bit targets rounded to odd, so that the rest can
    be rounded by the last step."""
    b = lw.b
    if to.bits == 16:
        if mode != "rn":
            raise lw.unsupported(f"rounding mode .{mode} to 16 bits")
        return round_to_odd(lw, value)
    near = b.cast("fptrunc", value, "float")
    if mode == "rn":
        return near
    back = b.cast("fpext", near, "double")
    above = b.compare("ogt", back, value)
    below = b.compare("olt", back, value)
    zero = b.constant("double", 0)
    positive = b.compare("ogt", value, zero)
    # Stepping towards zero is minus one, away from zero plus one, on the bits of the magnitude.
    if mode == "rz":
        wrong = b.select(positive, above, below)
        step = b.constant("i32", -1)
    elif mode == "rm":
        wrong = above
        step = b.select(positive, b.constant("i32", -1), b.constant("i32", 1))
    else:
        wrong = below
        step = b.select(positive, b.constant("i32", 1), b.constant("i32", -1))
    bits = b.as_bits(near)
    moved = b.select(wrong, b.binary("add", bits, step), bits)
    return b.cast("bitcast", moved, "float")


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
    elif mode != "rn" and to.bits == 16:
        raise lw.unsupported(f"rounding mode .{mode} to 16 bits")
    if "ftz" in i.modifiers and to.bits == 32:
        value = flush(lw, value)
    if "sat" in i.modifiers:
        value = saturate(lw, value)
    if "relu" in i.modifiers:
        zero = b.constant(value.type, 0)
        value = b.select(b.compare("ogt", value, zero), value, zero)
    return from_float(lw, value, to)


OPCODES = {"cvt": cvt}
