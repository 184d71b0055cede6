"""Pointer chases: latency by footprint, under load, and with bank conflicts (`chase.cu`)."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Sample, Session

_HOPS = 2048
_LOADED_WARM_HOPS = 32


def _footprints(low: int, high: int, per_octave: int) -> list[int]:
    count = round(math.log2(high / low) * per_octave)
    return sorted({int(low * 2 ** (i / per_octave)) // 4096 * 4096 for i in range(count + 1)})


def _far_step(nodes: int) -> int:
    step = max(1, int(nodes * 0.618))
    while math.gcd(step, nodes) != 1:
        step += 1
    return step


class _Ring:
    """Nodes of pointers in device memory, linked once."""

    def __init__(
        self, s: Session, size_bytes: int, node_bytes: int, *, lanes: int, pitch: int, far: bool
    ) -> None:
        self._s = s
        self.nodes = size_bytes // node_bytes
        self.node_bytes, self.lanes, self.pitch = node_bytes, lanes, pitch
        self._memory = s.gpu.allocate(self.nodes * node_bytes)
        long = ctypes.c_int64
        step = _far_step(self.nodes) if far else 1
        arguments = [self._memory, long(self.nodes), long(step), long(node_bytes), long(pitch)]
        s.gpu.launch(
            s.kernel("chase", "chase_fill"),
            s.device["sm_count"] * 4,
            256,
            [*arguments, ctypes.c_int(lanes)],
        )

    def chase(
        self,
        kernel: str,
        grid: int,
        block: int,
        warm_hops: int,
        hops: int,
        *,
        is_cold: bool = False,
    ) -> Sample:
        """Cycles and seconds of `hops` dependent loads of every warp; see `Session.timed`."""
        long, short = ctypes.c_int64, ctypes.c_int
        arguments = [self._memory, long(self.nodes), long(self.node_bytes), long(self.pitch)]
        counts = [short(self.lanes), short(warm_hops), short(hops)]
        function = self._s.kernel("chase", kernel)
        return self._s.timed(function, grid, block, [*arguments, *counts], is_cold=is_cold)

    def release(self) -> None:
        """Give the memory back."""
        self._s.gpu.release(self._memory)


def _chase(s: Session) -> Iterator[Sample]:
    """Latency of one lane's dependent loads against footprint, stride and order."""
    largest = min(4 * s.device["l2_bytes"], s.gpu.free_bytes() // 2)
    fine = _footprints(4096, 1 << 19, 2 if s.quick else 8)
    coarse = _footprints(1 << 19, largest, 1 if s.quick else 4)
    strides = (128,) if s.quick else (128, 512)
    plan = [("chase_ca", size, 128, False) for size in fine]
    plan += [("chase_cg", z, stride, False) for z in fine[::2] + coarse for stride in strides]
    plan += [("chase_cg", size, 128, True) for size in coarse]
    for kernel, size, stride, far in plan:
        ring = _Ring(s, size, stride, lanes=1, pitch=8, far=far)
        is_cold = size >= s.device["l2_bytes"]
        warm = _HOPS if is_cold else ring.nodes
        yield {
            "kernel": kernel,
            "footprint_bytes": size,
            "stride_bytes": stride,
            "order": "far" if far else "next",
            "hops": _HOPS,
            **ring.chase(kernel, 1, 32, warm, _HOPS, is_cold=is_cold),
        }
        ring.release()


def _loaded_latency(s: Session) -> Iterator[Sample]:
    """Mean latency of loads from DRAM against the warps that load, coalesced and not."""
    size = min(max(1 << 28, 4 * s.device["l2_bytes"]), s.gpu.free_bytes() // 2)
    most = s.device["threads_per_sm"] // 32
    steps = (1, 4, 8, 16, 32, 64) if s.quick else (1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64)
    hops = 1024 if s.quick else 4096  # so long that the launch does not count
    for pitch in (8, 32):
        ring = _Ring(s, size, 32 * pitch, lanes=32, pitch=pitch, far=False)
        for warps in [w for w in steps if w <= most]:
            blocks = -(-warps // 32)
            grid, block = s.device["sm_count"] * blocks, 32 * warps // blocks
            yield {
                "lane_pitch_bytes": pitch,
                "warps_per_sm": warps,
                "warps": grid * block // 32,
                "hops": hops,
                "warm_hops": _LOADED_WARM_HOPS,
                **ring.chase("chase_cg", grid, block, _LOADED_WARM_HOPS, hops, is_cold=True),
            }
        ring.release()


def _conflicts(s: Session) -> Iterator[Sample]:
    """Latency of a load from shared memory against the lanes that want one bank."""
    degrees = (1, 2, 4, 8, 16, 32) if s.quick else range(1, 33)
    for degree in degrees:
        arguments = [ctypes.c_int(degree), ctypes.c_int(_HOPS)]
        yield {
            "degree": degree,
            "hops": _HOPS,
            **s.timed(s.kernel("chase", "chase_shared"), 1, 32, arguments),
        }


BENCHMARKS = {"chase": _chase, "conflicts": _conflicts, "loaded_latency": _loaded_latency}
