"""What `validate public` answers: the table of measured accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative
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


class PublicDocument(Struct, frozen=True):
    """All that `validate public --json` prints."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["public"]
    sets: list[AccuracyRow]


def public_document(rows: Sequence[SetAccuracy]) -> PublicDocument:
    """The rows of all sets."""
    return PublicDocument("kernelcast/validate/1", "public", [_row(row) for row in rows])


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
    )
