"""The levels of a curve over footprints: where latency or rate stays the same for a while."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.calibration.fits import UnfitError, Values

_TOLERANCE = 1.1
"""Highest over lowest value of a level. Of an A100 the latency of DRAM varies by 9 %."""
_SPAN = 1.4
"""Largest over smallest size of a level, at least."""
_POINTS = 4


@dataclass(frozen=True, slots=True)
class Level:
    """Sizes, ascending, at which the values are nearly the same; `place` counts points before."""

    place: int
    sizes: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def middle(self) -> float:
        """The size in the middle, on a logarithmic axis."""
        return math.sqrt(self.sizes[0] * self.sizes[-1])

    @property
    def end(self) -> int:
        """The number of points up to its last."""
        return self.place + len(self.sizes)


def levels(sizes: Values, values: Values) -> tuple[Level, ...]:
    """The longest run of sizes, as a ratio, whose values are within 10 %; so on beside it.

    Saavedra and Smith 1995: a memory with several caches shows as many levels, and between two of
    them a rise. How many there are, and where, need not be known. Runs of less than four points, or
    of less than a factor of 1.4 in size, are on the way from one level to the next.
    """
    xs, ys = np.asarray(sizes, np.float64), np.asarray(values, np.float64)
    if len(xs) != len(ys) or len(xs) == 0 or not (np.isfinite(xs).all() and np.isfinite(ys).all()):
        raise UnfitError("no points")
    if min(xs.min(), ys.min()) <= 0:
        raise UnfitError("a size or value is not positive")
    order = np.argsort(xs, kind="stable")
    return _within(xs[order], ys[order], 0, len(xs))


def _within(
    xs: NDArray[np.float64], ys: NDArray[np.float64], begin: int, end: int
) -> tuple[Level, ...]:
    runs = [(first, _run_end(ys, first, end)) for first in range(begin, end)]
    long = [r for r in runs if r[1] - r[0] >= _POINTS and xs[r[1] - 1] >= _SPAN * xs[r[0]]]
    if not long:
        return ()
    first, after = max(long, key=lambda r: xs[r[1] - 1] / xs[r[0]])
    level = Level(first, tuple(xs[first:after].tolist()), tuple(ys[first:after].tolist()))
    return (*_within(xs, ys, begin, first), level, *_within(xs, ys, after, end))


def _run_end(ys: NDArray[np.float64], first: int, end: int) -> int:
    low = np.minimum.accumulate(ys[first:end])
    high = np.maximum.accumulate(ys[first:end])
    return first + int(np.count_nonzero(high <= _TOLERANCE * low))
