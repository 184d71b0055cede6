"""Whether loops of a C program are worth a GPU."""

from __future__ import annotations

from pathlib import Path

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


@click.command("offload")
@file_argument
@click.option(
    "--cpu-time",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time of the function on the CPU, in place of measuring it here.",
)
@click.option("--cc", metavar="NAME", default="", help="C compiler.  [default: $CC, cc]")
@click.option(
    "--cc-flags",
    metavar="FLAGS",
    default="-O3 -march=native",
    show_default=True,
    help="How the program is compiled for the CPU.",
)
@click.option(
    "--transfers",
    type=click.Choice(["pinned", "pageable"]),
    default="pinned",
    show_default=True,
    help="Memory of the host that is copied from and to.",
)
@click.option("--no-break-even", is_flag=True, help="The sizes given alone.")
@click.option(
    "--cuda",
    metavar="FILE",
    type=click.Path(),
    help="Write the kernels as CUDA C++, with their launches.",
)
@gpu_options(default="h100-sxm,a100-sxm-80gb,rtx-4090")
@model_options()
@launch_options
@source_options
@sampling_options
@output_options
def command(
    file: str,
    cpu_time: float | None,
    cc: str,
    cc_flags: str,
    transfers: str,
    no_break_even: bool,
    cuda: str | None,
    gpus: GpuFlags,
    models: ModelFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    output: Output,
) -> None:
    """Whether loops of FILE, a C program, are worth a GPU.

    \b
    kernelcast offload program.c --function gemm --size n=1024
    kernelcast offload program.c --function gemm --size n=1024 --cpu-time 0.8 --gpu l4,h100-sxm
    kernelcast offload program.c --cuda kernels.cu --size n=1024

    The function is compiled by the system's C compiler and called on this machine's CPU, unless
    --cpu-time says how long it takes. Its loops become kernels, as with `predict`. Speed-ups are
    given with and without the copies between host and device, and the size from which on a GPU is
    worth it.
    """
    import shlex

    from kernelcast.cli.progress import progress_bar
    from kernelcast.exploration.cpu_clocks import given, measured
    from kernelcast.exploration.offload import Offloading, offload
    from kernelcast.files import write_whole
    from kernelcast.frontends.c.choices import launches_of_choice
    from kernelcast.frontends.c.launch_text import launch_comment
    from kernelcast.frontends.c.program import CProgram
    from kernelcast.frontends.loading import read_c_file
    from kernelcast.ir import HostMemory
    from kernelcast.measuring.native_c import NativeCode, c_compiler
    from kernelcast.reporting.documents.offload import offload_document

    model = models.one()
    flags = launch.flags(source)
    program: CProgram = flags.loops.program(read_c_file(file), file)
    what = Offloading(
        file=Path(file),
        program=program,
        choice=flags.loops.choice(flags.block, flags.args),
        machines=gpus.machines(),
        model=model,
        memory=HostMemory(transfers),
        build=source.build(),
        sampling=sampling.sampling(),
        finds_break_even=not no_break_even,
    )
    clock = (
        given(cpu_time)
        if cpu_time is not None
        else measured(
            Path(file),
            NativeCode(
                c_compiler(cc),
                tuple(shlex.split(cc_flags)),
                source.defines,
                tuple(map(Path, source.include_dirs)),
            ),
        )
    )
    with progress_bar("executing", output.quiet) as progress:
        found = offload(what, clock, progress)
    if cuda is not None:
        launches, _, _ = launches_of_choice(program, what.choice)
        text = launch_comment(launches) + program.readable_cuda
        write_whole(Path(cuda), text.encode("utf-8", "surrogateescape"))
    output.show(offload_document(found))
