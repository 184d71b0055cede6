"""How long a kernel's launches take and what binds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
    caches_option,
    file_argument,
    gpu_options,
    launch_options,
    model_options,
    output_options,
    sampling_options,
    source_options,
    timeline_option,
    transfers_option,
)

if TYPE_CHECKING:
    from msgspec import Struct


@click.command("predict")
@file_argument
@gpu_options()
@model_options()
@launch_options
@source_options
@sampling_options
@caches_option
@transfers_option
@timeline_option
@output_options
def command(
    file: str,
    gpus: GpuFlags,
    models: ModelFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    caches: str | None,
    transfers: str | None,
    timeline: str | None,
    output: Output,
) -> None:
    """Predict how long the launches of FILE take and what binds them.

    FILE is CUDA C++, PTX, a workload (TOML) or a trace. The launch is read from the comment block
    at the top of the source, or given by --grid, --block and --arg; a trace holds its own.
    """
    from kernelcast.cli.studies import backgrounds, copy_plan, forecasts, study, write_timeline
    from kernelcast.reporting.documents.predict import predict_document

    found = forecasts(study(file, gpus, source, launch, sampling, output, caches), models, output)
    write_timeline(timeline, found)
    document = predict_document(found, copy_plan(file, source, launch, transfers))

    def page() -> Struct:
        from kernelcast.reporting.documents.report import report_document

        return report_document(found, document, backgrounds(found, output))

    output.show(document, page)
