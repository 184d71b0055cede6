"""A design space: numbers of a machine swept over kernels and models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
    gpu_options,
    launch_options,
    model_options,
    output_options,
    read_streams,
    sampling_options,
    source_options,
)
from kernelcast.errors import MissingNumberError

if TYPE_CHECKING:
    from kernelcast.exploration.design_space import DesignSpace
    from kernelcast.exploration.executors import Executor
    from kernelcast.exploration.sweep import Program
    from kernelcast.models.terms.base import Model

_PATH = click.Path(path_type=Path)


@click.command("explore")
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(),
    callback=read_streams,
)
@click.option(
    "--sweep",
    "sweeps",
    metavar="PATH=VALUES",
    multiple=True,
    required=True,
    help="START:STOP:STEP, both ends included, or VALUE,VALUE...; repeated, every value with every "
    "other. `kernelcast gpus NAME` lists the numbers of a machine.",
)
@click.option("--results", type=_PATH, metavar="OUT.db", help="Keep results here, and go on there.")
@click.option("--parquet", type=_PATH, metavar="OUT", help="Write all times as a table.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Configurations to show of each list.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes that predict.",
)
@click.option(
    "--dask",
    metavar="local|ADDRESS",
    help="Predict on Dask: --workers of its own here, or those of a scheduler.",
)
@gpu_options(one=True)
@model_options("fast")
@launch_options
@source_options
@sampling_options
@output_options
def command(
    files: tuple[str, ...],
    sweeps: tuple[str, ...],
    results: Path | None,
    parquet: Path | None,
    top: int,
    workers: int,
    dask: str | None,
    gpus: GpuFlags,
    models: ModelFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    output: Output,
) -> None:
    """Predict the launches of every FILE while numbers of the machine vary.

    \b
    kernelcast explore FILE --gpu rtx-2080-ti --sweep sm.count=15:80:5
    kernelcast explore FILE FILE --sweep sm.count=60:140:10 --sweep dram.bandwidth=2e12,4e12
    """
    from kernelcast.cli.progress import progress_bar
    from kernelcast.exploration.explore import explore
    from kernelcast.reporting.documents.explore import explore_document

    space = _space(gpus, sweeps)
    executor = _executor(workers, dask)
    programs = [_program(file, gpus, source, launch, sampling, output) for file in _once(files)]
    try:
        with progress_bar("exploring", output.quiet) as progress:
            found = explore(
                space,
                programs,
                _models(models, space, programs, output),
                results=results,
                executor=executor,
                progress=progress,
            )
    except KeyboardInterrupt:
        output.remark(
            f"what was done is in {results}; the same command goes on from there"
            if results
            else "nothing is kept; with --results OUT.db the same command would go on"
        )
        raise
    if parquet:
        from kernelcast.exploration.parquet import write_parquet

        write_parquet(parquet, found)
    output.show(explore_document(found, top))


def _space(gpus: GpuFlags, sweeps: tuple[str, ...]) -> DesignSpace:
    from kernelcast.exploration.design_space import design_space, read_axis

    return design_space(gpus.machine(), [read_axis(text) for text in sweeps])


def _executor(workers: int, dask: str | None) -> Executor:
    from kernelcast.exploration.dask_workers import DaskWorkers
    from kernelcast.exploration.executors import local_workers

    return local_workers(workers) if dask is None else DaskWorkers.at(dask, workers)


def _models(
    flags: ModelFlags, space: DesignSpace, programs: Sequence[Program], output: Output
) -> list[Model]:
    """The models asked for; of all, those to which the machine says enough."""
    from kernelcast.exploration.sweep import sweep_of
    from kernelcast.models.terms.parameters import model_label

    chosen = []
    for model in flags.models():
        try:
            sweep_of(space, programs, [model]).check()
        except MissingNumberError as error:
            if not flags.is_all:
                raise
            output.remark(f"{model_label(model)} left out: {error}")
        else:
            chosen.append(model)
    return chosen


def _once(files: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(files))


def _program(
    file: str,
    gpus: GpuFlags,
    source: SourceFlags,
    launch: LaunchOptions,
    sampling: SamplingFlags,
    output: Output,
) -> Program:
    from kernelcast.cli.studies import study
    from kernelcast.exploration.sweep import Program

    # All of a chip's configurations have its code: what it executes is what they all do.
    return Program(file, study(file, gpus, source, launch, sampling, output))
