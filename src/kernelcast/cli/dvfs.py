"""The time of launches against the clocks of the SMs and of the memory."""

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

_HERTZ = "HZ[,HZ...]|START:STOP:STEP"


@click.command("dvfs")
@file_argument
@click.option(
    "--clock-sm",
    "sm",
    metavar=_HERTZ,
    help="Clocks of the SMs in Hz.  [default: half to all of the GPU's, in tenths]",
)
@click.option(
    "--clock-memory",
    "memory",
    metavar=_HERTZ,
    help="Clocks of the memory in Hz, each with all of the SMs'.  [default: the GPU's]",
)
@gpu_options()
@model_options("fast")
@launch_options
@source_options
@sampling_options
@output_options
def command(
    file: str,
    sm: str | None,
    memory: str | None,
    gpus: GpuFlags,
    models: ModelFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    output: Output,
) -> None:
    """Time of the launches of FILE against the clocks of SMs and memory.

    \b
    kernelcast dvfs FILE --clock-sm 1.0e9:2.0e9:0.1e9
    kernelcast dvfs FILE --gpu a100-sxm-80gb --clock-sm 0.7e9,1.41e9 --clock-memory 0.8e9,1.6e9
    """
    from kernelcast.cli.studies import forecasts, study
    from kernelcast.exploration.design_space import axis_of
    from kernelcast.exploration.dvfs import MEMORY_CLOCK, SM_CLOCK, clock_curve, usual_clocks
    from kernelcast.reporting.documents.dvfs import dvfs_document

    sm_hz = axis_of(SM_CLOCK, sm, "--clock-sm").values if sm else ()
    memory_hz = axis_of(MEMORY_CLOCK, memory, "--clock-memory").values if memory else ()
    found = forecasts(study(file, gpus, source, launch, sampling, output), models, output)
    curves = [
        clock_curve(f.case, f.model, sm_hz or usual_clocks(f.case.machine), memory_hz)
        for f in found
    ]
    output.show(dvfs_document(curves))
