"""The kernels of a file: parameters, registers and memory."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

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
@gpu_options(one=True)
@source_options
@output_options
@click.pass_context
def command(
    ctx: click.Context, file: str, gpus: GpuFlags, source: SourceFlags, output: Output
) -> None:
    """List the kernels of FILE with their parameters and resources.

    FILE is CUDA C++, PTX, a cubin, a fat binary, or a program or library with GPU code. Of the
    last three, the code for every architecture is listed, or that which --gpu runs, a kernel in a
    line; --kernel chooses by a part of the name, or by a pattern such as '*softmax*<float*'.
    """
    from kernelcast.frontends.fatbin import is_container

    if is_container(file):
        is_chosen = ctx.get_parameter_source("gpu") is not ParameterSource.DEFAULT
        _show_container(file, gpus if is_chosen else None, source, output)
        return
    from kernelcast.forecasting.build import kernels_of, open_module
    from kernelcast.frontends.loading import no_kernel
    from kernelcast.reporting.documents.kernels import kernels_document

    module = open_module(Path(file), gpus.machine(), [source.kernel], source.build())
    found = kernels_of(module, source.kernel)
    templates = () if source.kernel else module.templates
    if not found and not templates:
        raise no_kernel(file)
    output.show(kernels_document(found, templates=templates))


def _show_container(file: str, gpus: GpuFlags | None, source: SourceFlags, output: Output) -> None:
    from kernelcast.cli.progress import progress_bar
    from kernelcast.frontends.sass import container_kernels
    from kernelcast.reporting.documents.kernels import kernels_document, library_json

    chip = gpus.machine().compute_capability if gpus else None
    with progress_bar(f"reading {Path(file).name}", output.quiet) as progress:
        found = container_kernels(
            file, chip, pattern=source.kernel, progress=progress, cache=source.build().cache
        )
        if output.as_json and not output.page:
            output.show_pieces(library_json(found))
            return
        document = kernels_document(found, is_library=True)
    output.show(document)
