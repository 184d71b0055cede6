"""What `validate latency-hiding` answers: how far every model errs, and which bounds hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural
from kernelcast.validation.arena import Agreement, ArenaScore
from kernelcast.validation.statements import Verdict

_REFINED_MODEL = "refined model of Volkov 2016, section 6.5"


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


class AgreementPart(Struct, frozen=True):
    """The refined model over what is observed on a GPU: the extremes at all points, and at those
    where it is within 5 % of its bound, at which it holds where they are within 5 % of 1."""

    gpu: str
    points: Natural
    smallest: float
    largest: float
    near_points: Natural
    near_smallest: float
    near_largest: float
    holds: bool


class StatementPart(Struct, frozen=True):
    """A figure of the dissertation, the band that follows from it, and what was found: by what is
    observed, and by the refined model where it is not, but for a figure of that model itself."""

    model: str
    gpu: str
    quantity: str
    alphas: list[float | None]
    stated: list[float | None]
    band: list[float | None]
    found: float | None
    by_refined: float | None
    holds: bool
    source: str


class LatencyHidingDocument(Struct, frozen=True):
    """All that `validate latency-hiding --json` prints; `met` statements hold. Where the refined
    model is what is observed, all of them have to; else its `agreements` have to hold."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["latency-hiding"]
    observed: str
    holds: bool
    scores: list[ScorePart]
    agreements: list[AgreementPart]
    statements: list[StatementPart]
    met: Natural


def latency_hiding_document(
    scores: Sequence[ArenaScore],
    verdicts: Sequence[Verdict],
    observed: str = _REFINED_MODEL,
    agreements: Sequence[Agreement] = (),
    by_refined: Sequence[Verdict] = (),
) -> LatencyHidingDocument:
    """Scores and verdicts as they are.

    Where something else than the refined model is `observed`, `agreements` are of the two, and
    `by_refined` what the verdicts are by that model.
    """
    known = {v.statement: float(v.found) for v in by_refined}
    judged = [a.holds for a in agreements] if agreements else [v.holds for v in verdicts]
    return LatencyHidingDocument(
        schema="kernelcast/validate/1",
        set="latency-hiding",
        observed=observed,
        holds=all(judged),
        scores=[_score(s) for s in scores],
        agreements=[_agreement(a) for a in agreements],
        statements=[_statement(v, known.get(v.statement)) for v in verdicts],
        met=sum(v.holds for v in verdicts),
    )


def _agreement(a: Agreement) -> AgreementPart:
    return AgreementPart(
        a.gpu, a.points, *a.extremes, a.near_points, *a.near_extremes, holds=a.holds
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


def _statement(v: Verdict, by_refined: float | None) -> StatementPart:
    s = v.statement
    return StatementPart(
        model=s.contestant,
        gpu=s.gpu,
        quantity=s.quantity,
        alphas=list(map(float, s.alphas)),
        stated=[float(s.low), float(s.high)],
        band=list(map(float, s.band)),
        found=float(v.found),
        by_refined=by_refined,
        holds=v.holds,
        source=s.source,
    )
