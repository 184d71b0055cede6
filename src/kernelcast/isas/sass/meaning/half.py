"""Half-precision arithmetic and comparison, of two numbers in a register: f16, or bfloat16 where
`.BF16_V2` says so.

A source is a pair; `.H0_H0` and `.H1_H1` are its low or its high number twice. A pair of numbers
as an immediate is printed as two operands, the high one first, and is one word in the encoding.
"""

from __future__ import annotations

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.sass import operands as sass
from kernelcast.isas.sass.meaning.floating import (
    JOINS,
    RELATIONS,
    comparison,
    flag,
    suffixes,
    undecorated,
    write_comparison,
)
from kernelcast.isas.sass.meaning.lift import SassLift

_SIGNS = 0x8000_8000
_MAGNITUDES = 0x7FFF_7FFF
_MINUS_ZEROS = Immediate(_SIGNS)
_TWICE = {"H0_H0": 0x1010, "H1_H1": 0x3232}
"""Selectors of `prmt` by the suffix of a source."""

_OPERATIONS = {"HADD2": ("add", 2), "HMUL2": ("mul", 2), "HFMA2": ("fma.rn", 3)}
"""The operation of PTX and the number of its sources."""


def _arithmetic(x: SassLift) -> None:
    """`HADD2 d, a, b`, `HMUL2`, and `HFMA2 d, a, b, c`: a * b + c, rounded once.

    `.MMA` names the unit that computes it.
    """
    if x.native.opcode == "HADD2" and x.has("F32"):
        _widen(x)
        return
    x.only("BF16_V2", "FTZ", "SAT", "RELU", "MMA")
    operation, count = _OPERATIONS[x.native.opcode]
    target = x.take()
    sources = [_pair(x) for _ in range(count)]
    x.done()
    flags = "".join(flag(x, m) for m in ("FTZ", "SAT", "RELU"))
    if not flags and sources[:2] == [_MINUS_ZEROS, Immediate(0)]:
        # This is how a constant is loaded: 0 * -0 is -0, which added to anything changes nothing.
        x.write(target, sources[2])
    else:
        x.set(target, f"{operation}{flags}.{_type(x)}x2", *sources)


def _widen(x: SassLift) -> None:
    """`HADD2.F32 d, -RZ, a.H0_H0`: one number as single precision, nothing added to it."""
    x.only("F32", "SAT")
    target = x.take()
    sources = [_pair(x), _pair(x)]
    x.done()
    if _MINUS_ZEROS not in sources:
        raise x.refuse("a sum in single precision")
    sources.remove(_MINUS_ZEROS)
    x.set(target, f"cvt{flag(x, 'SAT')}.f32.f16", *sources)


def _extreme(x: SassLift) -> None:
    """`HMNMX2 d, a, b, P`: the minima where P holds, else the maxima; `VHMNMX` of three."""
    x.only("BF16_V2", "FTZ", "NAN")
    target = x.take()
    count = 3 if x.native.opcode == "VHMNMX" else 2
    sources = [_pair(x) for _ in range(count)]
    is_least = x.predicate(x.take())
    x.done()
    name = f"{flag(x, 'FTZ')}{flag(x, 'NAN', 'NaN')}.{_type(x)}x2"
    if isinstance(is_least, Immediate):
        x.set(target, ("min" if is_least.value else "max") + name, *sources)
        return
    least, greatest = x.let(f"min{name}", *sources), x.let(f"max{name}", *sources)
    x.set(target, "selp.b32", least, greatest, is_least)


def _compare(x: SassLift) -> None:
    """`HSETP2.LT.AND P, Q, a, b, R`: P of the low numbers, Q of the high ones."""
    x.only(*RELATIONS, *JOINS, "FTZ", "BF16_V2")
    targets = [x.take(), x.take()]
    sources = [_pair(x), _pair(x)]
    write_comparison(x, targets, sources, f"{flag(x, 'FTZ')}.{_type(x)}x2")


def _compare_to_word(x: SassLift) -> None:
    """`HSET2.LT.AND d, a, b, R`: all ones in the halves where a < b and R, else 0; `.BF` 1.0."""
    x.only(*RELATIONS, *JOINS, "FTZ", "BF16_V2", "BF")
    target = x.take()
    sources = [_pair(x), _pair(x)]
    test, sources = comparison(x, sources)
    x.done()
    type = f"{_type(x)}x2"
    result = type if x.has("BF") else "u32"
    x.set(target, f"set.{test}{flag(x, 'FTZ')}.{result}.{type}", *sources)


def _pair(x: SassLift) -> Operand:
    """The next operand, two numbers of half precision."""
    operand = x.take()
    if isinstance(operand, sass.FloatOperand | sass.IntegerOperand):
        low = x.take()
        if not isinstance(low, sass.FloatOperand | sass.IntegerOperand):
            raise x.refuse(f"operand {low}")
        return x.f32(operand)
    value = _twice(x, operand, [s for s in suffixes(operand) if s != "reuse"])
    assert isinstance(operand, sass.RegisterOperand | sass.ConstantOperand)
    if operand.decoration.is_absolute:
        value = x.let("and.b32", value, Immediate(_MAGNITUDES))
    if operand.decoration.prefix == "-":
        value = _MINUS_ZEROS if value == Immediate(0) else x.let("xor.b32", value, _MINUS_ZEROS)
    return value


def _twice(x: SassLift, operand: sass.SassOperand, selected: list[str]) -> Operand:
    """A pair without its sign, or one of its numbers twice; `.F32` is a number of single
    precision, cut off towards zero."""
    word = x.b32(undecorated(x, operand))
    if not selected or word == Immediate(0):
        return word
    if selected == ["F32"]:
        word, selected = x.let("cvt.rz.f16.f32", word), ["H0_H0"]
    if len(selected) != 1 or selected[0] not in _TWICE:
        raise x.refuse(f"operand {operand}")
    return x.let("prmt.b32", word, word, Immediate(_TWICE[selected[0]]))


def _type(x: SassLift) -> str:
    return "bf16" if x.has("BF16_V2") else "f16"


MEANINGS = {
    **dict.fromkeys(_OPERATIONS, _arithmetic),
    **dict.fromkeys(("HMNMX2", "VHMNMX"), _extreme),
    "HSETP2": _compare,
    "HSET2": _compare_to_word,
}
