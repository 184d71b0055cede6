"""Line charts as SVG: readable in light and dark, without a plotting library."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kernelcast.files import write_whole

_escape = partial(html.escape, quote=False)

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 190, 48, 52
_LEGEND_STEP = 20
_TICKS = 6
_CHARACTER = 8
_CLASSES = 6

# Colours after Okabe & Ito, "Color Universal Design", 2008, without black and yellow.
STYLE = """
svg { font: 13px system-ui, sans-serif }
.ground { fill: #ffffff } text { fill: #1f2328 } .title { font-weight: 600; font-size: 15px }
.axis { stroke: #1f2328 } .grid { stroke: #d8dee4 }
.line, .mark { fill: none; stroke-width: 2 } .dashed { stroke-dasharray: 6 4 }
.mark { stroke: #656d76; stroke-dasharray: 2 3 }
.c0 { stroke: #0072b2 } .c1 { stroke: #d55e00 } .c2 { stroke: #009e73 }
.c3 { stroke: #cc79a7 } .c4 { stroke: #e69f00 } .c5 { stroke: #56b4e9 }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117 } text { fill: #e6edf3 } .axis { stroke: #e6edf3 } .grid { stroke: #30363d }
.mark { stroke: #9198a1 } .c0 { stroke: #4aa3df } .c1 { stroke: #ff8a3d } .c2 { stroke: #2ec99a }
}
"""
"""Of charts; in a page, where it belongs below their figure."""


@dataclass(frozen=True, slots=True)
class Polyline:
    """A named line through points (x, y)."""

    label: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A named vertical line at `x`."""

    label: str
    x: float


@dataclass(frozen=True)
class Chart:
    """Lines over one pair of axes from 0, or over a logarithmic x axis from the least x on.

    Every number must be finite, and x greater than 0 on a logarithmic axis.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Polyline, ...]
    marks: tuple[Mark, ...] = ()
    logarithmic: bool = False

    def __post_init__(self) -> None:
        numbers = [v for line in self.lines for point in line.points for v in point]
        numbers += [mark.x for mark in self.marks]
        assert numbers and all(map(math.isfinite, numbers))


def svg(charts: Sequence[Chart]) -> str:
    """One picture with the charts below each other."""
    height = _HEIGHT * len(charts)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img">',
        f"<title>{_escape('; '.join(chart.title for chart in charts))}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{_WIDTH}" height="{height}"/>',
    ]
    for at, chart in enumerate(charts):
        parts += [f'<g transform="translate(0 {at * _HEIGHT})">', *_chart(chart), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def inline_svg(title: str, width: int, height: int, parts: Iterable[str]) -> str:
    """A picture of a page that has `STYLE`; it shrinks with the page."""
    return "\n".join(
        [
            f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="{html.escape(title)}">',
            *parts,
            "</svg>",
        ]
    )


def inline_chart(chart: Chart) -> str:
    """A chart as a picture of a page."""
    return inline_svg(chart.title, _WIDTH, _HEIGHT, _chart(chart))


def write_svg(path: Path, charts: Sequence[Chart]) -> None:
    """The picture as a file, written whole or not at all; InputError where that fails."""
    write_whole(path, svg(charts).encode())


@dataclass(frozen=True, slots=True)
class _Axes:
    """From the numbers of a chart to its coordinates."""

    low: float
    high: float
    top: float
    logarithmic: bool

    @staticmethod
    def of(chart: Chart) -> _Axes:
        xs = [x for line in chart.lines for x, _ in line.points] + [m.x for m in chart.marks]
        ys = [y for line in chart.lines for _, y in line.points]
        low = min(xs) if chart.logarithmic else 0.0
        return _Axes(low, max(xs), ticks(max(ys))[-1], chart.logarithmic)

    def x(self, value: float) -> float:
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - value / self.top * (_HEIGHT - _TOP - _BOTTOM)

    @property
    def x_ticks(self) -> list[float]:
        if not self.logarithmic:
            return [t for t in ticks(self.high) if t <= self.high]
        first, last = math.ceil(math.log2(self.low)), math.floor(math.log2(self.high))
        powers = [2.0**k for k in range(first, last + 1)]
        widest = max((len(f"{power:g}") for power in powers), default=1) * _CHARACTER
        return powers[:: math.ceil(len(powers) * widest / (_WIDTH - _LEFT - _RIGHT)) or 1]


def ticks(highest: float) -> list[float]:
    """Round numbers from 0 to the first that is not below `highest`."""
    if highest <= 0:
        return [0.0, 1.0]
    rough = highest / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= rough * (1 - 1e-9))
    count = math.ceil(highest / step * (1 - 1e-9))
    return [k * step for k in range(count + 1)]


def _chart(chart: Chart) -> list[str]:
    axes = _Axes.of(chart)
    return [
        label(_LEFT, 26, chart.title, "start", "title"),
        *_grid(chart, axes),
        *_lines(chart, axes),
        *_legend(chart),
    ]


def _grid(chart: Chart, axes: _Axes) -> list[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for value in ticks(axes.top):
        y = axes.y(value)
        parts.append(segment("grid", _LEFT, y, right, y))
        parts.append(label(_LEFT - 8, y + 4, f"{value:g}", "end"))
    for value in axes.x_ticks:
        x = axes.x(value)
        parts.append(segment("grid", x, _TOP, x, bottom))
        parts.append(label(x, bottom + 18, f"{value:g}", "middle"))
    middle_x, middle_y = (_LEFT + right) / 2, (_TOP + bottom) / 2
    return [
        *parts,
        segment("axis", _LEFT, bottom, right, bottom),
        segment("axis", _LEFT, _TOP, _LEFT, bottom),
        label(middle_x, _HEIGHT - 12, chart.x_label, "middle"),
        f'<text transform="translate(18 {middle_y:.1f}) rotate(-90)" text-anchor="middle">'
        f"{_escape(chart.y_label)}</text>",
    ]


def _lines(chart: Chart, axes: _Axes) -> list[str]:
    bottom = _HEIGHT - _BOTTOM
    parts = [segment("mark", axes.x(m.x), _TOP, axes.x(m.x), bottom) for m in chart.marks]
    for at, line in enumerate(chart.lines):
        points = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in line.points)
        parts.append(f'<polyline class="{_line_class(at, line)}" points="{points}"/>')
    rightmost = max((m.x for m in chart.marks), default=0.0)
    for at, mark in enumerate(chart.marks):
        # Numbers of two marks that are close lean away from each other.
        anchor = "start" if mark.x == rightmost else "end"
        parts.append(label(axes.x(mark.x), _TOP - 4, str(at + 1), anchor))
    return parts


def _legend(chart: Chart) -> list[str]:
    x, y = _WIDTH - _RIGHT + 16, _TOP + 6
    parts = []
    for at, line in enumerate(chart.lines):
        parts.append(segment(_line_class(at, line), x, y, x + 24, y))
        parts.append(label(x + 32, y + 4, line.label, "start"))
        y += _LEGEND_STEP
    for at, mark in enumerate(chart.marks):
        parts.append(label(x, y + 4, f"{at + 1}  {mark.label}", "start"))
        y += _LEGEND_STEP
    return parts


def _line_class(at: int, line: Polyline) -> str:
    # Beyond the last colour they come again, told apart by dashes.
    dashed = line.dashed != (at // _CLASSES % 2 == 1)
    return f"line c{at % _CLASSES}" + (" dashed" if dashed else "")


def segment(name: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line of a class of `STYLE`."""
    return f'<path class="{name}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def label(x: float, y: float, text: str, anchor: str, name: str = "") -> str:
    """Text that starts, ends or has its middle at `x`; it is escaped."""
    named = f' class="{name}"' if name else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_escape(text)}</text>'
