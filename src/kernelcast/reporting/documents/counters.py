"""What `validate counters` answers: expected values of counters beside those a profiler read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, Share
from kernelcast.validation.counter_scores import Counted, CounterScore

CounterScores = Sequence[CounterScore]


class CountedLaunch(Struct, frozen=True):
    """One counter after one launch; `ratio` is expected over counted, null where only the latter
    is 0. A `high` of null is no bound."""

    launch: str
    expected: float
    low: float
    high: float | None
    counted: float
    ratio: float | None


class CounterPart(Struct, frozen=True):
    """One counter over all launches: quantiles of the ratio, the median of its distance from 1, and
    shares of the launches.

    `worst` is the launch that is off most, null where all are the same.
    """

    is_count: bool
    median: float | None
    median_error: float | None
    quantile_10: float | None
    quantile_90: float | None
    within_1_percent: Share
    within_5_percent: Share
    same: Share
    within_bounds: Share
    launches: list[CountedLaunch]
    worst: CountedLaunch | None


class CountersDocument(Struct, frozen=True):
    """All that `validate counters --json` prints.

    `same_counts` of `counts` counters that follow from the code are the same in every launch, and
    `bounded_estimates` of `estimates` others within their bounds.
    """

    schema: Literal["kernelcast/validate/1"]
    set: Literal["counters"]
    device: str | dict[str, Any]
    gpu: str
    counters: dict[str, CounterPart]
    missing: list[str]
    title: str
    counts: Natural
    same_counts: Natural
    estimates: Natural
    bounded_estimates: Natural


def counters_document(
    scores: CounterScores,
    device: Mapping[str, Any],
    gpu: str,
    title: str,
    missing: Sequence[str] = (),
) -> CountersDocument:
    """The scores of all counters on a device, whose name is in `device`."""
    counts = [s for s in scores if s.is_count]
    estimates = [s for s in scores if not s.is_count]
    return CountersDocument(
        schema="kernelcast/validate/1",
        set="counters",
        device=dict(device),
        gpu=gpu,
        counters=counter_parts(scores),
        missing=list(missing),
        title=f"{title}, counted by execution, beside {device['name']}, profiled",
        counts=len(counts),
        same_counts=sum(s.share_same == 1 for s in counts),
        estimates=len(estimates),
        bounded_estimates=sum(s.share_within_bounds == 1 for s in estimates),
    )


def counter_parts(scores: CounterScores) -> dict[str, CounterPart]:
    """Every counter by the profiler's name."""
    return {score.metric: _counter(score) for score in scores}


def _counter(score: CounterScore) -> CounterPart:
    return CounterPart(
        is_count=score.is_count,
        median=score.median,
        median_error=score.median_error,
        quantile_10=score.quantile(0.1),
        quantile_90=score.quantile(0.9),
        within_1_percent=score.share_within(0.01),
        within_5_percent=score.share_within(0.05),
        same=score.share_same,
        within_bounds=score.share_within_bounds,
        launches=[_launch(c) for c in score.counted],
        worst=next(map(_launch, score.worst), None),
    )


def _launch(c: Counted) -> CountedLaunch:
    expected = c.expected
    return CountedLaunch(c.launch, expected.value, expected.low, expected.high, c.counted, c.ratio)
