"""Documents as line charts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernelcast.reporting.documents.fits import FitPicture, FitsDocument
from kernelcast.reporting.documents.occupancy_curve import CurveResult
from kernelcast.reporting.documents.occupancy_cusp import CuspDocument
from kernelcast.reporting.figures import digits
from kernelcast.reporting.svg import Chart, Mark, Polyline

_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def curve_chart(c: CurveResult) -> Chart:
    """The curve between its two bounds, with the knee and where the launch stands."""
    top = c.bound_warps_per_s
    factor, prefix = next((p for p in _PREFIXES if top >= p[0]), _PREFIXES[-1])
    last = float(c.limit_warps)
    rising = min(last, c.bounds_meet_warps)
    curve = ((p.warps, p.warps_per_s / factor) for p in c.points)
    latency = (rising, rising / c.bounds_meet_warps * top / factor)
    needed = math.inf if c.needed_warps is None else c.needed_warps
    marks = [Mark(f"launch: {digits(c.resident_warps)} warps", c.resident_warps)]
    if needed <= last:
        marks.append(Mark(f"needed: {digits(needed)} warps", needed))
    return Chart(
        title=f"{c.title} on {c.gpu}",
        x_label="warps per SM",
        y_label=f"{prefix}warps/s, whole chip",
        lines=(
            Polyline("throughput", ((0.0, 0.0), *curve)),
            Polyline("latency bound", ((0.0, 0.0), latency), dashed=True),
            Polyline("throughput bound", ((0.0, top / factor), (last, top / factor)), dashed=True),
        ),
        marks=tuple(marks),
    )


def cusp_chart(document: CuspDocument) -> Chart:
    """One line per GPU over the logarithm of alpha; loads alone, without one, are left out."""
    lines = [
        Polyline(c.gpu, tuple(p for p in zip(document.alphas, c.needed_warps, strict=True) if p[0]))
        for c in document.results
    ]
    return Chart(
        "Warps that hide latency",
        "additions per load",
        "warps per SM needed",
        tuple(lines),
        logarithmic=True,
    )


def fit_charts(document: FitsDocument) -> Iterator[tuple[str, Chart]]:
    """Numbers and their charts: first those that were found, then those whose fit was refused."""
    for fit in document.fits:
        title = f"{fit.path}: {fit.value:.4g} {fit.unit}, residual {fit.residual:.2%}"
        yield fit.path, _fit_chart(title, fit.picture)
    for number in document.missing:
        if number.picture is not None:
            title = f"{number.path}, refused: {number.why}"
            yield number.path, _fit_chart(title, number.picture)


def _fit_chart(title: str, picture: FitPicture) -> Chart:
    return Chart(
        title,
        picture.x_label,
        picture.y_label,
        tuple(Polyline(c.label, tuple(c.points), dashed=c.is_fit) for c in picture.curves),
        () if picture.mark is None else (Mark(*picture.mark),),
        picture.is_logarithmic,
    )
