"""The interval of a forecast, from how far forecasts were off where they were measured.

A model's own bounds say how sure its sample is. What measurements left open comes on top: of the
launches compared, a twentieth took less than LOW times the least that the model says, and a
twentieth more than HIGH times the most, so that the interval holds nine of ten.

    low = LOW t_low,  high = HIGH t_high

The factors are fitted to one half of the kernels compared, and judged by the other:
`kernelcast validate public` prints both, `docs/accuracy.md` has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelcast.machines.compared import is_compared, is_measured
from kernelcast.models.terms.base import Prediction


@dataclass(frozen=True, slots=True)
class Factors:
    """By what a model's least and its largest time are multiplied."""

    low: float
    high: float


FITTED: Mapping[tuple[str, bool], Factors] = {
    ("teg", True): Factors(0.873, 1.197),
    ("teg", False): Factors(0.880, 1.419),
    ("volkov", True): Factors(0.983, 1.616),
    ("volkov", False): Factors(0.974, 1.674),
}
"""By model, and whether the chip's numbers were measured by `kernelcast measure`."""


def trusted(prediction: Prediction) -> Prediction:
    """The same with the interval that its model has earned on such a chip, and what it rests on."""
    machine = prediction.case.machine
    measured = is_measured(machine)
    factors = FITTED[prediction.model.name, measured]
    notes = [
        "the interval is to hold nine of ten launches, as it did of those compared on chips "
        + ("that were measured as this one was" if measured else "not measured from end to end")
    ]
    if not is_compared(machine):
        major, minor = machine.compute_capability
        notes.append(
            "outside what was validated: no launch was compared on a chip of compute capability "
            f"{major}.{minor}"
        )
    return replace(
        prediction,
        low_s=factors.low * _or(prediction.low_s, prediction.time_s),
        high_s=factors.high * _or(prediction.high_s, prediction.time_s),
        assumptions=(*prediction.assumptions, *notes),
    )


def _or(bound_s: float | None, time_s: float) -> float:
    return time_s if bound_s is None else bound_s
