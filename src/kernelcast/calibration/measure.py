"""Runs the microbenchmarks on a GPU and writes what it measured as one JSON file.

This file is copied into a folder with the compiled benchmarks and runs there by itself: it needs
Python 3.10, NVIDIA's driver, and nothing else.

    python3 measure.py --out raw.json [--quick]

Every benchmark runs in a process of its own. What is in the output file already is not run again.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

SUITE = "1"
"""Version of the microbenchmarks and of what they record."""
SCHEMA = "kernelcast/raw/1"
EXIT_INCOMPLETE, EXIT_FAILED = 1, 2
DEVICE = "device"
"""Stands among the benchmarks' names for the properties of the device."""

Sample = dict[str, Any]

_POINTER = ctypes.c_uint64
_HANDLE = ctypes.c_void_p
_OUT_HANDLE = ctypes.POINTER(ctypes.c_void_p)
_OUT_INT = ctypes.POINTER(ctypes.c_int)
_OUT_SIZE = ctypes.POINTER(ctypes.c_size_t)
_U = ctypes.c_uint
SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "cuInit": (_U,),
    "cuDriverGetVersion": (_OUT_INT,),
    "cuGetErrorString": (ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)),
    "cuDeviceGet": (_OUT_INT, ctypes.c_int),
    "cuDeviceGetName": (ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
    "cuDeviceTotalMem_v2": (_OUT_SIZE, ctypes.c_int),
    "cuDeviceGetAttribute": (_OUT_INT, ctypes.c_int, ctypes.c_int),
    "cuDevicePrimaryCtxRetain": (_OUT_HANDLE, ctypes.c_int),
    "cuCtxSetCurrent": (_HANDLE,),
    "cuMemGetInfo_v2": (_OUT_SIZE, _OUT_SIZE),
    "cuMemAlloc_v2": (ctypes.POINTER(_POINTER), ctypes.c_size_t),
    "cuMemFree_v2": (_POINTER,),
    "cuMemsetD8_v2": (_POINTER, ctypes.c_ubyte, ctypes.c_size_t),
    "cuMemcpyDtoH_v2": (_HANDLE, _POINTER, ctypes.c_size_t),
    "cuMemcpyHtoDAsync_v2": (_POINTER, _HANDLE, ctypes.c_size_t, _HANDLE),
    "cuMemcpyDtoHAsync_v2": (_HANDLE, _POINTER, ctypes.c_size_t, _HANDLE),
    "cuMemcpyDtoDAsync_v2": (_POINTER, _POINTER, ctypes.c_size_t, _HANDLE),
    "cuMemAllocHost_v2": (_OUT_HANDLE, ctypes.c_size_t),
    "cuMemFreeHost": (_HANDLE,),
    "cuModuleLoadData": (_OUT_HANDLE, ctypes.c_char_p),
    "cuModuleGetFunction": (_OUT_HANDLE, _HANDLE, ctypes.c_char_p),
    "cuModuleGetGlobal_v2": (ctypes.POINTER(_POINTER), _OUT_SIZE, _HANDLE, ctypes.c_char_p),
    "cuFuncSetAttribute": (_HANDLE, ctypes.c_int, ctypes.c_int),
    "cuLaunchKernel": (_HANDLE, *[_U] * 6, _U, _HANDLE, _OUT_HANDLE, _OUT_HANDLE),
    "cuEventCreate": (_OUT_HANDLE, _U),
    "cuEventRecord": (_HANDLE, _HANDLE),
    "cuEventSynchronize": (_HANDLE,),
    "cuEventElapsedTime": (ctypes.POINTER(ctypes.c_float), _HANDLE, _HANDLE),
}
"""Parameters of the driver's functions, as cuda.h declares them; all return an int."""

# CUresult and CUdevice_attribute, by their numbers in cuda.h.
_OUT_OF_MEMORY, _NO_DEVICE, _INVALID_DEVICE, _UNAVAILABLE, _STUB = 2, 100, 101, 46, 34
_MAX_DYNAMIC_SHARED = 8
ATTRIBUTES: Mapping[str, int] = {
    "clock_khz": 13,
    "sm_count": 16,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "threads_per_sm": 39,
    "major": 75,
    "minor": 76,
    "shared_bytes_per_sm": 81,
    "shared_bytes_per_block_optin": 97,
}


