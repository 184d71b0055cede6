"""Launches with measured times, predicted one by one; the sets of measurements share it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelcast.cli.options import ModelFlags, Output, SamplingFlags
from kernelcast.errors import KernelcastError, MissingNumberError, UnsupportedError

if TYPE_CHECKING:
    from kernelcast.api import Build, Case, Workload
    from kernelcast.machines.machine import Machine
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
    """Comparisons by model, the cases of every question that was answered, by its configuration,
    and why the others were not."""

    compared: dict[str, list[Comparison]]
    cases: dict[tuple[str, int], tuple[Case, ...]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def judge(
    questions: Sequence[Question],
    chip: Machine,
    models: ModelFlags,
    output: Output,
    sampling: SamplingFlags = ENOUGH_FLAGS,
) -> Answers:
    """Predict every question by every model; what cannot be predicted is named.

    NotFoundError where there is no such model, MissingNumberError where one that was asked for by
    name needs a number the machine lacks.
    """
    from kernelcast import api
    from kernelcast.cli.progress import progress_bar
    from kernelcast.models.registry import load_model

    for name in models.names():
        load_model(name)
    answers = Answers({name: [] for name in models.names()})
    share = sampling.sampling()
    with progress_bar("predicting", output.quiet) as progress:
        for at, question in enumerate(questions):
            where = f"{question.kernel}, configuration {question.configuration}"
            try:
                cases = api.cases(question.workload, [chip], build=question.build, sampling=share)
                answers.cases[question.kernel, question.configuration] = cases
                for model, compared in answers.compared.items():
                    compared.append(_comparison(question, cases, model))
            except MissingNumberError:
                if "all" not in models.model:
                    raise
                answers.missing.append(
                    f"{question.kernel}: {model} needs a number that {chip.name} lacks"
                )
            except KernelcastError as error:
                answers.missing.append(f"{where}: {error.what}")
            if progress:
                progress((at + 1) / len(questions))
    return Answers(answers.compared, answers.cases, list(dict.fromkeys(answers.missing)))


def _comparison(question: Question, cases: Sequence[Case], model: str) -> Comparison:
    from kernelcast import api
    from kernelcast.validation.accuracy import Comparison

    predicted_s = sum(api.predict(case, model).time_s * case.launch.repeat for case in cases)
    if not 0 < predicted_s < math.inf:
        raise UnsupportedError(f"{model} predicts {predicted_s} s")
    return Comparison(
        question.kernel,
        question.configuration,
        question.label,
        predicted_s,
        question.measured_s,
    )
