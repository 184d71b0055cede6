"""Where caches overflow: a line for each capacity."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.capacities import CapacitiesDocument
from kernelcast.reporting.figures import digits, percent
from kernelcast.reporting.layout import columns

_KIB = 1024


def render(document: CapacitiesDocument, *, brief: bool) -> RenderableType:
    """The worst error first, then all capacities."""
    errors = [row.error for row in document.capacities]
    known = [error for error in errors if error is not None]
    worst = percent(max(known)) if len(known) == len(errors) else "unknown"
    table = columns("measured KiB", "simulated KiB", "error")
    for row in document.capacities:
        table.add_row(
            digits(row.measured_bytes / _KIB),
            "-" if row.simulated_bytes is None else digits(row.simulated_bytes / _KIB),
            "-" if row.error is None else percent(row.error),
        )
    head = f"{len(errors)} capacities of {document.title}, at most {worst} off"
    return Group(Text(head), table)
