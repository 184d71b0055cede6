"""Measured launches: what their predictions are worth, and whether they are of the same code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelcast.measurements.observation import Observation
from kernelcast.models.terms.base import Case
from kernelcast.validation import accuracy
from kernelcast.validation.accuracy import Comparison

WORST = 5


@dataclass(frozen=True)
class Score:
    """What one model's predictions are worth, over all configurations."""

    comparisons: tuple[Comparison, ...]

    @property
    def median_error(self) -> float:
        """The error that half of the predictions do not exceed."""
        return accuracy.error_quantile(self.comparisons, 0.5)

    @property
    def mean_error(self) -> float:
        """The mean of the errors."""
        return accuracy.mean_error(self.comparisons)

    @property
    def high_error(self) -> float:
        """The error that nine of ten predictions do not exceed."""
        return accuracy.error_quantile(self.comparisons, 0.9)

    @property
    def ratio(self) -> float:
        """The geometric mean of predicted over measured time."""
        return accuracy.mean_ratio(self.comparisons)

    @property
    def tau(self) -> float | None:
        """Kendall's tau of the order of the configurations."""
        return accuracy.order_tau(self.comparisons)

    @property
    def regret(self) -> float:
        """What taking the configuration predicted to be the fastest costs, as a share."""
        return accuracy.regret(self.comparisons)

    @property
    def worst(self) -> Sequence[Comparison]:
        """Those that are off most."""
        return accuracy.worst(self.comparisons, WORST)


@dataclass(frozen=True, slots=True)
class SameCode:
    """Of how many launches the registers are known, and how many have those that were measured.

    Other registers mean another compiler or other flags: a prediction for another kernel.
    """

    known: int
    same: int


def same_code(pairs: Iterable[tuple[Observation, Sequence[Case]]]) -> SameCode:
    """Compare the registers of every observation with those of its kernels."""
    found = [
        observation.registers in [case.kernel.resources.registers for case in cases]
        for observation, cases in pairs
        if observation.registers is not None
    ]
    return SameCode(len(found), sum(found))
