"""Kernels of published sources that a profiler has read: executed, for what is to be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from kernelcast.validation.judging import cases_of_kernel

_NAMED = 3
"""Kernels without a workload that are named."""


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

    The workload of a kernel is the source in `folder` that is named as it, that of `heat/zero`
    `heat/zero.cu`; launches of other kernels in it make what the kernel reads.
    """
    files = {one.kernel: folder / f"{one.kernel}.cu" for one in observations}
    there = {kernel for kernel, file in files.items() if file.is_file()}
    known = [one for one in observations if one.kernel in there]
    pairs: list[tuple[Observation, Case]] = []
    missing: list[str] = []
    for at, one in enumerate(known):
        try:
            pairs.append(
                (one, case_of_source(files[one.kernel], one.kernel, chip, build, sampling))
            )
        except KernelcastError as error:
            missing.append(f"{one}: {error.what}")
        if progress:
            progress((at + 1) / len(known))
    return pairs, [*missing, *_without_workload([k for k in files if k not in there])]


def _without_workload(kernels: Sequence[str]) -> Iterator[str]:
    """One line: a table may hold hundreds of kernels."""
    named, others = ", ".join(kernels[:_NAMED]), len(kernels) - _NAMED
    if named:
        yield f"no workload: {named}" + (f" and {others} others" if others > 0 else "")


def case_of_source(
    file: Path, kernel: str, chip: Machine, build: Build | None, sampling: Sampling
) -> Case:
    """The launch of a kernel in the workload `file`; InputError where that does not launch it."""
    cases = cases_of_workload(read_workload(file), [chip], build=build, sampling=sampling)
    named = cases_of_kernel(kernel, cases)
    if not named:
        raise InputError("its workload does not launch it", where=str(file))
    return named[0]
