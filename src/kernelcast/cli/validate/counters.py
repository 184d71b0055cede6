"""The kernels with known results: what is counted of them beside what a profiler counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import GpuFlags, Output, gpu_options, output_options
from kernelcast.cli.validate.judging import known_workload, of_kernels
from kernelcast.errors import InputError, KernelcastError

if TYPE_CHECKING:
    from kernelcast.api import Case
    from kernelcast.machines.machine import Machine
    from kernelcast.measurements.observation import Observation
    from kernelcast.measuring.ground_truth_profile import Profiled


@click.command("counters")
@click.argument("file", metavar="PROFILES.json", type=click.Path())
@gpu_options(required=True)
@click.option("--only", metavar="KERNEL", multiple=True, help="Execute this kernel. Repeatable.")
@output_options
def command(file: str, gpus: GpuFlags, only: tuple[str, ...], output: Output) -> None:
    """Counted instructions, sectors and bytes beside those that a profiler read.

    PROFILES.json is what profile_ground_truth.py wrote, out of the folder that `kernelcast measure
    --pack FOLDER --ground-truth` makes, on the GPU called NAME.
    """
    from kernelcast.measuring.ground_truth_profile import read_profile
    from kernelcast.reporting.documents.counters import counters_document
    from kernelcast.validation.counter_scores import counter_scores

    found = read_profile(file)
    chosen = of_kernels(found.profiled, only, file)
    chip = gpus.machine()
    pairs, missing = _executed(chosen, chip, output)
    scores = counter_scores(pairs)
    if not only:
        missing = [*found.missing, *missing]
    if not scores:
        raise InputError("nothing can be compared", where=file, hint=missing[0] if missing else "")
    output.show(counters_document(scores, found.device, chip.name, chip.title, missing))


def _executed(
    profiled: Sequence[Profiled], chip: Machine, output: Output
) -> tuple[list[tuple[Observation, Case]], list[str]]:
    """What was read and the case of every launch, and why others are missing."""
    from kernelcast.cli.progress import progress_bar

    pairs: list[tuple[Observation, Case]] = []
    missing: list[str] = []
    with progress_bar("executing", output.quiet) as progress:
        for at, one in enumerate(profiled):
            try:
                pairs.append((_observation(one), _case(one, chip)))
            except KernelcastError as error:
                missing.append(f"{one.kernel}, configuration {one.configuration}: {error.what}")
            if progress:
                progress((at + 1) / len(profiled))
    return pairs, missing


def _observation(one: Profiled) -> Observation:
    from kernelcast.measurements.observation import Observation

    parameters = {"configuration": one.configuration}
    return Observation(one.kernel, parameters, (), counters=one.metrics)


def _case(one: Profiled, chip: Machine) -> Case:
    from kernelcast import api

    (case,) = api.cases(known_workload(one.kernel, one.launch), [chip])
    return case
