"""Expected values of a profiler's counters beside those that it read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.reporting.figures import digits, percent
from kernelcast.reporting.layout import bullets, columns, section, spaced
from kernelcast.validation.counter_scores import Counted, CounterScore

_EDGES = (0.01, 0.05)

Scores = Sequence[CounterScore]


def render_counters(
    scores: Scores, title: str, missing: Sequence[str] = (), *, detail: bool
) -> RenderableType:
    """A line per counter, counts and estimates apart; with `detail`, the launches that are off
    most, and what could not be compared."""
    counts, estimates = _parted(scores)
    notes = Text(
        "Ratios are expected over counted. Counts follow from code, launch and data, and any "
        "difference is an error, unless another compiler made the code or the execution was "
        "sampled; estimates lie within bounds."
    )
    head = Group(Text(_answer(counts, estimates)), Text(title), *([notes] if detail else []))
    gaps = section("Not compared", bullets(missing)) if missing and detail else None
    return spaced([head, counter_tables(scores, detail=detail), gaps])


def counter_tables(scores: Scores, *, detail: bool = False) -> RenderableType:
    """A line per counter; with `detail`, the launches that are off most."""
    counts, estimates = _parted(scores)
    return spaced(
        [
            section("Counts", _table(counts)) if counts else None,
            _worst("Counts that differ", counts) if detail else None,
            section("Estimates", _table(estimates)) if estimates else None,
            _worst("Estimates that are off most", estimates) if detail else None,
        ]
    )


def _parted(scores: Scores) -> tuple[Scores, Scores]:
    return [s for s in scores if s.is_count], [s for s in scores if not s.is_count]


def counters_dict(
    scores: Scores, device: str | Mapping[str, Any], gpu: str, missing: Sequence[str] = ()
) -> dict[str, Any]:
    """The same as a plain dictionary, with every launch."""
    return {
        "schema": "kernelcast/validate/1",
        "set": "counters",
        "device": device if isinstance(device, str) else dict(device),
        "gpu": gpu,
        "counters": counters_by_name(scores),
        "missing": list(missing),
    }


def counters_by_name(scores: Scores) -> dict[str, Any]:
    """Every counter with its ratios and launches, by the profiler's name."""
    return {score.metric: _score(score) for score in scores}


def _answer(counts: Scores, estimates: Scores) -> str:
    """`11 of 12 counters that can be counted are the same in every launch, 3 of 5 others ...`"""
    same = sum(s.share_same == 1 for s in counts)
    bounded = sum(s.share_within_bounds == 1 for s in estimates)
    return (
        f"{same} of {len(counts)} counts are the same in every launch; "
        f"{bounded} of {len(estimates)} estimates are within their bounds in every launch"
    )


def _table(scores: Scores) -> RenderableType:
    is_count = all(s.is_count for s in scores)
    last = "same" if is_count else "in bounds"
    table = _whole_names(
        columns(
            "counter", "launches", "median", "10 %", "90 %", "within 1 %", "within 5 %", last,
            left=("counter",),
        )
    )  # fmt: skip
    for s in scores:
        ratios = (digits(r, 4) for r in (s.median, s.quantile(0.1), s.quantile(0.9)))
        within = (percent(s.share_within(edge)) for edge in _EDGES)
        share = percent(s.share_same if is_count else s.share_within_bounds)
        table.add_row(s.metric, str(len(s.counted)), *ratios, *within, share)
    return table


def _worst(title: str, scores: Scores) -> RenderableType | None:
    off = [(s.metric, c) for s in scores for c in s.worst[:1]]
    if not off:
        return None
    names = ("counter", "launch")
    table = _whole_names(columns("ratio", "expected", "counted", *names, left=names))
    for metric, c in off:
        table.add_row(
            digits(c.ratio), _number(c.expected.value), _number(c.counted), metric, c.launch
        )
    return section(title, table)


def _whole_names(table: Table) -> Table:
    """Counters are long words: where there is too little room, they go on in the next line."""
    for column in table.columns:
        column.overflow = "fold"
    return table


def _number(value: float) -> str:
    """Counts in full, others by their digits."""
    return f"{value:.0f}" if value == round(value) else digits(value, 6)


def _score(score: CounterScore) -> dict[str, Any]:
    return {
        "is_count": score.is_count,
        "median": _finite(score.median),
        "quantile_10": _finite(score.quantile(0.1)),
        "quantile_90": _finite(score.quantile(0.9)),
        "within_1_percent": score.share_within(0.01),
        "within_5_percent": score.share_within(0.05),
        "same": score.share_same,
        "within_bounds": score.share_within_bounds,
        "launches": [_launch(c) for c in score.counted],
    }


def _launch(c: Counted) -> dict[str, Any]:
    return {
        "launch": c.launch,
        "expected": c.expected.value,
        "low": c.expected.low,
        "high": _finite(c.expected.high),
        "counted": c.counted,
    }


def _finite(value: float) -> float | None:
    """JSON knows no infinity: None where there is no bound, or nothing was counted."""
    return value if math.isfinite(value) else None
