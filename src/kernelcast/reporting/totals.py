"""The time of a workload: all its launches, each as often as it is repeated."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.models.terms.base import Prediction


def is_workload(predictions: Sequence[Prediction]) -> bool:
    """Whether there are several launches, or one that is repeated."""
    answers = [(p.case.machine.name, p.model) for p in predictions]
    several = len(set(answers)) < len(answers)
    return several or any(p.case.launch.repeat > 1 for p in predictions)


def totals(predictions: Sequence[Prediction]) -> dict[tuple[str, str], float]:
    """Seconds of all launches by (GPU, model), in the order of the predictions."""
    sums: dict[tuple[str, str], float] = {}
    for p in predictions:
        key = (p.case.machine.name, p.model)
        sums[key] = sums.get(key, 0.0) + p.time_s * p.case.launch.repeat
    return sums
