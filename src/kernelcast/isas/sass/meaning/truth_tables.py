"""Functions of bits that are given by a table: the steps that compute one."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.sass.meaning.lift import SassLift


def lookup(x: SassLift, table: int, sources: Sequence[Operand], type: str) -> Operand:
    """The function whose value is bit `4 a + 2 b + c` of the table, for any number of sources.

    It is taken apart by its first source: f = a & f1 | ~a & f0, where f1 and f0 are functions of
    the others (Shannon's expansion), as far as they do not make that simpler.
    """
    ones = _all_ones(type)
    rows = 1 << len(sources)
    table &= (1 << rows) - 1
    if table in (0, (1 << rows) - 1):
        return Immediate(ones if table else 0)
    a, *others = sources
    half = rows // 2
    when_one, when_zero = table >> half, table & (1 << half) - 1
    if when_one == when_zero or a == Immediate(0):
        return lookup(x, when_zero, others, type)
    if a == Immediate(ones):
        return lookup(x, when_one, others, type)
    if when_one == when_zero ^ (1 << half) - 1:
        return _differing(x, a, lookup(x, when_zero, others, type), type)
    return _chosen(
        x, a, lookup(x, when_one, others, type), lookup(x, when_zero, others, type), type
    )


def _differing(x: SassLift, a: Operand, b: Operand, type: str) -> Operand:
    """a ^ b."""
    ones = Immediate(_all_ones(type))
    if b == Immediate(0):
        return a
    return x.let(f"not.{type}", a) if b == ones else x.let(f"xor.{type}", a, b)


def _chosen(x: SassLift, a: Operand, one: Operand, zero: Operand, type: str) -> Operand:
    """a & one | ~a & zero."""
    none, ones = Immediate(0), Immediate(_all_ones(type))
    if one == zero:
        return one
    if zero == none:
        return a if one == ones else x.let(f"and.{type}", a, one)
    if one == ones:
        return x.let(f"or.{type}", a, zero)
    inverse = x.let(f"not.{type}", a)
    if one == none:
        return inverse if zero == ones else x.let(f"and.{type}", inverse, zero)
    if zero == ones:
        return x.let(f"or.{type}", inverse, one)
    parts = x.let(f"and.{type}", a, one), x.let(f"and.{type}", inverse, zero)
    return x.let(f"or.{type}", *parts)


def _all_ones(type: str) -> int:
    return 1 if type == "pred" else (1 << 32) - 1
