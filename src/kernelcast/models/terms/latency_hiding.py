"""How warps hide latency: Little's law for warps, and the workload of one parameter that shows it.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016. The workload
(section 4.1) repeats one load from memory and alpha additions, every instruction dependent on the
one before. Everything is per SM and, but for latencies, in instructions of a warp:

    Latency = mem_lat + alpha alu_lat
    x = min(n / Latency, mem_thru, alu_thru / alpha, issue_thru / (alpha + 1))        section 4.1
    n needed = Latency min(mem_thru, alu_thru / alpha, issue_thru / (alpha + 1))      section 4.5
    mem_lat(T) = a + sum of b T / (c - T), T the throughput of memory                 section 6.4

Arguments may be arrays that broadcast against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from kernelcast.profiling.profile import Floats

_HALVINGS = 60
"""Bisections after which an interval is below the resolution of a float."""


@dataclass(frozen=True, slots=True)
class MemoryContention:
    """How the latency of memory grows with its throughput; `a` is the latency without load.

    `terms` are pairs (b, c): b in cycles, c the throughput at which that term becomes infinite, in
    any unit; latencies are then asked for in the same unit. `d` are cycles per unit of throughput.

    Where a warp waits for the last of k loads, a holds m s, with `s` the standard deviation of one
    load's latency and `m` = H(k) - 1 (`analysis.order_statistics`). Waits in a queue are as widely
    spread as they are long, and variances add, so that under load

        latency(T) = a + w + m (sqrt(s^2 + w^2) - s),    w = sum of b T / (c - T) + d T
    """

    a: float
    terms: tuple[tuple[float, float], ...]
    d: float = 0.0
    s: float = 0.0
    m: float = 0.0

    def latency(self, throughput: ArrayLike) -> Floats:
        """The latency at a throughput; infinite where that reaches a capacity."""
        wait = self._wait(np.asarray(throughput, dtype=np.float64))
        if not self.m:
            return self.a + wait
        return self.a + wait + self.m * (np.hypot(self.s, wait) - self.s)

    def at(self, t: float) -> float:
        """`latency` for a number."""
        wait = self.d * t
        for b, c in self.terms:
            wait += b * t / (c - t) if t < c else math.inf
        if not self.m or wait == math.inf:
            return self.a + wait
        return self.a + wait + self.m * (math.hypot(self.s, wait) - self.s)

    def _wait(self, t: Floats) -> Floats:
        total = self.d * t
        for b, c in self.terms:
            with np.errstate(divide="ignore"):
                total = total + np.where(t < c, b * t / np.where(t < c, c - t, 1.0), np.inf)
        return total

    def times(self, count: float, cycles: float) -> MemoryContention:
        """What takes `cycles` without load and waits for `count` such latencies in a row."""
        terms = tuple((count * b, c) for b, c in self.terms)
        return MemoryContention(cycles, terms, count * self.d, count * self.s, self.m)

    def in_units_of(self, unit: float) -> MemoryContention:
        """The same law for throughputs counted in `unit`s of the present one."""
        terms = tuple((b, c / unit) for b, c in self.terms)
        return replace(self, terms=terms, d=self.d * unit)


@dataclass(frozen=True, slots=True)
class Chip:
    """Hardware parameters of the workload, as in Table 4.1: cycles, and instructions/cycle/SM.

    `mem_slots` is how many issue slots a load takes.
    """

    mem_lat: float
    mem_thru: float
    alu_lat: float
    alu_thru: float
    issue_thru: float
    mem_slots: float = 1.0


def warp_throughput(warps: ArrayLike, latency: ArrayLike, bound: ArrayLike) -> Floats:
    """min(n / latency, bound), in warps per cycle and SM (section 3.5)."""
    n, cycles = np.asarray(warps, np.float64), np.asarray(latency, np.float64)
    return np.minimum(n / cycles, np.asarray(bound, np.float64))


def contended_throughput(
    warps: ArrayLike, latency: Callable[[Floats], Floats], bound: ArrayLike
) -> Floats:
    """The x with x = min(n / latency(x), bound), by bisection (section 6.5).

    `latency` is a function of x that never falls, so there is exactly one solution.
    """
    n, high = np.broadcast_arrays(np.asarray(warps, np.float64), np.asarray(bound, np.float64))
    low, high = np.zeros_like(high), high.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # Too slow a guess: at it, the warps would turn over faster than that.
        slow = middle * latency(middle) < n
        low, high = np.where(slow, middle, low), np.where(slow, high, middle)
    return high


@lru_cache(maxsize=4096)
def throughput_under_load(warps: float, latency: MemoryContention, bound: float) -> float:
    """`contended_throughput` for numbers, without the cost of arrays."""
    low, high = 0.0, bound
    while low < (middle := (low + high) / 2) < high:
        if middle * latency.at(middle) < warps:
            low = middle
        else:
            high = middle
    return high


def throughput_bound(chip: Chip, alpha: ArrayLike) -> Floats:
    """Loads per cycle and SM that the chip's rates allow."""
    a = np.asarray(alpha, np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        arithmetic = chip.alu_thru / a
    return np.minimum(np.minimum(chip.mem_thru, arithmetic), chip.issue_thru / (a + chip.mem_slots))


def memory_throughput(
    chip: Chip, warps: ArrayLike, alpha: ArrayLike, contention: MemoryContention | None = None
) -> Floats:
    """Loads per cycle and SM of the workload at `warps` warps per SM.

    With `contention`, whose unit must be loads per cycle and SM, the refined model of section 6.5.
    """
    a = np.asarray(alpha, np.float64)
    bound = throughput_bound(chip, a)
    if contention is None:
        return warp_throughput(warps, chip.mem_lat + a * chip.alu_lat, bound)
    return contended_throughput(warps, lambda x: contention.latency(x) + a * chip.alu_lat, bound)


def needed_warps(chip: Chip, alpha: ArrayLike) -> Floats:
    """Warps per SM at which the workload reaches a throughput bound: the cusp of section 4.5."""
    a = np.asarray(alpha, np.float64)
    return (chip.mem_lat + a * chip.alu_lat) * throughput_bound(chip, a)
