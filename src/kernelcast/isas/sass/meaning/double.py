"""Double-precision arithmetic and comparison, on pairs of registers."""

from __future__ import annotations

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.floating import (
    JOINS,
    RELATIONS,
    ROUNDINGS,
    plain,
    rounding,
    write_comparison,
)
from kernelcast.isas.sass.meaning.lift import SassLift

_OPERATIONS = {"DADD": ("add", 2), "DMUL": ("mul", 2), "DFMA": ("fma", 3)}
"""The operation of PTX and the number of its sources."""


def _double(x: SassLift) -> Operand:
    """The next operand, a number of double precision."""
    return x.f64(plain(x, x.take()))


def _arithmetic(x: SassLift) -> None:
    """`DADD d, a, b`, `DMUL`, and `DFMA d, a, b, c`: a * b + c, rounded once."""
    x.only(*ROUNDINGS)
    operation, count = _OPERATIONS[x.native.opcode]
    target = x.take()
    sources = [_double(x) for _ in range(count)]
    x.done()
    x.write64(target, x.let(f"{operation}{rounding(x)}.f64", *sources))


def _compare(x: SassLift) -> None:
    """`DSETP.LT.AND P, Q, a, b, R`: P is a < b and R; Q is !(a < b) and R.

    `.MIN` and `.MAX` are no relations: they choose one of two numbers.
    """
    targets = [x.take(), x.take()]
    sources = [_double(x), _double(x)]
    if x.has("MIN", "MAX"):
        x.only("MIN", "MAX", "AND")
        _choose(x, targets, sources)
    else:
        x.only(*RELATIONS, *JOINS)
        write_comparison(x, targets, sources, ".f64")


def _choose(x: SassLift, targets: list[sass.SassOperand], sources: list[Operand]) -> None:
    """`DSETP.MIN.AND P, Q, a, b, PT`: P where the minimum is a, Q where both are NaN.

    Zeros of both signs are equal; as integers, their bits tell them apart.
    """
    condition = x.predicate(x.take())
    x.done()
    if condition != Immediate(1):
        raise x.refuse("a choice joined with a predicate")
    a, b = sources
    relation = "lt" if x.has("MIN") else "gt"
    equal = x.let("setp.eq.f64", a, b)
    of_zeros = x.let(f"setp.{relation}.and.s64", a, b, equal)
    of_numbers = x.let(f"setp.{relation}.or.f64", a, b, of_zeros)
    is_number = x.let("setp.num.f64", a, a)
    is_alone = x.let("setp.nan.and.f64", b, b, is_number)
    is_first = x.let("or.pred", of_numbers, is_alone)
    are_missing = x.let("setp.nan.and.f64", b, b, x.let("not.pred", is_number))
    x.write(targets[0], is_first)
    x.write(targets[1], are_missing)


MEANINGS = {
    **dict.fromkeys(_OPERATIONS, _arithmetic),
    "DSETP": _compare,
}
