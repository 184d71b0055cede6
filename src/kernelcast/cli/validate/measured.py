"""Launches that others timed on a GPU: forecasts beside their times, and counters where known."""

from __future__ import annotations

import click

from kernelcast.cli.options import (
    GpuFlags,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
    configurations_option,
    gpu_options,
    longer_than_option,
    model_options,
    output_options,
    sampling_options,
    source_options,
)


@click.command("measured")
@click.argument("file", metavar="DATA", type=click.Path())
@click.option(
    "--workload",
    metavar="FILE",
    required=True,
    type=click.Path(),
    help="The kernel with its launch, which the parameters of DATA complete.",
)
@gpu_options(required=True, one=True)
@model_options()
@configurations_option
@longer_than_option
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
    from kernelcast.cli.progress import progress_bar
    from kernelcast.reporting.documents.measured import measured_document
    from kernelcast.validation.measured import Choice, validate_measured

    chip = gpus.machine()
    with progress_bar("predicting", output.quiet) as progress:
        answer = validate_measured(
            file,
            workload,
            chip,
            models.models(),
            Choice(count, least_us * 1e-6, only),
            kernel=source.kernel,
            build=source.build(),
            sampling=sampling.sampling(),
            skips_models=models.is_all,
            progress=progress,
        )
    output.show(measured_document(answer, chip.name, chip.title))
