"""What the lanes of the warps of a block hold, as far as code alone tells, and arithmetic with it.

A value is known up to a multiple of its grain that all lanes of a warp share:

    value of lane k of warp w = lanes[w, k] + grain m_w,    m_w unknown

So an affine expression of thread indices is exact, whatever block and iteration of a loop it is of:
those enter m alone. Where two values differ by as much in every lane of a warp, one or the other,
but the same in the whole warp, has the lanes of both; its grain is the greatest common divisor of
both grains and the differences. Where nothing is unknown (`lane_numbers`), all integer arithmetic
is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from kernelcast.analysis.lane_numbers import WORD_BITS, LaneNumbers, computed, wrapped
from kernelcast.ir.sizes import WARP_LANES


@dataclass(frozen=True, slots=True)
class WarpValue:
    """`lanes[w, k] + grain m_w`; `array` is the label of the pointer among the parameters that it
    comes from, and `natural` says that it is not below 0, whatever is unknown, as long as sums and
    products do not overflow.

    A grain of 0 stands for a value that is known. One row of lanes stands for all warps.
    """

    lanes: LaneNumbers = field(compare=False)
    grain: int = 0
    array: str = ""
    natural: bool = False

    def __post_init__(self) -> None:
        """What is exact needs nobody to say so."""
        if self.is_exact:
            object.__setattr__(self, "natural", bool((self.lanes >= 0).all()))

    @property
    def is_uniform(self) -> bool:
        """Whether all lanes of a warp hold the same."""
        return bool((self.lanes == self.lanes[:, :1]).all())

    @property
    def is_exact(self) -> bool:
        """Whether it is a number of which nothing is unknown."""
        return not self.grain and not self.array

    @property
    def constant(self) -> int | None:
        """The number that all lanes hold, None where there is none or it is not known."""
        first = int(self.lanes[0, 0])
        return first if self.is_exact and bool((self.lanes == first).all()) else None


MaybeValue = WarpValue | None


def uniform(value: int, grain: int = 0, *, natural: bool = False) -> WarpValue:
    """The same number in all lanes."""
    return WarpValue(np.full((1, WARP_LANES), value, np.int64), grain, natural=natural)


ANYTHING_UNIFORM = uniform(0, 1)


def same_value(one: MaybeValue, other: MaybeValue) -> bool:
    """Whether as much is known of two values."""
    if one is None or other is None:
        return one is other
    return one == other and bool((one.lanes == other.lanes).all())


def joined(one: MaybeValue, other: MaybeValue) -> MaybeValue:
    """One value or the other, the same in all lanes of a warp."""
    if one is None or other is None or one.array != other.array:
        return None
    apart = one.lanes - other.lanes
    if not (apart == apart[:, :1]).all():
        return None
    grain = math.gcd(one.grain, other.grain, _divisor(apart))
    return replace(one, grain=grain, natural=one.natural and other.natural)


def _of_uniform(values: list[MaybeValue]) -> MaybeValue:
    """What is computed of values that all lanes share is one that they share."""
    known = [value for value in values if value is not None]
    if len(known) == len(values) and values and all(value.is_uniform for value in known):
        return ANYTHING_UNIFORM
    return None


def both_words(low: MaybeValue, high: MaybeValue) -> MaybeValue:
    """64 bits by the numbers in their lower and upper half."""
    if low is None or high is None or low.array or high.array:
        return None
    if low.is_exact and high.is_exact:
        return WarpValue((high.lanes << WORD_BITS) | (low.lanes & (1 << WORD_BITS) - 1))
    # Above no number of 32 bits there is nothing.
    return low if high.constant == 0 else _of_uniform([low, high])


def result(opcode: str, modifiers: tuple[str, ...], values: list[MaybeValue]) -> MaybeValue:
    """What an instruction of PTX computes of some values."""
    known = [value.lanes for value in values if value is not None and value.is_exact]
    if values and len(known) == len(values):
        exact = computed(opcode, modifiers, known)
        if exact is not None:
            return WarpValue(exact)
    rule = _RULES.get(opcode)
    found = None if rule is None else rule(values, modifiers)
    if found is None:
        return _of_uniform(values)
    is_word = modifiers[-1:] and modifiers[-1][1:] == str(WORD_BITS) and "wide" not in modifiers
    return replace(found, lanes=wrapped(found.lanes)) if is_word and not found.array else found


def _divisor(numbers: LaneNumbers) -> int:
    """The greatest common divisor."""
    return int(np.gcd.reduce(numbers, axis=None))


_LaneRule = Callable[[list[MaybeValue], tuple[str, ...]], MaybeValue]


def _copy(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    return values[0]


def _converted(values: list[MaybeValue], modifiers: tuple[str, ...]) -> MaybeValue:
    is_integer = all(m[0] in "us" for m in modifiers[-2:])
    return values[0] if is_integer else None


def _sum(a: MaybeValue, b: MaybeValue, sign: int = 1) -> MaybeValue:
    if a is None or b is None or (b.array and (a.array or sign < 0)):
        return None
    grain = math.gcd(a.grain, b.grain)
    natural = a.natural and b.natural and sign > 0
    return WarpValue(a.lanes + sign * b.lanes, grain, a.array or b.array, natural)


def _product(a: MaybeValue, b: MaybeValue) -> MaybeValue:
    """(x + g m)(y + h n): the unknown part must be the same in all lanes."""
    if a is None or b is None or a.array or b.array:
        return None
    if (a.grain and not b.is_uniform) or (b.grain and not a.is_uniform):
        return None
    of_a = _divisor(b.lanes) * a.grain if a.grain else 0
    of_b = _divisor(a.lanes) * b.grain if b.grain else 0
    grain = math.gcd(of_a, of_b, a.grain * b.grain)
    return WarpValue(a.lanes * b.lanes, grain, natural=a.natural and b.natural)


def _added(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    return _sum(values[0], values[1])


def _subtracted(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    return _sum(values[0], values[1], -1)


def _negated(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    return _sum(uniform(0), values[0], -1)


def _multiplied(values: list[MaybeValue], modifiers: tuple[str, ...]) -> MaybeValue:
    return None if "hi" in modifiers else _product(values[0], values[1])


def _multiply_added(values: list[MaybeValue], modifiers: tuple[str, ...]) -> MaybeValue:
    return None if "hi" in modifiers else _sum(_product(values[0], values[1]), values[2])


def _shifted_left(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    by = None if values[1] is None else values[1].constant
    return None if by is None or not 0 <= by < 64 else _product(values[0], uniform(1 << by))


def _shifted_right(values: list[MaybeValue], modifiers: tuple[str, ...]) -> MaybeValue:
    value, by = values[0], None if values[1] is None else values[1].constant
    if value is None or by is None or value.array or not 0 <= by < 64:
        return None
    if value.natural and by == int(modifiers[-1][1:]) - 1:
        return uniform(0)
    if value.grain % (1 << by):
        return None
    return WarpValue(value.lanes >> by, value.grain >> by, natural=value.natural)


def _masked(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    value, other = values[0], values[1]
    if value is None or other is None or value.array or other.array:
        return None
    if value.constant is not None:
        value, other = other, value
    mask = other.constant
    if mask is None or mask == 0:
        return None
    # Bits in a row: a remainder, of what has no bit below them. All from one on: what is below.
    low = mask & -mask
    if value.grain % low:
        return None
    if mask == -low:
        return replace(value, lanes=value.lanes & mask)
    if mask < 0 or mask & (mask + low) or (value.lanes % low).any():
        return None
    return _modulo(value, mask + low)


def _either_bit(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    """A sum where no bit is set in both: in the lanes, and in what may be added to them."""
    a, b = values[0], values[1]
    if a is None or b is None:
        return None
    low, high = (a, b) if b.grain else (b, a)
    free = high.grain & -high.grain if high.grain else 0
    fits = not low.grain and not (low.lanes & high.lanes).any() and (low.lanes >= 0).all()
    if not fits or (high.grain and (low.lanes >= free).any()):
        return None
    return _sum(a, b)


def _remainder(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    value, by = values[0], None if values[1] is None else values[1].constant
    if value is None or not by or by < 0 or value.array or (value.lanes < 0).any():
        return None
    return _modulo(value, by)


def _modulo(value: WarpValue, by: int) -> MaybeValue:
    """(x + g m) mod b: x mod b where b divides g, and as much further in all lanes where g divides
    b and no multiple of g lies between two lanes."""
    if value.grain % by == 0:
        return WarpValue(value.lanes % by)
    rows = value.lanes // value.grain
    if by % value.grain or not (rows == rows[:, :1]).all():
        return None
    return WarpValue(value.lanes % value.grain, value.grain, natural=value.natural)


def _quotient(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    value, by = values[0], None if values[1] is None else values[1].constant
    if value is None or not by or by < 0 or value.array or value.grain % by:
        return None
    if (value.lanes < 0).any():
        return None
    return WarpValue(value.lanes // by, value.grain // by, natural=value.natural)


def _extreme(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    """Where they differ by as much in all lanes, one is the greater in all."""
    return joined(values[0], values[1])


def _chosen(values: list[MaybeValue], _: tuple[str, ...]) -> MaybeValue:
    """What all lanes choose alike."""
    found, by = joined(values[0], values[1]), values[2]
    is_one = by is not None and by.is_uniform
    return found if is_one or (found is not None and not found.grain) else None


_RULES: Mapping[str, _LaneRule] = {
    "mov": _copy,
    "cvta": _copy,
    "cvt": _converted,
    "add": _added,
    "sub": _subtracted,
    "neg": _negated,
    "mul": _multiplied,
    "mul24": _multiplied,
    "mad": _multiply_added,
    "shl": _shifted_left,
    "shr": _shifted_right,
    "and": _masked,
    "or": _either_bit,
    "rem": _remainder,
    "div": _quotient,
    "selp": _chosen,
    "min": _extreme,
    "max": _extreme,
}
