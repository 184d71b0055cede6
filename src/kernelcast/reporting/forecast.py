"""Predictions that explain themselves when printed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from kernelcast.models.terms.base import Prediction
from kernelcast.reporting.console import plain_text
from kernelcast.reporting.json import result_dict
from kernelcast.reporting.text import render_forecast


@dataclass(frozen=True)
class Forecast(Prediction):
    """A prediction whose text is the full report and which turns into a plain dictionary."""

    @classmethod
    def of(cls, prediction: Prediction) -> Forecast:
        """The same prediction as a forecast."""
        return cls(**{f.name: getattr(prediction, f.name) for f in fields(Prediction)})

    def __str__(self) -> str:
        return plain_text(render_forecast(self))

    def as_dict(self) -> dict[str, Any]:
        """The result as `predict --json` gives it."""
        return result_dict(self)
