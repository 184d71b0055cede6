"""The machine code of a kernel: control codes, what each wait waits for, cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from kernelcast.frontends.sass import MachineCode
    from kernelcast.isas.sass.latencies import MachineLatencies
    from kernelcast.machines.machine import Machine
    from kernelcast.reporting.disassembly import Disassembly


@click.command("disasm")
@file_argument
@gpu_options()
@click.option(
    "--loads-from",
    type=click.Choice(["l1", "l2", "dram"]),
    default="dram",
    show_default=True,
    help="Where loads from global memory find their data.",
)
@source_options
@output_options
def command(
    file: str, gpus: GpuFlags, loads_from: str, source: SourceFlags, output: Output
) -> None:
    """Show the machine code (SASS) of FILE, timed by its control codes.

    FILE is CUDA C++, a cubin, a fat binary, a program or library with GPU code, or a listing by
    nvdisasm -c -hex. Every instruction is shown with the cycle of its block at which one warp
    alone issues it (* on the critical path), its address, and its control code: B the scoreboards
    it waits for, R and W those it takes until its sources are read and its result is written, Y
    where it yields, S the stall count.
    """
    from kernelcast.frontends.sass import machine_code
    from kernelcast.isas.sass.latencies import MachineLatencies, MemoryLevel
    from kernelcast.reporting.disassembly import disassembly_dict, render_disassembly

    machine, build = gpus.machine(), source.build()
    latencies = MachineLatencies(machine, MemoryLevel(loads_from))
    codes = machine_code(
        file,
        compute_capability=machine.compute_capability,
        kernel=source.kernel,
        options=build.options,
        cache=build.cache,
    )
    views = [_view(code, machine, latencies) for code in codes]
    for note in {code.note for code in codes if code.note}:
        output.remark(note)
    output.show(
        "\n\n".join(render_disassembly(view, brief=output.quiet) for view in views),
        {
            "schema": "kernelcast/disassembly/1",
            "gpu": machine.name,
            "kernels": [disassembly_dict(view) for view in views],
        },
    )


def _view(code: MachineCode, machine: Machine, latencies: MachineLatencies) -> Disassembly:
    from kernelcast.isas.sass.flow import flow_graph
    from kernelcast.isas.sass.opcodes import coverage
    from kernelcast.isas.sass.scoreboards import waits
    from kernelcast.isas.sass.timing import function_timing
    from kernelcast.reporting.disassembly import Disassembly

    graph = flow_graph(code.function)
    return Disassembly(
        code=code,
        graph=graph,
        waits=waits(code.function, graph),
        timing=function_timing(code.function, graph, latencies),
        coverage=coverage(code.function.instructions),
        basis=f"latencies of {machine.name}, global loads served by {latencies.level.upper()}",
    )
