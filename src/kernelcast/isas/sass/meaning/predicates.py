"""Comparison, selection, and logic of predicates."""

from __future__ import annotations

from dataclasses import replace

from kernelcast.ir import Guard, Immediate, Operand, Register
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.bits import immediate
from kernelcast.isas.sass.meaning.lift import SassLift
from kernelcast.isas.sass.meaning.truth_tables import lookup

_RELATIONS = ("LT", "LE", "GT", "GE", "EQ", "NE")
_STRICT = {"LT": "lt", "LE": "lt", "GT": "gt", "GE": "gt"}
_JOINS = ("AND", "OR", "XOR")
_WORD = (1 << 32) - 1
_ALL = {"PR": sass.RegisterFile.PREDICATE, "UPR": sass.RegisterFile.UNIFORM_PREDICATE}
_PREDICATES = 7
_BYTES = {"B0": 0, "B1": 8, "B2": 16, "B3": 24}
_TYPES = {"U32": "u32", "S64": "s64", "U64": "u64"}


def _compare(x: SassLift) -> None:
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


def _extended(
    x: SassLift, relation: str, type: str, a: Operand, b: Operand, low: Operand
) -> Operand:
    """The comparison of two pairs of words by their high words and the result of the low ones."""
    if relation in ("EQ", "NE"):
        join = "and" if relation == "EQ" else "or"
        return x.let(f"setp.{relation.lower()}.{join}.{type}", a, b, low)
    even = x.let(f"setp.eq.and.{type}", a, b, low)
    return x.let(f"setp.{_STRICT[relation]}.or.{type}", a, b, even)


def _is_neutral(join: str, predicate: Operand) -> bool:
    """Whether joining a predicate changes nothing."""
    return predicate == Immediate(1 if join == "and" else 0)


def _one_of(x: SassLift, words: tuple[str, ...]) -> str:
    found = [m for m in x.native.modifiers if m in words]
    if len(found) != 1:
        raise x.refuse(f"{x.native.name}")
    return found[0]


def _select(x: SassLift) -> None:
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


def _logic(x: SassLift) -> None:
    """`PLOP3.LUT P, Q, a, b, c, table, table`: two functions of three predicates."""
    x.only("LUT")
    targets = [x.take(), x.take()]
    sources = [_bit(x, x.take()) for _ in range(3)]
    tables = [immediate(x, x.take()) for _ in targets]
    x.done()
    pairs = zip(targets, tables, strict=True)
    wanted = [(target, table) for target, table in pairs if x.destination(target) is not None]
    results = [lookup(x, table, sources, "pred") for _, table in wanted]
    if len(wanted) > 1:
        # A result may be a source that the other one overwrites.
        results = [x.let("mov.pred", result) for result in results]
    for (target, _), result in zip(wanted, results, strict=True):
        x.write(target, result)


def _bit(x: SassLift, operand: sass.SassOperand) -> Operand:
    """A predicate, or the sign of a register or constant (`R2.SIGN`)."""
    if (
        isinstance(operand, sass.RegisterOperand | sass.ConstantOperand)
        and "SIGN" in operand.decoration.suffixes
    ):
        if operand.decoration.prefix or operand.decoration.is_absolute:
            raise x.refuse(f"operand {operand}")
        return x.let("setp.lt.s32", x.b32(operand), Immediate(0))
    return x.predicate(operand)


def _to_register(x: SassLift) -> None:
    """`P2R d, PR, a, mask`: a, with the predicates of the mask as its bits from 0 on.

    With `d.B1` they are the bits of that byte.
    """
    x.only()
    target = x.take()
    first = _first_bit(x, target)
    file = _file(x, x.take())
    value: Operand = x.u32(x.take())
    numbers = _numbers(x, x.take())
    x.done()
    mask = sum(1 << (first + n) for n in numbers)
    value = x.let("and.b32", value, Immediate(_WORD ^ mask))
    for n in numbers:
        predicate = Register(f"{file}{n}", "pred")
        bit = x.let("selp.b32", Immediate(1 << (first + n)), Immediate(0), predicate)
        value = x.let("or.b32", value, bit)
    x.write(_whole(target), value)


def _from_register(x: SassLift) -> None:
    """`R2P PR, a, mask`: the predicates of the mask from the bits of a, or of a byte (`a.B1`)."""
    x.only()
    file = _file(x, x.take())
    source = x.take()
    first = _first_bit(x, source)
    value = x.b32(_whole(source))
    numbers = _numbers(x, x.take())
    x.done()
    guard = x.guard
    if guard is not None:
        # One of the predicates may be the guard.
        guard = Guard(x.let("mov.pred", guard.register), guard.negated)
    for n in numbers:
        bit = x.let("and.b32", value, Immediate(1 << (first + n)))
        x.do("setp.ne.u32", Register(f"{file}{n}", "pred"), bit, Immediate(0), guard=guard)


def _file(x: SassLift, operand: sass.SassOperand) -> sass.RegisterFile:
    """The file that `PR` or `UPR` stands for."""
    if not isinstance(operand, sass.NameOperand) or operand.name not in _ALL:
        raise x.refuse(f"operand {operand}")
    return _ALL[operand.name]


def _numbers(x: SassLift, operand: sass.SassOperand) -> list[int]:
    """The predicates that a mask names."""
    mask = immediate(x, operand)
    if not 0 <= mask < 1 << _PREDICATES:
        raise x.refuse(f"mask {operand}")
    return [n for n in range(_PREDICATES) if mask >> n & 1]


def _first_bit(x: SassLift, operand: sass.SassOperand) -> int:
    """Where the byte begins that a register operand names (`.B1`), 0 where it names none."""
    suffixes = operand.decoration.suffixes if isinstance(operand, sass.RegisterOperand) else ()
    for suffix in suffixes:
        if suffix not in (*_BYTES, "reuse"):
            raise x.refuse(f"operand {operand}")
    return next((_BYTES[s] for s in suffixes if s in _BYTES), 0)


def _whole(operand: sass.SassOperand) -> sass.SassOperand:
    """A register operand without the byte it names."""
    if not isinstance(operand, sass.RegisterOperand):
        return operand
    return replace(operand, decoration=replace(operand.decoration, suffixes=()))


MEANINGS = {
    **dict.fromkeys(("ISETP", "UISETP"), _compare),
    **dict.fromkeys(("SEL", "USEL"), _select),
    **dict.fromkeys(("PLOP3", "UPLOP3"), _logic),
    **dict.fromkeys(("P2R", "UP2UR"), _to_register),
    **dict.fromkeys(("R2P", "UR2UP"), _from_register),
}
