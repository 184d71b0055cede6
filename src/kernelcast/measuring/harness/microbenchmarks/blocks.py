"""How blocks come onto the SMs: how many at once, when, and how fast (`launch.cu`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Sample, Session

_SPIN_CYCLES = 200_000
"""So long that the last block of an SM has come before its first one ends."""
_MOST_BLOCKS = 32
_INSTANTS = 32
_PLACED = 4
"""Blocks for each SM, of which it is told on which one they came to lie."""


def _residency(s: Session) -> Iterator[Sample]:
    """Blocks that an SM holds at once, and along its run, against their size.

    Volkov 2016, section 5.6: every block records its start and its end, from which follows how
    many were there at any time.
    """
    function = s.kernel("launch", "block_times")
    shared_bytes = s.device["shared_bytes_per_block_optin"]
    s.gpu.allow_shared(function, shared_bytes)
    plan = [(threads, 0) for threads in ((32, 1024) if s.quick else (32, 64, 128, 256, 512, 1024))]
    plan += [(128, shared_bytes // 4), (128, shared_bytes)]
    blocks = s.device["sm_count"] * 2 * _MOST_BLOCKS
    clocks, sm = s.gpu.allocate(16 * blocks), s.gpu.allocate(4 * blocks)
    for threads, shared in plan:
        s.gpu.launch(function, blocks, threads, [clocks, sm, ctypes.c_int(_SPIN_CYCLES)], shared)
        times = list(s.gpu.read(clocks, (ctypes.c_int64 * (2 * blocks))()))
        places = list(s.gpu.read(sm, (ctypes.c_int * blocks)()))
        spans: dict[int, list[tuple[int, int]]] = {}
        for place, start, stop in zip(places, times[0::2], times[1::2], strict=True):
            spans.setdefault(place, []).append((start, stop))
        yield {
            "threads": threads,
            "shared_bytes": shared,
            "blocks": blocks,
            "most_resident": [_most_at_once(found) for found in spans.values()],
            "mean_resident": _along_the_run(list(spans.values())),
            "places": places[: s.device["sm_count"] * _PLACED],
        }
    s.gpu.release(clocks)
    s.gpu.release(sm)


def _most_at_once(spans: Sequence[tuple[int, int]]) -> int:
    """The most intervals that overlap; one that ends as another begins makes room for it."""
    changes = sorted([(start, 1) for start, _ in spans] + [(stop, -1) for _, stop in spans])
    held = most = 0
    for _, change in changes:
        held += change
        most = max(most, held)
    return most


def _along_the_run(by_sm: Sequence[Sequence[tuple[int, int]]]) -> list[float]:
    """Blocks held at instants evenly spread over each SM's run, their mean over the SMs."""
    means = []
    for i in range(_INSTANTS):
        held = 0
        for spans in by_sm:
            first, last = min(a for a, _ in spans), max(b for _, b in spans)
            now = first + (last - first) * (2 * i + 1) // (2 * _INSTANTS)
            held += sum(start <= now < stop for start, stop in spans)
        means.append(held / len(by_sm))
    return means


def _block_launches(s: Session) -> Iterator[Sample]:
    """Seconds of a launch of an empty kernel against its blocks and their size."""
    function = s.kernel("launch", "empty")
    for threads in (32, 256, 1024):
        for per_sm in (16, 64, 256) if s.quick else (8, 16, 32, 64, 128, 256, 512):
            blocks = s.device["sm_count"] * per_sm
            taken = [s.seconds(function, blocks, threads, []) for _ in range(s.repeats + 1)]
            yield {"threads": threads, "blocks": blocks, "seconds": taken[1:]}


BENCHMARKS = {"residency": _residency, "block_launches": _block_launches}
