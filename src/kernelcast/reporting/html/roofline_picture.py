"""The roofline of a launch as a picture: logarithmic axes, a point for each level of memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kernelcast.reporting.documents.roofline import LevelPart, RooflinePart
from kernelcast.reporting.figures import digits, scaled
from kernelcast.reporting.svg import inline_svg, label, segment

_WIDTH, _HEIGHT = 760, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 270, 24, 52
_LEGEND_STEP = 20
_MARGIN = 4.0
"""Times by which the axes reach beyond what they show."""


def roofline_picture(part: RooflinePart) -> str:
    """Roofs, and the launch below them."""
    axes = _LogAxes.of(part)
    title = f"Roofline: {_rate(part, part.per_s)}; " + "; ".join(
        f"{digits(v.intensity)} {part.unit}/byte at {v.name}" for v in part.levels
    )
    parts = [*_grid(part, axes), *_roofs(part, axes), *_points(part, axes), *_legend(part)]
    return inline_svg(title, _WIDTH, _HEIGHT, parts)


@dataclass(frozen=True, slots=True)
class _LogAxes:
    """From intensity and operations per second to coordinates."""

    left: float
    right: float
    low: float
    high: float

    @staticmethod
    def of(part: RooflinePart) -> _LogAxes:
        peak = max(c.per_s for c in part.ceilings)
        ridges = [peak / level.bytes_per_s for level in part.levels]
        xs = [*(level.intensity for level in part.levels), *ridges]
        left, right = min(xs) / _MARGIN, max(xs) * _MARGIN
        low = min(part.per_s, *(c.per_s for c in part.ceilings)) / _MARGIN**2
        return _LogAxes(left, right, low, peak * _MARGIN)

    def x(self, value: float) -> float:
        share = math.log(value / self.left) / math.log(self.right / self.left)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _decades(low: float, high: float) -> Iterator[float]:
    for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1):
        yield 10.0**power


def _grid(part: RooflinePart, axes: _LogAxes) -> Iterator[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for value in _decades(axes.left, axes.right):
        x = axes.x(value)
        yield segment("grid", x, _TOP, x, bottom)
        yield label(x, bottom + 18, f"{value:g}", "middle")
    for value in _decades(axes.low, axes.high):
        y = axes.y(value)
        yield segment("grid", _LEFT, y, right, y)
        yield label(_LEFT - 8, y + 4, f"{scaled(value, '')}", "end")
    yield segment("axis", _LEFT, bottom, right, bottom)
    yield segment("axis", _LEFT, _TOP, _LEFT, bottom)
    yield label((_LEFT + right) / 2, _HEIGHT - 12, f"{part.unit}s per byte", "middle")
    yield (
        f'<text transform="translate(18 {(_TOP + bottom) / 2:.1f}) rotate(-90)" '
        f'text-anchor="middle">{part.unit}s per second</text>'
    )


def _roofs(part: RooflinePart, axes: _LogAxes) -> Iterator[str]:
    peak = max(c.per_s for c in part.ceilings)
    fastest = max(level.bytes_per_s for level in part.levels)
    for at, level in enumerate(part.levels):
        first = max(axes.left, axes.low / level.bytes_per_s)
        ridge = peak / level.bytes_per_s
        yield segment(
            f"line c{at}",
            axes.x(first),
            axes.y(first * level.bytes_per_s),
            axes.x(ridge),
            axes.y(peak),
        )
    for ceiling in part.ceilings:
        y = axes.y(ceiling.per_s)
        yield segment("line c3", axes.x(ceiling.per_s / fastest), y, axes.x(axes.right), y)


def _points(part: RooflinePart, axes: _LogAxes) -> Iterator[str]:
    y = axes.y(part.per_s)
    for at, level in enumerate(part.levels):
        # Points of levels that move the same bytes lie on one another: the first is the largest.
        x, radius = axes.x(level.intensity), 10 - 3 * at
        yield (
            f'<circle class="point p{at}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}">'
            f"<title>{_point_words(part, level)}</title></circle>"
        )


def _point_words(part: RooflinePart, level: LevelPart) -> str:
    return (
        f"{level.name}: {digits(level.intensity)} {part.unit}s per byte, {_rate(part, part.per_s)}"
    )


def _rate(part: RooflinePart, per_s: float) -> str:
    """`8.03 Tflop/s`, `194 G warp inst/s`."""
    is_word = " " in part.unit
    return f"{scaled(per_s, '')} warp inst/s" if is_word else scaled(per_s, f"{part.unit}/s")


def _legend(part: RooflinePart) -> Iterator[str]:
    x, y = _WIDTH - _RIGHT + 16.0, _TOP + 6.0
    for at, level in enumerate(part.levels):
        yield segment(f"line c{at}", x, y, x + 24, y)
        yield label(x + 32, y + 4, f"{level.name}, {scaled(level.bytes_per_s, 'B/s')}", "start")
        y += _LEGEND_STEP
    for ceiling in part.ceilings:
        yield segment("line c3", x, y, x + 24, y)
        words = f"{ceiling.name}, {_rate(part, ceiling.per_s)}"
        yield label(x + 32, y + 4, words, "start")
        y += _LEGEND_STEP
    yield f'<circle class="point p0" cx="{x + 12:g}" cy="{y:g}" r="6"/>'
    yield label(x + 32, y + 4, f"this launch, {_rate(part, part.per_s)}", "start")
