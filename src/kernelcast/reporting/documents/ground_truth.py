"""What `validate ground-truth` answers: predicted beside measured times, by kernel and model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative
from kernelcast.validation.accuracy import coverage, error_quantile, mean_factor, mean_ratio
from kernelcast.validation.ground_truth import KernelScore, mean_tau

KernelScores = Mapping[str, Sequence[KernelScore]]
"""The scores of every kernel, by model."""


class GroundTruthLaunch(Struct, frozen=True):
    """One configuration of a kernel."""

    configuration: Natural
    launch: str
    predicted_s: NotNegative
    measured_s: NotNegative


class GroundTruthKernel(Struct, frozen=True):
    """All configurations of a kernel: geometric means of predicted over measured time and of by
    how much a time is off, Kendall's tau of their order, and the least and the largest ratio."""

    ratio: NotNegative
    error: NotNegative
    tau: float | None
    configurations: list[GroundTruthLaunch]
    least_ratio: NotNegative
    largest_ratio: NotNegative


class GroundTruthModel(Struct, frozen=True):
    """The same over all `launches` of all kernels; of |predicted - measured| / measured what half
    and nine of ten do not exceed; and the share of the times that lie in the model's interval, null
    where it gives none."""

    ratio: NotNegative
    error: NotNegative
    tau: float | None
    kernels: dict[str, GroundTruthKernel]
    launches: Natural
    median_error: NotNegative
    error_90: NotNegative
    coverage: NotNegative | None


class GroundTruthDocument(Struct, frozen=True):
    """All that `validate ground-truth --json` prints."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["ground-truth"]
    device: dict[str, Any]
    gpu: str
    l2: str
    models: dict[str, GroundTruthModel]
    missing: list[str]
    title: str


def ground_truth_document(
    scores: KernelScores,
    device: Mapping[str, Any],
    gpu: str,
    title: str,
    cache: str,
    missing: Sequence[str],
) -> GroundTruthDocument:
    """The scores on a device, whose name is in `device`, of forecasts for `title`."""
    return GroundTruthDocument(
        schema="kernelcast/validate/1",
        set="ground-truth",
        device=dict(device),
        gpu=gpu,
        l2=cache,
        models={model: _model(kernels) for model, kernels in scores.items()},
        missing=list(missing),
        title=f"{title}, predicted, beside {device['name']}, measured; {cache} L2 cache",
    )


def _model(kernels: Sequence[KernelScore]) -> GroundTruthModel:
    every = [c for kernel in kernels for c in kernel.comparisons]
    return GroundTruthModel(
        ratio=mean_ratio(every),
        error=mean_factor(every),
        tau=mean_tau(kernels),
        kernels={score.kernel: _kernel(score) for score in kernels},
        launches=len(every),
        median_error=error_quantile(every, 0.5),
        error_90=error_quantile(every, 0.9),
        coverage=coverage(every),
    )


def _kernel(score: KernelScore) -> GroundTruthKernel:
    ratios = [c.ratio for c in score.comparisons]
    return GroundTruthKernel(
        ratio=score.ratio,
        error=score.error,
        tau=score.tau,
        configurations=[
            GroundTruthLaunch(c.configuration, c.launch, c.predicted_s, c.measured_s)
            for c in score.comparisons
        ],
        least_ratio=min(ratios),
        largest_ratio=max(ratios),
    )
