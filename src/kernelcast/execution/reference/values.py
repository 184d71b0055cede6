"""Lane values: what the bits of a register mean under a PTX type, and back.

A value is an array over the lanes of a warp. Integers of up to 32 bits are int64, those of 64
bits Python integers in an object array, so that sums, shifts and comparisons are exact; whatever
an operation returns wraps when it is encoded. f16 and bf16 values are f32 numbers, rounded once
when encoded. Packed types (`f16x2`) have a leading axis: element 0 is the low half. Predicates
are booleans.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.fills import bf16_bits

Lanes = NDArray[Any]

WIDTHS: dict[str, int] = {
    **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)},
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "u16x2": 32,
    "s16x2": 32,
    "f16x2": 32,
    "bf16x2": 32,
    "f32x2": 64,
    "pred": 1,
}
"""Bits of every type that a lane can hold."""


def element_type(type_name: str) -> str:
    """The type of one element: `f16` of `f16x2`, any other type itself."""
    return type_name.removesuffix("x2")


def is_float(type_name: str) -> bool:
    """Whether values of the type are floating-point numbers."""
    return type_name.startswith(("f", "bf"))


def bits_type(type_name: str) -> str:
    """The untyped counterpart of a type, through which values pass unchanged."""
    return type_name if type_name == "pred" else f"b{WIDTHS[type_name]}"


@lru_cache(maxsize=64)
def unsigned(width: int) -> np.dtype[Any]:
    """The NumPy type that stores registers of `width` bits."""
    return np.dtype(bool) if width == 1 else np.dtype(f"u{width // 8}")


def decode(type_name: str, bits: Lanes) -> Lanes:
    """The values of `bits`; higher bits than the type's own are ignored."""
    if type_name == "pred":
        return bits
    if type_name.endswith("x2"):
        half = WIDTHS[type_name] // 2
        low = bits & bits.dtype.type((1 << half) - 1)
        pair = np.stack((low, bits >> bits.dtype.type(half)))
        return decode(element_type(type_name), pair)
    width = WIDTHS[type_name]
    bits = bits.astype(unsigned(width))
    if type_name == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if type_name == "f16":
        return bits.view(np.float16).astype(np.float32)
    if is_float(type_name):
        return bits.view(f"f{width // 8}")
    if type_name[0] == "s":
        bits = bits.view(f"i{width // 8}")
    return bits.astype(object if width == 64 else np.int64)


def encode(type_name: str, values: Lanes) -> Lanes:
    """The bits of `values`: integers wrap, floating-point numbers round to nearest even."""
    if type_name == "pred":
        return values.astype(bool)
    if type_name.endswith("x2"):
        pair = encode(element_type(type_name), values).astype(unsigned(WIDTHS[type_name]))
        low, high = pair
        packed: Lanes = low | high << pair.dtype.type(WIDTHS[type_name] // 2)
        return packed
    width = WIDTHS[type_name]
    if type_name == "bf16":
        return bf16_bits(_odd_f32(values))
    if is_float(type_name):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return values.astype(f"f{width // 8}").view(unsigned(width))
    if values.dtype == object:
        values = values & ((1 << width) - 1)
    return values.astype(unsigned(width))


def width_of(type_name: str) -> int:
    """Bits of one element of the type."""
    return WIDTHS[element_type(type_name)]


def limits(type_name: str) -> tuple[int, int]:
    """The least and greatest integer of a type."""
    width = width_of(type_name)
    if type_name[0] == "s":
        return -(1 << (width - 1)), (1 << (width - 1)) - 1
    return 0, (1 << width) - 1


def exact(values: Lanes) -> Lanes:
    """The same integers as Python integers, for results that need more than 64 bits."""
    return values.astype(object)


def _odd_f32(values: Lanes) -> NDArray[np.float32]:
    """Round f64 to f32 so that a second rounding to fewer bits gives what one alone would.

    Rounding to odd: of the two neighbours of an inexact value the one with an odd significand
    (Boldo & Melquiond, "When double rounding is odd", 2005).
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rounded = values.astype(np.float32)
        if values.dtype == np.float32:
            return rounded
        back = rounded.astype(np.float64)
        inexact = (back != values) & np.isfinite(values)
        even = (rounded.view(np.uint32) & 1) == 0
        toward = np.where(values > back, np.inf, -np.inf).astype(np.float32)
        return np.where(inexact & even, np.nextafter(rounded, toward), rounded)
