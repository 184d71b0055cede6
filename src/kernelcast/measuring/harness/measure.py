"""Runs the microbenchmarks on a GPU and writes what it measured as one JSON file.

This file is copied into a folder with the compiled benchmarks and runs there by itself: it needs
Python 3.10, NVIDIA's driver, and nothing else.

    python3 measure.py --out raw.json [--quick] [--nvcc]

They run in a process of their own, and after one that fails the next in a new one. What is in the
output file already is not run again. With --nvcc they are compiled anew by the machine's compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from kernelcast.measuring.harness.compiling import compile_here
    from kernelcast.measuring.harness.gpu_driver import Gpu, GpuError, open_driver
    from kernelcast.measuring.harness.gpu_state import Monitor, held_down, open_monitor
    from kernelcast.measuring.harness.microbenchmarks import BENCHMARKS
    from kernelcast.measuring.harness.runner import DEVICE, RawKind, arguments, code_folder, run
    from kernelcast.measuring.harness.worker import Entry, answer, now
else:  # in a folder of its own, whose files Python need not look for by itself
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from compiling import compile_here
    from gpu_driver import Gpu, GpuError, open_driver
    from gpu_state import Monitor, held_down, open_monitor
    from microbenchmarks import BENCHMARKS
    from runner import DEVICE, RawKind, arguments, code_folder, run
    from worker import Entry, answer, now

SCHEMA = "kernelcast/raw/1"
SUITE = "1"
"""Version of the microbenchmarks and of what they record."""
MICROBENCHMARKS = RawKind(SCHEMA, SUITE, "benchmarks")
PACK = Path(__file__).resolve().parent
"""The folder, where this file lies in it."""
COMPILED = PACK / "compiled"
"""What is compiled on the machine itself."""

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
    """A GPU, the folder with the code for it, and how thorough to be.

    `late` counts the launches that were still being handed over when the GPU came to them.
    """

    def __init__(self, gpu: Gpu, pack: Path, quick: bool, monitor: Monitor | None = None) -> None:
        self.gpu = gpu
        self.device = gpu.properties
        self.quick = quick
        self.repeats = 3 if quick else 7
        self.late = 0
        self._monitor = monitor
        self._code = code_folder(pack, self.device["major"], self.device["minor"])

    def kernel(self, file: str, name: str) -> ctypes.c_void_p:
        """A kernel of the suite."""
        return self.gpu.function(self._code / f"{file}.cubin", name)

    def variable(self, file: str, name: str) -> ctypes.c_uint64:
        """The address of a variable of the suite."""
        return self.gpu.variable(self._code / f"{file}.cubin", name)

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
        grid: int,
        block: int,
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
        others = self.gpu.allocate(self._evicting_bytes()) if is_cold else None
        clocks = self.gpu.allocate(16 * warps)
        sink = self.gpu.allocate(8 * grid * block)
        sample: Sample = {"warp_cycles": [], "span_cycles": [], "seconds": []}
        evict = partial(self._evict, others, sink) if others else None
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

    def _evicting_bytes(self) -> int:
        """A multiple of the L2 cache, and a whole number of what a grid reads at once."""
        at_once = self.device["sm_count"] * _EVICTING_BLOCK * 4 * 16
        return int(-(-_EVICTING * self.device["l2_bytes"] // at_once) * at_once)

    def _evict(self, others: ctypes.c_uint64, sink: ctypes.c_uint64) -> None:
        """Read something else into the L2 cache, rather than write it: it is dropped in no time."""
        elements = ctypes.c_int64(self._evicting_bytes() // 16)
        counts = [elements, ctypes.c_int64(1), ctypes.c_int(1)]
        function = self.kernel("bandwidth", "read_16x4")
        arguments = [others, others, sink, *counts]
        self.gpu.launch(function, self.device["sm_count"], _EVICTING_BLOCK, arguments)


def run_benchmark(session: Session, name: str) -> dict[str, Any]:
    """One entry of the file: the samples, and how the GPU was before and after."""
    begin, late = time.monotonic(), session.late
    before_hz, before = session.settled_clock_hz(), session.state()
    samples = list(BENCHMARKS[name](session))
    after = session.state()
    return {
        "status": "done",
        "date": now(),
        "took_s": round(time.monotonic() - begin, 3),
        "clock_before_hz": before_hz,
        "clock_after_hz": session.clock_hz(),
        "state_before": before,
        "state_after": after,
        "held_down": held_down(before, after),
        "late_launches": session.late - late,
        "samples": samples,
    }


def child(options: argparse.Namespace) -> Callable[[str], Entry]:
    """What a process of its own makes of a name: the device's properties, or one entry."""
    gpu = Gpu(open_driver(), options.device)
    monitor = open_monitor(gpu.properties["pci_bus_id"])

    def entry(name: str) -> Entry:
        if name == DEVICE:
            return described(gpu, monitor)
        return run_benchmark(session(), name)

    @cache
    def session() -> Session:
        return Session(gpu, COMPILED if options.nvcc else PACK, options.quick, monitor)

    return entry


def described(gpu: Gpu, monitor: Monitor) -> dict[str, Any]:
    """What a process writes that is asked for the device."""
    return {"status": "done", "samples": [], **gpu.properties, "nvml": monitor.facts()}


def main() -> int:
    """Entry point of the folder."""

    def more(parser: argparse.ArgumentParser) -> None:
        about = "compile here, with this nvcc; default: the folder's code"
        parser.add_argument("--nvcc", nargs="?", const="nvcc", metavar="PROGRAM", help=about)

    def code(device: Mapping[str, Any]) -> Path:
        if options.nvcc:
            return compile_here(options.nvcc, PACK / "microbenchmarks", COMPILED, device)
        return code_folder(PACK, device["major"], device["minor"])

    options = arguments(__doc__ or "", "raw.json", list(BENCHMARKS), more)
    if options.child:
        return answer(lambda: child(options))
    tail = ["--device", str(options.device)] + (["--quick"] if options.quick else [])
    tail += ["--nvcc", options.nvcc] if options.nvcc else []
    return run(
        PACK,
        options,
        MICROBENCHMARKS,
        options.only or list(BENCHMARKS),
        [sys.executable, __file__, "--child", *tail],
        code,
    )


if __name__ == "__main__":
    sys.exit(main())
