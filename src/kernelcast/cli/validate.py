"""Errors of the models against the papers and against measurements."""

from __future__ import annotations

import math
from collections.abc import Callable

import click
from click.core import ParameterSource

from kernelcast.cli.options import (
    GpuFlags,
    ModelFlags,
    Output,
    gpu_options,
    model_options,
    output_options,
)

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
@click.argument("file", metavar="[RAW.json]", type=click.Path(), required=False)
@gpu_options(_FIVE)
@model_options()
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
@click.option("--only", metavar="KERNEL", multiple=True, help="Predict this kernel. Repeatable.")
@click.option(
    "--l2",
    type=click.Choice(["cold", "warm"]),
    default="cold",
    show_default=True,
    help="What the L2 cache held when the launch was timed: nothing of it, or its arrays.",
)
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    file: str | None,
    gpus: GpuFlags,
    models: ModelFlags,
    alphas: tuple[float, ...] | None,
    warps: tuple[float, ...] | None,
    only: tuple[str, ...],
    l2: str,
    output: Output,
) -> None:
    """Check the models; exit status 1 where a stated bound is broken.

    \b
    kernelcast validate latency-hiding
        every model on the synthetic workload of latency hiding; takes --alpha and --warps
    kernelcast validate ground-truth RAW.json --gpu NAME
        predicted against measured times of the kernels with known results, which
        `kernelcast measure --ground-truth` wrote; takes --model, --only and --l2
    """
    from kernelcast.errors import NotFoundError

    has_gpu = ctx.get_parameter_source("gpu") is not ParameterSource.DEFAULT
    sets: dict[str, Callable[[], bool]] = {
        "latency-hiding": lambda: _latency_hiding(gpus, alphas, warps, output),
        "ground-truth": lambda: _ground_truth(
            file, gpus if has_gpu else None, models, only, l2, output
        ),
    }
    if name not in sets:
        raise NotFoundError("validation set", name, sets)
    if not sets[name]():
        ctx.exit(_EXIT_BROKEN)


def _ground_truth(
    file: str | None,
    gpus: GpuFlags | None,
    models: ModelFlags,
    only: tuple[str, ...],
    l2: str,
    output: Output,
) -> bool:
    from kernelcast.cli.ground_truth import validate_ground_truth
    from kernelcast.errors import InputError

    if file is None:
        raise InputError(
            "no measurements", hint="give the file that kernelcast measure --ground-truth wrote"
        )
    if gpus is None:
        raise InputError("which GPU was measured is not said", hint="give its --gpu NAME")
    validate_ground_truth(file, gpus, models, only, l2, output)
    return True


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
