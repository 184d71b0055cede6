"""The kernels with known results: predicted against measured times, by kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernelcast.ir.launch import CacheState
from kernelcast.machines.machine import Machine
from kernelcast.measuring.ground_truth_raw import Measured
from kernelcast.validation.accuracy import Comparison, mean_factor, mean_ratio, order_tau
from kernelcast.validation.judging import TimedWorkload, known_workload


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
        return mean_factor(self.comparisons)

    @property
    def tau(self) -> float | None:
        """Kendall's tau of the order of the configurations."""
        return order_tau(self.comparisons)


def kernel_scores(comparisons: Iterable[Comparison]) -> tuple[KernelScore, ...]:
    """The comparisons by kernel, in their order."""
    by_kernel: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        by_kernel.setdefault(comparison.kernel, []).append(comparison)
    return tuple(KernelScore(kernel, tuple(own)) for kernel, own in by_kernel.items())


def mean_tau(scores: Iterable[KernelScore]) -> float | None:
    """The mean of the kernels' taus; None where no kernel has one."""
    taus = [score.tau for score in scores if score.tau is not None]
    return sum(taus) / len(taus) if taus else None


def timed_launch(one: Measured, chip: Machine, *, is_warm: bool = False) -> TimedWorkload:
    """What is compared: the measured time, the cost of an empty launch as models count it.

    Two events lie `empty_s` apart where nothing happens between them; a forecast adds
    `launch.overhead` to what the kernel does.
    """
    # Cold is after the L2 cache was filled with what need not be written back.
    times, caches = (one.warm, CacheState.WARM) if is_warm else (one.cold, CacheState.FLUSHED)
    overhead = chip.get("launch.overhead") or 0.0
    seconds = max(times.median - one.empty_s, 0.0) + overhead
    work = known_workload(one.kernel, one.launch, caches)
    return TimedWorkload(one.kernel, one.configuration, str(one.launch), seconds, work)
