"""What `validate public` answers: the table of measured accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative
from kernelcast.reporting.documents.measured_launch import MeasuredLaunch, measured_launch
from kernelcast.validation.intervals import IntervalScore, interval_scores
from kernelcast.validation.measured import Score
from kernelcast.validation.public import SetAccuracy


class AccuracyRow(Struct, frozen=True):
    """What the predictions of one set are worth, null where there are none; see `MeasuredModel`."""

    title: str
    gpu: str
    model: str
    launches: Natural
    median_error: NotNegative | None
    mean_error: NotNegative | None
    error_90: NotNegative | None
    ratio: NotNegative | None
    tau: float | None
    regret: float | None
    coverage: NotNegative | None
    missing: list[str]
    compared: list[MeasuredLaunch]
    worst: list[MeasuredLaunch]


class AccuracyTotal(Struct, frozen=True):
    """What one model's predictions of all sets are worth, every launch alike; see
    `MeasuredModel`."""

    model: str
    launches: Natural
    median_error: NotNegative
    mean_error: NotNegative
    error_90: NotNegative
    ratio: NotNegative
    coverage: NotNegative | None


class IntervalRow(Struct, frozen=True):
    """The factors of a model's interval on chips that were measured from end to end, or on others:
    fitted to one half of the launches, `held` the share of the other half's times between them;
    `used_low` and `used_high` are those of forecasts."""

    model: str
    is_measured: bool
    fitted: Natural
    judged: Natural
    low: NotNegative
    high: NotNegative
    held: NotNegative
    used_low: NotNegative
    used_high: NotNegative


class PublicDocument(Struct, frozen=True):
    """All that `validate public --json` prints; `intervals` for models that forecasts rest on,
    `totals` for those that predicted anything."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["public"]
    sets: list[AccuracyRow]
    intervals: list[IntervalRow]
    totals: list[AccuracyTotal]


def public_document(rows: Sequence[SetAccuracy]) -> PublicDocument:
    """The rows of all sets."""
    return PublicDocument(
        "kernelcast/validate/1",
        "public",
        [_row(row) for row in rows],
        [_interval(score) for score in interval_scores(rows)],
        list(_totals(rows)),
    )


def _totals(rows: Sequence[SetAccuracy]) -> Iterator[AccuracyTotal]:
    for model in dict.fromkeys(row.model for row in rows):
        scores = [row.score for row in rows if row.model == model and row.score]
        if not scores:
            continue
        every = Score(tuple(c for score in scores for c in score.comparisons))
        yield AccuracyTotal(
            model=model,
            launches=len(every.comparisons),
            median_error=every.median_error,
            mean_error=every.mean_error,
            error_90=every.high_error,
            ratio=every.ratio,
            coverage=every.coverage,
        )


def _interval(score: IntervalScore) -> IntervalRow:
    return IntervalRow(
        model=score.model,
        is_measured=score.is_measured,
        fitted=score.fitted,
        judged=score.judged,
        low=score.factors.low,
        high=score.factors.high,
        held=score.held,
        used_low=score.used.low,
        used_high=score.used.high,
    )


def _row(row: SetAccuracy) -> AccuracyRow:
    score = row.score
    return AccuracyRow(
        title=row.title,
        gpu=row.gpu,
        model=row.model,
        launches=len(score.comparisons) if score else 0,
        median_error=score.median_error if score else None,
        mean_error=score.mean_error if score else None,
        error_90=score.high_error if score else None,
        ratio=score.ratio if score else None,
        tau=row.tau,
        regret=row.regret,
        coverage=score.coverage if score else None,
        missing=list(row.missing),
        compared=[measured_launch(c) for c in score.comparisons] if score else [],
        worst=[measured_launch(c) for c in score.worst] if score else [],
    )
