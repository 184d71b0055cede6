"""The functions of the special function unit, and the test that guards a division.

`MUFU` computes what the approximate instructions of PTX give. It takes subnormal operands and
results as zeros: the compiler scales them where PTX asks for more.
"""

from __future__ import annotations

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.sass.meaning.conversions import number
from kernelcast.isas.sass.meaning.floating import single
from kernelcast.isas.sass.meaning.lift import SassLift

_FUNCTIONS = {
    **{f: f"{f.lower()}.approx.ftz.f32" for f in ("RCP", "SQRT", "EX2", "LG2")},
    "RSQ": "rsqrt.approx.ftz.f32",
    "TANH": "tanh.approx.f32",
    "SIN": "sin.turns.f32",
    "COS": "cos.turns.f32",
}
"""By modifier; `turns` is a step of this package alone: the angle is a number of full turns."""

_OF_HIGH_WORDS = {"RCP64H": "rcp.approx.ftz.f64", "RSQ64H": "rsqrt.approx.ftz.f64"}
_OF_HALVES = {
    "EX2.F16": "ex2.approx.f16",
    "EX2.BF16": "ex2.approx.ftz.bf16",
    "TANH.F16": "tanh.approx.f16",
    "TANH.BF16": "tanh.approx.bf16",
}


def _function(x: SassLift) -> None:
    """`MUFU.RCP d, a`; `.RCP64H` and `.RSQ64H` are of the high words of doubles."""
    name = ".".join(x.native.modifiers)
    target = x.take()
    if name in _FUNCTIONS:
        x.set(target, _FUNCTIONS[name], single(x))
    elif name in _OF_HALVES:
        x.set(target, _OF_HALVES[name], number(x, x.take(), "f16"))
    elif name in _OF_HIGH_WORDS:
        whole = x.pack((Immediate(0), single(x)))
        _, high = x.halves(x.let(_OF_HIGH_WORDS[name], whole))
        x.write(target, high)
    else:
        raise x.refuse(f"MUFU.{name}")
    x.done()


_EXPONENT_BITS = (Immediate(23), Immediate(8))


def _division_check(x: SassLift) -> None:
    """`FCHK P, a, b`: whether a / b needs more than Newton's method.

    It does not where 1 / b and the quotient are normal numbers, and a is so great that remainders
    a - b * q are exact: their last bit lies 47 binary places below the first one of a. The rule
    of the chip is not published.
    """
    x.only()
    target = x.take()
    dividend, divisor = (_exponent(x, single(x)) for _ in range(2))
    x.done()
    quotient = x.let("sub.u32", dividend, divisor)
    slow = _outside(x, divisor, 1, 252)
    slow = _outside(x, dividend, 25, 254, slow)
    slow = _outside(x, quotient, -125, 126, slow)
    x.write(target, slow)


def _exponent(x: SassLift, value: Operand) -> Operand:
    return x.let("bfe.u32", value, *_EXPONENT_BITS)


def _outside(x: SassLift, value: Operand, least: int, greatest: int, *others: Operand) -> Operand:
    """Whether an integer is not between two bounds, or another test holds."""
    above_least = x.let("sub.u32", value, Immediate(least))
    join = ".or" if others else ""
    return x.let(f"setp.gt{join}.u32", above_least, Immediate(greatest - least), *others)


MEANINGS = {"MUFU": _function, "FCHK": _division_check}
