"""The models of memory divergence on kernels of the kinds that their paper chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kernelcast.cli.options import Output, output_options

if TYPE_CHECKING:
    from kernelcast.models.terms.base import Model
    from kernelcast.validation.mdm.observed import ObservedIpc

_PAPER, _SIMULATION = "paper", "simulation"
_EXIT_BROKEN = 1


@click.command("mdm")
@click.option(
    "--observed",
    metavar="paper|simulation|FILE",
    default=_PAPER,
    show_default=True,
    help="What the models are held to: the trends of the paper alone, the timing simulation, or a "
    "table of IPCs (CSV).",
)
@click.option(
    "--only", metavar="APPLICATION", multiple=True, help="Forecast this one, as BFS. Repeatable."
)
@output_options
@click.pass_context
def command(ctx: click.Context, observed: str, only: tuple[str, ...], output: Output) -> None:
    """The five models of Table V on the machine of Table III (Wang et al. 2020), and Figures 5 to
    15: 17 applications, the bandwidths of NoC and DRAM, miss registers, SMs, clocks.

    \b
    --observed FILE   a table: application,ipc and, where it is not Table III, machine numbers
    """
    from kernelcast.cli.progress import progress_bar
    from kernelcast.reporting.documents.mdm import mdm_document
    from kernelcast.validation.mdm.applications import chosen_applications, paper_machine
    from kernelcast.validation.mdm.study import study_mdm
    from kernelcast.validation.mdm.trends import trends

    applications = chosen_applications(only)
    known = _observed_side(observed)
    with progress_bar("forecasting", output.quiet) as progress:
        study = study_mdm(applications, observed=known, progress=progress)
    side = {_PAPER: None, _SIMULATION: "the timing simulation"}.get(observed, observed)
    document = mdm_document(study, trends(study), paper_machine().title, side)
    output.show(document)
    if not document.holds:
        ctx.exit(_EXIT_BROKEN)


def _observed_side(name: str) -> ObservedIpc | Model | None:
    from kernelcast.models.teg import Teg
    from kernelcast.validation.mdm.observed import read_observed

    if name == _PAPER:
        return None
    return Teg(assembled=False) if name == _SIMULATION else read_observed(name)
