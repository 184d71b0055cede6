"""GPUs, or two versions of a kernel, side by side."""

from __future__ import annotations

from dataclasses import replace

import click

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
    caches_option,
    gpu_options,
    launch_options,
    model_options,
    output_options,
    read_streams,
    sampling_options,
    source_options,
    transfers_option,
)
from kernelcast.errors import InputError
from kernelcast.machines import DEFAULT_GPU

_SEVERAL_GPUS = ("b200", "h100-sxm", "a100-sxm-80gb", "rtx-4090", "l4")
"""What one file is compared on where no GPU is named."""


@click.command("compare")
@click.argument(
    "files",
    metavar="FILE [FILE]",
    nargs=-1,
    required=True,
    type=click.Path(),
    callback=read_streams,
)
@gpu_options(default="default")
@model_options()
@launch_options
@source_options
@sampling_options
@caches_option
@transfers_option
@output_options
def command(
    files: tuple[str, ...],
    gpus: GpuFlags,
    models: ModelFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    caches: str | None,
    transfers: str | None,
    output: Output,
) -> None:
    """Compare GPUs for one FILE, or two versions of a kernel, each in its FILE, on one GPU."""
    from kernelcast.cli.studies import backgrounds, copy_plan, forecasts, study
    from kernelcast.reporting.documents.compare import compare_document
    from kernelcast.reporting.documents.predict import predict_document
    from kernelcast.reporting.documents.report import report_document

    if len(files) > 2:
        raise InputError(f"{len(files)} files", hint="compare takes one or two")
    if gpus.gpu == ("default",):
        gpus = replace(gpus, gpu=_SEVERAL_GPUS if len(files) == 1 else (DEFAULT_GPU,))
    if len(files) == 1:
        found = forecasts(
            study(files[0], gpus, source, launch, sampling, output, caches), models, output
        )
        together = predict_document(found, copy_plan(files[0], source, launch, transfers))
        output.show(together, lambda: report_document(found, together, backgrounds(found, output)))
        return
    gpus.machine()
    versions = {
        file: forecasts(study(file, gpus, source, launch, sampling, output, caches), models, output)
        for file in dict.fromkeys(files)
    }
    if len(versions) < 2:
        raise InputError("the same file twice", where=files[0], hint="give two versions")
    copies = {file: copy_plan(file, source, launch, transfers) for file in versions}
    document = compare_document(versions, copies)
    every = [one for each in versions.values() for one in each]
    output.show(document, lambda: report_document(every, document, backgrounds(every, output)))
