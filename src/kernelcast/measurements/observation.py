"""Launches that were timed on a GPU, as typed values."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

ParameterValue = int | float | str
Extent = tuple[int, int, int]


@dataclass(frozen=True)
class Observation:
    """One launch and how long it took.

    `kernel` is what the file calls the kernel or the benchmark; empty where it holds one alone.
    `parameters` are those that its author varied, by their names. `seconds` holds every repeat, or
    the one figure that was published. `grid`, `block` and `registers` (per thread) are None, and
    `counters` (by the profiler's names, in basic units) and `signature` (the kernel's name with its
    template arguments and parameters) empty, `clock_hz` of the SMs None, where the file does not
    say them.
    """

    kernel: str
    parameters: Mapping[str, ParameterValue]
    seconds: tuple[float, ...]
    grid: Extent | None = None
    block: Extent | None = None
    registers: int | None = None
    counters: Mapping[str, float] = field(default_factory=dict)
    signature: str = ""
    clock_hz: float | None = None

    @property
    def time_s(self) -> float:
        """The median of the repeats."""
        return statistics.median(self.seconds)

    @property
    def repeats_ratio(self) -> float:
        """The longest repeat as a multiple of the shortest, without the first, in which the GPU
        may still warm up; 1 where there are no others to compare."""
        others = self.seconds[1:] or self.seconds
        return max(others) / min(others)

    def __str__(self) -> str:
        values = " ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.kernel} {values}".strip()


@dataclass(frozen=True)
class Measurements:
    """What a file holds: the device as it calls it, its observations, how many it has no time for
    because they failed, and a line for each row that is damaged and left out."""

    device: str
    observations: tuple[Observation, ...]
    failed: int = 0
    damaged: tuple[str, ...] = ()
