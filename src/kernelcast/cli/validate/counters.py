"""What is counted of kernels by executing them, beside what a profiler counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from kernelcast.cli.options import (
    GpuFlags,
    Output,
    SamplingFlags,
    SourceFlags,
    gpu_options,
    output_options,
    sampling_options,
    source_options,
)


@click.command("counters")
@click.argument("file", metavar="PROFILES", type=click.Path())
@gpu_options(required=True, one=True)
@click.option(
    "--workloads",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of the kernels, each in a source file of its name; else the project's own.",
)
@click.option("--only", metavar="KERNEL", multiple=True, help="Execute this kernel. Repeatable.")
@source_options
@sampling_options
@output_options
def command(
    file: str,
    gpus: GpuFlags,
    workloads: Path | None,
    only: tuple[str, ...],
    source: SourceFlags,
    sampling: SamplingFlags,
    output: Output,
) -> None:
    """Counted instructions, sectors and bytes beside those that a profiler read.

    PROFILES is what `python3 pack.pyz profile` wrote, by the file that `kernelcast measure
    --pack DIR --ground-truth` makes, on the GPU called NAME; with --workloads, a published
    table of counters.
    """
    from kernelcast.cli.progress import progress_bar
    from kernelcast.measurements.reading import read_measurements
    from kernelcast.measuring.ground_truth_profile import read_profile
    from kernelcast.reporting.documents.counters import counters_document
    from kernelcast.validation.counted import execute_counted
    from kernelcast.validation.counter_scores import counter_scores
    from kernelcast.validation.judging import nothing_compared, of_kernels
    from kernelcast.validation.profiled import execute_profiled

    chip = gpus.machine()
    with progress_bar("executing", output.quiet) as progress:
        if workloads:
            table = read_measurements(file)
            device: Mapping[str, Any] = {"name": table.device}
            counted = of_kernels(table.observations, only, file)
            pairs, missing = execute_counted(
                counted,
                workloads,
                chip,
                build=source.build(),
                sampling=sampling.sampling(),
                progress=progress,
            )
        else:
            found = read_profile(file)
            device = found.device
            profiled = of_kernels(found.profiled, only, file)
            pairs, missing = execute_profiled(profiled, chip, progress)
            if not only:
                missing = [*found.missing, *missing]
    scores = counter_scores(pairs)
    if not scores:
        raise nothing_compared(file, missing)
    output.show(counters_document(scores, device, chip.name, chip.title, missing))
