"""Where two memories of the same launch differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.fills import ELEMENT_TYPES
from kernelcast.execution.memory import Memory, Region

Values = NDArray[Any]

_FLOATS = {"f16": np.int16, "f32": np.int32, "f64": np.int64}
"""Integers of the size of each float type that NumPy knows."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One array that differs: how many of its elements, and the first of them on both sides."""

    array: str
    elements: int
    differing: int
    first: int
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        return (
            f"{self.array}: {self.differing} of {self.elements} elements differ, "
            f"first [{self.first}]: {self.ours!r} and {self.theirs!r}"
        )


def differences(ours: Memory, theirs: Memory, *, ulps: int = 0) -> tuple[Difference, ...]:
    """The arrays of a launch that differ, and the variables that both kinds of code have.

    Everything must be equal bit for bit, but for NaN, which equals any other NaN, and for elements
    of float arrays that are at most `ulps` steps from one representable value to the next apart.
    """
    shared = set(ours.regions) & set(theirs.regions)
    assert all(r in shared for m in (ours, theirs) for r in m.regions if r.is_argument)
    found = (_difference(region, ours, theirs, ulps) for region in ours.regions if region in shared)
    return tuple(difference for difference in found if difference is not None)


def _difference(region: Region, ours: Memory, theirs: Memory, ulps: int) -> Difference | None:
    a, b = (_elements(memory, region) for memory in (ours, theirs))
    if region.type in _FLOATS:
        steps = _place(a, region.type) - _place(b, region.type)
        equal = (np.abs(steps) <= ulps) & ~np.isnan(a) & ~np.isnan(b)
        equal |= np.isnan(a) & np.isnan(b)
    else:
        equal = a == b
    places = np.flatnonzero(~equal)
    if not places.size:
        return None
    first = int(places[0])
    return Difference(region.label, a.size, places.size, first, a[first], b[first])


def _elements(memory: Memory, region: Region) -> Values:
    """The elements of an array; a variable may bear the same label, so not by that."""
    data = memory.bytes_at(region.address, region.size_bytes)
    return data.view(ELEMENT_TYPES[region.type])


def _place(values: Values, type_name: str) -> NDArray[np.int64]:
    """The place of every float in their order; -0 is the one before +0.

    A difference of two places of f64 may overflow, but never to a small number.
    """
    bits = values.view(_FLOATS[type_name])
    below_zero = np.iinfo(bits.dtype).min - bits - 1
    return np.where(bits < 0, below_zero, bits).astype(np.int64)
