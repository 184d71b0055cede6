"""Division, roots, and the functions that PTX calls approximate (PTX ISA 9.0, section 9.7.3).

The special function unit takes and gives subnormal numbers of f32 as zeros; where PTX asks for
more, the compiler multiplies by powers of two before and after. The same is done here, so that
PTX and machine code agree. The unit itself rounds to nearest here, as far as f64 can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from kernelcast.execution.reference.floats import defined, flushed, fused
from kernelcast.execution.reference.rounding import DIRECTED, Excess, in_direction
from kernelcast.execution.reference.semantics import (
    Definition,
    Definitions,
    Modifiers,
    Semantics,
    UndefinedFormError,
    form,
)
from kernelcast.execution.reference.values import Lanes
from kernelcast.ir import Instruction

_LEAST_NORMAL = np.float32(2.0**-126)
_GREAT = np.float32(2.0**126)  # what is greater has a subnormal reciprocal
_UP, _DOWN = np.float32(2.0**24), np.float32(0.25)
_TURNS_PER_RADIAN = np.float32(0.15915494)  # 1 / (2 pi)
_HIGH_WORD, _HALF_OF_LOW_WORD = np.uint64(0xFFFF_FFFF_0000_0000), np.uint64(1 << 31)
_LEAST_NORMAL_F64 = 2.0**-1022

_LaneFunction = Callable[[Lanes], Lanes]

_NEAREST: dict[str, _LaneFunction] = {
    "rcp": lambda a: 1 / a,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "ex2": np.exp2,
    "lg2": np.log2,
    "tanh": np.tanh,
}
_EXCESS: dict[str, Excess] = {
    "rcp": lambda near, a: (near * a - 1) * a,
    "sqrt": lambda near, a: near**2 - a,
}


def _of_unit(name: str, a: Lanes) -> Lanes:
    """A function of f32 as the special function unit computes it."""
    result = _NEAREST[name](flushed("f32", a).astype(np.float64))
    return flushed("f32", result.astype(np.float32))


def _scaled(name: str, a: Lanes) -> Lanes:
    """The same for subnormal numbers, too."""
    if name == "ex2":
        is_low = a < -126
        result = _of_unit(name, np.where(is_low, a / 2, a))
        return np.where(is_low, result * result, result)
    factor = _factors(a, is_great=name == "rcp")
    result = _of_unit(name, a * factor)
    match name:
        case "rcp":
            return result * factor
        case "sqrt":
            return result / np.sqrt(factor)
        case "rsqrt":
            return result * np.sqrt(factor)
    return result - np.log2(factor)


def _factors(a: Lanes, *, is_great: bool) -> Lanes:
    """What keeps numbers normal, and their reciprocals where `is_great`."""
    factors = np.where(abs(a) < _LEAST_NORMAL, _UP, np.float32(1))
    return np.where(abs(a) > _GREAT, _DOWN, factors) if is_great else factors


def _of_high_word(name: str, a: Lanes) -> Lanes:
    """A function of f64 of which only the high words are known, of the number and the result."""
    known = _flushed_f64((a.view(np.uint64) & _HIGH_WORD).view(np.float64))
    bits = _flushed_f64(_NEAREST[name](known)).view(np.uint64)
    return ((bits + _HALF_OF_LOW_WORD) & _HIGH_WORD).view(np.float64)


def _refined_root(a: Lanes) -> Lanes:
    """1 / sqrt(a) of f64 from the high words by one step of Halley's method, as the compiler has
    it."""
    is_small = abs(a) < _LEAST_NORMAL_F64
    scaled = np.where(is_small, a * 2.0**54, a)
    near = _of_high_word("rsqrt", scaled)
    error = fused(-scaled, near * near, np.ones_like(a))
    step = fused(error, np.full_like(a, 0.375), np.full_like(a, 0.5))
    root = np.where(np.isfinite(near) & (near != 0), fused(step, near * error, near), near)
    return np.where(is_small, root * 2.0**27, root)


def _flushed_f64(values: Lanes) -> Lanes:
    return np.where(abs(values) < _LEAST_NORMAL_F64, np.copysign(0.0, values), values)


def _function(name: str) -> Definition:
    def define(instruction: Instruction) -> Semantics:
        found = form(instruction, ("approx", "rn", *DIRECTED, "ftz"))
        return defined(found, 1, _variant(name, found))

    return define


def _variant(name: str, found: Modifiers) -> _LaneFunction:
    """The function that the modifiers ask for."""
    nearest = _NEAREST[name]
    mode = found.one_of(DIRECTED, "rn")
    if mode != "rn":
        if name not in _EXCESS or found.type not in ("f32", "f64"):
            raise UndefinedFormError
        return lambda a: in_direction(mode, _EXCESS[name], nearest(a), a)
    if "approx" not in found or name == "tanh" or found.type not in ("f32", "f64"):
        return lambda a: nearest(a if "rn" in found else a.astype(np.float64))
    if found.type == "f64":
        if "ftz" in found and name in ("rcp", "rsqrt"):
            return lambda a: _of_high_word(name, a)
        if name != "rsqrt":
            raise UndefinedFormError
        return _refined_root
    return lambda a: _of_unit(name, a) if "ftz" in found else _scaled(name, a)


def _division(instruction: Instruction) -> Semantics:
    found = form(instruction, ("approx", "full", "rn", *DIRECTED, "ftz"))
    mode = found.one_of(DIRECTED, "rn")

    def by_reciprocal(a: Lanes, b: Lanes) -> Lanes:
        factors = _factors(b, is_great="full" in found)
        return a * factors * _of_unit("rcp", b * factors)

    def exact(a: Lanes, b: Lanes) -> Lanes:
        if mode == "rn":
            return a / b
        return in_direction(mode, lambda near, a, b: (near * b - a) * b, a / b, a, b)

    if found.type not in ("f32", "f64"):
        raise UndefinedFormError
    return defined(found, 2, by_reciprocal if {"approx", "full"} & set(found.words) else exact)


def _circular(function: _LaneFunction) -> Definition:
    """`sin` and `cos` of radians; with `.turns`, which PTX lacks, of full turns, as the unit has
    it."""

    def define(instruction: Instruction) -> Semantics:
        found = form(instruction, ("approx", "ftz", "turns"))
        if found.type != "f32":
            raise UndefinedFormError

        def apply(a: Lanes) -> Lanes:
            turns = flushed("f32", a if "turns" in found else _turns(a)).astype(np.float64)
            part = turns - np.rint(turns)
            return flushed("f32", function(2 * np.pi * part).astype(np.float32))

        return defined(found, 1, apply)

    return define


def _turns(radians: Lanes) -> Lanes:
    """The product with 1 / (2 pi), which the compiler has rounded towards zero."""

    def excess(near: Fraction, a: Fraction) -> Fraction:
        return near - a * Fraction(float(_TURNS_PER_RADIAN))

    return in_direction("rz", excess, radians * _TURNS_PER_RADIAN, radians)


DEFINITIONS: Definitions = {
    **{name: _function(name) for name in _NEAREST},
    "sin": _circular(np.sin),
    "cos": _circular(np.cos),
    "div": _division,
}
