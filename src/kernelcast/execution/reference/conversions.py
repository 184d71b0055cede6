"""Conversions between numeric types (PTX ISA 9.0, section 9.7.9, `cvt`)."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, isnan

import numpy as np

from kernelcast.execution.reference.floats import flushed, not_negative, saturated
from kernelcast.execution.reference.semantics import (
    Definitions,
    Modifiers,
    Semantics,
    UndefinedFormError,
    form,
)
from kernelcast.execution.reference.values import (
    Lanes,
    decode,
    element_type,
    encode,
    exact,
    is_float,
    limits,
    width_of,
)
from kernelcast.ir import Instruction

_TO_INTEGER: dict[str, Callable[[Lanes], Lanes]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}
_TO_FLOAT = ("rn", "rz", "rm", "rp")


def _integer_from_float(values: Lanes, source: str, result: str, rounding: str) -> Lanes:
    """Round to an integer and clamp it to the type; NaN as docs/execution.md says."""
    low, high = limits(result)
    width = width_of(result)
    for_nan = 1 << (width - 1) if source == "f64" or width == 64 else 0

    def convert(value: float) -> int:
        if isnan(value):
            return for_nan
        return int(min(max(value, low), high))

    rounded = _TO_INTEGER[rounding](values.astype(np.float64))
    return np.array([convert(v) for v in rounded.tolist()], object)


def _float_from_exact(values: Lanes, result: str, rounding: str) -> Lanes:
    """Round numbers, integers or floats, to a floating-point type in the given direction."""
    if values.dtype == object:
        to_f64 = float if result == "f64" else _odd_f64
        nearest_input = np.array([to_f64(v) for v in values.tolist()])
    else:
        nearest_input = values if _is_float_array(values) else values.astype(np.float64)
    bits = encode(result, nearest_input)
    if rounding != "rn":
        nearest = decode(result, bits).tolist()
        step = [
            _correction(near, value, rounding)
            for near, value in zip(nearest, values.tolist(), strict=True)
        ]
        bits = (bits.astype(np.uint64) + np.array(step, np.int64).view(np.uint64)).astype(
            bits.dtype
        )
    return decode(result, bits)


def _is_float_array(values: Lanes) -> bool:
    """Whether the array holds floating-point numbers."""
    return bool(np.issubdtype(values.dtype, np.floating))


def _correction(nearest: float, value: float, rounding: str) -> int:
    """What to add to the bits of the nearest number: 1 leads away from zero, -1 toward it."""
    too_low, too_high = nearest < value, nearest > value
    positive = value > 0
    if rounding == "rp":
        return (1 if positive else -1) if too_low else 0
    if rounding == "rm":
        return (-1 if positive else 1) if too_high else 0
    return -1 if (too_high if positive else too_low) else 0


def _odd_f64(value: int) -> float:
    """Round an integer to f64 so that a second rounding gives what one alone would."""
    if abs(value) < 1 << 53:
        return float(value)
    excess = abs(value).bit_length() - 53
    kept, lost = divmod(abs(value), 1 << excess)
    return copysign(float((kept | (lost != 0)) << excess), value)


def _cvt(instruction: Instruction) -> Semantics:
    found = form(instruction, (*_TO_INTEGER, *_TO_FLOAT, "ftz", "sat", "relu", "pack"))
    if "pack" in found:
        return _pack(found)
    if len(found.types) != 2 or "pred" in found.types:
        raise UndefinedFormError
    result, source = found.types
    if source.endswith("x2"):
        raise UndefinedFormError
    if result.endswith("x2"):
        return _narrow_pair(found, result, source)
    return Semantics((source,), (result,), _conversion(found, result, source))


def _conversion(found: Modifiers, result: str, source: str) -> Callable[[Lanes], Lanes]:
    to_integer = found.one_of(_TO_INTEGER, "none")
    to_float = found.one_of(_TO_FLOAT, "rn")

    def from_integer(values: Lanes) -> Lanes:
        if is_float(result):
            return finish(_float_from_exact(values, result, to_float))
        return np.clip(values, *limits(result)) if "sat" in found else values

    def from_float(values: Lanes) -> Lanes:
        if "ftz" in found:
            values = flushed(source, values)
        if not is_float(result):
            return _integer_from_float(values, source, result, to_integer)
        if to_integer != "none":
            values = _TO_INTEGER[to_integer](values)
        return finish(_float_from_exact(values, result, to_float))

    def finish(values: Lanes) -> Lanes:
        if "sat" in found:
            values = saturated(values)
        if "relu" in found:
            values = not_negative(values)
        return flushed(result, values) if "ftz" in found else values

    if is_float(source) and not is_float(result) and to_integer == "none":
        raise UndefinedFormError
    return from_float if is_float(source) else from_integer


def _narrow_pair(found: Modifiers, result: str, source: str) -> Semantics:
    """Two f32 to a packed pair: the first operand is the high half."""
    if source != "f32" or not is_float(result):
        raise UndefinedFormError
    convert = _conversion(found, element_type(result), source)
    return Semantics(
        (source, source), (result,), lambda high, low: np.stack((convert(low), convert(high)))
    )


def _pack(found: Modifiers) -> Semantics:
    """`cvt.pack.sat`: two clamped integers side by side, the first one higher."""
    if "sat" not in found or len(found.types) not in (2, 3) or found.types[1] != "s32":
        raise UndefinedFormError
    part = found.types[0]
    width = width_of(part)
    if width != (16 if len(found.types) == 2 else 8):
        raise UndefinedFormError

    def function(a: Lanes, b: Lanes, c: Lanes | int = 0) -> Lanes:
        ones = (1 << width) - 1
        high, low = (exact(np.clip(v, *limits(part))) & ones for v in (a, b))
        return c << 2 * width | high << width | low

    return Semantics(("s32", "s32", *found.types[2:]), ("b32",), function)


DEFINITIONS: Definitions = {"cvt": _cvt}
