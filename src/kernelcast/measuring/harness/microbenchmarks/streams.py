"""Bandwidth of DRAM, L2, L1 and shared memory (`bandwidth.cu`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Sample, Session

_STREAMS = ("4x1", "4x4", "8x4", "16x1", "16x4")


def _streams(level: str, s: Session) -> Iterator[Sample]:
    """Seconds of reads, writes and copies from DRAM or L2 against occupancy, width and stride."""
    l2 = s.device["l2_bytes"]
    # So long that neither the launch nor what is left in L2 counts.
    size = min(max(1 << 30, 32 * l2), s.gpu.free_bytes() // 4) if level == "dram" else l2 // 4
    passes = 1 if level == "dram" else max(16, (1 << 31) // size)
    modes = ("read", "write", "copy") if level == "dram" else ("read",)
    blocks = (1, 2, 3, 8) if s.quick else (1, 2, 3, 4, 6, 8)
    plan = [(mode, shape, 1, n) for mode in modes for shape in _STREAMS for n in blocks]
    if level == "dram":
        plan += [("read", "4x4", stride, 4) for stride in (2, 4, 8, 16, 32)]
    to, source, sink = s.gpu.allocate(size), s.gpu.allocate(size), s.gpu.allocate(8)
    for mode, shape, stride, per_sm in plan:
        width, in_flight = map(int, shape.split("x"))
        grid, block = s.device["sm_count"] * per_sm, 256
        if grid * block > s.device["sm_count"] * s.device["threads_per_sm"]:
            continue
        group = grid * block * in_flight
        elements = size // width // stride // group * group
        if elements == 0:
            continue
        counts = [ctypes.c_int64(elements), ctypes.c_int64(stride), ctypes.c_int(passes)]
        function = s.kernel("bandwidth", f"{mode}_{shape}")
        taken = [
            s.seconds(function, grid, block, [to, source, sink, *counts])
            for _ in range(s.repeats + 2)
        ]
        yield {
            "mode": mode,
            "width_bytes": width,
            "in_flight": in_flight,
            "stride": stride,
            "threads_per_sm": per_sm * block,
            "bytes": elements * width * passes * (2 if mode == "copy" else 1),
            "seconds": taken[2:],
        }
    for pointer in (to, source, sink):
        s.gpu.release(pointer)


def _near_bandwidth(level: str, s: Session) -> Iterator[Sample]:
    """Cycles of loads that hit L1, or shared memory, against warps and width."""
    iterations = 128 if s.quick else 512
    source = s.gpu.allocate(1 << 16)
    for width in (4, 8, 16):
        for warps in (8, 32) if s.quick else (1, 2, 4, 8, 16, 24, 32):
            arguments = [source, ctypes.c_int(0), ctypes.c_int(iterations)]
            function = s.kernel("bandwidth", f"repeat_{level}_{width}")
            shared_bytes = (32 * warps + 256) * width
            yield {
                "width_bytes": width,
                "warps": warps,
                "bytes": warps * 32 * width * 8 * iterations,
                **s.timed(function, 1, 32 * warps, arguments, shared_bytes),
            }
    s.gpu.release(source)


BENCHMARKS = {
    "bandwidth.dram": partial(_streams, "dram"),
    "bandwidth.l2": partial(_streams, "l2"),
    "bandwidth.l1": partial(_near_bandwidth, "l1"),
    "bandwidth.shared": partial(_near_bandwidth, "shared"),
}
