"""The launches that were recorded, a line for each set."""

from __future__ import annotations

from kernelcast.reporting.documents.record import RecordDocument
from kernelcast.reporting.figures import percent


def render(document: RecordDocument, *, brief: bool) -> str:
    """How many of every set, and how far off."""
    return "\n".join(
        f"{row.title}, {row.gpu}: {row.launches} launches recorded"
        + ("" if row.mean_error is None else f", off by {percent(row.mean_error)} in the mean")
        for row in document.sets
    )
