"""The interval of a forecast, from how far forecasts were off where they were measured.

A model's own bounds say how sure its sample is. What measurements left open comes on top: of the
launches compared, a twentieth took less than LOW times the least that the model says, and a
twentieth more than HIGH times the most, so that the interval holds nine of ten.

    low = LOW t_low,  high = HIGH t_high

There are two pairs: one for launches that one resource binds alone, and a wider one where there is
a doubt (`has_doubt`). They are the same for all chips: the wider of what the launches on an H100
and an H200 need, most of which were only judged, and of what those on all others need.
`kernelcast validate public` fits a pair to one half of the launches and judges it by the other;
`docs/models/auto.md` has what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from kernelcast.machines.compared import is_compared
from kernelcast.models.terms.base import Bottleneck, Prediction


@dataclass(frozen=True, slots=True)
class Factors:
    """By what a model's least and its largest time are multiplied."""

    low: float
    high: float


class Kind(NamedTuple):
    """What intervals are fitted apart for: the model that says the time, `teg` or `volkov`, and
    whether the launch leaves a doubt."""

    model: str
    has_doubt: bool


FITTED: Mapping[Kind, Factors] = {
    Kind("teg", has_doubt=False): Factors(0.929, 1.185),
    Kind("teg", has_doubt=True): Factors(0.870, 1.349),
    Kind("volkov", has_doubt=False): Factors(0.909, 1.616),
    Kind("volkov", has_doubt=True): Factors(0.909, 2.085),
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


def kind_of(*predictions: Prediction) -> Kind:
    """The kind of the interval of launches one after the other: the widest of what each has."""
    is_simulated = all(each.simulated is not None for each in predictions)
    return Kind("teg" if is_simulated else "volkov", any(map(has_doubt, predictions)))


_SURE = "that one resource binds alone"
_DOUBT = "that no resource binds alone, or atomics, or whose caches are simulated in part"


def trusted(prediction: Prediction) -> Prediction:
    """The same with the interval that its model has earned on such a chip, and what it rests on."""
    machine = prediction.case.machine
    kind = kind_of(prediction)
    factors = FITTED[kind]
    notes = [
        "the interval is to hold nine of ten launches, as it did of those compared "
        + (_DOUBT if kind.has_doubt else _SURE)
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
