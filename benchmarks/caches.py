"""Sectors per second of the processor's time through simulated caches: where they hit, and where
nothing does."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.measured import Measured, median_seconds
from kernelcast import api
from kernelcast.execution.blocks import Span
from kernelcast.hierarchy.caches.layout import ALLOCATES_L1, ASKS_L1
from kernelcast.hierarchy.caches.memory_system import memory_system
from kernelcast.hierarchy.caches.simulation import Caches
from kernelcast.hierarchy.caches.stack_distances import l1_distances, l2_distances
from kernelcast.profiling.streams import FIRST_BIT, LINE_SHIFT, AccessStreams

REPEATS = 3
WORDS = 4_000_000
BLOCKS, WARPS = 2048, 8
IN_L1, IN_L2, ANYWHERE = 64, 20_000, 1 << 24
"""Lines that are asked for at random."""


def measure() -> Iterator[Measured]:
    drawn = np.random.default_rng(1)
    whole, one = np.full(WORDS, 15), 1 << drawn.integers(0, 4, WORDS)
    for gpu in ("rtx-2080-ti", "h100-sxm"):
        for name, lines, sectors, aim in (
            ("hits in L1, whole lines", IN_L1, whole, 50),
            ("hits in L2, whole lines", IN_L2, whole, 50),
            ("misses, a sector of a line", ANYWHERE, one, 20),
        ):
            rate = sector_rate(gpu, streams(drawn.integers(0, lines, WORDS), sectors))
            yield Measured(f"{gpu}: {name}", rate, "M sectors/s", aim)
    for name, lines in (("hits", IN_L2), ("misses", ANYWHERE)):
        of_l1, of_l2 = distance_rates(streams(drawn.integers(0, lines, WORDS), whole))
        yield Measured(f"stack distances, {name}, L1 caches", of_l1, "M accesses/s")
        yield Measured(f"stack distances, {name}, L2 cache", of_l2, "M accesses/s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield Measured("most memory", peak, "GB", 1, at_most=True)


def streams(lines: NDArray[np.int64], sectors: NDArray[np.int64]) -> AccessStreams:
    """Requests of 32 sectors each, or as many lines as have them, shared out over the warps."""
    per_request = 8 if sectors[0] == 15 else 32
    first = (np.arange(WORDS) % per_request == 0).astype(np.int64)
    words = lines << LINE_SHIFT | first << FIRST_BIT | sectors
    starts = np.linspace(0, WORDS // per_request, BLOCKS * WARPS + 1).astype(np.int64) * per_request
    spans = (Span(0, 0, BLOCKS),)
    return AccessStreams(BLOCKS, WARPS, np.arange(BLOCKS), starts, words.view(np.uint64), (), spans)


def sector_rate(gpu: str, accesses: AccessStreams) -> float:
    """Millions of sectors per second, asked of L1 caches first."""
    system = memory_system(api.machine(gpu), 0, 4)
    rules = np.array([ASKS_L1 | ALLOCATES_L1])
    words = accesses.words.view(np.int64)
    sectors = int(np.bitwise_count(words & 15).sum())

    def run() -> None:
        Caches(system).run(accesses, rules, [range(BLOCKS)])

    return sectors / median_seconds(run, REPEATS, time.process_time) / 1e6


def distance_rates(accesses: AccessStreams) -> tuple[float, float]:
    """Millions of lines per second that the caches are asked for, by stack distances of each."""
    rules = np.array([ASKS_L1 | ALLOCATES_L1])
    caches = Caches(memory_system(api.machine("rtx-2080-ti"), 0, 4))
    _, asked = caches.run_noted(accesses, rules, [range(BLOCKS)])
    of_l1 = median_seconds(lambda: l1_distances(asked, rules), REPEATS, time.process_time)
    of_l2 = median_seconds(lambda: l2_distances(asked, len(rules), 1), REPEATS, time.process_time)
    return len(asked.l1) / of_l1 / 1e6, len(asked.l2) / of_l2 / 1e6
