"""Comparison and selection: setp, set, selp, slct."""

from __future__ import annotations

from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.floating import flush, lanes_of, to_float
from kernelcast.execution.engine.ptx.operands import PRED, pack, read, type_of, types_of, write
from kernelcast.execution.engine.values import PtxType, Value, ptx_type
from kernelcast.ir import Instruction, Vector

_SIGNED = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}
_UNSIGNED |= {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
_FLOAT = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_FLOAT |= {"equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge"}
_FLOAT |= {"num": "ord", "nan": "uno"}
_BOOLEAN = {"and", "or", "xor"}


def _compare(lw: Lowering, i: Instruction, kind: PtxType, a: Value, c: Value) -> Value:
    """The comparison that the first modifier names."""
    name = i.modifiers[0]
    if kind.is_float:
        a, c = to_float(lw, a, kind), to_float(lw, c, kind)
        if "ftz" in i.modifiers and kind.bits == 32:
            a, c = flush(lw, a), flush(lw, c)
        return lw.b.compare(_FLOAT[name], a, c)
    return lw.b.compare((_SIGNED if kind.signed else _UNSIGNED)[name], a, c)


def _combine(lw: Lowering, i: Instruction, result: Value, operand: int) -> Value:
    """Join with a predicate operand, where the instruction has a boolean modifier."""
    for name in _BOOLEAN & set(i.modifiers):
        return lw.b.binary(name, result, read(lw, i.operands[operand], PRED))
    return result


def _setp(lw: Lowering, i: Instruction) -> None:
    """`setp`: p = (a cmp b) bool c, and q = !(a cmp b) bool c; packed types give one each."""
    kind = type_of(i)
    a, c = (read(lw, o, kind) for o in i.operands[1:3])
    target = i.operands[0]
    if kind.lanes == 2:
        scalar = ptx_type(f"{kind.kind}{kind.bits}")
        pairs = zip(lanes_of(lw, a, kind), lanes_of(lw, c, kind), strict=True)
        results = [_combine(lw, i, _compare(lw, i, scalar, x, y), 3) for x, y in pairs]
    else:
        plain = _compare(lw, i, kind, a, c)
        results = [_combine(lw, i, plain, 3), _combine(lw, i, lw.b.invert(plain), 3)]
    targets = target.elements if isinstance(target, Vector) else (target,)
    for register, result in zip(targets, results, strict=False):
        write(lw, i, register, result)


def _set_(lw: Lowering, i: Instruction) -> None:
    """`set`: all ones, or 1.0 for a float destination, where the comparison holds."""
    b = lw.b
    result_kind, kind = types_of(i)
    a, c = (read(lw, o, kind) for o in i.operands[1:3])
    scalar = ptx_type(f"{kind.kind}{kind.bits}")
    pairs = zip(lanes_of(lw, a, kind), lanes_of(lw, c, kind), strict=True)
    parts = []
    bits = result_kind.bits * result_kind.lanes // kind.lanes
    for x, y in pairs:
        holds = _combine(lw, i, _compare(lw, i, scalar, x, y), 3)
        ones = {("f", 32): 0x3F80_0000, ("f", 16): 0x3C00, ("bf", 16): 0x3F80}
        yes = b.constant(f"i{bits}", ones.get((result_kind.kind, bits), -1))
        parts.append(b.select(holds, yes, b.constant(f"i{bits}", 0)))
    write(lw, i, i.operands[0], parts[0] if len(parts) == 1 else pack(lw, parts, result_kind))


def _selp(lw: Lowering, i: Instruction) -> None:
    """`selp`: a where the predicate holds, else b."""
    kind = type_of(i)
    a, c = (read(lw, o, kind) for o in i.operands[1:3])
    write(lw, i, i.operands[0], lw.b.select(read(lw, i.operands[3], PRED), a, c))


def _slct(lw: Lowering, i: Instruction) -> None:
    """`slct`: a where c >= 0, else b; NaN selects b."""
    b = lw.b
    kind, control_kind = types_of(i)
    a, c = (read(lw, o, kind) for o in i.operands[1:3])
    control = read(lw, i.operands[3], control_kind)
    if control_kind.is_float:
        if "ftz" in i.modifiers:
            control = flush(lw, control)
        holds = b.compare("oge", control, b.constant(control.type, 0))
    else:
        holds = b.compare("sge", control, b.constant(control.type, 0))
    write(lw, i, i.operands[0], b.select(holds, a, c))


OPCODES = {"setp": _setp, "set": _set_, "selp": _selp, "slct": _slct}
