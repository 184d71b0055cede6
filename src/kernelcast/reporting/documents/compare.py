"""What `compare` answers of several files: versions of a kernel, each from its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.ir import CopyPlan
from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.documents.base import NotNegative
from kernelcast.reporting.documents.end_to_end import EndToEndTime
from kernelcast.reporting.documents.predict import (
    Overview,
    PredictDocument,
    Total,
    predict_document,
    total_times,
)
from kernelcast.reporting.documents.result import Result

_NO_COPIES: Mapping[str, CopyPlan | None] = {}


class Version(Struct, frozen=True, omit_defaults=True):
    """One file with the document of `predict --json`."""

    file: str
    schema: Literal["kernelcast/predict/1"]
    kernelcast: str
    results: list[Result]
    totals: list[Total] = []
    total_time_s: NotNegative | None = None
    overview: Overview | None = None
    end_to_end: list[EndToEndTime] = []


class CompareDocument(Struct, frozen=True):
    """All that `compare --json` prints of several files.

    `by_time` are the files by rising time of all launches, with the copies that are asked for, by
    the first model; `fastest_s` is the first one's, and `lead` that of the last over it.
    """

    schema: Literal["kernelcast/compare/1"]
    versions: list[Version]
    by_time: list[str]
    fastest_s: NotNegative
    lead: NotNegative


def compare_document(
    versions: Mapping[str, Sequence[Prediction]], copies: Mapping[str, CopyPlan | None] = _NO_COPIES
) -> CompareDocument:
    """Predictions by file, of the same GPU and models, and the copies around each file's launches.

    Raises NotFoundError and MissingNumberError as `models.terms.transfers` does.
    """
    told = {
        file: predict_document(predictions, copies.get(file))
        for file, predictions in versions.items()
    }
    times = {file: _time(versions[file], one) for file, one in told.items()}
    by_time = sorted(times, key=times.__getitem__)
    fastest_s = times[by_time[0]]
    return CompareDocument(
        schema="kernelcast/compare/1",
        versions=[_version(file, one) for file, one in told.items()],
        by_time=by_time,
        fastest_s=fastest_s,
        lead=times[by_time[-1]] / fastest_s,
    )


def _version(file: str, one: PredictDocument) -> Version:
    return Version(
        file=file,
        schema=one.schema,
        kernelcast=one.kernelcast,
        results=one.results,
        totals=one.totals,
        total_time_s=one.total_time_s,
        overview=one.overview,
        end_to_end=one.end_to_end,
    )


def _time(predictions: Sequence[Prediction], told: PredictDocument) -> float:
    """Seconds of all launches, and of the copies around them, by the first model."""
    if told.end_to_end:
        return told.end_to_end[0].total_time_s
    return next(iter(total_times(predictions).values()))
