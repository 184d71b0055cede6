"""What goes wrong in kernels, found without a GPU."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelcast.cli.misplaced import options_come_first
from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    Output,
    SourceFlags,
    gpu_options,
    launch_options,
    output_options,
    source_options,
)

if TYPE_CHECKING:
    from kernelcast.frontends.workloads import LaunchFlags, Workload
    from kernelcast.reporting.documents.check import CheckDocument

_EXIT_MISUSES = 1


@click.command(
    "check", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.argument("file", metavar="PROGRAM|FILE", type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@gpu_options(one=True)
@launch_options
@source_options
@click.option(
    "--nvcc",
    "further",
    metavar="OPTION",
    multiple=True,
    help="An option for nvcc, where a program is compiled first. Repeatable.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="N",
    help="Warp instructions after which a block is taken to be endless.",
)
@click.option("--junit", metavar="FILE", type=click.Path(), help="Write JUnit XML, too.")
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    arguments: tuple[str, ...],
    gpus: GpuFlags,
    launch: LaunchOptions,
    source: SourceFlags,
    further: tuple[str, ...],
    budget: int | None,
    junit: str | None,
    output: Output,
) -> None:
    """Check every access and barrier of a program's kernels, or of the launches of a file.

    Found are accesses out of bounds and misaligned, reads of what nobody has written, races on
    shared memory and between blocks, and divergent barriers, each with its line and threads. Exit
    status 1 where something is found, else that of the program.

    A PROGRAM is what run takes, with its arguments behind it. A FILE is what predict takes; one
    that says no launch is compiled as a program.

    \b
    kernelcast check ./app --size 100
    kernelcast check --junit report.xml reduction.cu
    """
    from kernelcast.errors import InputError
    from kernelcast.files import write_whole
    from kernelcast.reporting.ci.junit import junit_of_check

    work = _workload(file, launch.flags(source))
    if work is not None and arguments:
        raise InputError(
            f"{arguments[0]} behind a file, which takes no arguments",
            where=file,
            hint="options stand before it",
        )
    if work is None:
        call = [file, *arguments]
        with options_come_first(ctx, call, output):
            document = _checked_program(call, gpus, source, further, budget, output)
    else:
        document = _checked_file(file, work, gpus, source, budget, output)
    if junit is not None:
        write_whole(Path(junit), junit_of_check(document))
    output.show(document)
    found = document.misuses or document.failures
    ctx.exit(_EXIT_MISUSES if found else document.exit_status or 0)


def _says_no_launch(flags: LaunchFlags) -> bool:
    """Whether they say at most how the source is read: macros and folders."""
    from kernelcast.frontends.workloads import NO_FLAGS

    return replace(flags, loops=NO_FLAGS.loops, parameters={}) == NO_FLAGS


def _workload(file: str, flags: LaunchFlags) -> Workload | None:
    """The launches that a file says; None where it is a program."""
    from kernelcast import api
    from kernelcast.devices.programs import is_program, is_source
    from kernelcast.errors import NoLaunchError

    if is_program(file):
        return None
    # Macros are those of the program, too.
    may_run = is_source(file) and _says_no_launch(flags)
    try:
        work = api.workload(file, flags)
    except NoLaunchError:
        if may_run:
            return None
        raise
    return None if may_run and work.is_read else work


def _checked_file(
    file: str,
    work: Workload,
    gpus: GpuFlags,
    source: SourceFlags,
    budget: int | None,
    output: Output,
) -> CheckDocument:
    from kernelcast.checking.workload import check_workload
    from kernelcast.cli.progress import progress_bar
    from kernelcast.forecasting.build import ptx_because
    from kernelcast.reporting.documents.check import check_document

    machine = gpus.machine()
    with progress_bar("checking", output.quiet) as progress:
        checked, reason = check_workload(
            work, machine, source.build(), budget=budget, progress=progress
        )
    if reason:
        output.remark(ptx_because(reason))
    return check_document([file], machine.name, checked)


def _checked_program(
    call: list[str],
    gpus: GpuFlags,
    source: SourceFlags,
    further: tuple[str, ...],
    budget: int | None,
    output: Output,
) -> CheckDocument:
    from kernelcast.cli.program_options import with_folders_of_headers
    from kernelcast.devices.run import check_on_device
    from kernelcast.reporting.documents.check import check_document
    from kernelcast.toolchain.cache import Cache
    from kernelcast.toolchain.nvcc import ProgramOptions

    machine = gpus.machine()
    include_dirs = tuple(map(Path, source.include_dirs))
    options = ProgramOptions(source.defines, include_dirs, source.std, (*further, *source.extra))
    done = check_on_device(
        call,
        machine,
        options=with_folders_of_headers(call[0], options, output),
        cache=source.build().cache or Cache(),
        budget=budget,
        output=sys.stderr.buffer if output.as_json else None,
    )
    record = done.record
    return check_document(call, machine.name, record.checked, done.status, record.failures)
