"""Predicted over measured times as a picture: a point for each launch, on logarithmic axes."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelcast.reporting.figures import percent, seconds
from kernelcast.reporting.html.clouds import Cloud, TimePair
from kernelcast.reporting.svg import Chart, Polyline, inline_svg, label, segment

_SIDE = 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 82, 30, 12, 50
_MARGIN = 1.3
"""Times by which the axes reach beyond the launches."""
_BAND = 0.2
"""How far off the two lines beside the diagonal are."""
_LONGEST = 18
"""Characters that a legend has room for."""
_FARTHEST = 1.0
"""Errors beyond are not drawn."""


def times_picture(cloud: Cloud) -> str:
    """The launches of a cloud, the diagonal, and lines a fifth above and below it."""
    axes = _TimeAxes.of(cloud.pairs)
    title = f"Predicted over measured time, {cloud.name}: {cloud.words}"
    parts = [*_grid(axes), *_lines(axes), *(_point(axes, pair) for pair in cloud.pairs)]
    return inline_svg(title, _SIDE, _SIDE, parts)


def errors_chart(groups: Sequence[Cloud]) -> Chart:
    """Which share of the launches of every cloud is off by how much at the most."""
    return Chart(
        "Launches by how far they are off",
        "error, %",
        "% of the launches are off by less",
        tuple(
            Polyline(name, tuple(_steps(cloud.pairs)))
            for name, cloud in zip(_legend_names(groups), groups, strict=True)
        ),
    )


def _legend_names(groups: Sequence[Cloud]) -> list[str]:
    """The names of the clouds, or their numbers where one is too long for a legend."""
    if all(len(cloud.name) <= _LONGEST for cloud in groups):
        return [cloud.name for cloud in groups]
    return [f"set {number}" for number in range(1, len(groups) + 1)]


def _steps(pairs: Sequence[TimePair]) -> Iterator[tuple[float, float]]:
    errors = sorted(pair.error for pair in pairs)
    yield 0.0, 0.0
    for at, error in enumerate(errors, 1):
        if error > _FARTHEST:
            break
        yield 100 * error, 100 * at / len(errors)
    near = sum(error <= _FARTHEST for error in errors)
    yield 100 * _FARTHEST, 100 * near / len(errors)


@dataclass(frozen=True, slots=True)
class _TimeAxes:
    """From seconds to coordinates, alike on both axes."""

    low: float
    high: float

    @staticmethod
    def of(pairs: Sequence[TimePair]) -> _TimeAxes:
        times = [time for pair in pairs for time in (pair.predicted_s, pair.measured_s)]
        return _TimeAxes(min(times) / _MARGIN, max(times) * _MARGIN)

    def share(self, time: float) -> float:
        return math.log(time / self.low) / math.log(self.high / self.low)

    def x(self, time: float) -> float:
        return _LEFT + self.share(time) * (_SIDE - _LEFT - _RIGHT)

    def y(self, time: float) -> float:
        return _SIDE - _BOTTOM - self.share(time) * (_SIDE - _TOP - _BOTTOM)

    @property
    def ticks(self) -> list[float]:
        """Powers of ten, or one, two and five of each where there are few."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        powers = [10.0**k for k in range(first, last + 1)]
        finer = [f * p for p in powers for f in (1, 2, 5)]
        inside = [[t for t in each if self.low <= t <= self.high] for each in (powers, finer)]
        return inside[0] if len(inside[0]) > 1 else inside[1]


def _grid(axes: _TimeAxes) -> Iterator[str]:
    right, bottom = _SIDE - _RIGHT, _SIDE - _BOTTOM
    for time in axes.ticks:
        x, y = axes.x(time), axes.y(time)
        yield segment("grid", x, _TOP, x, bottom)
        yield segment("grid", _LEFT, y, right, y)
        yield label(x, bottom + 18, seconds(time), "middle")
        yield label(_LEFT - 6, y + 4, seconds(time), "end")
    yield segment("axis", _LEFT, bottom, right, bottom)
    yield segment("axis", _LEFT, _TOP, _LEFT, bottom)
    yield label((_LEFT + right) / 2, _SIDE - 10, "measured", "middle")
    middle = (_TOP + bottom) / 2
    turned = f'transform="translate(14 {middle:.1f}) rotate(-90)" text-anchor="middle"'
    yield f"<text {turned}>predicted</text>"


def _lines(axes: _TimeAxes) -> Iterator[str]:
    yield segment("axis", axes.x(axes.low), axes.y(axes.low), axes.x(axes.high), axes.y(axes.high))
    for factor in (1 - _BAND, 1 + _BAND):
        low, high = max(axes.low, axes.low / factor), min(axes.high, axes.high / factor)
        ends = axes.x(low), axes.y(low * factor), axes.x(high), axes.y(high * factor)
        yield segment("mark", *ends)


def _point(axes: _TimeAxes, pair: TimePair) -> str:
    told = html.escape(
        f"{pair.name}: predicted {seconds(pair.predicted_s)}, measured {seconds(pair.measured_s)}, "
        f"off by {percent(pair.error)}"
    )
    return (
        f'<circle class="launch" cx="{axes.x(pair.measured_s):.1f}" '
        f'cy="{axes.y(pair.predicted_s):.1f}" r="3"><title>{told}</title></circle>'
    )
