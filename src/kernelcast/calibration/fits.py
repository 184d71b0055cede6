"""Numbers out of samples: pure functions, each with its formula and source.

A fit returns its parameters with a relative residual; whether that is small enough is for the
caller to say. Samples that cannot be fitted are an UnfitError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import ToolError

Values = Sequence[float]
_PLATEAU = 0.05
_APART = 5.0
_ENDS = 3


class UnfitError(ValueError):
    """The samples do not allow this fit; the message says why."""


@dataclass(frozen=True, slots=True)
class StraightLine:
    """y = intercept + slope x. `residual` is the root mean square error over the mean |y|.

    `slope_error` and `intercept_error` are standard errors, in the units of what they are of.
    """

    intercept: float
    slope: float
    residual: float
    slope_error: float
    intercept_error: float

    def at(self, x: float) -> float:
        """The line's y."""
        return self.intercept + self.slope * x


@dataclass(frozen=True, slots=True)
class FlooredLine:
    """y = max(floor, line); `floor` is 0 where the line holds from the first point on.

    `residual` is the root mean square error over the mean |y|.
    """

    floor: float
    line: StraightLine
    residual: float

    def at(self, x: float) -> float:
        """The law's y."""
        return max(self.floor, self.line.at(x))


@dataclass(frozen=True, slots=True)
class Plateau:
    """A level that values stay at; `residual` their standard deviation over it."""

    level: float
    residual: float


@dataclass(frozen=True, slots=True)
class TwoLevels:
    """A low and a high level; the residuals are standard deviations over their level."""

    low: Plateau
    high: Plateau


@dataclass(frozen=True, slots=True)
class Knee:
    """The size up to which the latency is `low`, on its way to `high`.

    `residual` is half the distance between the sizes that `size` lies between, over it.
    """

    size: float
    low: float
    high: float
    residual: float


@dataclass(frozen=True, slots=True)
class LoadedLatency:
    """latency = base + slope T / (capacity - T).

    `residual` is the root mean square error over the mean latency.
    """

    base: float
    slope: float
    capacity: float
    residual: float

    def at(self, throughput: float) -> float:
        """The latency at a throughput below the capacity."""
        return self.base + self.slope * throughput / (self.capacity - throughput)


def line(x: Values, y: Values) -> StraightLine:
    """Least squares: latency as the slope of cycles over dependent instructions.

    Volkov 2016, section 3.4: what is outside the chain falls into the intercept.
    """
    xs, ys = _arrays(x, y)
    if len(set(x)) < 2:
        raise UnfitError("a line needs two different points")
    slope, intercept = np.polyfit(xs, ys, 1)
    error = ys - (intercept + slope * xs)
    # Standard errors of least squares; two parameters leave n - 2 degrees of freedom.
    variance = float(np.sum(error**2)) / max(1, len(xs) - 2)
    spread = float(np.sum((xs - xs.mean()) ** 2))
    return StraightLine(
        float(intercept),
        float(slope),
        _relative(error, ys),
        (variance / spread) ** 0.5,
        (variance * (1 / len(xs) + float(xs.mean()) ** 2 / spread)) ** 0.5,
    )


def floored_line(x: Values, y: Values) -> FlooredLine:
    """y = max(floor, intercept + slope x): something else takes `floor` beside what x counts.

    Least squares over where the line begins. A floor is seen at two x at least, and so is the line.
    """
    xs, ys = _arrays(x, y)
    places = np.unique(xs)
    found = []
    for begin in (0, *range(2, len(places) - 1)):
        is_rising = xs >= places[begin]
        rising = line(list(xs[is_rising]), list(ys[is_rising]))
        floor = float(ys[~is_rising].mean()) if begin else 0.0
        law = np.maximum(floor, rising.intercept + rising.slope * xs)
        found.append(FlooredLine(floor, rising, _relative(ys - law, ys)))
    return min(found, key=lambda law: law.residual)


def between(points: Sequence[tuple[float, float]], x: float) -> float:
    """The y at x on the lines between ascending points."""
    xs, ys = zip(*points, strict=True)
    return float(np.interp(x, xs, ys))


def best_plateau(rates: Values) -> Plateau:
    """Throughput: the mean of all rates within 5 % of the highest.

    Volkov 2016, section 3.4: with enough warps the rate no longer depends on them.
    """
    values = np.sort(np.asarray(rates, np.float64))
    if values.size == 0 or not np.isfinite(values).all() or values[-1] <= 0:
        raise UnfitError("no positive rates")
    near = values[values >= (1 - _PLATEAU) * values[-1]]
    return Plateau(float(near.mean()), float(near.std() / near.mean()))


def level(values: Values) -> Plateau:
    """A number measured several times: the median, and the spread about it.

    The spread is 1.4826 times the median absolute deviation, the standard deviation of normally
    distributed values (Rousseeuw and Croux 1993), so that one disturbed run does not count.
    """
    found = np.asarray(values, np.float64)
    if found.size == 0 or not np.isfinite(found).all():
        raise UnfitError("no values")
    median = float(np.median(found))
    spread = 1.4826 * float(np.median(np.abs(found - median)))
    return Plateau(median, spread / abs(median) if median else 0.0)


def mean(values: Values | NDArray[np.float64]) -> Plateau:
    """The mean of numbers that differ by themselves, and their standard deviation over it."""
    found = np.asarray(values, np.float64)
    if found.size == 0 or not np.isfinite(found).all() or found.mean() <= 0:
        raise UnfitError("no positive values")
    return Plateau(float(found.mean()), float(found.std() / found.mean()))


