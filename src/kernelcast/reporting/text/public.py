"""The table of measured accuracy, in Markdown as documents hold it."""

from __future__ import annotations

from kernelcast.reporting.documents.public import AccuracyRow, PublicDocument
from kernelcast.reporting.figures import digits, percent

_HEAD = (
    "| kernels | GPU | launches | median error | mean | 90 % "
    "| predicted / measured | tau | regret | covered |"
)

_MODEL_HEAD = "| model "


def render(document: PublicDocument, *, brief: bool) -> str:
    """A row for every set that could be predicted; which model did is said where several did."""
    several = len({row.model for row in document.sets}) > 1
    lines = [_row(row, with_model=several) for row in document.sets if row.launches]
    head, rule = (_MODEL_HEAD, "|---") if several else ("", "")
    return "\n".join([head + _HEAD, f"{rule}|---|---|{'---:|' * 8}", *lines])


def _row(row: AccuracyRow, *, with_model: bool) -> str:
    cells = (
        *((row.model,) if with_model else ()),
        row.title,
        row.gpu,
        str(row.launches),
        _percent(row.median_error),
        _percent(row.mean_error),
        _percent(row.error_90),
        "-" if row.ratio is None else digits(row.ratio),
        "-" if row.tau is None else f"{row.tau:.2f}",
        _percent(row.regret),
        _percent(row.coverage),
    )
    return f"| {' | '.join(cells)} |"


def _percent(share: float | None) -> str:
    return "-" if share is None else percent(share)
