"""Rounding towards zero, downwards or upwards, from the number nearest to the exact result."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isfinite, isinf, isnan

import numpy as np

from kernelcast.execution.reference.values import Lanes

DIRECTED = ("rz", "rm", "rp")
_BEYOND_ALL = Fraction(1 << 3000)
"""More than any sum or product of numbers of 64 bits."""

Excess = Callable[..., Fraction]
"""What the first argument, a number, has more than the exact result of an operation on the others;
only its sign counts."""


def in_direction(mode: str, excess: Excess, nearest: Lanes, *operands: Lanes) -> Lanes:
    """The results of an operation in a directed mode, found from those to the nearest number."""

    def sign_of_excess(near: float, *values: float) -> int:
        if isnan(near) or not all(map(isfinite, values)):
            return 0
        found = excess(_exact(near), *map(_exact, values))
        return (found > 0) - (found < 0)

    signs = np.vectorize(sign_of_excess, otypes=[int])(nearest, *operands)
    down = ~np.signbit(nearest) if mode == "rz" else mode == "rm"
    wrong = np.where(down, signs > 0, signs < 0)
    towards = np.where(down, -np.inf, np.inf).astype(nearest.dtype)
    moved: Lanes = np.where(wrong, np.nextafter(nearest, towards), nearest)
    return moved


def _exact(value: float) -> Fraction:
    if isinf(value):
        return _BEYOND_ALL if value > 0 else -_BEYOND_ALL
    return Fraction(float(value))
