"""Launches that others timed on a GPU: forecasts beside their times, and counters where known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import (
    GpuFlags,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
    gpu_options,
    model_options,
    output_options,
    sampling_options,
    source_options,
)
from kernelcast.cli.validate.judging import Question, judge, of_kernels
from kernelcast.errors import InputError

if TYPE_CHECKING:
    from kernelcast.api import Case
    from kernelcast.measurements.observation import Measurements, Observation

_SEED = 2026
"""The same configurations are drawn in every run."""


@click.command("measured")
@click.argument("file", metavar="DATA", type=click.Path())
@click.option(
    "--workload",
    metavar="FILE",
    required=True,
    type=click.Path(),
    help="The kernel with its launch, which the parameters of DATA complete.",
)
@gpu_options(required=True)
@model_options()
@click.option(
    "--configurations",
    "count",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Predict so many, drawn at random, the same in every run.",
)
@click.option(
    "--longer-than",
    "least_us",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="US",
    help="Leave out what took less than US microseconds, such as the cost of a launch alone.",
)
@click.option("--only", metavar="KERNEL", multiple=True, help="Predict this kernel. Repeatable.")
@source_options
@sampling_options
@output_options
def command(
    file: str,
    workload: str,
    gpus: GpuFlags,
    models: ModelFlags,
    count: int,
    least_us: float,
    only: tuple[str, ...],
    source: SourceFlags,
    sampling: SamplingFlags,
    output: Output,
) -> None:
    """Predicted beside measured times of one kernel in many configurations.

    \b
    DATA      a cache of Kernel Tuner, an output of KTT, a table of nvbench, ...
    --workload  a source or workload file: its launch may use the parameters of DATA as names,
              its code uses them as macros
    --gpu     the GPU that was measured; --set clock.sm=1.56e9 where its clock was fixed
    """
    from kernelcast.measurements.reading import read_measurements
    from kernelcast.reporting.documents.measured import measured_document
    from kernelcast.validation.counter_scores import counter_scores
    from kernelcast.validation.measured import Score, same_code

    found = read_measurements(file)
    chip = gpus.machine()
    chosen = _chosen(found, only, least_us * 1e-6, count, file)
    questions = [_question(at, one, workload, source) for at, one in chosen.items()]
    pairs: list[tuple[Observation, Sequence[Case]]] = []
    answers = judge(
        questions,
        chip,
        models,
        output,
        sampling,
        lambda question, cases: pairs.append((chosen[question.configuration], cases)),
    )
    scores = {model: Score(tuple(own)) for model, own in answers.compared.items() if own}
    if not scores:
        missing = answers.missing
        raise InputError("nothing can be compared", where=file, hint=missing[0] if missing else "")
    code = same_code(pairs)
    counted = counter_scores((one, cases[0]) for one, cases in pairs if len(cases) == 1)
    output.show(
        measured_document(scores, found, chip.name, chip.title, code, counted, answers.missing)
    )


def _chosen(
    found: Measurements, only: Sequence[str], least_s: float, count: int, file: str
) -> dict[int, Observation]:
    """Observations by their place in the file."""
    wanted = {one.kernel for one in of_kernels(found.observations, only, file)}
    fitting = [
        at
        for at, one in enumerate(found.observations)
        if one.time_s >= least_s and one.kernel in wanted
    ]
    if not fitting:
        raise InputError(f"nothing took {least_s:g} s or longer", where=file)
    drawn = random.Random(_SEED).sample(fitting, min(count, len(fitting)))
    return {at: found.observations[at] for at in sorted(drawn)}


def _question(at: int, one: Observation, workload: str, source: SourceFlags) -> Question:
    from kernelcast import api

    numbers = {
        name: value
        for name, value in one.parameters.items()
        if name.isidentifier() and not isinstance(value, str)
    }
    work = api.workload(workload, api.LaunchFlags(source.kernel, parameters=numbers))
    macros = tuple(f"{name}={value}" for name, value in numbers.items())
    build = replace(source, defines=(*macros, *source.defines)).build()
    return Question(one.kernel, at, str(one), one.time_s, work, build)
