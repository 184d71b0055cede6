"""What `validate public` answers: the table of measured accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from kernelcast.errors import InputError
from kernelcast.reporting.documents.base import Natural, NotNegative
from kernelcast.reporting.documents.measured_launch import MeasuredLaunch, measured_launch
from kernelcast.validation.accuracy import nearest_rank
from kernelcast.validation.intervals import IntervalScore, interval_scores
from kernelcast.validation.measured import Score
from kernelcast.validation.public import SetAccuracy

_WORSE = 1.1
_NOTHING = 0.005
_NEAR = 0.05
_MOVED = 5


class CountRow(Struct, frozen=True):
    """A counter of a profiler beside what was expected: the median of |expected - counted| /
    counted, null where nothing was counted of what was expected, and the share within 5 %."""

    metric: str
    launches: Natural
    median_error: NotNegative | None
    within_5_percent: NotNegative


class AccuracyRow(Struct, frozen=True):
    """What the predictions of one set are worth, null where there are none; see `MeasuredModel`.
    `agreement` is the share of the launches whose bottleneck is named, of those where counters tell
    it. `aside` counts the rows that a rule leaves out, `missing` says what could not be
    predicted."""

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
    aside: dict[str, Natural]
    compared: list[MeasuredLaunch]
    worst: list[MeasuredLaunch]
    counted: list[CountRow] = []
    agreement: NotNegative | None = None


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
    """The factors of the interval of launches that `model` says the time of, with or without a
    doubt: fitted to one half of them, `held` the share of the other half's times between them, so
    that there are two rows for a kind of launch; `used_low` and `used_high` are those of
    forecasts."""

    model: str
    fitted: Natural
    judged: Natural
    low: NotNegative
    high: NotNegative
    held: NotNegative
    used_low: NotNegative
    used_high: NotNegative
    has_doubt: bool = False


class MovedLaunch(Struct, frozen=True):
    """A launch whose forecast has changed: predicted over measured time, before and now."""

    kernel: str
    launch: str
    ratio_before: NotNegative
    ratio: NotNegative


class SetChange(Struct, frozen=True):
    """A set beside what it was in an earlier run, over the `launches` that both have; `moved` are
    those whose forecast changed most. It is worse where the median error has grown by more than a
    tenth, and by more than half a percent of the time."""

    title: str
    gpu: str
    model: str
    launches: Natural
    median_before: NotNegative
    median_error: NotNegative
    error_90_before: NotNegative
    error_90: NotNegative
    is_worse: bool
    moved: list[MovedLaunch]


class PublicDocument(Struct, frozen=True):
    """All that `validate public --json` prints; `intervals` for models that forecasts rest on,
    `totals` for those that predicted anything, `changes` where there is an earlier run."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["public"]
    sets: list[AccuracyRow]
    intervals: list[IntervalRow]
    totals: list[AccuracyTotal]
    changes: list[SetChange] = []


def public_document(
    rows: Sequence[SetAccuracy], before: PublicDocument | None = None
) -> PublicDocument:
    """The rows of all sets, beside those of an earlier run."""
    sets = [_row(row) for row in rows]
    return PublicDocument(
        "kernelcast/validate/1",
        "public",
        sets,
        [_interval(score) for score in interval_scores(rows)],
        list(_totals(rows)),
        [] if before is None else list(_changes(sets, before.sets)),
    )


def read_public(file: Path) -> PublicDocument:
    """What an earlier run printed as JSON; InputError where the file holds anything else."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=PublicDocument)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(file)) from None
    except msgspec.DecodeError as error:
        raise InputError(
            f"is no answer of validate public: {error}",
            where=str(file),
            hint="write one with --json",
        ) from None


def summary_with(before: PublicDocument | None, now: PublicDocument) -> PublicDocument:
    """An earlier summary with the sets that were predicted anew; it holds no single launch."""
    bare = [msgspec.structs.replace(row, compared=[], worst=[]) for row in now.sets]
    fresh = {(row.title, row.gpu, row.model) for row in bare if row.launches}
    old = [] if before is None else before.sets
    kept = [row for row in old if (row.title, row.gpu, row.model) not in fresh]
    rows = sorted([*kept, *bare], key=lambda row: (row.title, row.gpu, row.model))
    known = {(row.title, row.gpu, row.model): row for row in rows if row.launches}
    return msgspec.structs.replace(now, sets=list(known.values()), changes=[], totals=[])


def _changes(now: Sequence[AccuracyRow], before: Sequence[AccuracyRow]) -> Iterator[SetChange]:
    known = {(row.title, row.gpu, row.model): row for row in before}
    for row in now:
        earlier = known.get((row.title, row.gpu, row.model))
        own = {(c.kernel, c.place): c for c in earlier.compared} if earlier else {}
        pairs = [(own[c.kernel, c.place], c) for c in row.compared if (c.kernel, c.place) in own]
        if pairs:
            yield _change(row, pairs)


def _change(row: AccuracyRow, pairs: Sequence[tuple[MeasuredLaunch, MeasuredLaunch]]) -> SetChange:
    errors = [[abs(c.ratio - 1) for c in side] for side in zip(*pairs, strict=True)]
    medians = [nearest_rank(each, 0.5) for each in errors]
    highs = [nearest_rank(each, 0.9) for each in errors]
    by_change = sorted(pairs, key=lambda two: -abs(math.log(two[1].ratio / two[0].ratio)))
    return SetChange(
        title=row.title,
        gpu=row.gpu,
        model=row.model,
        launches=len(pairs),
        median_before=medians[0],
        median_error=medians[1],
        error_90_before=highs[0],
        error_90=highs[1],
        is_worse=medians[1] > max(_WORSE * medians[0], medians[0] + _NOTHING),
        moved=[
            MovedLaunch(c.kernel, c.launch, earlier.ratio, c.ratio)
            for earlier, c in by_change[:_MOVED]
            if c.ratio != earlier.ratio
        ],
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
        model=score.kind.model,
        has_doubt=score.kind.has_doubt,
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
        aside=dict(row.aside),
        compared=[measured_launch(c) for c in score.comparisons] if score else [],
        worst=[measured_launch(c) for c in score.worst] if score else [],
        counted=[
            CountRow(
                one.metric,
                len(one.pairs),
                one.median_error if math.isfinite(one.median_error) else None,
                one.share_within(_NEAR),
            )
            for one in row.counted
        ],
        agreement=score.agreement if score else None,
    )
