"""What `validate teg` answers: the paper's microbenchmarks and tables, played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural
from kernelcast.reporting.documents.paper_numbers import PaperNumberPart, paper_number_parts
from kernelcast.validation.paper_numbers import PaperNumber
from kernelcast.validation.teg.tables import (
    GAIN_ERROR,
    WORST_ERROR,
    PaperRatio,
    TableCurve,
    TegStudy,
)


class TablePointPart(Struct, frozen=True):
    """Cycles of a table: measured, the paper's prediction, and ours before the factor; its error
    after it, relative to the measurement."""

    warps: Natural
    measured: float
    predicted: float
    cycles: float
    error: float
    holds: bool


class TableCurvePart(Struct, frozen=True):
    """A table, with the one factor that was fitted to it."""

    table: Natural
    title: str
    factor: float
    points: list[TablePointPart]


class PaperRatioPart(Struct, frozen=True):
    """A ratio of two points, without any factor."""

    source: str
    says: str
    measured: float
    predicted: float
    found: float
    error: float
    holds: bool


class TegDocument(Struct, frozen=True):
    """All that `validate teg --json` prints; `met` of `stated` numbers, points and gains hold."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["teg"]
    machine: str
    settings: dict[str, str]
    worst_error: float
    gain_error: float
    holds: bool
    met: Natural
    stated: Natural
    numbers: list[PaperNumberPart]
    curves: list[TableCurvePart]
    gains: list[PaperRatioPart]


def teg_document(
    machine: str,
    settings: dict[str, str],
    numbers: Sequence[PaperNumber],
    study: TegStudy,
    gains: Sequence[PaperRatio],
) -> TegDocument:
    """What was found, beside what the paper says."""
    numbered = paper_number_parts(numbers)
    curves = [_curve(curve) for curve in study.curves]
    ratios = [
        PaperRatioPart(g.source, g.says, g.measured, g.predicted, g.found, g.error, g.holds)
        for g in gains
    ]
    points = [point for curve in curves for point in curve.points]
    verdicts = [n.holds for n in numbered] + [p.holds for p in points] + [r.holds for r in ratios]
    return TegDocument(
        schema="kernelcast/validate/1",
        set="teg",
        machine=machine,
        settings=settings,
        worst_error=WORST_ERROR,
        gain_error=GAIN_ERROR,
        holds=all(verdicts),
        met=sum(verdicts),
        stated=len(verdicts),
        numbers=numbered,
        curves=curves,
        gains=ratios,
    )


def _curve(curve: TableCurve) -> TableCurvePart:
    table = curve.table
    rows = zip(
        table.warps, table.measured, table.predicted, curve.cycles, curve.errors, strict=True
    )
    points = [
        TablePointPart(warps, measured, predicted, cycles, error, abs(error) <= WORST_ERROR)
        for warps, measured, predicted, cycles, error in rows
    ]
    return TableCurvePart(table.number, table.title, curve.factor, points)
