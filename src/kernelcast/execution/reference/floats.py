"""Floating-point arithmetic (PTX ISA 9.0, sections 9.7.3 to 9.7.6).

Values of f16 and bf16 are f32 numbers; a result is rounded once, when it is encoded.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import inf, isfinite

import numpy as np

from kernelcast.execution.reference.rounding import DIRECTED, Excess, in_direction
from kernelcast.execution.reference.semantics import (
    Definition,
    Definitions,
    Modifiers,
    Semantics,
    UndefinedFormError,
    form,
    source_count,
)
from kernelcast.execution.reference.values import Lanes, decode, element_type, encode, is_float
from kernelcast.ir import Instruction

_SMALLEST_NORMAL_F32 = 2.0**-126


def flushed(type_name: str, values: Lanes) -> Lanes:
    """Subnormal numbers of f32 become zeros of the same sign; other types keep them."""
    if element_type(type_name) != "f32":
        return values
    subnormal = abs(values) < _SMALLEST_NORMAL_F32
    return np.where(subnormal, np.copysign(np.float32(0), values), values)


def saturated(values: Lanes) -> Lanes:
    """Clamp to [0, 1]; NaN becomes 0."""
    zero, one = values.dtype.type(0), values.dtype.type(1)
    clamped: Lanes = np.where(values > zero, np.minimum(values, one), zero)
    return clamped


def not_negative(values: Lanes) -> Lanes:
    """Negative numbers become 0; NaN stays."""
    return np.where((values > 0) | np.isnan(values), values, values.dtype.type(0))


def fused(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """a * b + c, rounded once."""
    if a.dtype == np.float32:
        return _fused_f32(a, b, c)
    return np.array(
        [_fused_f64(*lane) for lane in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]
    )


def _fused_f32(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """The product is exact in f64; the sum is rounded to odd there, then to f32.

    The error of the f64 sum is Knuth's TwoSum; that rounding to odd before the last rounding
    gives the right result is theorem 4 of Boldo & Melquiond (2005).
    """
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    adjust = np.isfinite(error) & (error != 0) & even
    return np.where(adjust, np.nextafter(total, np.copysign(np.inf, error)), total).astype(
        np.float32
    )


def _fused_halves(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """The product of halves is exact in f64."""
    return a.astype(np.float64) * b.astype(np.float64) + c


def _fused_f64(a: float, b: float, c: float) -> float:
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return 0.0 if a != 0 and b != 0 else a * b + c
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return inf if exact > 0 else -inf


def _lesser(a: Lanes, b: Lanes) -> Lanes:
    """The minimum: a number rather than NaN, -0 before +0."""
    first = (a < b) | ((a == b) & np.signbit(a)) | np.isnan(b)
    return np.where(first, a, b)


def _greater(a: Lanes, b: Lanes) -> Lanes:
    """The maximum: a number rather than NaN, +0 after -0."""
    first = (a > b) | ((a == b) & np.signbit(b)) | np.isnan(b)
    return np.where(first, a, b)


_KINDS: dict[str, Callable[[Lanes], Lanes]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ((abs(a) >= np.finfo(a.dtype).tiny) | (a == 0)),
    "subnormal": lambda a: (a != 0) & (abs(a) < np.finfo(a.dtype).tiny),
}


def defined(found: Modifiers, count: int, function: Callable[..., Lanes]) -> Semantics:
    """A function of `count` operands of one type, with `.ftz`, `.sat` and `.relu` around it."""
    name = found.type
    if not is_float(name):
        raise UndefinedFormError

    def apply(*values: Lanes) -> Lanes:
        if "ftz" in found:
            values = tuple(flushed(name, v) for v in values)
        result = function(*values)
        if "sat" in found:
            result = saturated(result)
        if "relu" in found:
            result = not_negative(result)
        if "ftz" in found:
            result = flushed(name, decode(name, encode(name, result)))
        return result

    return Semantics((name,) * count, (name,), apply)


def _arithmetic(
    count: int,
    nearest: Callable[..., Lanes],
    mirrored: Callable[..., Lanes],
    excess: Excess,
    words: tuple[str, ...] = (),
) -> Definition:
    """An operation by what it gives to nearest, and for the directed modes by its `excess`.

    `mirrored` is the same by way of the negated result. It makes a sum that is 0 negative unless
    all its terms are +0, as it is downwards (IEEE 754, section 6.3).
    """

    def define(instruction: Instruction) -> Semantics:
        found = form(instruction, ("rn", *DIRECTED, "ftz", "sat", *words))
        mode = found.one_of(DIRECTED, "rn")
        if mode == "rn":
            return defined(found, count, nearest)
        if element_type(found.type) not in ("f32", "f64"):
            raise UndefinedFormError
        near = mirrored if mode == "rm" else nearest
        return defined(found, count, lambda *v: in_direction(mode, excess, near(*v), *v))

    return define


def _fma(instruction: Instruction) -> Semantics:
    is_half = element_type(instruction.modifiers[-1]) in ("f16", "bf16")
    define = _arithmetic(
        3,
        _fused_halves if is_half else fused,
        lambda a, b, c: -fused(-a, b, -c),
        lambda near, a, b, c: near - (a * b + c),
        ("relu",),
    )
    return define(instruction)


def _sign(function: Callable[[Lanes], Lanes]) -> Definition:
    """`neg` and `abs`: they change the sign alone, so nothing is rounded."""

    def define(instruction: Instruction) -> Semantics:
        return defined(form(instruction, ("ftz",)), 1, function)

    return define


def _extreme(pick: Callable[[Lanes, Lanes], Lanes]) -> Definition:
    def define(instruction: Instruction) -> Semantics:
        found = form(instruction, ("ftz", "NaN", "xorsign", "abs"))
        if ("xorsign" in found) != ("abs" in found):
            raise UndefinedFormError

        def function(*values: Lanes) -> Lanes:
            magnitudes = [abs(v) for v in values] if "abs" in found else list(values)
            result = reduce(pick, magnitudes)
            if "abs" in found:
                negative = np.logical_xor.reduce([np.signbit(v) for v in values])
                result = np.where(negative, -result, result)
            if "NaN" in found:
                missing = np.logical_or.reduce([np.isnan(v) for v in values])
                result = np.where(missing, result.dtype.type(np.nan), result)
            return result

        return defined(found, source_count(instruction), function)

    return define


def _copysign(instruction: Instruction) -> Semantics:
    return defined(form(instruction), 2, lambda a, b: np.copysign(b, a))


def _testp(instruction: Instruction) -> Semantics:
    found = form(instruction, _KINDS)
    return Semantics((found.type,), ("pred",), _KINDS[found.one_of(_KINDS)])


DEFINITIONS: Definitions = {
    "add": _arithmetic(
        2, lambda a, b: a + b, lambda a, b: -(-a - b), lambda near, a, b: near - (a + b)
    ),
    "sub": _arithmetic(
        2, lambda a, b: a - b, lambda a, b: -(b - a), lambda near, a, b: near - (a - b)
    ),
    "mul": _arithmetic(2, lambda a, b: a * b, lambda a, b: a * b, lambda near, a, b: near - a * b),
    "fma": _fma,
    "mad": _fma,
    "abs": _sign(abs),
    "neg": _sign(lambda a: -a),
    "min": _extreme(_lesser),
    "max": _extreme(_greater),
    "copysign": _copysign,
    "testp": _testp,
}
