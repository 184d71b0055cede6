"""How far predicted times are from measured ones, and whether they rank configurations alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from kernelcast.errors import ToolError
from kernelcast.models.terms.trust import Kind


@dataclass(frozen=True, slots=True)
class Comparison:
    """One configuration of a kernel: what a model predicts and what a GPU took.

    `low_s` and `high_s` are the model's interval, None where it gives none. `bottleneck` is what
    the model says that binds, `measured_bottlenecks` what may have bound by its counters, the
    busiest first, both among those that counters tell apart; empty where nobody knows. `kind` is
    what its interval was fitted for.
    """

    kernel: str
    configuration: int
    launch: str
    predicted_s: float
    measured_s: float
    low_s: float | None = None
    high_s: float | None = None
    bottleneck: str = ""
    measured_bottlenecks: tuple[str, ...] = ()
    kind: Kind | None = None

    @property
    def ratio(self) -> float:
        """Predicted over measured time."""
        return self.predicted_s / self.measured_s

    @property
    def error(self) -> float:
        """|predicted - measured| / measured."""
        return abs(self.ratio - 1)

    @property
    def is_covered(self) -> bool | None:
        """Whether the interval holds the measured time; None where there is no interval."""
        if self.low_s is None or self.high_s is None:
            return None
        return self.low_s <= self.measured_s <= self.high_s


Comparisons = Sequence[Comparison]


def mean_ratio(comparisons: Comparisons) -> float:
    """exp(mean(ln r)), r = predicted / measured."""
    return math.exp(sum(math.log(c.ratio) for c in comparisons) / len(comparisons))


def mean_factor(comparisons: Comparisons) -> float:
    """exp(mean(|ln r|)) - 1: the factor by which a time is off, in either direction, less one."""
    return math.exp(sum(abs(math.log(c.ratio)) for c in comparisons) / len(comparisons)) - 1


def mean_error(comparisons: Comparisons) -> float:
    """The mean of |predicted - measured| / measured."""
    return sum(c.error for c in comparisons) / len(comparisons)


def error_quantile(comparisons: Comparisons, share: float) -> float:
    """The error that `share` of the comparisons do not exceed."""
    return nearest_rank([c.error for c in comparisons], share)


def nearest_rank(values: Sequence[float], share: float) -> float:
    """The value that `share` of all do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def regret(comparisons: Comparisons) -> float:
    """Measured time of the configuration predicted to be the fastest, over that of the fastest,
    less one: what following the predictions costs."""
    chosen = min(comparisons, key=lambda c: c.predicted_s)
    return chosen.measured_s / min(c.measured_s for c in comparisons) - 1


def coverage(comparisons: Comparisons) -> float | None:
    """Of the comparisons with an interval, the share whose interval holds the measured time; None
    where there is no interval."""
    covered = [c.is_covered for c in comparisons if c.is_covered is not None]
    return sum(covered) / len(covered) if covered else None


def agreement(comparisons: Comparisons) -> float | None:
    """Of the launches whose bottleneck counters tell, the share for which the model names it, or
    what counters cannot tell from it; None where none is known."""
    known = [c for c in comparisons if c.measured_bottlenecks and c.bottleneck]
    same = sum(c.bottleneck in c.measured_bottlenecks for c in known)
    return same / len(known) if known else None


def worst(comparisons: Comparisons, count: int) -> Comparisons:
    """Those that are off by the largest factor, in either direction."""
    return sorted(comparisons, key=lambda c: -abs(math.log(c.ratio)))[:count]


def require_scipy() -> None:
    """Say what to install where SciPy, which computes Kendall's tau, is missing (`ToolError`)."""
    if find_spec("scipy") is None:
        raise ToolError(
            "Kendall's tau is computed by SciPy, which is not installed",
            hint="install it with: pip install 'kernelcast[validation]'",
        )


def kendall_tau(pairs: Sequence[tuple[float, float]]) -> float | None:
    """M. G. Kendall's tau-b, which allows for ties; None where one side has no two values.

    Raises `ToolError` where SciPy is missing.
    """
    require_scipy()
    from scipy.stats import kendalltau

    x, y = zip(*pairs, strict=True)
    if min(len(set(x)), len(set(y))) < 2:
        return None
    return float(kendalltau(x, y, variant="b").statistic)


def order_tau(comparisons: Comparisons) -> float | None:
    """Kendall's tau-b of the order of the configurations; None where no two of them differ."""
    return kendall_tau([(c.predicted_s, c.measured_s) for c in comparisons])
