"""Numbers of a paper beside what was found, in a document."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kernelcast.validation.paper_numbers import PaperNumber


class PaperNumberPart(Struct, frozen=True):
    """A number, `low` to `high` as the paper has it, and what was found."""

    source: str
    says: str
    unit: str
    low: float
    high: float
    found: float
    holds: bool


def paper_number_parts(numbers: Sequence[PaperNumber]) -> list[PaperNumberPart]:
    """One for each."""
    return [
        PaperNumberPart(n.source, n.says, n.unit, n.low, n.high, n.found, n.holds) for n in numbers
    ]
