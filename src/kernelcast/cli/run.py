"""An unmodified CUDA program on a virtual GPU, with a forecast of every launch."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kernelcast.cli.misplaced import options_come_first
from kernelcast.cli.options import (
    GpuFlags,
    ModelFlags,
    Output,
    SamplingFlags,
    caches_option,
    gpu_options,
    model_options,
    output_options,
    sampling_options,
)


@click.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("program", type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@gpu_options()
@model_options()
@click.option("-D", "defines", metavar="NAME[=VALUE]", multiple=True, help="Define a macro.")
@click.option(
    "-I", "include_dirs", metavar="DIR", multiple=True, help="Search DIR for included files."
)
@click.option("--std", metavar="STD", help="C++ standard, e.g. c++20.")
@click.option(
    "--nvcc", "further", metavar="OPTION", multiple=True, help="An option for nvcc. Repeatable."
)
@sampling_options
@caches_option
@click.option("--cache-dir", metavar="DIR", help="Where compiled kernels are kept.")
@click.option(
    "--timeline",
    metavar="FILE",
    type=click.Path(),
    help="Write launches and copies by stream, for chrome://tracing or Perfetto.",
)
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    program: str,
    arguments: tuple[str, ...],
    gpus: GpuFlags,
    models: ModelFlags,
    defines: tuple[str, ...],
    include_dirs: tuple[str, ...],
    std: str | None,
    further: tuple[str, ...],
    sampling: SamplingFlags,
    caches: str | None,
    cache_dir: str | None,
    timeline: str | None,
    output: Output,
) -> None:
    """Run PROGRAM on a virtual GPU: its results, and a forecast of every launch.

    PROGRAM is a program linked with nvcc -cudart shared, or a CUDA C++ file, which is compiled
    first; options come before it, and what follows it is its own. It runs on the first GPU; the
    others say what its kernels would take there. The profile follows what it prints; with --json,
    what it prints goes to standard error. The exit status is the program's.

    \b
    kernelcast run saxpy.cu 1048576
    kernelcast run --gpu h100-sxm,rtx-4090 ./app --size 100
    """
    from kernelcast.cli.program_options import with_folders_of_headers
    from kernelcast.devices.run import run_on_device
    from kernelcast.files import write_whole
    from kernelcast.ir import CacheState
    from kernelcast.reporting.documents.run import run_document
    from kernelcast.toolchain.cache import Cache
    from kernelcast.toolchain.nvcc import ProgramOptions

    model = models.one()
    call = [program, *arguments]
    options = ProgramOptions(defines, tuple(map(Path, include_dirs)), std, further)
    with options_come_first(ctx, call, output):
        run = run_on_device(
            call,
            gpus.machines(),
            model,
            options=with_folders_of_headers(program, options, output),
            sampling=sampling.sampling(),
            caches=CacheState(caches or CacheState.COLD),
            cache=Cache(Path(cache_dir)) if cache_dir else Cache(),
            output=sys.stderr.buffer if output.as_json else None,
        )
    if timeline is not None:
        from kernelcast.reporting.program_timeline import program_timeline

        write_whole(Path(timeline), program_timeline(run))
    output.show(run_document(run))
    ctx.exit(run.status)
