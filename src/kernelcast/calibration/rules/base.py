"""What a rule is, and the fits that many rules share."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kernelcast.calibration import fits
from kernelcast.calibration.picture import Picture, PlottedCurve, level_curve
from kernelcast.machines.machine import Provenance
from kernelcast.measuring.samples import Seconds, Timed

Device = Mapping[str, Any]

_T = TypeVar("_T", bound=Timed)

MAX_RESIDUAL = 0.05


@dataclass(frozen=True, slots=True)
class Fitted:
    """A value with its relative residual, and how it looks beside what was measured."""

    value: float
    residual: float
    picture: Picture


@dataclass(frozen=True, slots=True)
class Rule:
    """`path` is `fit` of the samples of `benchmark`; refused above `max_residual`.

    Samples are those of `measuring.samples`, or rows of a table.
    """

    path: str
    benchmark: str
    method: str
    fit: Callable[[Any, Device], Fitted]
    max_residual: float = MAX_RESIDUAL
    kind: Provenance = Provenance.MEASURED


def pin_bandwidth(device: Device) -> float | None:
    """Bytes per second of the DRAM's pins, where the driver says its clock and width.

    It transfers twice in a clock of its command bus.
    """
    memory_khz, bits = device.get("memory_clock_khz"), device.get("memory_bus_bits")
    if not (isinstance(memory_khz, int) and isinstance(bits, int)):
        return None
    return 2 * memory_khz * 1e3 * bits / 8


def cycles_per(samples: Sequence[_T], count: Callable[[_T], int]) -> list[float]:
    """Cycles of a warp per `count`, of every repeat."""
    return [cycles / count(s) for s in samples for cycles in s.warp_cycles]


def warp_cycles(sample: _T, count: Callable[[_T], int]) -> float:
    """Cycles of a warp per `count`, the median of the repeats."""
    return float(statistics.median(sample.warp_cycles) / count(sample))


def seconds(sample: Seconds) -> float:
    """Seconds of a launch, the median of the repeats."""
    return float(statistics.median(sample.seconds))


def constant(values: Sequence[float], y_label: str) -> Fitted:
    """A number measured again and again: the median."""
    found = fits.level(values)
    runs = PlottedCurve("measured", tuple(enumerate(values, 1)))
    picture = Picture("measurement", y_label, (runs, level_curve("median", found.level, [runs])))
    return Fitted(found.level, found.residual, picture)


def plateau(curves: tuple[PlottedCurve, ...], x_label: str, y_label: str) -> Fitted:
    """The rate that does not grow any more."""
    found = fits.best_plateau([y for curve in curves for _, y in curve.points])
    fitted = level_curve("plateau", found.level, curves)
    return Fitted(found.level, found.residual, Picture(x_label, y_label, (*curves, fitted)))


@dataclass(frozen=True, slots=True)
class LineFit:
    """A line with its picture."""

    line: fits.StraightLine
    picture: Picture

    @property
    def slope(self) -> Fitted:
        """The slope."""
        return self.derived(self.line.slope, self.line.slope_error)

    def derived(self, value: float, error: float) -> Fitted:
        """A value with its standard error; the residual is that, or the line's if larger."""
        relative = abs(error / value) if value else 1.0
        return Fitted(value, max(self.line.residual, relative), self.picture)


def straight(
    points: Sequence[tuple[float, float]], x_label: str, y_label: str, label: str = "measured"
) -> LineFit:
    """Least squares through points."""
    ordered = tuple(sorted(points))
    found = fits.line([x for x, _ in ordered], [y for _, y in ordered])
    ends = (ordered[0][0], ordered[-1][0])
    curves = (
        PlottedCurve(label, ordered),
        PlottedCurve("line", tuple((x, found.at(x)) for x in ends), is_fit=True),
    )
    return LineFit(found, Picture(x_label, y_label, curves))
