"""The interval of a forecast, from how far forecasts were off where they were measured.

A model's own bounds say how sure its sample is. What measurements left open comes on top: of the
launches compared, a twentieth took less than LOW times the least that the model says, and a
twentieth more than HIGH times the most, so that the interval holds nine of ten.

    low = LOW t_low,  high = HIGH t_high

There are two pairs: one for what can be told of the launch, and a wider one where there is a doubt
(`has_doubt`).

The factors are fitted to one half of the kernels compared, and judged by the other:
`kernelcast validate public` prints both, `docs/accuracy.md` has them. An interval of a chip that
was not measured is no narrower than one of a chip that was: many programs were compared there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from kernelcast.machines.compared import is_compared, is_measured
from kernelcast.models.terms.base import Bottleneck, Prediction


@dataclass(frozen=True, slots=True)
class Factors:
    """By what a model's least and its largest time are multiplied."""

    low: float
    high: float


class Kind(NamedTuple):
    """What intervals are fitted apart for.

    The model, whether the chip's numbers were measured by `kernelcast measure`, and whether there
    is a doubt about the launch.
    """

    model: str
    is_measured: bool
    has_doubt: bool


FITTED: Mapping[Kind, Factors] = {
    Kind("teg", True, False): Factors(0.893, 1.531),
    Kind("teg", True, True): Factors(0.896, 2.192),
    Kind("teg", False, False): Factors(0.881, 1.531),
    Kind("teg", False, True): Factors(0.878, 2.192),
    Kind("volkov", True, False): Factors(0.983, 1.616),
    Kind("volkov", True, True): Factors(0.983, 1.616),
    Kind("volkov", False, False): Factors(0.909, 1.256),
    Kind("volkov", False, True): Factors(0.942, 2.085),
}

_BUSY = 0.8
"""Of the time: resources that are busy for longer are near their limits."""


def has_doubt(prediction: Prediction) -> bool:
    """Whether a launch is of those whose times are off by more than those of others.

    No resource is near its limit, so that latencies decide; or several are, which get into each
    other's way; or atomics bind it; or fewer blocks than a wave ran through the simulated caches,
    or none.
    """
    near = [part for part in prediction.bounds if part.cycles > _BUSY * prediction.cycles]
    if len(near) != 1 or prediction.bottleneck is Bottleneck.ATOMICS:
        return True
    counts = prediction.case.cache_counts
    is_seen = counts is not None and counts.simulated.in_whole_waves
    return not is_seen and prediction.case.traffic.l1.central > 0.0


def kind_of(prediction: Prediction) -> Kind:
    """The kind of the interval that a forecast of one of the models in `FITTED` gets."""
    model, machine = prediction.model.name, prediction.case.machine
    return Kind(model, is_measured(machine), has_doubt(prediction))


_OTHERS = "not measured from end to end"
_DOUBT = (
    ", of those that no resource binds alone, or atomics, or whose caches are simulated in part"
)


def trusted(prediction: Prediction) -> Prediction:
    """The same with the interval that its model has earned on such a chip, and what it rests on."""
    machine = prediction.case.machine
    kind = kind_of(prediction)
    factors = FITTED[kind]
    notes = [
        "the interval is to hold nine of ten launches, as it did of those compared on chips "
        + ("that were measured as this one was" if kind.is_measured else _OTHERS)
        + (_DOUBT if kind.has_doubt else "")
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
