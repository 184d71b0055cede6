"""Which launch of a kernel would be faster."""

from __future__ import annotations

import click

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
    file_argument,
    gpu_options,
    launch_options,
    model_options,
    output_options,
    sampling_options,
    source_options,
)


@click.command("advise")
@file_argument
@gpu_options()
@model_options("volkov")
@launch_options
@source_options
@sampling_options
@output_options
def command(
    file: str,
    gpus: GpuFlags,
    models: ModelFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    output: Output,
) -> None:
    """Advise on block sizes, registers and code for the launches of FILE, by predicted time.

    Blocks of other sizes and shapes, and caps on registers, are forecast, the fastest executed. One
    is advised if the default model, too, finds it faster and it leaves the same in memory. Padding,
    layout and tiles in shared memory are advised by what the timing simulation gains from them.
    """
    from pathlib import Path

    from kernelcast import api
    from kernelcast.cli.progress import progress_bar
    from kernelcast.errors import InputError
    from kernelcast.exploration.advice import advise_launch
    from kernelcast.reporting.documents.advise import advise_document
    from kernelcast.traces.recognise import is_trace

    if is_trace(Path(file)):
        raise InputError("a trace holds one launch", where=file, hint="give the source")
    model = models.one()
    work = api.workload(file, launch.flags(source))
    found = []
    for machine in gpus.machines():
        for one in work.launches:
            with progress_bar("trying launches", output.quiet) as progress:
                found.append(
                    advise_launch(
                        work,
                        one,
                        machine,
                        model,
                        build=source.build(),
                        sampling=sampling.sampling(),
                        progress=progress,
                    )
                )
    output.show(advise_document(found))
