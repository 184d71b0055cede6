"""What `validate ablation` answers: what every mechanism of the default model is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.reporting.documents.base import Natural, NotNegative
from kernelcast.validation.ablation import MechanismWorth


class AblatedSet(Struct, frozen=True):
    """The median error of a set's launches that a mechanism touches, with it and without."""

    set: str
    median_error: NotNegative
    median_without: NotNegative


class AblationRow(Struct, frozen=True):
    """A mechanism over the launches whose forecast it changes: errors with it and without, and the
    geometric means of predicted over measured time."""

    mechanism: str
    launches: Natural
    median_error: NotNegative
    median_without: NotNegative
    error_90: NotNegative
    error_90_without: NotNegative
    ratio: NotNegative
    ratio_without: NotNegative
    sets: list[AblatedSet]


class AblationDocument(Struct, frozen=True):
    """All that `validate ablation --json` prints; `launches` were predicted, `missing` were not."""

    schema: Literal["kernelcast/validate/1"]
    set: Literal["ablation"]
    launches: Natural
    mechanisms: list[AblationRow]
    missing: list[str]


def ablation_document(
    found: Sequence[MechanismWorth], launches: int, missing: Sequence[str]
) -> AblationDocument:
    """The mechanisms in the order of what they are worth."""
    rows = [
        AblationRow(
            mechanism=one.mechanism,
            launches=len(one.own.comparisons),
            median_error=one.own.median_error,
            median_without=one.without.median_error,
            error_90=one.own.high_error,
            error_90_without=one.without.high_error,
            ratio=one.own.ratio,
            ratio_without=one.without.ratio,
            sets=[AblatedSet(name, *medians) for name, medians in one.by_set.items()],
        )
        for one in found
    ]
    return AblationDocument("kernelcast/validate/1", "ablation", launches, rows, list(missing))
