"""Every model on the synthetic workload of latency hiding, whose throughput is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import (
    GpuFlags,
    Output,
    gpu_options,
    output_options,
    parse_numbers,
)

if TYPE_CHECKING:
    from kernelcast.machines.machine import Machine
    from kernelcast.reporting.documents.latency_hiding import LatencyHidingDocument

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
@click.option(
    "--observed",
    type=click.Choice(["refined", "simulation"]),
    default="refined",
    show_default=True,
    help="What models are held to: the refined model of section 6.5, or the timing simulation.",
)
@click.option(
    "--together",
    is_flag=True,
    help="In the simulation all warps begin at once, as those of a launch; else evenly spread.",
)
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    gpus: GpuFlags,
    alphas: tuple[float, ...] | None,
    warps: tuple[float, ...] | None,
    observed: str,
    together: bool,
    output: Output,
) -> None:
    """Every model on the synthetic workload of latency hiding (Volkov 2016, section 6.5)."""
    from kernelcast.reporting.documents.latency_hiding import latency_hiding_document
    from kernelcast.validation.arena import ALPHAS, judge
    from kernelcast.validation.statements import verdicts

    machines = gpus.machines()
    chosen = ALPHAS if alphas is None else alphas
    if observed == "simulation":
        document = _simulated(machines, chosen, warps, together, output)
    else:
        scores = judge(machines, chosen, warps)
        document = latency_hiding_document(scores, verdicts(machines))
    output.show(document)
    if not document.holds:
        ctx.exit(_EXIT_BROKEN)


def _simulated(
    machines: Sequence[Machine],
    alphas: Sequence[float],
    warps: Sequence[float] | None,
    together: bool,
    output: Output,
) -> LatencyHidingDocument:
    from kernelcast.cli.progress import progress_bar
    from kernelcast.reporting.documents.latency_hiding import latency_hiding_document
    from kernelcast.validation.arena import agreement, field, judge
    from kernelcast.validation.played_mix import PlayedMixes
    from kernelcast.validation.statements import verdicts

    mixes = PlayedMixes(together=together)
    with progress_bar("simulating", output.quiet) as progress:
        mixes.play_arena(machines, alphas, warps, progress)
    fields = [field(machine, alphas, warps, mixes.throughput) for machine in machines]
    start = "together" if together else "evenly spread"
    return latency_hiding_document(
        judge(machines, alphas, warps, mixes.throughput),
        verdicts(machines, observed=mixes.throughput),
        f"timing simulation, warps begin {start}",
        [agreement(on) for on in fields],
        verdicts(machines),
    )
