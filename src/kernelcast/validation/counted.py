"""Kernels of published sources that a profiler has read: executed, for what is to be compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelcast.errors import InputError, KernelcastError
from kernelcast.execution.trace import Progress
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.workloads import read_workload
from kernelcast.machines.machine import Machine
from kernelcast.measurements.observation import Observation
from kernelcast.models.terms.base import Case
from kernelcast.profiling.run import ENOUGH, Sampling


def execute_counted(
    observations: Sequence[Observation],
    folder: Path,
    chip: Machine,
    *,
    build: Build | None = None,
    sampling: Sampling = ENOUGH,
    progress: Progress | None = None,
) -> tuple[list[tuple[Observation, Case]], list[str]]:
    """What was read beside the case of every kernel, and why others are missing.

    The workload of a kernel is the source in `folder` that is named as it; launches of other
    kernels in it make what the kernel reads.
    """
    files = {path.stem: path for path in folder.glob("*.cu")}
    pairs: list[tuple[Observation, Case]] = []
    missing: list[str] = []
    for at, one in enumerate(observations):
        try:
            pairs.append((one, _case(files.get(one.kernel), one.kernel, chip, build, sampling)))
        except KernelcastError as error:
            missing.append(f"{one}: {error.what}")
        if progress:
            progress((at + 1) / len(observations))
    return pairs, missing


def _case(
    file: Path | None, kernel: str, chip: Machine, build: Build | None, sampling: Sampling
) -> Case:
    if file is None:
        raise InputError("no workload")
    for case in cases_of_workload(read_workload(file), [chip], build=build, sampling=sampling):
        if case.launch.kernel.partition("<")[0] == kernel:
            return case
    raise InputError("its workload does not launch it", where=str(file))
