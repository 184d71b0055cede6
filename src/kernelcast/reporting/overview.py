"""What `predict` prints: one prediction in full, several side by side."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.comparison import render_comparison, verdict
from kernelcast.reporting.text import answer, render_forecast


def render_overview(predictions: Sequence[Prediction], *, brief: bool = False) -> RenderableType:
    """The report on one prediction, or the comparison of several; `brief` keeps the answer only."""
    if len(predictions) == 1:
        return answer(predictions[0]) if brief else render_forecast(predictions[0])
    return verdict(predictions) if brief else render_comparison(predictions)
