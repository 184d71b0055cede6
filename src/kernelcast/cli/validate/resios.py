"""The model of the thesis of Resios on its GTX 460."""

from __future__ import annotations

import click

from kernelcast.cli.options import Output, output_options

_EXIT_BROKEN = 1


@click.command("resios")
@output_options
@click.pass_context
def command(ctx: click.Context, output: Output) -> None:
    """The model resios on a GTX 460 (Resios 2011): transfers, delays, coalescing, bank conflicts,
    caches and block sizes as the thesis prints them, and the five experiments of its chapter 7."""
    from kernelcast.cli.progress import progress_bar
    from kernelcast.machines.loader import load_machine
    from kernelcast.reporting.documents.resios import resios_document
    from kernelcast.validation.resios.experiments import experiments, microbenchmarks
    from kernelcast.validation.resios.tables import GPU, equations, launches, schedules, throughputs

    numbers = (*equations(), *microbenchmarks(), *schedules(), *launches())
    with progress_bar("executing", output.quiet) as progress:
        found = experiments(progress)
    document = resios_document(load_machine(GPU).title, numbers, throughputs(), found)
    output.show(document)
    if not document.holds:
        ctx.exit(_EXIT_BROKEN)
