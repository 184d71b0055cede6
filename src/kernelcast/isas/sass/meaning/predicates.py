"""Comparison, selection, and logic of predicates."""

from __future__ import annotations

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.bits import immediate
from kernelcast.isas.sass.meaning.lift import Lift
from kernelcast.isas.sass.meaning.truth_tables import lookup

_RELATIONS = ("LT", "LE", "GT", "GE", "EQ", "NE")
_STRICT = {"LT": "lt", "LE": "lt", "GT": "gt", "GE": "gt"}
_JOINS = ("AND", "OR", "XOR")
_TYPES = {"U32": "u32", "S64": "s64", "U64": "u64"}


def compare(x: Lift) -> None:
    """`ISETP.LT.AND P, Q, a, b, R`: P is a < b and R; Q is a >= b and R.

    `.EX ..., L` compares high words, where L is the result of the low ones.
    """
    relation = _one_of(x, _RELATIONS)
    join = _one_of(x, _JOINS).lower()
    x.only(relation, join.upper(), "EX", *_TYPES)
    first, second = x.take(), x.take()
    type = next((t for m, t in _TYPES.items() if x.has(m)), "s32")
    read = x.u64 if type.endswith("64") else x.u32
    a, b = read(x.take()), read(x.take())
    other = x.predicate(x.take())
    low = x.predicate(x.take()) if x.has("EX") else None
    x.done()
    if low is not None:
        holds = _extended(x, relation, type, a, b, low)
    elif x.destination(second) is None:
        if _is_neutral(join, other):
            x.set(first, f"setp.{relation.lower()}.{type}", a, b)
        else:
            x.set(first, f"setp.{relation.lower()}.{join}.{type}", a, b, other)
        return
    else:
        holds = x.let(f"setp.{relation.lower()}.{type}", a, b)
    results = [holds]
    if x.destination(second) is not None:
        results.append(x.let("not.pred", holds))
    if not _is_neutral(join, other):
        results = [x.let(f"{join}.pred", r, other) for r in results]
    for target, result in zip((first, second), results, strict=False):
        x.write(target, result)


def _extended(x: Lift, relation: str, type: str, a: Operand, b: Operand, low: Operand) -> Operand:
    """The comparison of two pairs of words by their high words and the result of the low ones."""
    if relation in ("EQ", "NE"):
        join = "and" if relation == "EQ" else "or"
        return x.let(f"setp.{relation.lower()}.{join}.{type}", a, b, low)
    even = x.let(f"setp.eq.and.{type}", a, b, low)
    return x.let(f"setp.{_STRICT[relation]}.or.{type}", a, b, even)


def _is_neutral(join: str, predicate: Operand) -> bool:
    """Whether joining a predicate changes nothing."""
    return predicate == Immediate(1 if join == "and" else 0)


def _one_of(x: Lift, words: tuple[str, ...]) -> str:
    found = [m for m in x.native.modifiers if m in words]
    if len(found) != 1:
        raise x.refuse(f"{x.native.name}")
    return found[0]


def select(x: Lift) -> None:
    """`SEL d, a, b, P`: a where P holds, else b; `.64` of pairs."""
    x.only("64")
    target = x.take()
    if x.has("64"):
        a, b = x.u64(x.take()), x.u64(x.take())
        value = x.let("selp.b64", a, b, x.predicate(x.take()))
        x.done()
        x.write64(target, value)
        return
    a, b = x.u32(x.take()), x.u32(x.take())
    condition = x.predicate(x.take())
    x.done()
    x.set(target, "selp.b32", a, b, condition)


def logic(x: Lift) -> None:
    """`PLOP3.LUT P, Q, a, b, c, table, table`: two functions of three predicates."""
    x.only("LUT")
    targets = [x.take(), x.take()]
    sources = [_bit(x, x.take()) for _ in range(3)]
    tables = [immediate(x, x.take()) for _ in targets]
    x.done()
    results = [
        lookup(x, table, sources, "pred") if x.destination(target) is not None else None
        for target, table in zip(targets, tables, strict=True)
    ]
    for target, result in zip(targets, results, strict=True):
        if result is not None:
            x.write(target, result)


def _bit(x: Lift, operand: sass.Operand) -> Operand:
    """A predicate, or the sign of a register (`R2.SIGN`)."""
    if isinstance(operand, sass.RegisterOperand) and "SIGN" in operand.decoration.suffixes:
        if operand.decoration.prefix or operand.decoration.is_absolute:
            raise x.refuse(f"operand {operand}")
        return x.let("setp.lt.s32", x.b32(operand), Immediate(0))
    return x.predicate(operand)


MEANINGS = {
    **dict.fromkeys(("ISETP", "UISETP"), compare),
    **dict.fromkeys(("SEL", "USEL"), select),
    **dict.fromkeys(("PLOP3", "UPLOP3"), logic),
}
