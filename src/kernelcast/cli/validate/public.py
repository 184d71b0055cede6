"""Published sets of measurements: the table of measured accuracy."""

from __future__ import annotations

import json
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
from kernelcast.errors import InputError
from kernelcast.files import write_whole


@click.command("public")
@sets_options
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Compare with FILE, which an earlier run printed with --json.",
)
@click.option(
    "--summary",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Put the rows into FILE, in place of those of the same sets that it holds.",
)
@click.option(
    "--table-in",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a table of the summary into FILE, between its lines <!-- accuracy --> and "
    "<!-- end of accuracy -->.",
)
@model_options()
@configurations_option
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    sets: SetsFlags,
    baseline: Path | None,
    summary: Path | None,
    table_in: Path | None,
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
    from kernelcast.reporting.documents.base import as_json
    from kernelcast.reporting.documents.public import public_document, read_public, summary_with
    from kernelcast.reporting.text.public import with_short_table
    from kernelcast.validation.judging import nothing_compared

    before = None if baseline is None else read_public(baseline)
    old = read_public(summary) if summary and summary.exists() else None
    page = None if table_in is None else _text_of(table_in)
    rows = sets.predicted(count, models.models(), output)
    missing = sets.missing(rows, output)
    if not any(row.score or row.counted for row in rows):
        raise nothing_compared(str(sets.file), missing)
    document = public_document(rows, before)
    output.show(document)
    now = summary_with(old, document)
    if summary:
        write_whole(summary, (json.dumps(as_json(now), indent=1) + "\n").encode())
    if table_in and page is not None:
        write_whole(table_in, with_short_table(page, now, str(table_in)).encode())
    ctx.exit(int(any(change.is_worse for change in document.changes)))


def _text_of(file: Path) -> str:
    """A page that is to hold the table; InputError where it cannot be read."""
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(file)) from None
