"""How the counters that were expected compare with those that a profiler read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelcast.measurements.observation import Observation
from kernelcast.models.terms.base import Case
from kernelcast.validation.accuracy import nearest_rank
from kernelcast.validation.counters import ExpectedCount, expectations

_WORST = 3
_SAME = 1e-11
"""Relative difference that adding up counts in another order may make."""


@dataclass(frozen=True, slots=True)
class Counted:
    """One counter after one launch: what was expected and what was read."""

    launch: str
    expected: ExpectedCount
    counted: float

    @property
    def ratio(self) -> float:
        """Expected over counted; 1 where both are 0."""
        if self.counted:
            return self.expected.value / self.counted
        return math.inf if self.expected.value else 1.0

    @property
    def is_within_bounds(self) -> bool:
        """Whether the counter lies where it was said to lie."""
        slack = _SAME * abs(self.counted)
        return self.expected.low - slack <= self.counted <= self.expected.high + slack


@dataclass(frozen=True)
class CounterScore:
    """One counter over all launches that have it."""

    metric: str
    counted: tuple[Counted, ...]

    @property
    def is_count(self) -> bool:
        """Whether it follows from the code alone: then any difference is an error."""
        return all(c.expected.is_count for c in self.counted)

    @property
    def median(self) -> float:
        """The middle ratio of expected to counted."""
        return self.quantile(0.5)

    @property
    def median_error(self) -> float:
        """The middle of |expected - counted| / counted."""
        return nearest_rank([abs(c.ratio - 1) for c in self.counted], 0.5)

    def quantile(self, share: float) -> float:
        """The ratio that `share` of the launches do not exceed."""
        return nearest_rank([c.ratio for c in self.counted], share)

    def share_within(self, error: float) -> float:
        """Share of the launches whose ratio is at most `error` from 1."""
        return _share(abs(c.ratio - 1) <= error for c in self.counted)

    @property
    def share_same(self) -> float:
        """Share of the launches for which both figures are the same."""
        return self.share_within(_SAME)

    @property
    def share_within_bounds(self) -> float:
        """Share of the launches whose counter lies within the bounds."""
        return _share(c.is_within_bounds for c in self.counted)

    @property
    def worst(self) -> Sequence[Counted]:
        """Those that are off by the largest factor, in either direction; none that is the same."""
        off = [c for c in self.counted if abs(c.ratio - 1) > _SAME]
        return sorted(off, key=lambda c: -_factor(c.ratio))[:_WORST]


def counter_scores(pairs: Iterable[tuple[Observation, Case]]) -> tuple[CounterScore, ...]:
    """The counters that both sides have, in the order of the table of counters."""
    found: dict[str, list[Counted]] = {}
    for observation, case in pairs:
        for metric, expected in expectations(case).items():
            if metric in observation.counters:
                counted = Counted(str(observation), expected, observation.counters[metric])
                found.setdefault(metric, []).append(counted)
    return tuple(CounterScore(metric, tuple(counted)) for metric, counted in found.items())


def _share(holds: Iterable[bool]) -> float:
    every = list(holds)
    return sum(every) / len(every)


def _factor(ratio: float) -> float:
    """By how much a ratio is off, as a logarithm."""
    return abs(math.log(ratio)) if ratio > 0 else math.inf
