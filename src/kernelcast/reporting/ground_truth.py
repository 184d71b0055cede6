"""Predicted against measured times of the kernels with known results, by kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.figures import digits
from kernelcast.reporting.layout import bullets, columns, section, spaced
from kernelcast.validation.accuracy import mean_factor, mean_ratio
from kernelcast.validation.ground_truth import KernelScore, mean_tau

Scores = Mapping[str, Sequence[KernelScore]]
"""The scores of every kernel, by model."""


def render_ground_truth(
    scores: Scores, title: str, missing: Sequence[str], *, detail: bool
) -> RenderableType:
    """One line per model; with `detail`, a table of its kernels and what could not be compared."""
    totals = columns(
        "model", "kernels", "launches", "pred. / meas.", "error", "tau", left=("model",)
    )
    for model, kernels in scores.items():
        totals.add_row(model, str(len(kernels)), *_row(kernels))
    tables = [section(model, _kernels(kernels)) for model, kernels in scores.items()]
    notes = Text(
        "Geometric means; error is by how much a time is off in either direction; tau is "
        "Kendall's, of the order of a kernel's configurations."
    )
    head = Group(Text(title), notes) if detail else Text(title)
    gaps = section("Not compared", bullets(missing)) if missing and detail else None
    return spaced([head, *(tables if detail else []), gaps, totals])


def ground_truth_dict(
    scores: Scores, device: Mapping[str, Any], gpu: str, cache: str, missing: Sequence[str]
) -> dict[str, Any]:
    """The same as a plain dictionary, with every launch."""
    return {
        "schema": "kernelcast/validate/1",
        "set": "ground-truth",
        "device": dict(device),
        "gpu": gpu,
        "l2": cache,
        "models": {model: _model(kernels) for model, kernels in scores.items()},
        "missing": list(missing),
    }


def _model(kernels: Sequence[KernelScore]) -> dict[str, Any]:
    every = [c for kernel in kernels for c in kernel.comparisons]
    return {
        "ratio": mean_ratio(every),
        "error": mean_factor(every),
        "tau": mean_tau(kernels),
        "kernels": {
            score.kernel: {
                "ratio": score.ratio,
                "error": score.error,
                "tau": score.tau,
                "configurations": [
                    {
                        "configuration": c.configuration,
                        "launch": c.launch,
                        "predicted_s": c.predicted_s,
                        "measured_s": c.measured_s,
                    }
                    for c in score.comparisons
                ],
            }
            for score in kernels
        },
    }


def _row(kernels: Sequence[KernelScore]) -> list[str]:
    every = [c for kernel in kernels for c in kernel.comparisons]
    tau = mean_tau(kernels)
    return [str(len(every)), digits(mean_ratio(every)), f"{mean_factor(every):.0%}", _tau(tau)]


def _kernels(kernels: Sequence[KernelScore]) -> RenderableType:
    table = columns(
        "kernel", "launches", "pred. / meas.", "least", "most", "error", "tau", left=("kernel",)
    )
    for score in kernels:
        ratios = [c.ratio for c in score.comparisons]
        launches, ratio, error, tau = _row([score])
        extremes = digits(min(ratios)), digits(max(ratios))
        table.add_row(score.kernel, launches, ratio, *extremes, error, tau)
    return table


def _tau(tau: float | None) -> str:
    return "-" if tau is None else f"{tau:.2f}"
