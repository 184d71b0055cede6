"""Errors of the models against the papers and against measurements."""

from __future__ import annotations

import math
from collections.abc import Callable

import click

from kernelcast.cli.options import GpuFlags, Output, gpu_options, output_options

_FIVE = "8800-gtx,gtx-280,gtx-480,gtx-680,gtx-980"
_EXIT_BROKEN = 1


def parse_numbers(
    _: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[float, ...] | None:
    """`a,b,c` as numbers; `inf` is one."""
    if text is None:
        return None
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = (math.nan,)
    if any(math.isnan(n) for n in numbers):
        raise click.BadParameter(f"{text!r} is not a list of numbers", param=parameter)
    return numbers


@click.command("validate")
@click.argument("name", metavar="SET")
@gpu_options(_FIVE)
@click.option(
    "--alpha",
    "alphas",
    metavar="A[,A...]",
    callback=parse_numbers,
    help="Additions per load; 0 for loads alone, inf for additions alone.  [default: 1 to 512]",
)
@click.option(
    "--warps",
    metavar="N[,N...]",
    callback=parse_numbers,
    help="Warps per SM.  [default: as many on every scheduler, up to the limit]",
)
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    gpus: GpuFlags,
    alphas: tuple[float, ...] | None,
    warps: tuple[float, ...] | None,
    output: Output,
) -> None:
    """Check the models; exit status 1 where a stated bound is broken.

    \b
    kernelcast validate latency-hiding    every model on the synthetic workload of latency hiding
    """
    from kernelcast.errors import NotFoundError

    sets: dict[str, Callable[[], bool]] = {
        "latency-hiding": lambda: _latency_hiding(gpus, alphas, warps, output)
    }
    if name not in sets:
        raise NotFoundError("validation set", name, sets)
    if not sets[name]():
        ctx.exit(_EXIT_BROKEN)


def _latency_hiding(
    gpus: GpuFlags,
    alphas: tuple[float, ...] | None,
    warps: tuple[float, ...] | None,
    output: Output,
) -> bool:
    from kernelcast.reporting.latency_hiding import arena_dict, render_arena
    from kernelcast.validation.arena import ALPHAS, judge
    from kernelcast.validation.statements import verdicts

    machines = gpus.machines()
    scores = judge(machines, ALPHAS if alphas is None else alphas, warps)
    checked = verdicts(machines)
    output.show(render_arena(scores, checked, detail=not output.quiet), arena_dict(scores, checked))
    return all(v.holds for v in checked)