def two_levels(values: Values) -> TwoLevels:
    """The two levels that values gather at: the split with the least squares about its means.

    UnfitError where they are not apart: by less than five standard deviations within them. Evenly
    spread values, split in their middle, are 3.5 of them apart.
    """
    found = np.sort(np.asarray(values, np.float64))
    if found.size < 4 or not np.isfinite(found).all():
        raise UnfitError("two levels need at least four values")
    counts = np.arange(1, found.size)
    sums = np.cumsum(found)[:-1]
    apart = (found.sum() - sums) / (found.size - counts) - sums / counts
    # The squares about the means are least where those between the means are most.
    split = int(np.argmax(counts * (found.size - counts) * apart**2)) + 1
    low, high = found[:split], found[split:]
    within = (low.size * low.var() + high.size * high.var()) / found.size
    if high.mean() - low.mean() <= _APART * within**0.5:
        raise UnfitError("the values gather at one level, not at two")
    return TwoLevels(mean(low), mean(high))


def knee(sizes: Values, latencies: Values, share: float) -> Knee:
    """The size from which on the latency has gained at least `share` of all it gains.

    Saavedra and Smith 1995: a chase stays at the latency of a cache up to the cache's size. The
    lower and the upper level are the medians of the first and of the last three points. A point
    that was disturbed, and lies higher than larger ones, is none of those that count.
    """
    xs, ys = _arrays(sizes, latencies)
    if len(xs) < 2 * _ENDS or xs.min() <= 0:
        raise UnfitError("a knee needs at least six positive sizes")
    order = np.argsort(xs, kind="stable")
    xs, ys = xs[order], ys[order]
    low, high = float(np.median(ys[:_ENDS])), float(np.median(ys[-_ENDS:]))
    if high < 1.1 * low:
        ends = f"{low:.4g} cycles at first, {high:.4g} at {xs[-1]:.4g}"
        raise UnfitError(f"the latency does not rise by a tenth: {ends}")
    below_share = np.flatnonzero(ys <= low + share * (high - low))
    if below_share.size == 0:
        raise UnfitError("the latency has risen before the first size")
    above = int(below_share[-1]) + 1
    if above == len(xs):
        raise UnfitError("the latency has not risen at the last size")
    below, first = float(xs[above - 1]), float(xs[above])
    size = (below * first) ** 0.5
    return Knee(size, low, high, (first - below) / 2 / size)


def loaded_latency(throughputs: Values, latencies: Values) -> LoadedLatency:
    """latency L = a + b T / (c - T), T the throughput: Volkov 2016, section 6.4.

    Close to c a small error of T is a large one of L. What is set, and known well, is the
    concurrency W = T L (Little's law); with it the formula is a quadratic equation,

        c L^2 - (W + a c) L + (a - b) W = 0

    whose greater root is fitted to the relative values of L by Levenberg and Marquardt's method, in
    the logarithms of a, b and c, which keeps them positive. ToolError where SciPy is missing.
    """
    ts, ys = _arrays(throughputs, latencies)
    if len(ts) < 4:
        raise UnfitError("three unknowns need at least four points")
    if ts.min() <= 0 or ys.min() <= 0:
        raise UnfitError("a throughput or latency is not positive")
    if ys.max() < 1.2 * ys.min():
        raise UnfitError("the latency does not grow with the throughput")
    scale = ts.max()
    concurrency = ts / scale * ys
    start = np.log([ys.min(), 0.05 * ys.min(), 1.02])
    # To the last digits, so that one file gives one machine.
    found = _least_squares()(
        _loaded_error,
        start,
        method="lm",
        args=(concurrency, ys),
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    base, slope, capacity = np.exp(found.x)
    residual = float(np.sqrt(np.mean(found.fun**2)))
    return LoadedLatency(float(base), float(slope), float(capacity * scale), residual)


def _least_squares() -> Callable[..., Any]:
    """SciPy's nonlinear least squares."""
    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise ToolError(
            "SciPy is not installed", hint="run: pip install 'kernelcast[calibration]'"
        ) from None
    found: Callable[..., Any] = least_squares
    return found


def _loaded_error(
    logs: NDArray[np.float64], concurrency: NDArray[np.float64], latencies: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Relative errors of the formula with a, b and c, given by their logarithms."""
    a, b, c = np.exp(np.clip(logs, -50.0, 50.0))
    middle = concurrency + a * c
    root = np.sqrt(np.maximum(middle**2 - 4 * c * (a - b) * concurrency, 0.0))
    error: NDArray[np.float64] = (middle + root) / (2 * c) / latencies - 1
    return error


def departure_delay(warps: Values, latencies: Values) -> Plateau:
    """Cycles between the departures of two warps' accesses: the least latency over warps.

    Hong and Kim 2009, section 3.2.2: once the memory is saturated, accesses leave one departure
    delay after the other, and a round trip of all n warps takes n of them. The residual is by how
    much the second least exceeds the least: small only where the memory is saturated.
    """
    ns, ys = _arrays(warps, latencies)
    if len(ns) < 2:
        raise UnfitError("a plateau needs two points")
    least, second = np.sort(ys / ns)[:2]
    return Plateau(float(least), float(second / least - 1))


def _arrays(x: Values, y: Values) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(xs) != len(ys) or len(xs) == 0:
        raise UnfitError("no points")
    if not (np.isfinite(xs).all() and np.isfinite(ys).all()):
        raise UnfitError("a point is not finite")
    return xs, ys


def _relative(error: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    scale = float(np.mean(np.abs(values)))
    return float(np.sqrt(np.mean(error**2))) / scale if scale else 0.0
