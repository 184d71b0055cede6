"""The timing simulation on the GT200 of the TEG paper."""

from __future__ import annotations

import click

from kernelcast.cli.options import Output, output_options

_EXIT_BROKEN = 1


@click.command("teg")
@output_options
@click.pass_context
def command(ctx: click.Context, output: Output) -> None:
    """The model teg on a GTX 280 with the paper's numbers (Lai & Seznec 2011): the microbenchmarks
    of section 3, and Tables 2 to 5, whose kernels are written traces."""
    from kernelcast.cli.progress import progress_bar
    from kernelcast.reporting.documents.teg import teg_document
    from kernelcast.validation.teg.microbenchmarks import section_3
    from kernelcast.validation.teg.play import SETTINGS, paper_machine
    from kernelcast.validation.teg.tables import gains, study_tables

    numbers = section_3()
    with progress_bar("simulating", output.quiet) as progress:
        study = study_tables(progress)
    title = paper_machine().title
    document = teg_document(title, dict(SETTINGS), numbers, study, gains(study))
    output.show(document)
    if not document.holds:
        ctx.exit(_EXIT_BROKEN)
