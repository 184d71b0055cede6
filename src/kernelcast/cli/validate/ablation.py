"""What every mechanism of the default model is worth, on published sets of measurements."""

from __future__ import annotations

import click

from kernelcast.cli.options import Output, configurations_option, output_options
from kernelcast.cli.set_options import SetsFlags, sets_options


@click.command("ablation")
@sets_options
@configurations_option
@output_options
def command(sets: SetsFlags, count: int, output: Output) -> None:
    """The default model without each of its mechanisms, one at a time, beside measured times.

    A mechanism is left out with the numbers of the GPU that it lives by. Errors are those of the
    launches whose forecast it changes; the mechanism that is worth most comes first.
    """
    from kernelcast.reporting.documents.ablation import ablation_document
    from kernelcast.validation.ablation import ablated_models, worth_of_mechanisms
    from kernelcast.validation.judging import nothing_compared

    rows = sets.predicted(count, ablated_models(), output)
    missing = sets.missing(rows, output)
    own = [row.score for row in rows if row.model == rows[0].model and row.score]
    if not own:
        raise nothing_compared(str(sets.file), missing)
    launches = sum(len(score.comparisons) for score in own)
    output.show(ablation_document(worth_of_mechanisms(rows), launches, missing))
