"""What `compare` answers of several files: versions of a kernel, each from its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.documents.base import NotNegative
from kernelcast.reporting.documents.predict import (
    Overview,
    Total,
    predict_document,
    total_times,
)
from kernelcast.reporting.documents.result import Result


class Version(Struct, frozen=True, omit_defaults=True):
    """One file with the document of `predict --json`."""

    file: str
    schema: Literal["kernelcast/predict/1"]
    kernelcast: str
    results: list[Result]
    totals: list[Total] = []
    total_time_s: NotNegative | None = None
    overview: Overview | None = None


class CompareDocument(Struct, frozen=True):
    """All that `compare --json` prints of several files.

    `by_time` are the files by rising time of all launches, by the first model; `fastest_s` is the
    first one's, and `lead` that of the last over it.
    """

    schema: Literal["kernelcast/compare/1"]
    versions: list[Version]
    by_time: list[str]
    fastest_s: NotNegative
    lead: NotNegative


def compare_document(versions: Mapping[str, Sequence[Prediction]]) -> CompareDocument:
    """Predictions by file, of the same GPU and models."""
    times = {file: _time(predictions) for file, predictions in versions.items()}
    by_time = sorted(times, key=times.__getitem__)
    fastest_s = times[by_time[0]]
    return CompareDocument(
        schema="kernelcast/compare/1",
        versions=[_version(file, predictions) for file, predictions in versions.items()],
        by_time=by_time,
        fastest_s=fastest_s,
        lead=times[by_time[-1]] / fastest_s,
    )


def _version(file: str, predictions: Sequence[Prediction]) -> Version:
    one = predict_document(predictions)
    return Version(
        file=file,
        schema=one.schema,
        kernelcast=one.kernelcast,
        results=one.results,
        totals=one.totals,
        total_time_s=one.total_time_s,
        overview=one.overview,
    )


def _time(predictions: Sequence[Prediction]) -> float:
    """Seconds of all launches by the first model."""
    return next(iter(total_times(predictions).values()))
