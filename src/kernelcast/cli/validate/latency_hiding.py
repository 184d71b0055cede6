"""Every model on the synthetic workload of latency hiding, whose throughput is known."""

from __future__ import annotations

import click

from kernelcast.cli.options import (
    GpuFlags,
    Output,
    gpu_options,
    output_options,
    parse_numbers,
)

_FIVE = "8800-gtx,gtx-280,gtx-480,gtx-680,gtx-980"
_EXIT_BROKEN = 1


@click.command("latency-hiding")
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
    gpus: GpuFlags,
    alphas: tuple[float, ...] | None,
    warps: tuple[float, ...] | None,
    output: Output,
) -> None:
    """Every model on the synthetic workload of latency hiding (Volkov 2016, section 6.5)."""
    from kernelcast.reporting.documents.latency_hiding import latency_hiding_document
    from kernelcast.validation.arena import ALPHAS, judge
    from kernelcast.validation.statements import verdicts

    machines = gpus.machines()
    scores = judge(machines, ALPHAS if alphas is None else alphas, warps)
    checked = verdicts(machines)
    document = latency_hiding_document(scores, checked)
    output.show(document)
    if not document.holds:
        ctx.exit(_EXIT_BROKEN)
