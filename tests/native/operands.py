"""Operands worth trying: the values at which arithmetic goes wrong, in all pairs, and others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.memory import Memory

OPERANDS = ("a", "b", "c")
"""Arrays of these names hold operands; all others start as their launch says."""

_FLOATS = (
    *(0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 1 / 3, 0.49999997, 255.5, 2.0**24 + 1, 2.0**31, 2.0**32),
    *(2.0**53, 2.0**63, 2.0**64, 1e-10, np.pi, np.inf, np.nan),
)
_INTEGERS = (
    *(0, 1, 2, 3, 7, 31, 32, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x55555555),
    *(0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000),
)


def sow(memory: Memory) -> None:
    """Write the operands of a launch: equal launches get equal ones.

    First every pair of special values, a third beside each, then random bits, then numbers of
    moderate size.
    """
    for at, name in enumerate(OPERANDS):
        if any(region.label == name for region in memory.regions):
            elements = memory.array(name)
            elements[:] = _operands(elements.size, elements.dtype, at)


def _operands(count: int, dtype: np.dtype[Any], at: int) -> NDArray[Any]:
    values = special_values(dtype)
    index = np.arange(count)
    places = (index, index // len(values), 7 * index + index // len(values))[at]
    special = values[places % len(values)]
    generator = np.random.Generator(np.random.SFC64(at))
    bits = np.frombuffer(generator.bytes(count * dtype.itemsize), dtype)
    moderate = _moderate(count, dtype, generator)
    pairs = min(len(values) ** 2, count)
    middle = (count + pairs) // 2
    return np.concatenate([special[:pairs], bits[pairs:middle], moderate[middle:]])


def special_values(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Limits of the type and numbers around powers of two, of both signs; NaN among floats."""
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        ends = [limits.max, limits.tiny, limits.tiny - limits.smallest_subnormal]
        ends += [limits.smallest_subnormal, limits.eps]
        with np.errstate(over="ignore"):
            values = np.array([*_FLOATS, *ends]).astype(dtype)
        return np.concatenate([values, -values])
    wrapped = [v & (1 << 8 * dtype.itemsize) - 1 for v in _INTEGERS]
    unsigned = np.array(sorted(set(wrapped)), f"u{dtype.itemsize}")
    negated = ~unsigned + unsigned.dtype.type(1)
    return np.union1d(unsigned, negated).view(dtype)


def _moderate(count: int, dtype: np.dtype[Any], generator: np.random.Generator) -> NDArray[Any]:
    if dtype.kind == "f":
        signs: NDArray[Any] = generator.choice([-1.0, 1.0], count)
        return (signs * np.exp2(generator.uniform(-12, 12, count))).astype(dtype)
    low = -100 if dtype.kind == "i" else 0
    return generator.integers(low, 100, count, dtype=dtype)
