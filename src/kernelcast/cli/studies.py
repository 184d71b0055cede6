"""From the options of a command to cases and forecasts; commands share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
)
from kernelcast.errors import ExecutionError, InputError, MissingNumberError

if TYPE_CHECKING:
    from kernelcast.api import Case, Forecast
    from kernelcast.frontends.workloads import Workload
    from kernelcast.ir import CopyPlan
    from kernelcast.machines.machine import Machine
    from kernelcast.models.terms.base import Prediction
    from kernelcast.reporting.documents.report import Background


def study(
    file: str,
    gpus: GpuFlags,
    source: SourceFlags,
    launch: LaunchOptions,
    sampling: SamplingFlags,
    output: Output,
    caches: str | None = None,
    *,
    needs_all: bool = False,
) -> tuple[Case, ...]:
    """Cases of all launches that the file or the flags ask for, on all GPUs asked for.

    A trace holds its launches: options that say how to compile or execute one are refused. Of
    several launches of host code, those that go wrong are left out with a remark, unless the
    command `needs_all`.
    """
    from kernelcast import api
    from kernelcast.ir import CacheState
    from kernelcast.traces.recognise import is_trace

    machines = gpus.machines()
    if is_trace(Path(file)):
        refuse_execution_options(file)
        return api.traced_cases(file, machines, caches=caches or CacheState.COLD)
    work = api.workload(file, launch.flags(source))
    for remark in work.remarks:
        output.remark(remark)
    while True:
        try:
            return _executed(work, machines, source, sampling, output, caches)
        except ExecutionError as error:
            launches = list(work.launches)
            if needs_all or error.launch is None or not work.is_read or len(launches) == 1:
                raise
            output.remark(f"{launches.pop(error.launch)} left out: {error}")
            work = replace(work, launches=tuple(launches))


def _executed(
    work: Workload,
    machines: Sequence[Machine],
    source: SourceFlags,
    sampling: SamplingFlags,
    output: Output,
    caches: str | None,
) -> tuple[Case, ...]:
    from kernelcast import api
    from kernelcast.cli.progress import progress_bar, telling

    with progress_bar("executing", output.quiet) as progress:
        return api.cases(
            work,
            machines,
            build=source.build(),
            sampling=sampling.sampling(),
            progress=telling(progress, output.remark) if sampling.exact else progress,
            caches=caches,
        )


def copy_plan(
    file: str, source: SourceFlags, launch: LaunchOptions, transfers: str | None
) -> CopyPlan | None:
    """What is copied around the launches: as the file says, from the memory that the flag says."""
    from kernelcast import api
    from kernelcast.ir import CopyPlan, HostMemory
    from kernelcast.traces.recognise import is_trace

    if is_trace(Path(file)):
        return None if transfers is None else CopyPlan(HostMemory(transfers))
    work = api.workload(file, launch.flags(source))
    if transfers is None:
        return work.copies
    return replace(work.copies or work.exchanged or CopyPlan(), memory=HostMemory(transfers))


def refuse_execution_options(file: str, *others: str) -> None:
    """InputError where options were typed that say how a launch is compiled and executed.

    `others` are parameters of the command that mean as little where `file` is a trace.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        # In a worker: whoever started it has asked this already.
        return
    groups = (SourceFlags, LaunchOptions, SamplingFlags)
    names = {field.name for group in groups for field in fields(group)} | set(others)
    typed = [
        option.opts[0]
        for option in context.command.params
        if option.name in names
        and context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
    ]
    if typed:
        raise InputError(
            f"{' '.join(typed)}: a trace stays as it was made",
            where=file,
            hint="trace the source anew",
        )


def forecasts(cases: Sequence[Case], models: ModelFlags, output: Output) -> list[Forecast]:
    """What the models say of the cases.

    Where all models are asked for, one that needs a number that a machine lacks is left out with a
    remark; else that is the error it is.
    """
    from kernelcast import api
    from kernelcast.models.terms.parameters import model_label

    chosen = models.models()
    found: list[Forecast] = []
    missing: MissingNumberError | None = None
    for case in cases:
        for model in chosen:
            try:
                found.append(api.predict(case, model))
            except MissingNumberError as error:
                if not models.is_all:
                    raise
                missing = error
                output.remark(f"{model_label(model)} left out: {error}")
    if missing and not found:
        raise missing
    return found


_MOST_TOLD = 4
"""Results of a page that get their background, at a second or two each."""


def backgrounds(found: Sequence[Prediction], output: Output) -> list[Background]:
    """What a page tells beside its results; nothing where there are many."""
    from kernelcast.cli.progress import progress_bar
    from kernelcast.reporting.documents.report import background

    if len(found) > _MOST_TOLD:
        return []
    with progress_bar("ranking bottlenecks", output.quiet) as progress:
        return [background(one, progress) for one in found]


def write_timeline(file: str | None, found: Sequence[Prediction]) -> None:
    """The timeline of forecasts that simulate warps, where a file is named for it.

    InputError where none does, or the file cannot be written.
    """
    if file is None:
        return
    from kernelcast.files import write_whole
    from kernelcast.reporting.timeline_file import timeline_file

    simulated = [one for one in found if one.simulated is not None]
    if not simulated:
        raise InputError("no model here simulates warps", where="--timeline", hint="--model teg")
    write_whole(Path(file), timeline_file(simulated))
