"""Predicted against measured times: how far off, and whether configurations are ranked alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    """One configuration of a kernel: what a model predicts and what a GPU took."""

    kernel: str
    configuration: int
    launch: str
    predicted_s: float
    measured_s: float

    @property
    def ratio(self) -> float:
        """Predicted over measured time."""
        return self.predicted_s / self.measured_s


@dataclass(frozen=True)
class KernelScore:
    """All configurations of a kernel. `tau` is None where no two of them differ."""

    kernel: str
    comparisons: tuple[Comparison, ...]

    @property
    def ratio(self) -> float:
        """The geometric mean of predicted over measured time."""
        return mean_ratio(self.comparisons)

    @property
    def error(self) -> float:
        """The geometric mean error."""
        return mean_error(self.comparisons)

    @property
    def tau(self) -> float | None:
        """Kendall's tau of the order of the configurations."""
        return kendall_tau([(c.predicted_s, c.measured_s) for c in self.comparisons])


def kernel_scores(comparisons: Iterable[Comparison]) -> tuple[KernelScore, ...]:
    """The comparisons by kernel, in their order."""
    by_kernel: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        by_kernel.setdefault(comparison.kernel, []).append(comparison)
    return tuple(KernelScore(kernel, tuple(own)) for kernel, own in by_kernel.items())


def mean_ratio(comparisons: Sequence[Comparison]) -> float:
    """exp(mean(ln r)), r = predicted / measured."""
    return math.exp(sum(math.log(c.ratio) for c in comparisons) / len(comparisons))


def mean_error(comparisons: Sequence[Comparison]) -> float:
    """exp(mean(|ln r|)) - 1: the factor by which a time is off, in either direction, less one."""
    return math.exp(sum(abs(math.log(c.ratio)) for c in comparisons) / len(comparisons)) - 1


def mean_tau(scores: Iterable[KernelScore]) -> float | None:
    """The mean of the kernels' taus; None where no kernel has one."""
    taus = [score.tau for score in scores if score.tau is not None]
    return sum(taus) / len(taus) if taus else None


def kendall_tau(pairs: Sequence[tuple[float, float]]) -> float | None:
    """M. G. Kendall's tau-b, which allows for ties; None where one side has no two values.

    tau = (concordant - discordant) / sqrt((n - ties in x) (n - ties in y)), n pairs of pairs
    """
    orders = [(_sign(a[0] - b[0]), _sign(a[1] - b[1])) for a, b in itertools.combinations(pairs, 2)]
    untied_x = sum(x != 0 for x, _ in orders)
    untied_y = sum(y != 0 for _, y in orders)
    if not untied_x or not untied_y:
        return None
    return sum(x * y for x, y in orders) / math.sqrt(untied_x * untied_y)


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)
