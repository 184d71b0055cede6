"""What `validate latency-hiding` answers: how far every model errs, and which bounds hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural
from kernelcast.validation.arena import ArenaScore
from kernelcast.validation.statements import Verdict

_OBSERVED = "refined model of Volkov 2016, section 6.5"


class AlphaPart(Struct, frozen=True):
    """Predicted over observed throughput at one alpha, and the fewest warps per SM that reach 90 %
    of the bound, null where none do. An alpha of null is infinite."""

    alpha: float | None
    smallest: float | None
    largest: float | None
    needed_warps: float | None


class ScorePart(Struct, frozen=True):
    """How far a model errs on a GPU: the extremes of predicted over observed throughput and their
    alphas, points with an impossible throughput, and the most warps it needs at any alpha, null
    where no occupancy suffices."""

    model: str
    gpu: str
    smallest: float | None
    largest: float | None
    impossible: Natural
    by_alpha: list[AlphaPart]
    smallest_alpha: float | None
    largest_alpha: float | None
    most_needed_warps: float | None


class StatementPart(Struct, frozen=True):
    """A figure of the dissertation, the band that follows from it, and what was found."""

    model: str
    gpu: str
    quantity: str
    alphas: list[float | None]
    stated: list[float | None]
    band: list[float | None]
    found: float | None
    holds: bool
    source: str


class LatencyHidingDocument(Struct, frozen=True):
    """All that `validate latency-hiding --json` prints; `met` statements hold."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["latency-hiding"]
    observed: str
    holds: bool
    scores: list[ScorePart]
    statements: list[StatementPart]
    met: Natural


def latency_hiding_document(
    scores: Sequence[ArenaScore], verdicts: Sequence[Verdict]
) -> LatencyHidingDocument:
    """Scores and verdicts as they are."""
    return LatencyHidingDocument(
        schema="kernelcast/validate/1",
        set="latency-hiding",
        observed=_OBSERVED,
        holds=all(v.holds for v in verdicts),
        scores=[_score(s) for s in scores],
        statements=[_statement(v) for v in verdicts],
        met=sum(v.holds for v in verdicts),
    )


def _score(s: ArenaScore) -> ScorePart:
    smallest, largest = s.extremes
    rows = zip(s.alphas, s.smallest, s.largest, s.needed, strict=True)
    return ScorePart(
        model=s.contestant,
        gpu=s.gpu,
        smallest=smallest,
        largest=largest,
        impossible=s.impossible,
        by_alpha=[AlphaPart(*map(float, row)) for row in rows],
        smallest_alpha=float(s.alphas[int(s.smallest.argmin())]),
        largest_alpha=float(s.alphas[int(s.largest.argmax())]),
        most_needed_warps=float(max(s.needed, key=lambda n: math.inf if math.isnan(n) else n)),
    )


def _statement(v: Verdict) -> StatementPart:
    s = v.statement
    return StatementPart(
        model=s.contestant,
        gpu=s.gpu,
        quantity=s.quantity,
        alphas=list(map(float, s.alphas)),
        stated=[float(s.low), float(s.high)],
        band=list(map(float, s.band)),
        found=float(v.found),
        holds=v.holds,
        source=s.source,
    )
