"""Published sets of measurements: the table of measured accuracy."""

from __future__ import annotations

from pathlib import Path

import click

from kernelcast.cli.options import (
    ModelFlags,
    Output,
    configurations_option,
    model_options,
    output_options,
)
from kernelcast.cli.set_options import SetsFlags, sets_options


@click.command("public")
@sets_options
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Compare with FILE, which an earlier run printed with --json.",
)
@model_options()
@configurations_option
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    sets: SetsFlags,
    baseline: Path | None,
    models: ModelFlags,
    count: int,
    output: Output,
) -> None:
    """Measured accuracy of a model: a row for every set that SETS.toml lists.

    The workloads of the sets lie beside SETS.toml. Of every set the fastest launch is predicted and
    others spread over its times. What cannot be predicted is named on standard error. With
    --baseline, the exit status is 1 where the median error of a set has grown by more than a tenth,
    on the launches that both have.
    """
    from kernelcast.reporting.documents.public import public_document, read_public
    from kernelcast.validation.judging import nothing_compared

    before = None if baseline is None else read_public(baseline)
    rows = sets.predicted(count, models.models(), output)
    missing = sets.missing(rows, output)
    if not any(row.score or row.counted for row in rows):
        raise nothing_compared(str(sets.file), missing)
    document = public_document(rows, before)
    output.show(document)
    ctx.exit(int(any(change.is_worse for change in document.changes)))
