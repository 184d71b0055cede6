"""Blocks and warps per SM, what limits them, and how far each resource may move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import GpuFlags, Output, gpu_options, output_options

if TYPE_CHECKING:
    from kernelcast.ir import Dim3


def _parse_dimensions(
    _: click.Context, parameter: click.Parameter, text: str | None
) -> Dim3 | None:
    """`x`, `x,y` or `x,y,z` as three positive whole numbers."""
    if text is None:
        return None
    parts = text.replace("x", ",").split(",")
    if len(parts) > 3 or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise click.BadParameter(
            f"{text!r} is not X[,Y[,Z]], positive whole numbers", param=parameter
        )
    x, y, z = [int(part) for part in parts] + [1] * (3 - len(parts))
    return (x, y, z)


@click.command("occupancy")
@gpu_options()
@click.option(
    "--block",
    metavar="X[,Y[,Z]]",
    required=True,
    callback=_parse_dimensions,
    help="Threads in a block.",
)
@click.option("--regs", "registers", type=click.IntRange(0), help="Registers per thread.")
@click.option(
    "--smem",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="BYTES",
    help="Shared memory per block, static and dynamic together.",
)
@click.option(
    "--grid",
    metavar="X[,Y[,Z]]",
    callback=_parse_dimensions,
    help="Blocks in the grid, for waves and tail.",
)
@click.option(
    "--carveout",
    type=click.IntRange(0, 100),
    metavar="PERCENT",
    help="Preferred share of the largest shared memory of an SM.  [default: the largest]",
)
@click.option(
    "--barriers",
    type=click.IntRange(0, 16),
    default=0,
    show_default=True,
    help="Barriers that a block uses; they limit from compute capability 9.0.",
)
@output_options
def command(
    gpus: GpuFlags,
    block: Dim3,
    registers: int | None,
    smem: int,
    grid: Dim3 | None,
    carveout: int | None,
    barriers: int,
    output: Output,
) -> None:
    """Occupancy of a block by NVIDIA's rules.

    \b
    kernelcast occupancy --gpu a100-sxm-80gb --block 256 --regs 48 --smem 16384
    """
    from kernelcast.ir import Launch
    from kernelcast.machines.launch_limits import check_launch
    from kernelcast.machines.occupancy import occupancy
    from kernelcast.reporting.documents.occupancy import occupancy_document

    launch = Launch(grid=grid or (1, 1, 1), block=block)
    answers = []
    for machine in gpus.machines():
        check_launch(machine, launch)
        answers.append(
            occupancy(
                machine,
                threads=launch.threads_per_block,
                registers=registers,
                shared_bytes=smem,
                shared_preference_percent=carveout,
                named_barriers=barriers,
                blocks=launch.blocks if grid else None,
            )
        )
    output.show(occupancy_document(answers))
