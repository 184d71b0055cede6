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

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("public")
@click.argument("file", metavar="SETS.toml", type=click.Path(path_type=Path))
@click.option(
    "--data",
    required=True,
    metavar="DIR",
    type=_FOLDER,
    help="The folder that holds the published measurements.",
)
@click.option(
    "--sources",
    required=True,
    metavar="DIR",
    type=_FOLDER,
    help="The folder that holds the sources of their kernels.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Compare with FILE, which an earlier run printed with --json.",
)
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where launches that are done are kept, by all that they follow from: the same command "
    "goes on where it was interrupted.  [default: in the cache]",
)
@click.option("--only", metavar="TEXT", multiple=True, help="Sets whose title or GPU has TEXT.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Predict N launches side by side; by default as many as there are cores.",
)
@model_options()
@configurations_option
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    data: Path,
    sources: Path,
    baseline: Path | None,
    keep: Path | None,
    only: tuple[str, ...],
    threads: int | None,
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
    from kernelcast.cli.progress import progress_bar
    from kernelcast.reporting.documents.public import public_document, read_public
    from kernelcast.toolchain.cache import default_directory
    from kernelcast.validation.judging import nothing_compared
    from kernelcast.validation.public import accuracy_of_sets
    from kernelcast.validation.public_launches import Folders
    from kernelcast.validation.public_sets import read_sets, sets_called

    sets = sets_called(read_sets(file), only, str(file))
    before = None if baseline is None else read_public(baseline)
    with progress_bar("predicting", output.quiet) as progress:
        rows = accuracy_of_sets(
            sets,
            Folders(file.parent, data, sources),
            count,
            models.models(),
            keep=keep or default_directory() / "validation",
            workers=threads,
            progress=progress,
        )
    missing = list(
        dict.fromkeys(f"{row.title}, {row.gpu}: {what}" for row in rows for what in row.missing)
    )
    if not any(row.score or row.counted for row in rows):
        raise nothing_compared(str(file), missing)
    for line in missing:
        output.remark(line)
    document = public_document(rows, before)
    output.show(document)
    ctx.exit(int(any(change.is_worse for change in document.changes)))
