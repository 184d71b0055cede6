"""Traces of published launches, by which tests hold the accuracy that was reached."""

from __future__ import annotations

from pathlib import Path

import click

from kernelcast.cli.options import Output, output_options
from kernelcast.cli.set_options import SetsFlags, sets_options


@click.command("record")
@sets_options
@click.option(
    "--into",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the recordings; those of sets that are not recorded anew stay.",
)
@output_options
def command(sets: SetsFlags, into: Path, output: Output) -> None:
    """Record how far off launches of published sets are forecast, with traces of their blocks.

    Sets say how many of their launches may be recorded (`records`). Nothing is needed to forecast a
    recording again: no source, compiler or measurement.
    """
    from kernelcast.cli.progress import progress_bar
    from kernelcast.reporting.documents.record import record_document
    from kernelcast.validation.recorded import record_sets

    chosen = [one for one in sets.chosen() if one.records]
    found = []
    with progress_bar("recording", output.quiet) as progress:
        for at, of_set in enumerate(record_sets(chosen, sets.folders, into), 1):
            found.append(of_set)
            if progress:
                progress(at / len(chosen))
    output.show(record_document(found))
