"""Numbers of a paper beside what was found, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from kernelcast.reporting.documents.paper_numbers import PaperNumberPart
from kernelcast.reporting.figures import digits
from kernelcast.reporting.layout import columns

VERDICTS = {True: "met", False: "missed"}


def paper_number_table(numbers: Sequence[PaperNumberPart]) -> Table:
    """A row for each."""
    table = columns("", "number", "stated", "found", "unit", "", left=("", "number", "unit"))
    for n in numbers:
        stated = digits(n.low) if n.low == n.high else f"{digits(n.low)} to {digits(n.high)}"
        table.add_row(n.source, n.says, stated, digits(n.found), n.unit, VERDICTS[n.holds])
    return table
