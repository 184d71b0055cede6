"""Bandwidth of access patterns: alignment, reads with writes, strides, random addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..session import Sample, Session

_BLOCK = 256
_SECTOR_BYTES = 32
_LOADS_PER_STEP = 8
_STORES_PER_STEP = 4


def _array_bytes(s: Session) -> int:
    """An array so long that neither the L2 cache nor the launch counts."""
    return int(min(max(1 << 28, 32 * s.device["l2_bytes"]), s.gpu.free_bytes() // 8))


def _full_grid(s: Session) -> int:
    """Blocks that fill the chip: a thread alone has few accesses in flight."""
    return int(s.device["sm_count"] * (s.device["threads_per_sm"] // _BLOCK))


def _seconds(s: Session, function: Any, grid: int, arguments: list[Any]) -> list[float]:
    taken = [s.seconds(function, grid, _BLOCK, arguments) for _ in range(s.repeats + 2)]
    return taken[2:]


def _alignment(s: Session) -> Iterator[Sample]:
    """Seconds of streams from DRAM that begin some bytes after the start of a line."""
    size = _array_bytes(s)
    to, source, sink = s.gpu.allocate(size), s.gpu.allocate(size), s.gpu.allocate(8)
    grid = _full_grid(s)
    group = grid * _BLOCK * 4
    for mode in ("read", "write"):
        for width in (4, 16):
            elements = (size // width - 128 // width) // group * group
            shifts = (0, 4, 8, 16, 32, 64, 96)
            for shift in [b for b in shifts if b % width == 0]:
                ends = [ctypes.c_uint64(p.value + shift) for p in (to, source)]
                counts = [ctypes.c_int64(elements), ctypes.c_int64(1), ctypes.c_int(1)]
                function = s.kernel("bandwidth", f"{mode}_{width}x4")
                yield {
                    "mode": mode,
                    "width_bytes": width,
                    "shift_bytes": shift,
                    "bytes": elements * width,
                    "seconds": _seconds(s, function, grid, [*ends, sink, *counts]),
                }
    for pointer in (to, source, sink):
        s.gpu.release(pointer)


def _mixes(s: Session) -> Iterator[Sample]:
    """Seconds of streams that read some arrays and write others, from DRAM and from L2."""
    grid = _full_grid(s)
    for level, size in (("dram", _array_bytes(s)), ("l2", s.device["l2_bytes"] // 16)):
        to, source = s.gpu.allocate(3 * size), s.gpu.allocate(3 * size)
        # So long that the launch does not count.
        passes = 1 if level == "dram" else max(16, (1 << 31) // size)
        for reads, writes in ((1, 3), (1, 2), (1, 1), (2, 1), (3, 1)):
            function = s.kernel("patterns", f"mix_{reads}x{writes}")
            arguments = [to, source, ctypes.c_int64(size // 16), ctypes.c_int(passes)]
            yield {
                "level": level,
                "reads": reads,
                "writes": writes,
                "bytes": (reads + writes) * (size // 16) * 16 * passes,
                "seconds": _seconds(s, function, grid, arguments),
            }
        for pointer in (to, source):
            s.gpu.release(pointer)


def _strides(level: str, s: Session) -> Iterator[Sample]:
    """Cycles of loads that hit L1, or shared memory, against the stride between lanes."""
    iterations = 128 if s.quick else 512
    source = s.gpu.allocate(1 << 16)
    steps = (1, 2, 4, 8, 16, 32) if s.quick else range(33)
    for stride in steps:
        for warps in (1, 32):
            arguments = [source, *map(ctypes.c_int, (stride, 0, iterations))]
            function = s.kernel("patterns", f"stride_{level}")
            yield {
                "stride_words": stride,
                "warps": warps,
                "requests": warps * _LOADS_PER_STEP * iterations,
                **s.timed(function, 1, 32 * warps, arguments),
            }
    s.gpu.release(source)


def _random_reads(s: Session) -> Iterator[Sample]:
    """Seconds of reads from random sectors against footprint, occupancy and reads in flight."""
    iterations = 32 if s.quick else 128
    largest = min(4 << 30, s.gpu.free_bytes() // 2)
    memory, sink = s.gpu.allocate(largest), s.gpu.allocate(8)
    footprints = {s.device["l2_bytes"] // 4, largest}
    if not s.quick:
        footprints |= {size for size in (1 << 26, 1 << 28, 1 << 30) if size < largest}
    for footprint in sorted(footprints):
        for in_flight in (1, 4):
            for per_sm in (2, 8) if s.quick else (1, 2, 4, 8):
                grid = s.device["sm_count"] * per_sm
                if per_sm * _BLOCK > s.device["threads_per_sm"]:
                    continue
                sectors = ctypes.c_uint32(footprint // _SECTOR_BYTES)
                arguments = [memory, sink, sectors, ctypes.c_int(iterations)]
                function = s.kernel("patterns", f"random_read_{in_flight}")
                yield {
                    "footprint_bytes": footprint,
                    "in_flight": in_flight,
                    "threads_per_sm": per_sm * _BLOCK,
                    "transactions": grid * _BLOCK * in_flight * iterations,
                    "seconds": _seconds(s, function, grid, arguments),
                }
    for pointer in (memory, sink):
        s.gpu.release(pointer)


def _random_writes(s: Session) -> Iterator[Sample]:
    """Seconds of stores to random sectors within L2 against occupancy."""
    iterations = 32 if s.quick else 128
    footprint = s.device["l2_bytes"] // 4
    memory = s.gpu.allocate(footprint)
    function = s.kernel("writes", "random_write")
    for per_sm in (2, 8) if s.quick else (1, 2, 4, 8):
        if per_sm * _BLOCK > s.device["threads_per_sm"]:
            continue
        grid = s.device["sm_count"] * per_sm
        sectors = ctypes.c_uint32(footprint // _SECTOR_BYTES)
        yield {
            "footprint_bytes": footprint,
            "threads_per_sm": per_sm * _BLOCK,
            "transactions": grid * _BLOCK * _STORES_PER_STEP * iterations,
            "seconds": _seconds(s, function, grid, [memory, sectors, ctypes.c_int(iterations)]),
        }
    s.gpu.release(memory)


BENCHMARKS: Mapping[str, Callable[[Session], Iterator[Sample]]] = {
    "alignment": _alignment,
    "mixes": _mixes,
    "strides.l1": partial(_strides, "l1"),
    "strides.shared": partial(_strides, "shared"),
    "random": _random_reads,
    "random_writes": _random_writes,
}
