"""Correct rounding of exact numbers, by the definition of IEEE 754: slow and plain."""

from __future__ import annotations

import math
from fractions import Fraction

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
"""Bits of the exponent and of the fraction."""


def width(name: str) -> int:
    return 1 + sum(FORMATS[name])


def value_of(name: str, bits: int) -> float:
    """The number with these bits; every format fits in a Python float."""
    exponent_bits, fraction_bits = FORMATS[name]
    sign = -1.0 if bits >> (exponent_bits + fraction_bits) else 1.0
    exponent = bits >> fraction_bits & (1 << exponent_bits) - 1
    fraction = bits & (1 << fraction_bits) - 1
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == (1 << exponent_bits) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fraction_bits)
    return sign * math.ldexp(fraction | 1 << fraction_bits, exponent - bias - fraction_bits)


def rounded(name: str, exact: Fraction, mode: str = "rn", *, negative_zero: bool = False) -> int:
    """The bits of `exact` in a format: to nearest even, toward zero, down or up."""
    exponent_bits, fraction_bits = FORMATS[name]
    bias = (1 << (exponent_bits - 1)) - 1
    negative = exact < 0 or (exact == 0 and negative_zero)
    sign = int(negative) << (exponent_bits + fraction_bits)
    magnitude = abs(exact)
    # The exponent of the unit in the last place, not below that of the subnormal numbers.
    scale = 1 - bias - fraction_bits
    while magnitude >= Fraction(2) ** (scale + fraction_bits + 1):
        scale += 1
    whole, rest = divmod(magnitude / Fraction(2) ** scale, 1)
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    significand = whole + up
    # Subnormal, normal and the carry into the next exponent are all one sum of bits.
    bits = int(significand) + (scale - (1 - bias - fraction_bits) << fraction_bits)
    infinity = (1 << exponent_bits) - 1 << fraction_bits
    if bits >= infinity:
        stays = mode == "rz" or (mode == "rp" and negative) or (mode == "rm" and not negative)
        bits = infinity - stays
    return sign | bits