class GpuError(Exception):
    """What stands in the way: `kind` is no driver, no GPU, busy, no code or failed."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: {what}")
        self.kind = kind


def open_driver() -> Any:
    """NVIDIA's driver library, its functions' types declared."""
    names = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")
    for name in names:
        try:
            return declared(ctypes.CDLL(name))
        except OSError:
            continue
        except AttributeError as error:
            raise GpuError("no driver", f"{name} is too old: {error}") from None
    raise GpuError("no driver", f"cannot load {names[0]}; install NVIDIA's driver")


def declared(library: Any) -> Any:
    """The library with the types of its functions set."""
    for name, types in SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes = types
        function.restype = ctypes.c_int
    return library


class Gpu:
    """One device through the driver's interface."""

    def __init__(self, driver: Any, ordinal: int = 0) -> None:
        self._driver = driver
        self._modules: dict[Path, ctypes.c_void_p] = {}
        self._functions: dict[tuple[Path, str], ctypes.c_void_p] = {}
        self._call("cuInit", 0)
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        self.properties = self._properties(device)
        self._events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self._events:
            self._call("cuEventCreate", ctypes.byref(event), 0)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status == 0:
            return
        text = ctypes.c_char_p()
        self._driver.cuGetErrorString(status, ctypes.byref(text))
        what = f"{name}: {(text.value or b'unknown error').decode()} ({status})"
        if status in (_NO_DEVICE, _INVALID_DEVICE):
            raise GpuError("no GPU", what)
        if status == _STUB:
            raise GpuError("no driver", what)
        if status == _UNAVAILABLE or (
            status == _OUT_OF_MEMORY and name == "cuDevicePrimaryCtxRetain"
        ):
            raise GpuError("busy", f"{what}; wait until other programs have left the GPU")
        raise GpuError("failed", what)

    def _properties(self, device: ctypes.c_int) -> dict[str, Any]:
        name = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", name, len(name), device)
        total, version, value = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_int()
        self._call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
        self._call("cuDriverGetVersion", ctypes.byref(version))
        found: dict[str, Any] = {
            "name": name.value.decode("utf-8", "replace"),
            "memory_bytes": total.value,
            "driver": f"{version.value // 1000}.{version.value % 1000 // 10}",
        }
        for key, number in ATTRIBUTES.items():
            self._call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
            found[key] = value.value
        return found

    def free_bytes(self) -> int:
        """Device memory that nobody holds."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def function(self, cubin: Path, kernel: str) -> ctypes.c_void_p:
        """A kernel of a compiled file."""
        if (cubin, kernel) not in self._functions:
            function = ctypes.c_void_p()
            self._call(
                "cuModuleGetFunction",
                ctypes.byref(function),
                self._module(cubin),
                kernel.encode(),
            )
            self._functions[cubin, kernel] = function
        return self._functions[cubin, kernel]

    def variable(self, cubin: Path, name: str) -> ctypes.c_uint64:
        """The address of a variable of a compiled file."""
        pointer, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._call(
            "cuModuleGetGlobal_v2",
            ctypes.byref(pointer),
            ctypes.byref(size),
            self._module(cubin),
            name.encode(),
        )
        return pointer

    def _module(self, cubin: Path) -> ctypes.c_void_p:
        if cubin not in self._modules:
            module = ctypes.c_void_p()
            self._call("cuModuleLoadData", ctypes.byref(module), cubin.read_bytes())
            self._modules[cubin] = module
        return self._modules[cubin]

    def allow_shared(self, function: ctypes.c_void_p, size_bytes: int) -> None:
        """Let a kernel have more dynamic shared memory than the default."""
        self._call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, size_bytes)

    def allocate(self, size_bytes: int) -> ctypes.c_uint64:
        """Device memory, all zero."""
        pointer = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(pointer), size_bytes)
        self._call("cuMemsetD8_v2", pointer, 0, size_bytes)
        return pointer

    def release(self, pointer: ctypes.c_uint64) -> None:
        """Give device memory back."""
        self._call("cuMemFree_v2", pointer)

    def read(self, pointer: ctypes.c_uint64, into: Any) -> Any:
        """Copy device memory into a ctypes array."""
        self._call("cuMemcpyDtoH_v2", ctypes.addressof(into), pointer, ctypes.sizeof(into))
        return into

    def host_memory(self, size_bytes: int) -> ctypes.c_void_p:
        """Pinned memory of the host."""
        pointer = ctypes.c_void_p()
        self._call("cuMemAllocHost_v2", ctypes.byref(pointer), size_bytes)
        return pointer

    def release_host(self, pointer: ctypes.c_void_p) -> None:
        """Give pinned memory back."""
        self._call("cuMemFreeHost", pointer)

    def copy(self, direction: str, to: Any, source: Any, size_bytes: int) -> float:
        """Copy to ("HtoD"), from ("DtoH") or within the device ("DtoD"); the seconds it took."""
        start, stop = self._events
        self._call("cuEventRecord", start, None)
        self._call(f"cuMemcpy{direction}Async_v2", to, source, size_bytes, None)
        self._call("cuEventRecord", stop, None)
        return self._seconds_between(start, stop)

    def launch(
        self,
        function: ctypes.c_void_p,
        grid: int,
        block: int,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
        times: int = 1,
    ) -> float:
        """Launch a kernel `times` times; the seconds between events before and after."""
        slots = (ctypes.c_void_p * max(1, len(arguments)))(
            *(ctypes.addressof(argument) for argument in arguments)
        )
        start, stop = self._events
        self._call("cuEventRecord", start, None)
        for _ in range(times):
            self._call(
                "cuLaunchKernel", function, grid, 1, 1, block, 1, 1, shared_bytes, None, slots, None
            )
        self._call("cuEventRecord", stop, None)
        return self._seconds_between(start, stop)

    def _seconds_between(self, start: ctypes.c_void_p, stop: ctypes.c_void_p) -> float:
        self._call("cuEventSynchronize", stop)
        elapsed_ms = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(elapsed_ms), start, stop)
        return elapsed_ms.value / 1e3


class Session:
    """A GPU, the folder with the code for it, and how thorough to be."""

    def __init__(self, gpu: Gpu, pack: Path, quick: bool) -> None:
        self.gpu = gpu
        self.device = gpu.properties
        self.quick = quick
        self.repeats = 3 if quick else 7
        self._code = code_folder(pack, self.device["major"], self.device["minor"])

    def kernel(self, file: str, name: str) -> ctypes.c_void_p:
        """A kernel of the suite."""
        return self.gpu.function(self._code / f"{file}.cubin", name)

    def variable(self, file: str, name: str) -> ctypes.c_uint64:
        """The address of a variable of the suite."""
        return self.gpu.variable(self._code / f"{file}.cubin", name)

    def clock_hz(self) -> float:
        """The clock at which an SM runs now."""
        pairs = self.gpu.allocate(16)
        span_ns = ctypes.c_int64(2_000_000)
        self.gpu.launch(self.kernel("launch", "clock_rate"), 1, 1, [pairs, span_ns])
        cycles, elapsed_ns = self.gpu.read(pairs, (ctypes.c_int64 * 2)())
        self.gpu.release(pairs)
        return float(cycles / elapsed_ns * 1e9)

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
        for repeat in range(self.repeats + 1):
            if others:
                self._evict(others, sink)
            taken_s = self.gpu.launch(
                function, grid, block, [clocks, sink, *arguments], shared_bytes
            )
            if repeat == 0:
                continue
            values = list(self.gpu.read(clocks, (ctypes.c_int64 * (2 * warps))()))
            starts, stops = values[0::2], values[1::2]
            sample["warp_cycles"].append((sum(stops) - sum(starts)) / warps)
            sample["span_cycles"].append(max(stops) - min(starts))
            sample["seconds"].append(taken_s)
        for pointer in filter(None, (clocks, sink, others)):
            self.gpu.release(pointer)
        return sample

    def _evicting_bytes(self) -> int:
        """At least twice the L2 cache, and a whole number of what a grid reads at once."""
        at_once = self.device["sm_count"] * _EVICTING_BLOCK * 4 * 16
        return int(-(-2 * self.device["l2_bytes"] // at_once) * at_once)

    def _evict(self, others: ctypes.c_uint64, sink: ctypes.c_uint64) -> None:
        """Read something else into the L2 cache, rather than write it: it is dropped in no time."""
        elements = ctypes.c_int64(self._evicting_bytes() // 16)
        counts = [elements, ctypes.c_int64(1), ctypes.c_int(1)]
        function = self.kernel("bandwidth", "read_16x4")
        arguments = [others, others, sink, *counts]
        self.gpu.launch(function, self.device["sm_count"], _EVICTING_BLOCK, arguments)


def code_folder(pack: Path, major: int, minor: int) -> Path:
    """Code for this compute capability: of the same major one, and no newer minor one."""
    found = {p.name: p for p in pack.glob("sm_*") if p.is_dir()}
    for older in range(minor, -1, -1):
        if f"sm_{major}{older}" in found:
            return found[f"sm_{major}{older}"]
    has = ", ".join(sorted(found)) or "none"
    raise GpuError("no code", f"the folder has none for sm_{major}{minor}, only {has}")


Benchmark = Callable[[Session], Iterator[Sample]]

OPERATIONS: Mapping[str, int] = {
    "fp32_add": 1,
    "fp32_mul": 1,
    "fp32_fma": 1,
    "fp64_fma": 1,
    "fp16_fma": 1,
    "bf16_fma": 1,
    "int_add": 2,
    "int_mad": 1,
    "logic": 2,
    "shift": 1,
    "popc": 1,
    "convert": 2,
    "convert_f16": 2,
    "convert_f64": 2,
    "int_compare": 2,
    "int_minmax": 2,
    "fp32_compare": 2,
    "fp32_minmax": 2,
    "rsqrt": 1,
    "exp2": 1,
    "sin": 1,
    "shuffle": 1,
}
"""Instructions in one step of each chain of `arithmetic.cu`."""
SINCE: Mapping[str, tuple[int, int]] = {"bf16_fma": (8, 0)}
"""The first compute capability that has the instruction, where not all have it."""

_HOPS = 2048
_LOADED_WARM_HOPS = 32
_EVICTING_BLOCK = 256


def arithmetic(operation: str, s: Session) -> Iterator[Sample]:
    """Cycles of chains of instructions against chains, steps and warps."""
    if (s.device["major"], s.device["minor"]) < SINCE.get(operation, (0, 0)):
        return
    iterations = 16 if s.quick else 64
    shapes = [(1, 64, 1), (1, 192, 1)]
    warps = (1, 4, 32) if s.quick else (1, 2, 4, 8, 12, 16, 24, 32)
    shapes += [(c, 64, w) for c in (1, 2, 4) for w in warps if (c, w) != (1, 1)]
    for chains, steps, count in shapes:
        function = s.kernel("arithmetic", f"{operation}_{chains}x{steps}")
        arguments = [ctypes.c_int(iterations), ctypes.c_int(1)]
        yield {
            "chains": chains,
            "steps": steps,
            "warps": count,
            "iterations": iterations,
            "instructions": chains * steps * iterations * OPERATIONS[operation],
            **s.timed(function, 1, 32 * count, arguments),
        }


def _footprints(low: int, high: int, per_octave: int) -> list[int]:
    count = round(math.log2(high / low) * per_octave)
    return sorted({int(low * 2 ** (i / per_octave)) // 4096 * 4096 for i in range(count + 1)})


def _far_step(nodes: int) -> int:
    step = max(1, int(nodes * 0.618))
    while math.gcd(step, nodes) != 1:
        step += 1
    return step


class Ring:
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


def chase(s: Session) -> Iterator[Sample]:
    """Latency of one lane's dependent loads against footprint, stride and order."""
    largest = min(4 * s.device["l2_bytes"], s.gpu.free_bytes() // 2)
    fine = _footprints(4096, 1 << 19, 2 if s.quick else 8)
    coarse = _footprints(1 << 19, largest, 1 if s.quick else 4)
    strides = (128,) if s.quick else (128, 512)
    plan = [("chase_ca", size, 128, False) for size in fine]
    plan += [("chase_cg", z, stride, False) for z in fine[::2] + coarse for stride in strides]
    plan += [("chase_cg", size, 128, True) for size in coarse]
    for kernel, size, stride, far in plan:
        ring = Ring(s, size, stride, lanes=1, pitch=8, far=far)
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


def loaded_latency(s: Session) -> Iterator[Sample]:
    """Mean latency of loads from DRAM against the warps that load, coalesced and not."""
    size = min(max(1 << 28, 4 * s.device["l2_bytes"]), s.gpu.free_bytes() // 2)
    most = s.device["threads_per_sm"] // 32
    steps = (1, 4, 8, 16, 32, 64) if s.quick else (1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64)
    hops = 1024 if s.quick else 4096  # so long that the launch does not count
    for pitch in (8, 32):
        ring = Ring(s, size, 32 * pitch, lanes=32, pitch=pitch, far=False)
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


def conflicts(s: Session) -> Iterator[Sample]:
    """Latency of a load from shared memory against the lanes that want one bank."""
    degrees = (1, 2, 4, 8, 16, 32) if s.quick else range(1, 33)
    for degree in degrees:
        arguments = [ctypes.c_int(degree), ctypes.c_int(_HOPS)]
        yield {
            "degree": degree,
            "hops": _HOPS,
            **s.timed(s.kernel("chase", "chase_shared"), 1, 32, arguments),
        }


_STREAMS = ("4x1", "4x4", "8x4", "16x1", "16x4")


def streams(level: str, s: Session) -> Iterator[Sample]:
    """Seconds of reads, writes and copies from DRAM or L2 against occupancy, width and stride."""
    l2 = s.device["l2_bytes"]
    size = min(max(1 << 28, 8 * l2), s.gpu.free_bytes() // 4) if level == "dram" else l2 // 4
    # So long that the launch does not count.
    passes = 1 if level == "dram" else max(16, (1 << 31) // size)
    modes = ("read", "write", "copy") if level == "dram" else ("read",)
    blocks = (2, 8) if s.quick else (1, 2, 3, 4, 6, 8)
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
            s.gpu.launch(function, grid, block, [to, source, sink, *counts])
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


def near_bandwidth(level: str, s: Session) -> Iterator[Sample]:
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


def barriers(s: Session) -> Iterator[Sample]:
    """Cycles of a barrier against the warps of the block."""
    iterations = 16
    for warps in (1, 8, 32) if s.quick else (1, 2, 4, 8, 12, 16, 24, 32):
        arguments = [ctypes.c_int(iterations)]
        yield {
            "warps": warps,
            "barriers": 64 * iterations,
            **s.timed(s.kernel("launch", "barriers"), 1, 32 * warps, arguments),
        }


def launches(s: Session) -> Iterator[Sample]:
    """Seconds of a number of launches of an empty kernel, one after the other."""
    function = s.kernel("launch", "empty")
    for count in (1, 10, 100) if s.quick else (1, 10, 50, 100, 200, 400):
        taken = [s.gpu.launch(function, 1, 32, [], times=count) for _ in range(s.repeats + 1)]
        yield {"launches": count, "seconds": taken[1:]}


def block_replacement(s: Session) -> Iterator[Sample]:
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


def atomics(kernel: str, s: Session) -> Iterator[Sample]:
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


if not __package__:  # In a folder of its own, the other benchmarks lie beside this file.
    sys.path.insert(0, str(Path(__file__).resolve().parent))
_MORE = import_module(f"{__package__}.microbenchmarks" if __package__ else "microbenchmarks")

BENCHMARKS: Mapping[str, Benchmark] = {
    **{f"arithmetic.{name}": partial(arithmetic, name) for name in OPERATIONS},
    "chase": chase,
    "conflicts": conflicts,
    "loaded_latency": loaded_latency,
    "bandwidth.dram": partial(streams, "dram"),
    "bandwidth.l2": partial(streams, "l2"),
    "bandwidth.l1": partial(near_bandwidth, "l1"),
    "bandwidth.shared": partial(near_bandwidth, "shared"),
    "barriers": barriers,
    "launches": launches,
    "block_replacement": block_replacement,
    **{f"atomics.{k}": partial(atomics, k) for k in ("atom_global", "red_global", "atom_shared")},
    **_MORE.BENCHMARKS,
}
"""All benchmarks by name, in the order in which they run."""


def run_benchmark(session: Session, name: str) -> dict[str, Any]:
    """One entry of the file: the samples, and the clock before and after."""
    begin = time.monotonic()
    before_hz = session.clock_hz()
    samples = list(BENCHMARKS[name](session))
    return {
        "status": "done",
        "date": _now(),
        "took_s": round(time.monotonic() - begin, 3),
        "clock_before_hz": before_hz,
        "clock_after_hz": session.clock_hz(),
        "samples": samples,
    }


def isolated(command: Sequence[str], timeout_s: float) -> dict[str, Any]:
    """One entry of the file from a process of its own; why there is none, where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return _failure(f"hangs: no result after {timeout_s:g} s")
    text = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode:
        last = text.splitlines()[-1] if text else ""
        return _failure(last or f"the process ended with status {done.returncode}")
    try:
        entry = json.loads(done.stdout)
    except ValueError:
        return _failure("the process wrote no result")
    return entry if isinstance(entry, dict) else _failure("the process wrote no result")


def _failure(why: str) -> dict[str, Any]:
    return {"status": "failed", "date": _now(), "error": why, "samples": []}


def _now() -> str:
    now = datetime.datetime.now(datetime.timezone.utc)  # noqa: UP017, for Python 3.10
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class RawKind:
    """A kind of raw file: its schema, the suite that made it, and under which key results lie."""

    schema: str = SCHEMA
    suite: str = SUITE
    entries: str = "benchmarks"


MICROBENCHMARKS = RawKind()


def measure(
    out: Path,
    device: Mapping[str, Any],
    names: Iterable[str],
    entry: Callable[[str], dict[str, Any]],
    *,
    quick: bool,
    report: Callable[[str], None],
    kind: RawKind = MICROBENCHMARKS,
) -> dict[str, Any]:
    """Run what the file does not hold yet; it is written whole after every benchmark."""
    document: dict[str, Any] = {
        "schema": kind.schema,
        "suite": kind.suite,
        "quick": quick,
        "date": _now(),
        "device": dict(device),
        kind.entries: {},
    }
    entries = document[kind.entries] = _resumed(out, document, kind.entries)
    for name in names:
        if entries.get(name, {}).get("status") == "done":
            report(f"{name}: done before")
            continue
        result = entry(name)
        entries[name] = result
        _write(out, document)
        report(f"{name}: {result.get('error') or str(len(result['samples'])) + ' samples'}")
    return document


def _resumed(out: Path, wanted: Mapping[str, Any], entries: str) -> dict[str, Any]:
    if not out.exists():
        return {}
    try:
        old = json.loads(out.read_text(encoding="utf-8"))
    except ValueError:
        raise GpuError("failed", f"{out} is no raw file; give another --out") from None
    for key in ("schema", "suite", "quick", "device"):
        if not isinstance(old, dict) or old.get(key) != wanted[key]:
            raise GpuError("failed", f"{out} was made with another {key}; give another --out")
    kept: dict[str, Any] = old[entries]
    return kept


def _write(out: Path, document: Mapping[str, Any]) -> None:
    temporary = out.with_name(f"{out.name}.{os.getpid()}.new")
    temporary.write_text(json.dumps(document, indent=1, allow_nan=False), encoding="utf-8")
    temporary.replace(out)


def child(name: str, pack: Path, ordinal: int, quick: bool) -> dict[str, Any]:
    """What a process of its own writes: the device's properties, or one entry of the file."""
    gpu = Gpu(open_driver(), ordinal)
    if name == DEVICE:
        return {"status": "done", "samples": [], **gpu.properties}
    return run_benchmark(Session(gpu, pack, quick), name)


def main() -> int:
    """Entry point of the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("raw.json"), help="default: raw.json")
    parser.add_argument("--quick", action="store_true", help="fewer points, in under two minutes")
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), metavar="BENCHMARK")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU; default: 0")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one benchmark")
    parser.add_argument("--child", choices=[DEVICE, *BENCHMARKS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    pack = Path(__file__).resolve().parent
    tail = ["--device", str(options.device)] + (["--quick"] if options.quick else [])

    def entry(name: str) -> dict[str, Any]:
        return isolated([sys.executable, __file__, "--child", name, *tail], options.timeout)

    try:
        if options.child:
            result = child(options.child, pack, options.device, options.quick)
            json.dump(result, sys.stdout, allow_nan=False)
            return 0
        device = entry(DEVICE)
        if device["status"] != "done":
            print(device["error"], file=sys.stderr)
            return EXIT_FAILED
        del device["status"], device["samples"]
        code_folder(pack, device["major"], device["minor"])
        document = measure(
            options.out,
            device,
            options.only or list(BENCHMARKS),
            entry,
            quick=options.quick,
            report=lambda text: print(text, file=sys.stderr, flush=True),
        )
    except (GpuError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_FAILED
    failed = [n for n, e in document["benchmarks"].items() if e["status"] != "done"]
    print(f"{options.out}: {len(document['benchmarks'])} benchmarks, {len(failed)} failed")
    return EXIT_INCOMPLETE if failed else 0


if __name__ == "__main__":
    sys.exit(main())
