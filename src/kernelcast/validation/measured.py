"""Launches that others timed: predicted, what the predictions are worth, and whether the code is
the same."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from kernelcast.errors import InputError
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import Build
from kernelcast.frontends.workloads import LaunchFlags, read_workload
from kernelcast.machines.machine import Machine
from kernelcast.measurements.observation import Measurements, Observation
from kernelcast.measurements.reading import read_measurements
from kernelcast.models.terms.base import Case, Model
from kernelcast.profiling.run import ENOUGH, Sampling
from kernelcast.validation import accuracy
from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.counter_scores import CounterScore, counter_scores
from kernelcast.validation.judging import TimedWorkload, judge, nothing_compared, of_kernels

_Drawn = TypeVar("_Drawn")

_WORST = 5
_SEED = 2026
"""The same configurations are drawn in every run."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which launches of a file are predicted: at most `count`, drawn at random, that took at least
    `least_s` seconds, of the kernels called `only` or of all."""

    count: int = 100
    least_s: float = 0.0
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Score:
    """What one model's predictions are worth, over all configurations."""

    comparisons: tuple[Comparison, ...]

    @property
    def median_error(self) -> float:
        """The error that half of the predictions do not exceed."""
        return accuracy.error_quantile(self.comparisons, 0.5)

    @property
    def mean_error(self) -> float:
        """The mean of the errors."""
        return accuracy.mean_error(self.comparisons)

    @property
    def high_error(self) -> float:
        """The error that nine of ten predictions do not exceed."""
        return accuracy.error_quantile(self.comparisons, 0.9)

    @property
    def coverage(self) -> float | None:
        """The share of the measured times that the predictions' intervals hold."""
        return accuracy.coverage(self.comparisons)

    @property
    def agreement(self) -> float | None:
        """The share of the launches whose bottleneck the predictions name, of those where counters
        tell."""
        return accuracy.agreement(self.comparisons)

    @property
    def ratio(self) -> float:
        """The geometric mean of predicted over measured time."""
        return accuracy.mean_ratio(self.comparisons)

    @property
    def tau(self) -> float | None:
        """Kendall's tau of the order of the configurations."""
        return accuracy.order_tau(self.comparisons)

    @property
    def regret(self) -> float:
        """What taking the configuration predicted to be the fastest costs, as a share."""
        return accuracy.regret(self.comparisons)

    @property
    def worst(self) -> Sequence[Comparison]:
        """Those that are off most."""
        return accuracy.worst(self.comparisons, _WORST)


@dataclass(frozen=True, slots=True)
class SameCode:
    """Of how many launches the registers are known, and how many have those that were measured.

    Other registers mean another compiler or other flags: a prediction for another kernel.
    """

    known: int
    same: int


def _same_code(pairs: Iterable[tuple[Observation, Sequence[Case]]]) -> SameCode:
    """Compare the registers of every observation with those of its kernels."""
    found = [
        observation.registers in [case.kernel.resources.registers for case in cases]
        for observation, cases in pairs
        if observation.registers is not None
    ]
    return SameCode(len(found), sum(found))


@dataclass(frozen=True)
class MeasuredSet:
    """What a file holds, what every model's predictions of it are worth, and what is missing.

    `counted` compares a profiler's counters where the file holds some.
    """

    found: Measurements
    scores: Mapping[str, Score]
    code: SameCode
    counted: tuple[CounterScore, ...]
    missing: tuple[str, ...]


def validate_measured(
    file: str | Path,
    workload: str | Path,
    chip: Machine,
    models: Sequence[Model],
    choice: Choice,
    *,
    kernel: str = "",
    build: Build | None = None,
    sampling: Sampling = ENOUGH,
    skips_models: bool = False,
    progress: Progress | None = None,
) -> MeasuredSet:
    """Predict the launches of a file of measurements.

    Its parameters complete the launch of `workload` as names, and its code as macros. `kernel`
    names the kernel in the code where that holds several. Raises InputError where nothing can be
    compared, and as `judge` does.
    """
    accuracy.require_scipy()
    found = read_measurements(file)
    chosen = _chosen(found, choice, str(file))
    timed = [
        timed_observation(at, one, workload, kernel, build or Build()) for at, one in chosen.items()
    ]
    pairs: list[tuple[Observation, Sequence[Case]]] = []
    judged = judge(
        timed,
        chip,
        models,
        sampling=sampling,
        skips_models=skips_models,
        executed=lambda one, cases: pairs.append((chosen[one.configuration], cases)),
        progress=progress,
    )
    scores = {model: Score(tuple(own)) for model, own in judged.compared.items() if own}
    if not scores:
        raise nothing_compared(str(file), judged.missing)
    return MeasuredSet(
        found=found,
        scores=scores,
        code=_same_code(pairs),
        counted=counter_scores((one, cases[0]) for one, cases in pairs if len(cases) == 1),
        missing=(*found.damaged, *judged.missing),
    )


def _chosen(found: Measurements, choice: Choice, file: str) -> dict[int, Observation]:
    """Observations by their place in the file; InputError where none has a time that is wanted."""
    if not any(one.seconds for one in found.observations):
        raise InputError("holds no times", where=file, hint="see validate counters")
    wanted = {one.kernel for one in of_kernels(found.observations, choice.only, file)}
    fitting = [
        at
        for at, one in enumerate(found.observations)
        if one.seconds and one.time_s >= choice.least_s and one.kernel in wanted
    ]
    if not fitting:
        raise InputError(f"nothing took {choice.least_s:g} s or longer", where=file)
    return {at: found.observations[at] for at in sorted(drawn_of(fitting, choice.count))}


def drawn_of(every: Sequence[_Drawn], count: int) -> list[_Drawn]:
    """At most `count` of all, drawn at random, the same in every run."""
    return random.Random(_SEED).sample(every, min(count, len(every)))


def timed_observation(
    at: int, one: Observation, workload: str | Path, kernel: str, build: Build
) -> TimedWorkload:
    """A row of a file of measurements, and the workload whose names and macros its parameters
    are."""
    numbers = {
        name: value
        for name, value in one.parameters.items()
        if name.isidentifier() and not isinstance(value, str)
    }
    work = read_workload(workload, LaunchFlags(kernel, parameters=numbers))
    macros = tuple(f"{name}={value}" for name, value in numbers.items())
    options = replace(build.options, defines=(*macros, *build.options.defines))
    own = replace(build, options=options)
    return TimedWorkload(one.kernel, at, str(one), one.time_s, work, own)
