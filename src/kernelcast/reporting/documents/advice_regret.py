"""What `validate advice` answers: what advice costs in sets where all was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative
from kernelcast.reporting.documents.measured_launch import MeasuredLaunch, measured_launch
from kernelcast.validation.advice import AdvisedSet


class AdvisedRow(Struct, frozen=True):
    """The advice for the kernel of one set.

    `regret` is what the `advised` configuration takes longer than the `fastest`, as a share, null
    where nothing could be predicted; `search_regret` the same of what the model that searches would
    advise on its own. `place` counts from 1 how fast the advised one is among those looked at, and
    `choice` and `best` are the parameters in which it and the fastest differ from others.
    """

    title: str
    gpu: str
    searched_by: str
    judged_by: str
    configurations: Natural
    regret: NotNegative | None
    search_regret: NotNegative | None
    place: Natural | None
    choice: str
    best: str
    advised: MeasuredLaunch | None
    fastest: MeasuredLaunch | None
    missing: list[str]


class AdviceRegretDocument(Struct, frozen=True):
    """All that `validate advice --json` prints; `holds` is whether no regret is above `most`."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["advice"]
    most: NotNegative
    holds: bool
    rows: list[AdvisedRow]


def advice_regret_document(found: Sequence[AdvisedSet], most: float) -> AdviceRegretDocument:
    """The rows of all sets."""
    rows = [_row(one) for one in found]
    holds = all(row.regret is not None and row.regret <= most for row in rows)
    return AdviceRegretDocument("kernelcast/validate/1", "advice", most, holds, rows)


def _row(one: AdvisedSet) -> AdvisedRow:
    is_told = bool(one.ranked and one.judged)
    times = sorted(c.measured_s for c in one.ranked)
    return AdvisedRow(
        title=one.title,
        gpu=one.gpu,
        searched_by=one.searched_by,
        judged_by=one.judged_by,
        configurations=len(one.ranked),
        regret=one.regret if is_told else None,
        search_regret=one.search_regret if is_told else None,
        place=times.index(one.advised.measured_s) + 1 if is_told else None,
        choice=one.words(one.advised) if is_told else "",
        best=one.words(one.fastest) if is_told else "",
        advised=measured_launch(one.advised) if is_told else None,
        fastest=measured_launch(one.fastest) if is_told else None,
        missing=list(one.missing),
    )
