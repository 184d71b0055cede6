"""The machine code of a kernel: control codes, what each wait waits for, cycles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import (
    NO_LAUNCH,
    GpuFlags,
    LaunchOptions,
    Output,
    SamplingFlags,
    SourceFlags,
    file_argument,
    gpu_options,
    launch_options,
    output_options,
    sampling_options,
    source_options,
)
from kernelcast.errors import ExecutionError, LaunchError, NoLaunchError, UnsupportedError

if TYPE_CHECKING:
    from kernelcast.profiling.profile import Profile


@click.command("disasm")
@file_argument
@gpu_options(one=True)
@click.option(
    "--loads-from",
    type=click.Choice(["l1", "l2", "dram"]),
    default="dram",
    show_default=True,
    help="Where loads from global memory find their data.",
)
@launch_options
@source_options
@sampling_options
@output_options
def command(
    file: str,
    gpus: GpuFlags,
    loads_from: str,
    launch: LaunchOptions,
    source: SourceFlags,
    sampling: SamplingFlags,
    output: Output,
) -> None:
    """Show the machine code (SASS) of FILE, timed by its control codes.

    FILE is CUDA C++, PTX, a cubin, a fat binary, a program or library with GPU code, or a listing
    by nvdisasm -c -hex. Every instruction is shown with the cycle of its block at which one warp
    alone issues it (* on the critical path), its address, and its control code: B the scoreboards
    it waits for, R and W those it takes until its sources are read and its result is written, Y
    where it yields, S the stall count. Where FILE or the options say a launch, it is executed, and
    every instruction shows how many warps executed it.
    """
    from kernelcast.frontends.sass import machine_code
    from kernelcast.isas.sass.latencies import MachineLatencies, MemoryLevel
    from kernelcast.reporting.documents.disasm import disasm_document

    machine, build = gpus.machine(), source.build()
    latencies = MachineLatencies(machine, MemoryLevel(loads_from))
    codes = machine_code(
        file,
        compute_capability=machine.compute_capability,
        kernel=source.kernel,
        options=build.options,
        cache=build.cache,
    )
    profiles = _profiles(file, gpus, source, launch, sampling, output)
    for note in {code.note for code in codes if code.note}:
        output.remark(note)
    output.show(disasm_document(codes, latencies, profiles))


def _profiles(
    file: str,
    gpus: GpuFlags,
    source: SourceFlags,
    launch: LaunchOptions,
    sampling: SamplingFlags,
    output: Output,
) -> list[Profile]:
    """What the launches execute of the machine code; nothing where there is no launch, or where
    it cannot be executed, which is remarked: the listing is what was asked for."""
    from kernelcast.cli.studies import study

    if output.quiet and not output.as_json:
        return []
    try:
        cases = study(file, gpus, replace(source, isa="sass"), launch, sampling, output)
    except LaunchError as error:
        if launch != NO_LAUNCH:
            raise
        if not isinstance(error, NoLaunchError):
            output.remark(f"not executed: {error}")
        return []
    except (UnsupportedError, ExecutionError) as error:
        output.remark(f"not executed: {error}")
        return []
    return [case.profile for case in cases]
