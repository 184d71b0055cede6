"""Floating-point arithmetic (PTX ISA 9.0, sections 9.7.3 to 9.7.6).

Values of f16 and bf16 are f32 numbers; a result is rounded once, when it is encoded. Functions
without an exact definition are computed in f64 and rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial, reduce
from math import copysign, inf, isfinite

import numpy as np

from kernelcast.execution.reference.semantics import (
    Definition,
    Definitions,
    Form,
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


def lesser(a: Lanes, b: Lanes) -> Lanes:
    """The minimum: a number rather than NaN, -0 before +0."""
    first = (a < b) | ((a == b) & np.signbit(a)) | np.isnan(b)
    return np.where(first, a, b)


def greater(a: Lanes, b: Lanes) -> Lanes:
    """The maximum: a number rather than NaN, +0 after -0."""
    first = (a > b) | ((a == b) & np.signbit(b)) | np.isnan(b)
    return np.where(first, a, b)


_KINDS: dict[str, Callable[[Lanes], Lanes]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & (abs(a) >= np.finfo(a.dtype).tiny),
    "subnormal": lambda a: (a != 0) & (abs(a) < np.finfo(a.dtype).tiny),
}


def _defined(found: Form, count: int, function: Callable[..., Lanes]) -> Semantics:
    """A function of `count` operands of one type, with `.ftz` and `.sat` around it."""
    name = found.type
    if not is_float(name):
        raise UndefinedFormError

    def apply(*values: Lanes) -> Lanes:
        if "ftz" in found:
            values = tuple(flushed(name, v) for v in values)
        result = function(*values)
        if "sat" in found:
            result = saturated(result)
        if "ftz" in found:
            result = flushed(name, decode(name, encode(name, result)))
        return result

    return Semantics((name,) * count, (name,), apply)


_DIRECTED = ("rz", "rm", "rp")


def directed(mode: str, exact: Fraction) -> float:
    """The f32 next to a number that is not 0: towards zero, downwards or upwards."""
    down = mode == "rm" or (mode == "rz" and exact > 0)
    near = np.float32(exact.numerator / exact.denominator)
    if down and float(near) > exact:
        near = np.nextafter(near, np.float32(-inf))
    elif not down and float(near) < exact:
        near = np.nextafter(near, np.float32(inf))
    return float(near)


def product_in_direction(mode: str, a: Lanes, b: Lanes) -> Lanes:
    """a * b of f32, rounded once in a directed mode."""
    results = a * b
    for lane, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        if isfinite(x) and isfinite(y) and x * y:
            results[lane] = directed(mode, Fraction(x) * Fraction(y))
    return results


def sum_in_direction(mode: str, *terms: Lanes) -> Lanes:
    """a + b, or a * b + c, of f32, rounded once in a directed mode.

    A sum that is 0 is -0 downwards unless all its terms are +0 (IEEE 754, section 6.3).
    """
    *factors, addend = terms
    results = fused(*terms) if len(factors) > 1 else factors[0] + addend
    product = np.prod([f.astype(np.float64) for f in factors], axis=0)
    for lane, (x, y) in enumerate(zip(product.tolist(), addend.tolist(), strict=True)):
        if not (isfinite(x) and isfinite(y)):
            continue
        exact = Fraction(x) + Fraction(y)
        if exact:
            results[lane] = directed(mode, exact)
        elif mode == "rm" and min(copysign(1, x), copysign(1, y)) < 0:
            results[lane] = -0.0
    return results


def _arithmetic(
    count: int, function: Callable[..., Lanes], in_direction: Callable[..., Lanes]
) -> Definition:
    def define(instruction: Instruction) -> Semantics:
        found = form(instruction, ("rn", *_DIRECTED, "ftz", "sat"))
        mode = found.one_of(_DIRECTED, "rn")
        if mode == "rn":
            return _defined(found, count, function)
        if found.type != "f32":
            raise UndefinedFormError
        return _defined(found, count, partial(in_direction, mode))

    return define


def _fma(instruction: Instruction) -> Semantics:
    found = form(instruction, ("rn", *_DIRECTED, "ftz", "sat"))
    mode = found.one_of(_DIRECTED, "rn")
    if mode != "rn":
        if found.type != "f32":
            raise UndefinedFormError
        return _defined(found, 3, partial(sum_in_direction, mode))
    if element_type(found.type) in ("f16", "bf16"):
        return _defined(found, 3, lambda a, b, c: a.astype(np.float64) * b.astype(np.float64) + c)
    return _defined(found, 3, fused)


def _special(count: int, function: Callable[..., Lanes]) -> Definition:
    """Functions of 32 and 64 bits that may be approximate."""

    def define(instruction: Instruction) -> Semantics:
        return _defined(form(instruction, ("approx", "full", "rn", "ftz")), count, function)

    return define


def _approximate(function: Callable[[Lanes], Lanes]) -> Definition:
    def define(instruction: Instruction) -> Semantics:
        return _defined(
            form(instruction, ("approx", "ftz")), 1, lambda a: function(a.astype(np.float64))
        )

    return define


def _sign(function: Callable[[Lanes], Lanes]) -> Definition:
    """`neg` and `abs`: they change the sign alone, so nothing is rounded."""

    def define(instruction: Instruction) -> Semantics:
        return _defined(form(instruction, ("ftz",)), 1, function)

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

        return _defined(found, source_count(instruction), function)

    return define


def _copysign(instruction: Instruction) -> Semantics:
    return _defined(form(instruction), 2, lambda a, b: np.copysign(b, a))


def _testp(instruction: Instruction) -> Semantics:
    found = form(instruction, _KINDS)
    return Semantics((found.type,), ("pred",), _KINDS[found.one_of(_KINDS)])


DEFINITIONS: Definitions = {
    "add": _arithmetic(2, lambda a, b: a + b, sum_in_direction),
    "sub": _arithmetic(2, lambda a, b: a - b, lambda mode, a, b: sum_in_direction(mode, a, -b)),
    "mul": _arithmetic(2, lambda a, b: a * b, product_in_direction),
    "fma": _fma,
    "mad": _fma,
    "div": _special(2, lambda a, b: a / b),
    "rcp": _special(1, lambda a: 1 / a),
    "sqrt": _special(1, np.sqrt),
    "rsqrt": _approximate(lambda a: 1 / np.sqrt(a)),
    "ex2": _approximate(np.exp2),
    "lg2": _approximate(np.log2),
    "sin": _approximate(np.sin),
    "cos": _approximate(np.cos),
    "tanh": _approximate(np.tanh),
    "abs": _sign(abs),
    "neg": _sign(lambda a: -a),
    "min": _extreme(lesser),
    "max": _extreme(greater),
    "copysign": _copysign,
    "testp": _testp,
}
