"""A fit as a picture, before anybody draws it: what was measured, and what was fitted to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

PictureSample = TypeVar("PictureSample")
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class PlottedCurve:
    """Points in ascending order of x: measured ones, or those of the fit."""

    label: str
    points: Points
    is_fit: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """Curves over one pair of axes; `mark` is a named place on the x axis."""

    x_label: str
    y_label: str
    curves: tuple[PlottedCurve, ...]
    mark: tuple[str, float] | None = None
    is_logarithmic: bool = False


def measured(
    samples: Iterable[PictureSample],
    label: Callable[[PictureSample], str],
    x: Callable[[PictureSample], float],
    y: Callable[[PictureSample], float],
) -> tuple[PlottedCurve, ...]:
    """One curve for every label, in the order in which the labels come."""
    by_label: dict[str, list[tuple[float, float]]] = {}
    for sample in samples:
        by_label.setdefault(label(sample), []).append((x(sample), y(sample)))
    return tuple(PlottedCurve(name, tuple(sorted(points))) for name, points in by_label.items())


def level_curve(label: str, value: float, others: Sequence[PlottedCurve]) -> PlottedCurve:
    """A fitted level over the width of what was measured."""
    xs = [x for curve in others for x, _ in curve.points]
    return PlottedCurve(label, ((min(xs), value), (max(xs), value)), is_fit=True)
