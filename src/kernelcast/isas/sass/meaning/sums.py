"""Sums of up to five terms, with the carries that leave them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.lift import SassLift

_ZERO = Immediate(0)
_ONE = Immediate(1)


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a sum. A negated one counts as its complement plus one, so that even the
    negative of 0 carries."""

    value: Operand
    is_negated: bool = False


def read_term(x: SassLift, operand: sass.SassOperand, bits: int = 32) -> Term:
    """A term with its sign. In a `.X` form `-` is the complement too: the carry adds the one."""
    if not isinstance(operand, sass.RegisterOperand | sass.ConstantOperand):
        return Term(x.u64(operand) if bits == 64 else x.u32(operand))
    prefix = operand.decoration.prefix
    if prefix == "-" and x.has("X"):
        operand = replace(operand, decoration=replace(operand.decoration, prefix="~"))
    elif prefix == "-":
        operand = replace(operand, decoration=replace(operand.decoration, prefix=""))
    value = x.u64(operand) if bits == 64 else x.u32(operand)
    return Term(value, prefix == "-" and not x.has("X"))


def take_carries_in(x: SassLift) -> list[Term]:
    """The predicates behind the terms of a `.X` form, as terms of 0 or 1 in 32 bits."""
    terms = []
    while x.has("X") and x.takes_predicate():
        predicate = x.predicate(x.take())
        if isinstance(predicate, Immediate):
            terms.append(Term(predicate))
        else:
            terms.append(Term(x.let("selp.b32", _ONE, _ZERO, predicate)))
    return terms


def is_zero(operand: Operand) -> bool:
    """Whether an operand is the number 0."""
    return isinstance(operand, Immediate) and operand.value == 0


def write_sum(
    x: SassLift,
    target: sass.SassOperand,
    carries: Sequence[sass.SassOperand],
    terms: Sequence[Term],
) -> None:
    """Write a sum of 32 bits and the predicates of its carries: the first one where the exact sum
    has at least one, the second where it has two."""
    if _wanted(x, carries):
        total, *out = _with_carries(x, terms, 32)
        x.write(target, total)
        write_carries(x, carries, out)
        return
    parts = _ordered(terms)
    if not parts or (len(parts) == 1 and not parts[0].is_negated):
        x.write(target, parts[0].value if parts else _ZERO)
        return
    *most, last = parts
    name = "sub.u32" if last.is_negated else "add.u32"
    x.set(target, name, _plain_sum(x, most, 32), last.value)


def sum_and_carries(
    x: SassLift, terms: Sequence[Term], bits: int, carries: Sequence[sass.SassOperand]
) -> tuple[Operand, ...]:
    """A sum and, if some of the predicates are to be written, the values of its carries."""
    if _wanted(x, carries):
        return _with_carries(x, terms, bits)
    return (_plain_sum(x, terms, bits),)


def write_carries(
    x: SassLift, carries: Sequence[sass.SassOperand], values: Sequence[Operand]
) -> None:
    """Write the values of carries to their predicates, as far as there are values."""
    for predicate, value in zip(carries, values, strict=False):
        x.write(predicate, value)


def _plain_sum(x: SassLift, terms: Sequence[Term], bits: int) -> Operand:
    """A sum without its carries."""
    total: Operand = _ZERO
    for term in _ordered(terms):
        if is_zero(total) and not term.is_negated:
            total = term.value
        else:
            name = "sub" if term.is_negated else "add"
            total = x.let(f"{name}.u{bits}", total, term.value)
    return total


def _ordered(terms: Sequence[Term]) -> list[Term]:
    """Terms other than zero, the negated ones last."""
    return sorted((t for t in terms if not is_zero(t.value)), key=lambda t: t.is_negated)


def _with_carries(
    x: SassLift, terms: Sequence[Term], bits: int
) -> tuple[Operand, Operand, Operand]:
    """A sum, whether it carries, and whether it carries more than once."""
    total: Operand = _ZERO
    once: Operand = _ZERO
    twice: Operand = _ZERO
    for term in sorted(terms, key=lambda t: t.is_negated):
        if is_zero(total) and not term.is_negated:
            total = term.value
            continue
        if term.is_negated:
            carry = x.let(f"setp.ge.u{bits}", total, term.value)
            total = x.let(f"sub.u{bits}", total, term.value)
        elif is_zero(term.value):
            continue
        else:
            total = x.let(f"add.u{bits}", total, term.value)
            carry = x.let(f"setp.lt.u{bits}", total, term.value)
        if is_zero(once):
            once = carry
            continue
        both = x.let("and.pred", once, carry)
        twice = both if is_zero(twice) else x.let("or.pred", twice, both)
        once = x.let("or.pred", once, carry)
    return total, once, twice


def _wanted(x: SassLift, carries: Sequence[sass.SassOperand]) -> bool:
    return any(x.destination(c) is not None for c in carries)
