"""What compiled loops are made of: functions, what they call, and arrays that they are handed."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Scalar = np.dtype[Any]

HASH_FACTOR = -7046029254386353131  # 2**64 / golden ratio, as a signed number
"""Products with this number have high bits that depend on all bits of the other."""
HALF_HASH_FACTOR, HALF_WORD = 0x9E3779B1, 0xFFFFFFFF  # the same for 32 bits, and all of these


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """A C-contiguous array."""

    element: np.dtype[Any]
    dimensions: int = 1


def array(element: DTypeLike, dimensions: int = 1) -> ArrayOf:
    """An argument that is a C-contiguous array."""
    return ArrayOf(np.dtype(element), dimensions)


class FixedArray:
    """An array that is handed to many calls: what they are told of it is made once.

    Raises TypeError where it is not contiguous.
    """

    def __init__(self, value: NDArray[Any]) -> None:
        if not value.flags.c_contiguous:
            raise TypeError("an array that is not contiguous")
        self._value = value  # kept alive
        start = value.ctypes.data
        told = (0, 0, value.size, value.itemsize, start, *value.shape, *value.strides)
        self._words = tuple(map(ctypes.c_int64, told))

    def words(self, kind: ArrayOf) -> tuple[ctypes.c_int64, ...]:
        """What a call is told of the array; raises TypeError where it is not of this kind."""
        element, dimensions = self._value.dtype, self._value.ndim
        # Types of records are slow to compare, field by field.
        is_alike = element is kind.element or element == kind.element
        if not is_alike or dimensions != kind.dimensions:
            raise TypeError(f"an array of {element} in {dimensions} dimensions, not {kind}")
        return self._words


@dataclass(frozen=True)
class Source:
    """A function that compiled functions call; uncompiled, it is what it is in Python.

    `is_inlined` has it copied into its callers.
    """

    function: FunctionType
    is_inlined: bool = False

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives in Python."""
        return self.function(*arguments)


@dataclass(frozen=True, slots=True)
class Primitive:
    """An operation that a CPU has as an instruction, for compiled functions to call."""

    name: str

    def __call__(self, *operands: Any) -> Any:
        """For the type checker alone: uncompiled, nobody calls it."""
        raise NotImplementedError(self.name)


popcount = Primitive("popcount")
"""How many bits of a 64-bit number are set."""

lowest_bit = Primitive("lowest_bit")
"""The place of the lowest bit set of a 64-bit number, 64 where none is."""

matches = Primitive("matches")
"""Which of eight elements of an array, from an index on, equal a number: a bit for each."""

fetch_ahead = Primitive("fetch_ahead")
"""Let the CPU fetch an element of an array, by its index, while it goes on."""


def inner(function: Any) -> Any:
    """A function that compiled functions call."""
    return Source(function)


def inlined(function: Any) -> Any:
    """The same, for what every record goes through."""
    return Source(function, is_inlined=True)
