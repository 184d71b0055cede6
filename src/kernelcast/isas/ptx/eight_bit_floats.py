"""Conversions to and from floats of eight bits, `e4m3` and `e5m2`, in steps that executors know.

Two of them lie side by side. Formats: OCP 8-bit Floating Point Specification, 1.0; conversions: PTX
ISA, `cvt` with `.satfinite`: what is too large becomes the largest number, and NaN 0x7F.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.ir import Immediate, Operand
from kernelcast.isas.ptx.lift import PtxLift, PtxMeaning
from kernelcast.isas.ptx.steps import Steps

_F32_BIAS, _F32_BITS = 127, 23
_INFINITY = 0x7F80_0000
_ONE_AND_A_HALF = 1 << _F32_BITS - 1
"""The mantissa of 1.5: a number below it does not change the exponent of such a sum."""

_NAN = 0x7F
_HALF_NAN, _HALF_INFINITY, _HALF_256 = 0x7FFF, 0x7C00, 0x5C00


@dataclass(frozen=True)
class _EightBitFloat:
    """A format: bits of its mantissa, bias of its exponent, and its largest number in `f32`."""

    mantissa_bits: int
    bias: int
    largest: int

    @property
    def least_exponent(self) -> int:
        """That of its smallest normal number, as `f32` stores it."""
        return _F32_BIAS + 1 - self.bias


_FORMATS = {
    "e4m3": _EightBitFloat(3, 7, 0x43E0_0000),
    "e5m2": _EightBitFloat(2, 15, 0x4760_0000),
}


def pair_of_numbers(x: Steps, high: Operand, low: Operand, name: str) -> Operand:
    """Two numbers of single precision, rounded to the nearest, in the low 16 bits of a word."""
    above = x.let("shl.b32", _encoded(x, high, _FORMATS[name]), Immediate(8))
    return x.let("or.b32", above, _encoded(x, low, _FORMATS[name]))


def pair_of_halves(x: Steps, halves: Operand, name: str) -> Operand:
    """As `pair_of_numbers`, of two numbers of half precision in a word."""
    low, high = (_widened(x, halves, shift) for shift in (0, 16))
    return pair_of_numbers(x, high, low, name)


def halves_of_pair(x: Steps, pair: Operand, name: str) -> Operand:
    """The two numbers in the low 16 bits of a word, in half precision."""
    # The upper byte of each half: what `e5m2` is, and the bits of `e4m3` one to the left.
    spread = x.let("prmt.b32", pair, Immediate(0), Immediate(0x1404))
    if name == "e5m2":
        return _with_nans(x, spread, spread, "gt", Immediate(_HALF_INFINITY))
    sizes = x.let("shr.u32", x.let("and.b32", spread, Immediate(0x7F00_7F00)), Immediate(1))
    signs = x.let("and.b32", spread, Immediate(0x8000_8000))
    # With the exponent's bias of a half, 256 times too small.
    small = x.let("or.b32", signs, sizes)
    exact = x.let("mul.f16x2", small, Immediate(_HALF_256 << 16 | _HALF_256))
    return _with_nans(x, exact, spread, "eq", Immediate(_NAN << 8))


def _encoded(x: Steps, value: Operand, to: _EightBitFloat) -> Operand:
    """One number in the low byte of a word.

    A sum with a number so large that its last bit is the last that the result has is rounded there.
    """
    magnitude = x.let("and.b32", value, Immediate(0x7FFF_FFFF))
    clamped = x.let("min.u32", magnitude, Immediate(to.largest))
    exponent = x.let("shr.u32", clamped, Immediate(_F32_BITS))
    exponent = x.let("max.u32", exponent, Immediate(to.least_exponent))
    beyond = (_F32_BITS - to.mantissa_bits << _F32_BITS) + _ONE_AND_A_HALF
    large = x.let("shl.b32", exponent, Immediate(_F32_BITS))
    large = x.let("add.u32", large, Immediate(beyond))
    last_bits = x.let("sub.u32", x.let("add.f32", clamped, large), large)
    above_least = x.let("sub.u32", exponent, Immediate(to.least_exponent))
    binades = x.let("shl.b32", above_least, Immediate(to.mantissa_bits))
    size = x.let("add.u32", binades, last_bits)
    sign = x.let("and.b32", x.let("shr.u32", value, Immediate(24)), Immediate(0x80))
    is_nan = x.let("setp.gt.u32", magnitude, Immediate(_INFINITY))
    return x.let("selp.b32", Immediate(_NAN), x.let("or.b32", sign, size), is_nan)


def _widened(x: Steps, halves: Operand, shift: int) -> Operand:
    half = x.let("shr.u32", halves, Immediate(shift)) if shift else halves
    return x.let("cvt.f32.f16", x.let("cvt.u16.u32", half))


def _with_nans(
    x: Steps, halves: Operand, sources: Operand, relation: str, bound: Operand
) -> Operand:
    """Halves, NaN where the magnitude of the source is in a relation to a bound."""
    parts = []
    for shift in (0, 16):
        half, source = (x.let("shr.u32", word, Immediate(shift)) for word in (halves, sources))
        magnitude = x.let("and.b32", source, Immediate(0x7FFF))
        is_nan = x.let(f"setp.{relation}.u32", magnitude, bound)
        kept = x.let("and.b32", half, Immediate(0xFFFF))
        parts.append(x.let("selp.b32", Immediate(_HALF_NAN), kept, is_nan))
    return x.let("or.b32", parts[0], x.let("shl.b32", parts[1], Immediate(16)))


def _convert(x: PtxLift) -> None:
    """`cvt.rn.f16x2.e4m3x2 d, a`, `cvt.rn.satfinite.e4m3x2.f32 d, a, b` and of `f16x2`."""
    pairs = {f"{name}x2": name for name in _FORMATS}
    match x.modifiers:
        case ("rn", "f16x2", source) if source in pairs:
            target, pair = x.take(), x.let("cvt.u32.u16", x.take())
            x.do("mov.b32", target, halves_of_pair(x, pair, pairs[source]), guard=x.guard)
        case ("rn", "satfinite", result, "f32") if result in pairs:
            target, high, low = (x.take() for _ in range(3))
            found = pair_of_numbers(x, high, low, pairs[result])
            x.do("cvt.u16.u32", target, found, guard=x.guard)
        case ("rn", "satfinite", result, "f16x2") if result in pairs:
            target, halves = x.take(), x.take()
            found = pair_of_halves(x, halves, pairs[result])
            x.do("cvt.u16.u32", target, found, guard=x.guard)
        case _:
            raise x.refuse()


MEANINGS: dict[str, PtxMeaning] = {"cvt": _convert}
