"""The kernels with known results that a profiler has read: executed, for what is to be compared."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcast.errors import KernelcastError
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.machines.machine import Machine
from kernelcast.measurements.observation import Observation
from kernelcast.measuring.ground_truth_profile import Profiled
from kernelcast.models.terms.base import Case
from kernelcast.validation.judging import known_workload


def execute_profiled(
    profiled: Sequence[Profiled], chip: Machine, progress: Progress | None = None
) -> tuple[list[tuple[Observation, Case]], list[str]]:
    """What was read beside the case of every launch, and why others are missing."""
    pairs: list[tuple[Observation, Case]] = []
    missing: list[str] = []
    for at, one in enumerate(profiled):
        try:
            (case,) = cases_of_workload(known_workload(one.kernel, one.launch), [chip])
            pairs.append((_observation(one), case))
        except KernelcastError as error:
            missing.append(f"{one.kernel}, configuration {one.configuration}: {error.what}")
        if progress:
            progress((at + 1) / len(profiled))
    return pairs, missing


def _observation(one: Profiled) -> Observation:
    parameters = {"configuration": one.configuration}
    return Observation(one.kernel, parameters, (), counters=one.metrics)
