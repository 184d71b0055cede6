"""Programs whose launches were timed: run on a virtual GPU, forecasts beside the times."""

from __future__ import annotations

from pathlib import Path

import click

from kernelcast.cli.options import (
    GpuFlags,
    ModelFlags,
    Output,
    SamplingFlags,
    gpu_options,
    longer_than_option,
    model_options,
    output_options,
    sampling_options,
)


@click.command("programs")
@click.argument("file", metavar="DATA", type=click.Path())
@click.option(
    "--sources",
    required=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder that holds the programs: NAME, NAME-cuda, or src/NAME-cuda.",
)
@gpu_options(required=True, one=True)
@model_options()
@click.option(
    "--programs",
    "count",
    type=click.IntRange(min=1),
    default=1000,
    metavar="N",
    help="Run N programs, drawn at random.  [default: all]",
)
@click.option("--only", metavar="PROGRAM", multiple=True, help="Run this program. Repeatable.")
@click.option(
    "--launches",
    type=click.IntRange(min=1),
    default=24,
    show_default=True,
    help="End a program after so many of the launches that were timed.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    default=120.0,
    show_default=True,
    help="End a program after so many seconds of a core.",
)
@click.option(
    "--compiler",
    type=click.Choice(["nvcc", "make", "clang"]),
    default="nvcc",
    show_default=True,
    help="What made the programs that were measured: nvcc -O3; nvcc with the arithmetic that their "
    "makefiles ask for, such as -use_fast_math; or clang.",
)
@longer_than_option
@sampling_options
@output_options
def command(
    file: str,
    sources: Path,
    gpus: GpuFlags,
    models: ModelFlags,
    count: int,
    only: tuple[str, ...],
    launches: int,
    seconds: float,
    compiler: str,
    least_us: float,
    sampling: SamplingFlags,
    output: Output,
) -> None:
    """Predicted beside measured times of the launches of whole programs.

    The programs of DATA are compiled as a compile_commands.json in the folder of the sources says,
    or their makefiles, which with `--compiler make` say all; and run as `kernelcast run` does.
    Those of its launches that they make are compared, and counters where DATA has some. DATA is a
    table of gpuFLOPBench, or a file of program times such as those in measurements/data.
    """
    from kernelcast.cli.progress import progress_bar
    from kernelcast.reporting.documents.measured import measured_document
    from kernelcast.toolchain.cache import Cache
    from kernelcast.validation.measured import Choice
    from kernelcast.validation.programs import ProgramLimits, validate_programs

    model = models.one()
    chip = gpus.machine()
    with progress_bar("running", output.quiet) as progress:
        answer = validate_programs(
            file,
            sources,
            chip,
            model,
            Choice(count, least_us * 1e-6, only),
            limits=ProgramLimits(launches, seconds),
            sampling=sampling.sampling(),
            cache=Cache(),
            compiler=compiler,
            progress=progress,
        )
    output.show(measured_document(answer, chip.name, chip.title))
