"""What a benchmark gives: one number with the bound that this project promises."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """One number; `target` is its bound, from above where `at_most`, and None where none is set."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = False

    @property
    def holds(self) -> bool:
        """Whether the bound is kept."""
        if self.target is None:
            return True
        return self.value <= self.target if self.at_most else self.value >= self.target


def median_seconds(
    work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Median time of `repeats` calls after one that warms up; by `time.process_time` the
    processor's, which other work beside it changes little."""
    work()
    return statistics.median(_seconds(work, clock) for _ in range(repeats))


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start
