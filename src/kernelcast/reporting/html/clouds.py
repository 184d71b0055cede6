"""What pages of measured times draw: groups of launches, each predicted beside measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelcast.reporting.documents.ground_truth import GroundTruthDocument
from kernelcast.reporting.documents.measured import MeasuredDocument
from kernelcast.reporting.documents.measured_launch import MeasuredLaunch
from kernelcast.reporting.documents.public import PublicDocument
from kernelcast.reporting.figures import grouped, percent

TimedDocument = GroundTruthDocument | MeasuredDocument | PublicDocument


@dataclass(frozen=True, slots=True)
class TimePair:
    """A launch as it is called, and its two times in seconds, both above 0."""

    name: str
    predicted_s: float
    measured_s: float

    @property
    def error(self) -> float:
        """|predicted - measured| / measured."""
        return abs(self.predicted_s / self.measured_s - 1)


@dataclass(frozen=True)
class Cloud:
    """A group of launches, and in words how near they are."""

    name: str
    words: str
    pairs: tuple[TimePair, ...]


def clouds(document: TimedDocument) -> list[Cloud]:
    """The groups of a document: its models, or its sets."""
    match document:
        case MeasuredDocument():
            return [
                _cloud(f"by {name}", m.median_error, m.error_90, _pairs(m.launches))
                for name, m in document.models.items()
            ]
        case GroundTruthDocument():
            return [
                _cloud(
                    f"by {name}",
                    m.median_error,
                    m.error_90,
                    [
                        TimePair(f"{kernel} {c.launch}", c.predicted_s, c.measured_s)
                        for kernel, found in m.kernels.items()
                        for c in found.configurations
                    ],
                )
                for name, m in document.models.items()
            ]
        case PublicDocument():
            several = len(document.totals) > 1
            return [
                _cloud(
                    f"{row.title}, {row.gpu}" + (f", by {row.model}" if several else ""),
                    row.median_error,
                    row.error_90,
                    _pairs(row.compared),
                )
                for row in document.sets
                if row.compared
            ]


def verdict(document: TimedDocument) -> str:
    """All launches in one line, by the first model."""
    match document:
        case PublicDocument():
            total = document.totals[0]
            return _verdict(total.model, total.launches, total.median_error, total.error_90)
        case MeasuredDocument():
            name, model = next(iter(document.models.items()))
            return _verdict(name, len(model.launches), model.median_error, model.error_90)
        case GroundTruthDocument():
            name, every = next(iter(document.models.items()))
            return _verdict(name, every.launches, every.median_error, every.error_90)


def _verdict(model: str, launches: int, median: float, most: float) -> str:
    return (
        f"Half of the {grouped(launches)} predictions are off by {percent(median)} or less, nine "
        f"of ten by {percent(most)} or less, by the {model} model"
    )


def _pairs(launches: Sequence[MeasuredLaunch]) -> list[TimePair]:
    return [TimePair(f"{c.kernel} {c.launch}", c.predicted_s, c.measured_s) for c in launches]


def _cloud(name: str, median: float | None, most: float | None, pairs: list[TimePair]) -> Cloud:
    shares = (
        f"{percent(e)} or less for {w}"
        for w, e in (("half", median), ("90 %", most))
        if e is not None
    )
    return Cloud(name, f"{grouped(len(pairs))} launches; off by {', '.join(shares)}", tuple(pairs))
