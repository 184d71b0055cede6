"""Barriers, launches, blocks that follow each other, and atomics of one block."""

from __future__ import annotations

import ctypes
import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Sample, Session


def _barriers(s: Session) -> Iterator[Sample]:
    """Cycles of a barrier against the warps of the block."""
    iterations = 16
    for warps in (1, 8, 32) if s.quick else (1, 2, 4, 8, 12, 16, 24, 32):
        arguments = [ctypes.c_int(iterations)]
        yield {
            "warps": warps,
            "barriers": 64 * iterations,
            **s.timed(s.kernel("launch", "barriers"), 1, 32 * warps, arguments),
        }


def _launches(s: Session) -> Iterator[Sample]:
    """Seconds of a number of launches of an empty kernel that were all handed over before."""
    function = s.kernel("launch", "empty")
    for count in (1, 10, 100) if s.quick else (1, 10, 50, 100, 200, 400):
        taken = [s.seconds(function, 1, 32, [], times=count) for _ in range(s.repeats + 1)]
        yield {"launches": count, "seconds": taken[1:]}


def _block_replacement(s: Session) -> Iterator[Sample]:
    """Cycles between the end of a block and the start of the next on the same SM."""
    function = s.kernel("launch", "block_times")
    shared_bytes = s.device["shared_bytes_per_block_optin"]
    s.gpu.allow_shared(function, shared_bytes)
    blocks = s.device["sm_count"] * 8
    clocks, sm = s.gpu.allocate(16 * blocks), s.gpu.allocate(4 * blocks)
    for threads in (64,) if s.quick else (32, 64, 256, 1024):
        gaps = []
        for _ in range(s.repeats):
            arguments = [clocks, sm, ctypes.c_int(5000)]
            s.gpu.launch(function, blocks, threads, arguments, shared_bytes)
            times = list(s.gpu.read(clocks, (ctypes.c_int64 * (2 * blocks))()))
            places = list(s.gpu.read(sm, (ctypes.c_int * blocks)()))
            gaps.append(_median_gap(times, places))
        yield {"threads": threads, "gap_cycles": gaps}
    s.gpu.release(clocks)
    s.gpu.release(sm)


def _median_gap(times: Sequence[int], places: Sequence[int]) -> float:
    by_sm: dict[int, list[tuple[int, int]]] = {}
    for place, start, stop in zip(places, times[0::2], times[1::2], strict=True):
        by_sm.setdefault(place, []).append((start, stop))
    gaps = []
    for blocks in by_sm.values():
        ordered = sorted(blocks)
        gaps += [b[0] - a[1] for a, b in itertools.pairwise(ordered)]
    return statistics.median(gaps)


def _atomics(kernel: str, s: Session) -> Iterator[Sample]:
    """Cycles of atomic additions against the lanes and warps that share an address."""
    words, adds = s.gpu.allocate(1 << 16), 256
    for warps in (1, 32) if s.quick else (1, 4, 16, 32):
        for sharing in (1, 2, 4, 8, 16, 32):
            for line_words in (32, 0):
                arguments = [words, *map(ctypes.c_int, (sharing, line_words, adds))]
                yield {
                    "sharing": sharing,
                    "warps": warps,
                    "is_line_shared": line_words == 0,
                    "atomics": adds,
                    **s.timed(s.kernel("atomics", kernel), 1, 32 * warps, arguments),
                }
    s.gpu.release(words)


BENCHMARKS: Mapping[str, Callable[[Session], Iterator[Sample]]] = {
    "barriers": _barriers,
    "launches": _launches,
    "block_replacement": _block_replacement,
    **{f"atomics.{k}": partial(_atomics, k) for k in ("atom_global", "red_global", "atom_shared")},
}
