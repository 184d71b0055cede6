"""Launches that others timed on a GPU: forecasts beside their times, and counters where known."""

from __future__ import annotations

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
    from kernelcast.cli.progress import progress_bar
    from kernelcast.models import load_model
    from kernelcast.reporting.measured import measured_dict, render_measured
    from kernelcast.validation.measured import Choice, validate_measured

    chip = gpus.machine()
    chosen = [load_model(name) for name in models.names()]
    with progress_bar("predicting", output.quiet) as progress:
        answer = validate_measured(
            file,
            workload,
            chip,
            chosen,
            Choice(count, least_us * 1e-6, only),
            kernel=source.kernel,
            build=source.build(),
            sampling=sampling.sampling(),
            skips_models="all" in models.model,
            progress=progress,
        )
    title = f"{chip.title}, predicted, beside {answer.found.device}, measured"
    output.show(
        render_measured(
            answer.scores,
            title,
            len(answer.found.observations),
            answer.code,
            answer.counted,
            answer.missing,
            detail=not output.quiet,
        ),
        measured_dict(
            answer.scores, answer.found, chip.name, answer.code, answer.counted, answer.missing
        ),
    )
