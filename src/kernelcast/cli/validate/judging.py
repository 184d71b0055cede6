"""Launches with measured times, predicted one by one; the sets of measurements share it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from kernelcast.cli.options import ModelFlags, Output, SamplingFlags
from kernelcast.errors import (
    KernelcastError,
    MissingNumberError,
    NotFoundError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from kernelcast.api import Build, Case, Launch, Workload
    from kernelcast.machines.machine import Machine
    from kernelcast.models.terms.base import Model
    from kernelcast.validation.accuracy import Comparison

ENOUGH_FLAGS = SamplingFlags(exact=False, sample=None, budget=None)


@dataclass(frozen=True)
class Question:
    """A workload that was timed: its place in the file, what it is called, and its time."""

    kernel: str
    configuration: int
    label: str
    measured_s: float
    workload: Workload
    build: Build | None = None


@dataclass(frozen=True)
class Answers:
    """Comparisons by model, and why others are missing: one line each."""

    compared: Mapping[str, Sequence[Comparison]]
    missing: tuple[str, ...]


Answered = Callable[[Question, Sequence["Case"]], None]
"""Takes the cases of a question; they are kept nowhere else."""


class OfKernel(Protocol):
    """What a file holds of one kernel."""

    @property
    def kernel(self) -> str:
        """The kernel's name in the file."""


Held = TypeVar("Held", bound=OfKernel)


def of_kernels(found: Iterable[Held], only: Sequence[str], file: str) -> list[Held]:
    """What a file holds of the kernels called `only`, of all where none is named.

    NotFoundError with the nearest names where it holds nothing of one.
    """
    every = list(found)
    known = dict.fromkeys(one.kernel for one in every)
    for name in only:
        if name not in known:
            raise NotFoundError("kernel", name, known, where=file)
    return [one for one in every if not only or one.kernel in only]


def known_workload(kernel: str, launch: Launch) -> Workload:
    """A launch of one of the kernels with known results."""
    from kernelcast import api
    from kernelcast.suite.registry import kernel_named

    source = kernel_named(kernel).source
    return api.Workload(source, {}, (launch,), source.parent)


def judge(
    questions: Sequence[Question],
    chip: Machine,
    models: ModelFlags,
    output: Output,
    sampling: SamplingFlags = ENOUGH_FLAGS,
    answered: Answered | None = None,
) -> Answers:
    """Predict every question by every model; what cannot be predicted is named.

    NotFoundError where there is no such model or parameter, MissingNumberError where one that was
    asked for by name needs a number the machine lacks.
    """
    from kernelcast import api
    from kernelcast.cli.progress import progress_bar
    from kernelcast.models.terms.parameters import model_label

    chosen = {model_label(model): model for model in models.models()}
    compared: dict[str, list[Comparison]] = {label: [] for label in chosen}
    missing: list[str] = []
    share = sampling.sampling()
    with progress_bar("predicting", output.quiet) as progress:
        for at, question in enumerate(questions):
            where = f"{question.kernel}, configuration {question.configuration}"
            try:
                cases = api.cases(question.workload, [chip], build=question.build, sampling=share)
                missing += _compare(question, cases, chosen, compared, models.is_all)
                if answered:
                    answered(question, cases)
            except MissingNumberError:
                raise
            except KernelcastError as error:
                missing.append(f"{where}: {error.what}")
            if progress:
                progress((at + 1) / len(questions))
    return Answers(compared, tuple(dict.fromkeys(missing)))


def _compare(
    question: Question,
    cases: Sequence[Case],
    models: Mapping[str, Model],
    compared: Mapping[str, list[Comparison]],
    is_all: bool,
) -> list[str]:
    """Add what every model says; why some say nothing, where all were asked for."""
    missing = []
    for label, model in models.items():
        try:
            compared[label].append(_comparison(question, cases, model))
        except MissingNumberError as error:
            if not is_all:
                raise
            missing.append(f"{question.kernel}: {label} needs a number that {error.machine} lacks")
    return missing


def _comparison(question: Question, cases: Sequence[Case], model: Model) -> Comparison:
    from kernelcast import api
    from kernelcast.validation.accuracy import Comparison

    predicted_s = sum(api.predict(case, model).time_s * case.launch.repeat for case in cases)
    if not 0 < predicted_s < math.inf:
        raise UnsupportedError(f"{model.name} predicts {predicted_s} s")
    return Comparison(
        question.kernel,
        question.configuration,
        question.label,
        predicted_s,
        question.measured_s,
    )
