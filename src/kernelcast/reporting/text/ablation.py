"""What every mechanism is worth, in Markdown as documents hold it."""

from __future__ import annotations

from kernelcast.reporting.documents.ablation import AblatedSet, AblationDocument, AblationRow
from kernelcast.reporting.figures import digits, percent

_HEAD = (
    "| without | launches that it touches | median error, without | 90 %, without "
    "| predicted / measured, without | the set that it changes most: median, without |"
)


def render(document: AblationDocument, *, brief: bool) -> str:
    """A row for every mechanism, the one that is worth most first."""
    return "\n".join([_HEAD, f"|---|{'---:|' * 4}---|", *map(_row, document.mechanisms)])


def _row(row: AblationRow) -> str:
    most = max(row.sets, key=_change)
    cells = (
        row.mechanism,
        str(row.launches),
        f"{percent(row.median_error)}, {percent(row.median_without)}",
        f"{percent(row.error_90)}, {percent(row.error_90_without)}",
        f"{digits(row.ratio)}, {digits(row.ratio_without)}",
        f"{most.set}: {percent(most.median_error)}, {percent(most.median_without)}",
    )
    return f"| {' | '.join(cells)} |"


def _change(one: AblatedSet) -> float:
    return abs(one.median_without - one.median_error)
