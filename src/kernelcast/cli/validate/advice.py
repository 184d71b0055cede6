"""What advice costs in sets where every configuration was measured."""

from __future__ import annotations

import click

from kernelcast.cli.options import (
    ModelFlags,
    Output,
    configurations_option,
    model_options,
    output_options,
)
from kernelcast.cli.set_options import SetsFlags, sets_options

_MOST = 0.1
"""Regret that the exit status allows."""


@click.command("advice")
@sets_options
@click.option(
    "--finalists",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    metavar="N",
    help="So many of the configurations that the model ranks first go to the default model.",
)
@model_options("volkov")
@configurations_option
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    sets: SetsFlags,
    finalists: int,
    models: ModelFlags,
    count: int,
    output: Output,
) -> None:
    """Regret of the advised configuration, in sets where all were measured: blocks, tiles and more.

    A model ranks the configurations of every set that holds those of one kernel, and of the first
    the default model chooses one, as `kernelcast advise` does. The fastest of the whole set is
    among those looked at. The exit status is 1 where what is advised takes over 10 % longer.
    """
    from kernelcast.cli.progress import progress_bar
    from kernelcast.errors import InputError
    from kernelcast.reporting.documents.advice_regret import advice_regret_document
    from kernelcast.validation.advice import advised_sets, is_tuned
    from kernelcast.validation.judging import nothing_compared

    wanted = sets.chosen()
    if not any(map(is_tuned, wanted)):
        raise InputError("no set holds configurations of one kernel", where=str(sets.file))
    with progress_bar("predicting", output.quiet) as progress:
        found = advised_sets(
            wanted,
            sets.folders,
            count,
            models.one(),
            finalists,
            keep=sets.kept,
            workers=sets.threads,
            progress=progress,
        )
    missing = [f"{one.title}, {one.gpu}: {what}" for one in found for what in one.missing]
    if not any(one.judged for one in found):
        raise nothing_compared(str(sets.file), missing)
    for line in missing:
        output.remark(line)
    document = advice_regret_document(found, _MOST)
    output.show(document)
    ctx.exit(int(not document.holds))
