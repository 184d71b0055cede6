"""Predicted against measured times of one kernel in many configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.measurements.observation import Measurements
from kernelcast.reporting.counters import counter_tables, counters_by_name
from kernelcast.reporting.figures import digits, percent, seconds
from kernelcast.reporting.layout import bullets, columns, section, spaced
from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.counter_scores import CounterScore
from kernelcast.validation.measured import SameCode, Score

Scores = Mapping[str, Score]


def render_measured(
    scores: Scores,
    title: str,
    of: int,
    code: SameCode,
    counted: Sequence[CounterScore],
    missing: Sequence[str],
    *,
    detail: bool,
) -> RenderableType:
    """The answer first; then a line per model, the worst predictions, the counters where there are
    some, and what is missing."""
    first = next(iter(scores))
    table = columns(
        "model", "launches", "median", "mean", "90 %", "pred. / meas.", "tau", "regret",
        left=("model",),
    )  # fmt: skip
    for model, score in scores.items():
        table.add_row(model, str(len(score.comparisons)), *_row(score))
    notes = Text(
        "Errors are |predicted - measured| / measured; pred. / meas. is a geometric mean; tau is "
        "Kendall's, of the order of the configurations; regret is what the configuration predicted "
        "to be the fastest takes longer than the fastest."
    )
    head = Group(Text(_answer(first, scores[first], of)), Text(title))
    gaps = section("Not compared", bullets(missing)) if missing else None
    worst = [section(f"Worst by {m}", _worst(score.worst)) for m, score in scores.items()]
    counters = section("Counters", counter_tables(counted)) if counted else None
    more = [notes, *worst, _same(code), counters, gaps] if detail else []
    return spaced([head, table, *more])


def measured_dict(
    scores: Scores,
    found: Measurements,
    gpu: str,
    code: SameCode,
    counted: Sequence[CounterScore],
    missing: Sequence[str],
) -> dict[str, Any]:
    """The same as a plain dictionary, with every launch."""
    return {
        "schema": "kernelcast/validate/1",
        "set": "measured",
        "device": found.device,
        "gpu": gpu,
        "observations": len(found.observations),
        "failed": found.failed,
        "registers": {"known": code.known, "same": code.same},
        "models": {model: _model(score) for model, score in scores.items()},
        "counters": counters_by_name(counted),
        "missing": list(missing),
    }


def _answer(model: str, score: Score, of: int) -> str:
    """`Half of 100 predictions are off by less than 12 %, by the volkov model`."""
    count = len(score.comparisons)
    drawn = "" if count == of else f", drawn from {of} measured launches,"
    return (
        f"Half of the {count} predictions{drawn} are off by {percent(score.median_error)} or less, "
        f"by the {model} model"
    )


def _row(score: Score) -> list[str]:
    errors = (score.median_error, score.mean_error, score.high_error)
    tau = "-" if score.tau is None else f"{score.tau:.2f}"
    return [*map(percent, errors), digits(score.ratio), tau, percent(score.regret)]


def _worst(comparisons: Sequence[Comparison]) -> RenderableType:
    table = columns("pred. / meas.", "predicted", "measured", "launch", left=("launch",))
    for c in comparisons:
        table.add_row(digits(c.ratio), seconds(c.predicted_s), seconds(c.measured_s), c.launch)
    return table


def _same(code: SameCode) -> RenderableType | None:
    if not code.known:
        return None
    return Text(f"{code.same} of {code.known} kernels have the registers of those measured")


def _model(score: Score) -> dict[str, Any]:
    return {
        "median_error": score.median_error,
        "mean_error": score.mean_error,
        "error_90": score.high_error,
        "ratio": score.ratio,
        "tau": score.tau,
        "regret": score.regret,
        "launches": [
            {
                "kernel": c.kernel,
                "place": c.configuration,
                "launch": c.launch,
                "predicted_s": c.predicted_s,
                "measured_s": c.measured_s,
            }
            for c in score.comparisons
        ],
    }
