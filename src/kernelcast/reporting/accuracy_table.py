"""The table of measured accuracy, in Markdown as documents hold it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelcast.reporting.figures import digits, percent
from kernelcast.validation.measured import Score
from kernelcast.validation.public import SetAccuracy

HEAD = (
    "| kernels | GPU | launches | median error | mean | 90 % "
    "| predicted / measured | tau | regret |"
)


def render_accuracy(rows: Sequence[SetAccuracy]) -> str:
    """A row for every set that could be predicted."""
    lines = [_row(row, row.score) for row in rows if row.score is not None]
    return "\n".join([HEAD, f"|---|---|{'---:|' * 7}", *lines])


def accuracy_dict(rows: Sequence[SetAccuracy]) -> dict[str, Any]:
    """The same as a plain dictionary, with what is missing."""
    return {
        "schema": "kernelcast/validate/1",
        "set": "public",
        "sets": [
            {
                "title": row.title,
                "gpu": row.gpu,
                "launches": len(row.score.comparisons) if row.score else 0,
                "median_error": row.score and row.score.median_error,
                "mean_error": row.score and row.score.mean_error,
                "error_90": row.score and row.score.high_error,
                "ratio": row.score and row.score.ratio,
                "tau": row.tau,
                "regret": row.regret,
                "missing": list(row.missing),
            }
            for row in rows
        ],
    }


def _row(row: SetAccuracy, score: Score) -> str:
    cells = (
        row.title,
        row.gpu,
        str(len(score.comparisons)),
        percent(score.median_error),
        percent(score.mean_error),
        percent(score.high_error),
        digits(score.ratio),
        "-" if row.tau is None else f"{row.tau:.2f}",
        "-" if row.regret is None else percent(row.regret),
    )
    return f"| {' | '.join(cells)} |"
