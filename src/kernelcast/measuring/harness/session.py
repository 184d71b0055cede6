"""How anything is timed: on a GPU that is held busy until all has been handed over."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from .archive import CompiledCode
from .gpu import Dimensions, Gpu
from .gpu_driver import GpuError
from .gpu_state import Monitor

Sample = dict[str, Any]

_EVICTING_BLOCK = 256
_EVICTING = 4
"""Size of what is read, over the L2 cache's, after which nothing else is left in it. A cache that
replaces lines at random would still keep exp(-4) of them, 2 %; of twice its size, 14 %."""
_CLOCK_NS, _HELD_NS, _HELD_NS_A_LAUNCH = 2_000_000, 100_000, 25_000
"""How long a clock is read; how long the GPU is held busy while launches are handed over."""
_HOLDS = 4
"""Attempts to hand launches over in time, each held twice as long as the one before."""
_CLOCK_READINGS, _FEWEST_READINGS, _MOST_READINGS, _CLOCK_SPREAD = 5, 20, 400, 0.01
"""A clock has settled where so many readings are that close, after the fewest of them."""


class Session:
    """A GPU, the microbenchmarks' code for it, and how thorough to be: what times anything.

    `late` counts the launches that were still being handed over when the GPU came to them.
    """

    def __init__(
        self, gpu: Gpu, code: CompiledCode, quick: bool, monitor: Monitor | None = None
    ) -> None:
        self.gpu = gpu
        self.device = gpu.properties
        self.quick = quick
        self.repeats = 3 if quick else 7
        self.late = 0
        self._monitor = monitor
        self._code = code

    def kernel(self, file: str, name: str) -> ctypes.c_void_p:
        """A kernel of the suite."""
        return self.gpu.function(self._cubin(file), name)

    def variable(self, file: str, name: str) -> ctypes.c_uint64:
        """The address of a variable of the suite."""
        return self.gpu.variable(self._cubin(file), name)

    def _cubin(self, file: str) -> bytes:
        try:
            return self._code.cubins[file]
        except KeyError:
            raise GpuError("no code", f"{file}.cubin is missing") from None

    def state(self) -> dict[str, Any]:
        """How the GPU is now, as far as NVML says."""
        return self._monitor.state() if self._monitor else {}

    @cached_property
    def _ticks(self) -> ctypes.c_uint64:
        return self.gpu.allocate(16)

    def clock_hz(self) -> float:
        """The clock at which an SM runs now."""
        arguments = [self._ticks, ctypes.c_int64(_CLOCK_NS)]
        self.gpu.launch(self.kernel("launch", "clock_rate"), 1, 1, arguments)
        cycles, elapsed_ns = self.gpu.read(self._ticks, (ctypes.c_int64 * 2)())
        return float(cycles / elapsed_ns * 1e9)

    def settled_clock_hz(self) -> float:
        """The same once it no longer changes: a GPU that was idle needs a while."""
        readings: list[float] = []
        for _ in range(_MOST_READINGS):
            readings.append(self.clock_hz())
            last = readings[-_CLOCK_READINGS:]
            is_still = max(last) <= min(last) * (1 + _CLOCK_SPREAD)
            if is_still and len(readings) >= _FEWEST_READINGS:
                break
        return readings[-1]

    def seconds(
        self,
        function: ctypes.c_void_p,
        grid: Dimensions,
        block: Dimensions,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
        times: int = 1,
        before: Callable[[], None] | None = None,
    ) -> float:
        """Seconds of launches on the GPU, each time after `before`; see `held`."""

        def hand_over() -> None:
            for _ in range(times):
                self.gpu.enqueue(function, grid, block, arguments, shared_bytes)

        return self.held(hand_over, times, before)

    def held(
        self,
        hand_over: Callable[[], None],
        times: int = 1,
        before: Callable[[], None] | None = None,
    ) -> float:
        """Seconds of what is handed over, until which the GPU is held busy.

        It is handed over again where that took too long, each time after `before`. `times` is how
        many launches or copies it is.
        """
        held_ns = _HELD_NS + times * _HELD_NS_A_LAUNCH
        for _ in range(_HOLDS):
            if before is not None:
                before()
            begin_ns = time.perf_counter_ns()
            hold = [self._ticks, ctypes.c_int64(held_ns)]
            self.gpu.enqueue(self.kernel("launch", "clock_rate"), 1, 1, hold)
            self.gpu.mark_start()
            hand_over()
            self.gpu.mark_stop()
            is_late = time.perf_counter_ns() - begin_ns > held_ns
            taken_s = self.gpu.seconds()
            if not is_late:
                return taken_s
            held_ns *= 2
        self.late += 1
        return taken_s

    def timed(
        self,
        function: ctypes.c_void_p,
        grid: int,
        block: int,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
        *,
        is_cold: bool = False,
    ) -> Sample:
        """Repeated launches of a kernel whose first two arguments are its clocks and its sink.

        For every repeat the mean over warps of their cycles, the cycles from the first start to the
        last end (of use within one SM only), and the seconds of the launch. One launch warms up.
        With `is_cold`, nothing that an earlier launch loaded is left in the L2 cache.
        """
        warps = grid * (-(-block // 32))
        others = self.gpu.allocate(self.evicting_bytes()) if is_cold else None
        clocks = self.gpu.allocate(16 * warps)
        sink = self.gpu.allocate(8 * grid * block)
        sample: Sample = {"warp_cycles": [], "span_cycles": [], "seconds": []}
        evict = partial(self.evict, others, sink) if others else None
        for repeat in range(self.repeats + 1):
            taken_s = self.seconds(
                function, grid, block, [clocks, sink, *arguments], shared_bytes, before=evict
            )
            if repeat == 0:
                continue
            values = list(self.gpu.read(clocks, (ctypes.c_int64 * (2 * warps))()))
            starts, stops = values[0::2], values[1::2]
            if any(stop <= start for start, stop in zip(starts, stops, strict=True)):
                raise GpuError("failed", "a warp has recorded no time")
            sample["warp_cycles"].append((sum(stops) - sum(starts)) / warps)
            sample["span_cycles"].append(max(stops) - min(starts))
            sample["seconds"].append(taken_s)
        for pointer in filter(None, (clocks, sink, others)):
            self.gpu.release(pointer)
        return sample

    def evicting_bytes(self) -> int:
        """What `evict` reads: a multiple of the L2 cache, and of what a grid reads at once."""
        at_once = self.device["sm_count"] * _EVICTING_BLOCK * 4 * 16
        return int(-(-_EVICTING * self.device["l2_bytes"] // at_once) * at_once)

    def evict(self, others: ctypes.c_uint64, sink: ctypes.c_uint64) -> None:
        """Read something else into the L2 cache, rather than write it: it is dropped in no time."""
        elements = ctypes.c_int64(self.evicting_bytes() // 16)
        counts = [elements, ctypes.c_int64(1), ctypes.c_int(1)]
        function = self.kernel("bandwidth", "read_16x4")
        arguments = [others, others, sink, *counts]
        self.gpu.launch(function, self.device["sm_count"], _EVICTING_BLOCK, arguments)
