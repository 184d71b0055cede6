"""The fits of a calibration, with what was measured and what was fitted to it.

They are drawn beside the answer of `calibrate`, and are no part of its JSON: the points are those
of the raw file.
"""

from __future__ import annotations

from msgspec import Struct

from kernelcast.calibration.calibrate import Calibration, Finding, Gap
from kernelcast.calibration.picture import Picture


class FitCurve(Struct, frozen=True):
    """Points in ascending order of x: measured ones, or those of the fit."""

    label: str
    points: list[tuple[float, float]]
    is_fit: bool


class FitPicture(Struct, frozen=True):
    """Curves over one pair of axes; `mark` is a named place on the x axis."""

    x_label: str
    y_label: str
    curves: list[FitCurve]
    mark: tuple[str, float] | None
    is_logarithmic: bool


class FitPart(Struct, frozen=True):
    """A number that was fitted, by which method and how well."""

    path: str
    value: float
    unit: str
    residual: float
    benchmark: str
    method: str
    picture: FitPicture


class RefusedPart(Struct, frozen=True):
    """A number that was not found; with a picture where a fit was refused."""

    path: str
    benchmark: str
    why: str
    picture: FitPicture | None


class FitsDocument(Struct, frozen=True):
    """Every fit of a calibration; `date` is the day of the measurement."""

    device: str
    date: str
    fits: list[FitPart]
    missing: list[RefusedPart]


def fits_document(calibration: Calibration) -> FitsDocument:
    """The fits that were made, and the numbers that are missing."""
    return FitsDocument(
        device=calibration.raw.device["name"],
        date=calibration.raw.date[:10],
        fits=[_fit(f, f.picture) for f in calibration.findings if f.picture is not None],
        missing=[_refused(gap) for gap in calibration.gaps],
    )


def _fit(finding: Finding, picture: Picture) -> FitPart:
    quantity = finding.quantity
    assert not isinstance(quantity.value, tuple)
    return FitPart(
        path=finding.path,
        value=quantity.value,
        unit=quantity.unit,
        residual=finding.residual,
        benchmark=finding.benchmark,
        method=finding.method,
        picture=_picture(picture),
    )


def _refused(gap: Gap) -> RefusedPart:
    picture = _picture(gap.picture) if gap.picture else None
    return RefusedPart(gap.path, gap.benchmark, gap.why, picture)


def _picture(picture: Picture) -> FitPicture:
    return FitPicture(
        x_label=picture.x_label,
        y_label=picture.y_label,
        curves=[FitCurve(c.label, list(c.points), c.is_fit) for c in picture.curves],
        mark=picture.mark,
        is_logarithmic=picture.is_logarithmic,
    )
