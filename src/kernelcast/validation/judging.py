"""Launches that were timed, predicted one by one; every set of measurements shares this loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kernelcast.errors import (
    InputError,
    KernelcastError,
    MissingNumberError,
    NotFoundError,
    UnsupportedError,
)
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.workloads import Workload
from kernelcast.ir import Launch
from kernelcast.ir.launch import CacheState
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Case, Model
from kernelcast.models.terms.parameters import model_label
from kernelcast.models.terms.trust import kind_of
from kernelcast.profiling.run import ENOUGH, Sampling
from kernelcast.suite.registry import kernel_named
from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.bottlenecks import resource_class


@dataclass(frozen=True)
class TimedWorkload:
    """A workload that was timed: its place in the file, what it is called, and its time."""

    kernel: str
    configuration: int
    label: str
    measured_s: float
    workload: Workload
    build: Build | None = None


@dataclass(frozen=True)
class Judged:
    """Comparisons by the model's label, and why others are missing: one line each."""

    compared: Mapping[str, Sequence[Comparison]]
    missing: tuple[str, ...]


OnExecuted = Callable[[TimedWorkload, Sequence[Case]], None]
"""Takes the cases of a workload; they are kept nowhere else."""


class _OfKernel(Protocol):
    """What a file holds of one kernel."""

    @property
    def kernel(self) -> str:
        """The kernel's name in the file."""


_HeldKernel = TypeVar("_HeldKernel", bound=_OfKernel)


def nothing_compared(file: str, missing: Sequence[str]) -> InputError:
    """The error where a file holds nothing that can be compared; it says why of the first."""
    return InputError("nothing can be compared", where=file, hint=missing[0] if missing else "")


def of_kernels(found: Iterable[_HeldKernel], only: Sequence[str], file: str) -> list[_HeldKernel]:
    """What a file holds of the kernels called `only`, of all where none is named.

    NotFoundError with the nearest names where it holds nothing of one.
    """
    every = list(found)
    known = dict.fromkeys(one.kernel for one in every)
    for name in only:
        if name not in known:
            raise NotFoundError("kernel", name, known, where=file)
    return [one for one in every if not only or one.kernel in only]


def cases_of_kernel(name: str, cases: Sequence[Case]) -> Sequence[Case]:
    """Of the launches of a workload those of a kernel, by its name or as `heat/zero`: the others
    make what it reads."""
    kernel = name.rpartition("/")[2]
    return [case for case in cases if case.launch.kernel.partition("<")[0] == kernel]


def known_workload(kernel: str, launch: Launch, caches: CacheState = CacheState.COLD) -> Workload:
    """A launch of one of the kernels with known results, and what it finds in the L2 cache."""
    source = kernel_named(kernel).source
    return Workload(source, {}, (launch,), source.parent, caches)


def judge(
    timed: Sequence[TimedWorkload],
    chip: Machine,
    models: Sequence[Model],
    *,
    sampling: Sampling = ENOUGH,
    skips_models: bool = False,
    executed: OnExecuted | None = None,
    progress: Progress | None = None,
) -> Judged:
    """Predict every workload by every model; what cannot be predicted is named.

    Where launches of a workload are of the kernel that was timed, they are what was timed, else all
    are.

    With `skips_models`, so is a model that needs a number the machine lacks; else that is the
    MissingNumberError it is. `progress` is told the share of the workloads that is done.
    """
    compared: dict[str, list[Comparison]] = {model_label(model): [] for model in models}
    missing: list[str] = []
    for at, one in enumerate(timed):
        try:
            every = cases_of_workload(one.workload, [chip], build=one.build, sampling=sampling)
            cases = cases_of_kernel(one.kernel, every) or every
            missing += _compare(one, cases, models, compared, skips_models=skips_models)
            if executed:
                executed(one, cases)
        except MissingNumberError:
            raise
        except KernelcastError as error:
            missing.append(f"{one.kernel}, configuration {one.configuration}: {error.what}")
        if progress:
            progress((at + 1) / len(timed))
    return Judged(compared, tuple(dict.fromkeys(missing)))


def _compare(
    one: TimedWorkload,
    cases: Sequence[Case],
    models: Sequence[Model],
    compared: Mapping[str, list[Comparison]],
    *,
    skips_models: bool,
) -> list[str]:
    """Add what every model says; why some say nothing, where they may."""
    missing = []
    for model in models:
        try:
            compared[model_label(model)].append(_comparison(one, cases, model))
        except MissingNumberError as error:
            if not skips_models:
                raise
            missing.append(
                f"{one.kernel}: {model_label(model)} needs a number that {error.machine} lacks"
            )
    return missing


def _comparison(one: TimedWorkload, cases: Sequence[Case], model: Model) -> Comparison:
    said = [(model.predict(case), case.launch.repeat) for case in cases]
    predicted_s = sum(p.time_s * times for p, times in said)
    if not 0 < predicted_s < math.inf:
        raise UnsupportedError(f"{model.name} predicts {predicted_s} s")
    return Comparison(
        one.kernel,
        one.configuration,
        one.label,
        predicted_s,
        one.measured_s,
        _sum((p.low_s, times) for p, times in said),
        _sum((p.high_s, times) for p, times in said),
        resource_class(max(said, key=lambda two: two[0].time_s * two[1])[0].bottleneck),
        kind=kind_of(*(p for p, _ in said)),
    )


def _sum(bounds: Iterable[tuple[float | None, int]]) -> float | None:
    """The bound of launches one after the other; None where one has none."""
    total = 0.0
    for seconds, times in bounds:
        if seconds is None:
            return None
        total += seconds * times
    return total
