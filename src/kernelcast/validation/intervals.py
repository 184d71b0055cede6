"""The factors of intervals, fitted to one half of the launches compared and judged by the other,
and the other way round.

A kernel's launches are all in the same half; where a set holds few kernels, its launches are shared
out one by one. Which half is drawn by a hash of the name, so that it is the same for everybody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kernelcast.models.terms.trust import FITTED, Factors, Kind
from kernelcast.validation.accuracy import Comparison, nearest_rank
from kernelcast.validation.public import SetAccuracy

_TAIL = 0.05
"""Of the launches fitted to, the share that is left out at either end: the interval holds 90 %."""
_FEW_KERNELS = 3

_WIDENING = "auto"
_MODELS = {_WIDENING, *(kind.model for kind in FITTED)}
"""Whose comparisons tell: of the model that widens the bounds of others, and of those others."""


@dataclass(frozen=True)
class Halves:
    """Comparisons to fit to, and others to judge by."""

    fitted: tuple[Comparison, ...]
    judged: tuple[Comparison, ...]


@dataclass(frozen=True)
class IntervalScore:
    """Factors fitted to one half, and the share of the other's times that they hold.

    `kind` says of which launches; `used` are the factors that forecasts have.
    """

    kind: Kind
    fitted: int
    judged: int
    factors: Factors
    held: float
    used: Factors


def interval_scores(rows: Iterable[SetAccuracy]) -> tuple[IntervalScore, ...]:
    """For every kind of launch whose forecasts get an interval, what fits either half."""
    kinds: dict[Kind, tuple[list[Comparison], list[Comparison]]] = {}
    for row in rows:
        if row.score is None or row.model not in _MODELS:
            continue
        parts = halves([row.score.comparisons])
        for number, part in enumerate((parts.fitted, parts.judged)):
            for c in part:
                if c.kind:
                    own = _as_said(c, FITTED[c.kind]) if row.model == _WIDENING else c
                    kinds.setdefault(c.kind, ([], []))[number].append(own)
    scores = []
    for kind, (one, other) in kinds.items():
        for fitted, judged in ((one, other), (other, one)):
            if fitted and judged:
                factors = fitted_factors(fitted)
                counts = len(fitted), len(judged)
                held = share_held(judged, factors)
                scores.append(IntervalScore(kind, *counts, factors, held, FITTED[kind]))
    return tuple(scores)


def _as_said(c: Comparison, factors: Factors) -> Comparison:
    """With the bounds that the model itself says, which these factors widened."""
    return replace(c, low_s=_low(c) / factors.low, high_s=_high(c) / factors.high)


def halves(sets: Iterable[Sequence[Comparison]]) -> Halves:
    """Every set in two; comparisons without an interval have the forecast for both its ends."""
    parts: tuple[list[Comparison], list[Comparison]] = ([], [])
    for comparisons in sets:
        has_few = len({c.kernel for c in comparisons}) <= _FEW_KERNELS
        for c in comparisons:
            name = f"{c.kernel} {c.configuration}" if has_few else c.kernel
            parts[hashlib.sha256(name.encode()).digest()[0] & 1].append(c)
    return Halves(tuple(parts[0]), tuple(parts[1]))


def fitted_factors(comparisons: Sequence[Comparison]) -> Factors:
    """The factors with which a twentieth of the times lie below the interval, and one above."""
    below = nearest_rank([c.measured_s / _low(c) for c in comparisons], _TAIL)
    above = nearest_rank([c.measured_s / _high(c) for c in comparisons], 1 - _TAIL)
    return Factors(below, above)


def share_held(comparisons: Sequence[Comparison], factors: Factors) -> float:
    """The share of the measured times that lie in the interval with these factors."""
    held = (factors.low * _low(c) <= c.measured_s <= factors.high * _high(c) for c in comparisons)
    return sum(held) / len(comparisons)


def _low(c: Comparison) -> float:
    return c.predicted_s if c.low_s is None else c.low_s


def _high(c: Comparison) -> float:
    return c.predicted_s if c.high_s is None else c.high_s
