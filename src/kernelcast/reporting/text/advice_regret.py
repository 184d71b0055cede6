"""What advice costs in sets where all was measured, in Markdown as documents hold it."""

from __future__ import annotations

from kernelcast.reporting.documents.advice_regret import AdviceRegretDocument, AdvisedRow
from kernelcast.reporting.figures import percent, seconds

_HEAD = (
    "| kernels | GPU | configurations | advised | takes | the fastest | regret | place "
    "| regret of the search alone |"
)


def render(document: AdviceRegretDocument, *, brief: bool) -> str:
    """A row for every set; unless `brief`, with the configurations."""
    table = "\n".join([_HEAD, f"|---|---|---:|---|{'---:|' * 5}", *map(_row, document.rows)])
    if brief:
        return table
    fastest = "\n".join(
        f"- {row.title}, {row.gpu}: the fastest is {row.best}"
        for row in document.rows
        if row.fastest
    )
    return f"{table}\n\n{fastest}"


def _row(row: AdvisedRow) -> str:
    if row.advised is None or row.fastest is None or row.regret is None:
        return f"| {row.title} | {row.gpu} | 0 | - | - | - | - | - | - |"
    cells = (
        row.title,
        row.gpu,
        str(row.configurations),
        row.choice,
        seconds(row.advised.measured_s),
        seconds(row.fastest.measured_s),
        percent(row.regret),
        str(row.place),
        percent(row.search_regret or 0.0),
    )
    return f"| {' | '.join(cells)} |"
