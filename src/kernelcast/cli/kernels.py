"""The kernels of a file: parameters, registers and memory."""

from __future__ import annotations

import click

from kernelcast.cli.options import (
    GpuFlags,
    Output,
    SourceFlags,
    file_argument,
    gpu_options,
    output_options,
    source_options,
)


@click.command("kernels")
@file_argument
@gpu_options()
@source_options
@output_options
def command(file: str, gpus: GpuFlags, source: SourceFlags, output: Output) -> None:
    """List the kernels of FILE (CUDA C++, PTX or cubin) with their parameters and resources."""
    from kernelcast import api
    from kernelcast.reporting.kernels import kernels_dict, render_kernels

    found = api.kernels(file, gpu=gpus.machine(), kernel=source.kernel, build=source.build())
    output.show(render_kernels(found), kernels_dict(found))
