"""What `validate measured` answers: forecasts beside the times of one kernel's configurations."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative
from kernelcast.reporting.documents.counters import CounterPart, counter_parts
from kernelcast.reporting.documents.measured_launch import MeasuredLaunch, measured_launch
from kernelcast.validation.measured import MeasuredSet, Score


class SameRegisters(Struct, frozen=True):
    """Of how many launches the registers are known, and how many have those that were measured."""

    known: Natural
    same: Natural


class MeasuredModel(Struct, frozen=True):
    """What one model's predictions are worth: errors are |predicted - measured| / measured, `ratio`
    the geometric mean, `tau` Kendall's of the order, `regret` what the configuration predicted to
    be the fastest takes longer than the fastest; `coverage` the share of
    the times that lie in the model's interval, null where it gives none; `worst` are the launches
    that are off most."""

    median_error: NotNegative
    mean_error: NotNegative
    error_90: NotNegative
    ratio: NotNegative
    tau: float | None
    regret: float
    coverage: NotNegative | None
    launches: list[MeasuredLaunch]
    worst: list[MeasuredLaunch]


class MeasuredDocument(Struct, frozen=True):
    """All that `validate measured --json` prints."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["measured"]
    device: str
    gpu: str
    observations: Natural
    failed: Natural
    registers: SameRegisters
    models: dict[str, MeasuredModel]
    counters: dict[str, CounterPart]
    missing: list[str]
    title: str


def measured_document(answer: MeasuredSet, gpu: str, title: str) -> MeasuredDocument:
    """Forecasts for the GPU called `title` against what a file holds."""
    found, code = answer.found, answer.code
    return MeasuredDocument(
        schema="kernelcast/validate/1",
        set="measured",
        device=found.device,
        gpu=gpu,
        observations=len(found.observations),
        failed=found.failed,
        registers=SameRegisters(code.known, code.same),
        models={model: _model(score) for model, score in answer.scores.items()},
        counters=counter_parts(answer.counted),
        missing=list(answer.missing),
        title=f"{title}, predicted, beside {found.device}, measured",
    )


def _model(score: Score) -> MeasuredModel:
    return MeasuredModel(
        median_error=score.median_error,
        mean_error=score.mean_error,
        error_90=score.high_error,
        ratio=score.ratio,
        tau=score.tau,
        regret=score.regret,
        coverage=score.coverage,
        launches=[measured_launch(c) for c in score.comparisons],
        worst=[measured_launch(c) for c in score.worst],
    )
