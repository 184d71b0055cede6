"""Predictions of the kernels with known results, beside what a GPU took for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelcast.cli.options import GpuFlags, ModelFlags, Output
from kernelcast.errors import (
    InputError,
    KernelcastError,
    MissingNumberError,
    NotFoundError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from kernelcast.api import Case
    from kernelcast.calibration.ground_truth_raw import GroundTruth, Measured
    from kernelcast.machines.machine import Machine
    from kernelcast.validation.ground_truth import Comparison


def validate_ground_truth(
    file: str, gpus: GpuFlags, models: ModelFlags, only: Sequence[str], cache: str, output: Output
) -> None:
    """Predict every launch that the raw file holds a time for, and show how far off that is."""
    from kernelcast.calibration.ground_truth_raw import read_ground_truth
    from kernelcast.reporting.ground_truth import ground_truth_dict, render_ground_truth
    from kernelcast.validation.ground_truth import kernel_scores

    found = read_ground_truth(file)
    chosen = _chosen(found, only, file)
    chip = gpus.machine()
    compared, missing = _compared(chosen, chip, models, cache, output)
    scores = {model: kernel_scores(own) for model, own in compared.items() if own}
    if not scores:
        raise InputError("nothing can be compared", where=file, hint=missing[0] if missing else "")
    if not only:
        missing = [*found.missing, *missing]
    title = f"{chip.title}, predicted, beside {found.device['name']}, measured; {cache} L2 cache"
    output.show(
        render_ground_truth(scores, title, missing, detail=not output.quiet),
        ground_truth_dict(scores, found.device, chip.name, cache, missing),
    )


def _chosen(found: GroundTruth, only: Sequence[str], file: str) -> list[Measured]:
    known = dict.fromkeys(m.kernel for m in found.measured)
    for name in only:
        if name not in known:
            raise NotFoundError("kernel", name, known, where=file)
    return [m for m in found.measured if not only or m.kernel in only]


def _compared(
    measured: Sequence[Measured], chip: Machine, models: ModelFlags, cache: str, output: Output
) -> tuple[dict[str, list[Comparison]], list[str]]:
    """Comparisons by model, and why others are missing."""
    from kernelcast.cli.progress import progress_bar

    compared: dict[str, list[Comparison]] = {name: [] for name in models.names()}
    missing: list[str] = []
    with progress_bar("predicting", output.quiet) as progress:
        for at, one in enumerate(measured):
            try:
                case = _case(one, chip)
                for model in compared:
                    compared[model].append(_comparison(one, case, model, cache))
            except MissingNumberError:
                if "all" not in models.model:
                    raise
                missing.append(f"{one.kernel}: {model} needs a number that {chip.name} lacks")
            except KernelcastError as error:
                missing.append(f"{one.kernel}, configuration {one.configuration}: {error.what}")
            if progress:
                progress((at + 1) / len(measured))
    return compared, list(dict.fromkeys(missing))


def _case(one: Measured, chip: Machine) -> Case:
    from kernelcast import api
    from kernelcast.calibration.ground_truth.suite import kernel_named

    source = kernel_named(one.kernel).source
    (case,) = api.cases(api.Workload(source, {}, (one.launch,), source.parent), [chip])
    return case


def _comparison(one: Measured, case: Case, model: str, cache: str) -> Comparison:
    from kernelcast import api
    from kernelcast.validation.ground_truth import Comparison

    times = one.cold if cache == "cold" else one.warm
    predicted_s = api.predict(case, model).time_s
    if not 0 < predicted_s < math.inf:
        raise UnsupportedError(f"{model} predicts {predicted_s} s")
    return Comparison(one.kernel, one.configuration, str(one.launch), predicted_s, times.median)
