"""The arrays that a trace was made on: where copies went, and what else was touched.

Every array begins at a line, so that no line lies in two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kernelcast.execution.memory import Region
from kernelcast.traces.accel_sim.addresses import Pattern

_LINE_BYTES = 128
_GRANULE_BITS = 16
_GAP_BYTES = 2 << 20
"""Two touched places this far apart are two arrays: the driver hands out pieces of 2 MiB."""


class Touched:
    """The addresses that accesses touched: the first, and their end, in every granule of 64 KiB."""

    def __init__(self) -> None:
        self._granules: dict[int, tuple[int, int]] = {}

    def add(self, base: int, pattern: Pattern, size_bytes: int) -> None:
        """An access of `size_bytes` bytes per lane."""
        ends = (pattern.low, pattern.high)
        # What lies between two ends that are near is joined anyway.
        for offset in ends if ends[1] - ends[0] < _GAP_BYTES else pattern.offsets:
            address = base + offset
            granule = address >> _GRANULE_BITS
            start, end = self._granules.get(granule, (address, address))
            self._granules[granule] = min(start, address), max(end, address + size_bytes)

    def intervals(self) -> Iterator[tuple[int, int]]:
        """First address and end of every touched part, ascending."""
        yield from _joined(self._granules.values(), _GAP_BYTES)


def arrays(copies: Sequence[tuple[int, int]], touched: Touched) -> tuple[Region, ...]:
    """The arrays, named by their addresses: `copies` as address and bytes, and the touched parts
    that lie in none of them."""
    known = list(_joined([(at, at + size) for at, size in copies], 0))
    rest = [part for interval in touched.intervals() for part in _without(interval, known)]
    return tuple(
        Region(f"{start:#x}", start, end - start, "b8") for start, end in sorted([*known, *rest])
    )


def _joined(intervals: Iterable[tuple[int, int]], gap: int) -> Iterator[tuple[int, int]]:
    """Intervals that overlap or lie less than `gap` apart as one."""
    held: tuple[int, int] | None = None
    for start, end in sorted((_down(start), end) for start, end in intervals):
        if held and start - held[1] < gap:
            held = held[0], max(held[1], end)
            continue
        if held:
            yield held
        held = start, end
    if held:
        yield held


def _without(
    interval: tuple[int, int], others: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """What is left of an interval, `others` ascending taken away."""
    start, end = interval
    for low, high in others:
        if high <= start or low >= end:
            continue
        if low > start:
            yield start, low
        start = max(start, _up(high))
    if start < end:
        yield start, end


def _down(address: int) -> int:
    return address // _LINE_BYTES * _LINE_BYTES


def _up(address: int) -> int:
    return -(-address // _LINE_BYTES) * _LINE_BYTES
