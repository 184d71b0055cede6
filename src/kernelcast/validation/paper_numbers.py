"""Numbers of a paper beside what is found."""

from __future__ import annotations

from dataclasses import dataclass

_EXACT = 1e-6


@dataclass(frozen=True)
class PaperNumber:
    """A number of a paper: `low` to `high` as the paper has it, and what was found.

    `source` is the section, table or equation.
    """

    source: str
    says: str
    unit: str
    low: float
    high: float
    found: float

    @property
    def holds(self) -> bool:
        """Whether it was found, to the printed digits."""
        return self.low * (1 - _EXACT) <= self.found <= self.high * (1 + _EXACT)
