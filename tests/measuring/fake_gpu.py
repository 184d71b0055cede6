"""A driver library without a GPU: it checks every call and answers as a known chip would.

Functions are C function pointers with the types that cuda.h declares, written down here anew, so
that arguments go through the same conversion as for the real library.
"""

from __future__ import annotations

import ctypes
import math
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.measuring.fake_kernels import SIGNATURE_OF_MORE, Kernels, MoreTruth, family_of
from tests.measuring.fake_kernels import known_numbers as more_known_numbers

from kernelcast.measuring.harness.archive import CompiledCode
from kernelcast.measuring.harness.gpu import ATTRIBUTES
from kernelcast.measuring.harness.microbenchmarks.arithmetic import OPERATIONS
from kernelcast.measuring.pack import source_files

CUDA_H: dict[str, Any] = {
    "cuInit": [c_uint],
    "cuDriverGetVersion": [POINTER(c_int)],
    "cuGetErrorString": [c_int, POINTER(c_char_p)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDeviceGetName": [c_void_p, c_int, c_int],
    "cuDeviceTotalMem_v2": [POINTER(c_size_t), c_int],
    "cuDeviceGetAttribute": [POINTER(c_int), c_int, c_int],
    "cuDeviceGetPCIBusId": [c_void_p, c_int, c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxSetCurrent": [c_void_p],
    "cuCtxSynchronize": [],
    "cuMemGetInfo_v2": [POINTER(c_size_t), POINTER(c_size_t)],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemsetD8_v2": [c_uint64, c_ubyte, c_size_t],
    "cuMemcpyDtoH_v2": [c_void_p, c_uint64, c_size_t],
    "cuMemcpyHtoD_v2": [c_uint64, c_void_p, c_size_t],
    "cuMemcpyDtoD_v2": [c_uint64, c_uint64, c_size_t],
    "cuMemcpyHtoDAsync_v2": [c_uint64, c_void_p, c_size_t, c_void_p],
    "cuMemcpyDtoHAsync_v2": [c_void_p, c_uint64, c_size_t, c_void_p],
    "cuMemcpyDtoDAsync_v2": [c_uint64, c_uint64, c_size_t, c_void_p],
    "cuMemAllocHost_v2": [POINTER(c_void_p), c_size_t],
    "cuMemFreeHost": [c_void_p],
    "cuModuleLoadData": [POINTER(c_void_p), c_char_p],
    "cuModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "cuModuleGetGlobal_v2": [POINTER(c_uint64), POINTER(c_size_t), c_void_p, c_char_p],
    "cuFuncSetAttribute": [c_void_p, c_int, c_int],
    "cuFuncGetAttribute": [POINTER(c_int), c_int, c_void_p],
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": [POINTER(c_int), c_void_p, c_int, c_size_t],
    "cuLaunchKernel": [c_void_p, *[c_uint] * 7, c_void_p, POINTER(c_void_p), POINTER(c_void_p)],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventSynchronize": [c_void_p],
    "cuEventElapsedTime": [POINTER(c_float), c_void_p, c_void_p],
    "cuProfilerStart": [],
    "cuProfilerStop": [],
}
INVALID_VALUE, INVALID_HANDLE, NOT_FOUND, TOO_MANY_RESOURCES = 1, 400, 500, 701
REGISTERS, REGISTERS_AT_ONCE = 65536, 256
DEFAULT_SHARED_BYTES = 48 << 10
SIGNATURE_OF = {
    "chase_fill": "plllli",
    "chase": "pppllliii",
    "chase_shared": "ppii",
    "stream": "ppplli",
    "repeat": "pppii",
    "empty": "",
    "block_times": "ppi",
    "barriers": "ppi",
    "clock_rate": "pl",
    "atomic": "pppiii",
    "arithmetic": "ppii",
    **SIGNATURE_OF_MORE,
}
CTYPE = {"p": c_uint64, "l": ctypes.c_int64, "i": c_int, "f": c_float}


@dataclass
class Truth(MoreTruth):
    """The numbers of the chip."""

    latency: dict[str, float] = field(default_factory=dict)
    rate: dict[str, float] = field(default_factory=dict)
    capability: tuple[int, int] = (8, 0)
    clock_hz: float = 1.5e9
    sms: int = 20
    l2_bytes: int = 4 << 20
    free_bytes: int = 7 << 30
    shared: float = 23.0
    conflict: float = 2.0
    l1: float = 33.0
    l2: float = 210.0
    dram: float = 480.0
    loaded_slope: float = 10.0
    capacity: float = 3.0e11
    near: dict[str, float] = field(default_factory=lambda: {"l1": 120.0, "shared": 126.0})
    stream: dict[str, float] = field(default_factory=lambda: {"l2": 2.0e12, "dram": 5.5e11})
    barrier: float = 24.0
    barrier_warp: float = 2.0
    write_share: float = 0.8
    write_wait_s: float = 4.0e-7
    replacement: float = 240.0
    launch_s: float = 2.5e-6

    @property
    def read_among_writes(self) -> float:
        """Bytes that L2 reads in a second of those that streams write and read."""
        return 2 * self.stream["l2"]

    @property
    def written_in_l2(self) -> float:
        """Those that it writes: as many of both come to the mixed share of its bandwidth."""
        return 1 / (2 / (self.mixed_share * self.stream["l2"]) - 1 / self.read_among_writes)


@dataclass
class FakeGpu(Kernels):
    """`driver()` is the library; `fails` maps names of functions to the status they return.

    `registers` of a thread are those of the compiled kernels, where they are known.
    """

    truth: Truth
    noise: float = 0.001
    fails: dict[str, int] = field(default_factory=dict)
    kernels: list[str] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(7)
        self._memory: dict[int, ctypes.Array] = {}
        self._sizes: dict[int, int] = {}
        self._handles: dict[int, str] = {}
        self._time_s = 0.0
        self._marks: dict[int, float] = {}
        self._shared_bytes = 0
        self._constants = b""
        self._loaded: set[int] = set()
        self._allowed: dict[int, int] = {}

    @property
    def busy_s(self) -> float:
        """How long the GPU has worked."""
        return self._time_s

    @property
    def allocated(self) -> set[int]:
        """Where memory is held."""
        return set(self._memory)

    def driver(self) -> SimpleNamespace:
        self._library = SimpleNamespace()
        for name, types in CUDA_H.items():
            answer = (
                ctypes.CFUNCTYPE(c_int, *types)(self._answering(name))
                if hasattr(self, name)
                else SimpleNamespace()  # what only known results need
            )
            setattr(self._library, name, answer)
        return self._library

    def _answering(self, name):
        action = getattr(self, name)

        def answer(*arguments):
            if name in self.fails:
                return self.fails[name]
            try:
                return action(*arguments) or 0
            except (KeyError, ValueError):
                return INVALID_HANDLE

        return answer

    def _noisy(self, value):
        return value * (1 + self.noise * self._random.standard_normal())

    def _handle(self, what, out):
        handle = 0x7F0000000000 + 64 * (len(self._handles) + 1)
        self._handles[handle] = what
        out[0] = handle

    # Functions of the driver.

    def cuInit(self, flags):  # noqa: N802
        return INVALID_VALUE if flags else 0

    def cuDriverGetVersion(self, out):  # noqa: N802
        out[0] = 12080

    def cuGetErrorString(self, status, out):  # noqa: N802
        out[0] = b"error %d" % status

    def cuDeviceGet(self, out, ordinal):  # noqa: N802
        if ordinal:
            return 101
        out[0] = 0
        return 0

    def cuDeviceGetName(self, out, length, device):  # noqa: N802
        ctypes.memmove(out, b"Synthetic GPU\0", min(length, 14))

    def cuDeviceTotalMem_v2(self, out, device):  # noqa: N802
        out[0] = 8 << 30

    def cuDeviceGetAttribute(self, out, attribute, device):  # noqa: N802
        name = {number: key for key, number in ATTRIBUTES.items()}[attribute]
        out[0] = {
            "clock_khz": int(self.truth.clock_hz / 1e3),
            "sm_count": self.truth.sms,
            "memory_clock_khz": 5_000_000,
            "memory_bus_bits": 512,
            "l2_bytes": self.truth.l2_bytes,
            "threads_per_sm": 2048,
            "major": self.truth.capability[0],
            "minor": self.truth.capability[1],
            "shared_bytes_per_sm": 167936,
            "shared_bytes_per_block_optin": 166912,
        }[name]

    def cuDeviceGetPCIBusId(self, out, length, device):  # noqa: N802
        assert length >= 13
        ctypes.memmove(out, b"0000:65:00.0\0", 13)

    def cuDevicePrimaryCtxRetain(self, out, device):  # noqa: N802
        self._handle("context", out)

    def cuCtxSetCurrent(self, context):  # noqa: N802
        assert self._handles[context] == "context"

    def cuCtxSynchronize(self): ...  # noqa: N802

    def cuMemGetInfo_v2(self, free, total):  # noqa: N802
        free[0], total[0] = self.truth.free_bytes, 8 << 30

    def cuMemAlloc_v2(self, out, size):  # noqa: N802
        # Large allocations are never read back: they need no memory here.
        held = ctypes.create_string_buffer(min(size, 1 << 20) + 8)
        address = ctypes.addressof(held)
        self._memory[address], self._sizes[address] = held, size
        out[0] = address

    def cuMemFree_v2(self, pointer):  # noqa: N802
        del self._memory[pointer]

    def cuMemsetD8_v2(self, pointer, value, size):  # noqa: N802
        self._time_s += size / self.truth.stream["dram"]
        return 0 if size <= self._sizes[pointer] and pointer in self._memory else INVALID_VALUE

    def cuMemcpyDtoH_v2(self, to, pointer, size):  # noqa: N802
        if size > self._sizes[pointer]:
            return INVALID_VALUE
        ctypes.memmove(to, self._memory[pointer], size)
        return 0

    def cuModuleLoadData(self, out, image):  # noqa: N802
        self._handle(f"module {image.decode()}", out)

    def cuModuleGetFunction(self, out, module, name):  # noqa: N802
        assert self._handles[module].startswith("module")
        self._handle(f"kernel {name.decode()}", out)

    def cuFuncSetAttribute(self, function, attribute, value):  # noqa: N802
        if not self._handles[function].startswith("kernel") or attribute != 8:
            return INVALID_HANDLE
        self._allowed[function] = value
        return 0

    def cuFuncGetAttribute(self, out, attribute, function):  # noqa: N802
        assert attribute == 0
        out[0] = self._most_threads(self._handles[function].removeprefix("kernel "))

    def _most_threads(self, kernel):
        """A warp takes its registers in units of 256; the file has 65536."""
        each = -(-32 * self.registers.get(kernel, 32) // REGISTERS_AT_ONCE) * REGISTERS_AT_ONCE
        # A quarter of the warps lies on each part of the SM.
        return min(1024, REGISTERS // 4 // each * 4 * 32)

    def cuEventCreate(self, out, flags):  # noqa: N802
        self._handle("event", out)

    def cuEventRecord(self, event, stream):  # noqa: N802
        assert self._handles[event] == "event" and stream is None
        self._marks[event] = self._time_s

    def cuEventSynchronize(self, event):  # noqa: N802
        return 0 if event in self._marks else INVALID_HANDLE

    def cuEventElapsedTime(self, out, start, stop):  # noqa: N802
        out[0] = (self._marks[stop] - self._marks[start]) * 1e3

    def cuLaunchKernel(  # noqa: N802
        self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra
    ):
        kind, _, name = self._handles[function].partition(" ")
        if kind != "kernel" or (gy, gz, by, bz) != (1, 1, 1, 1) or extra:
            return INVALID_VALUE
        if not 1 <= bx <= 1024 or gx < 1:
            return INVALID_VALUE
        if shared > self._allowed.get(function, DEFAULT_SHARED_BYTES):
            return INVALID_VALUE
        if bx > self._most_threads(name):
            return TOO_MANY_RESOURCES
        family = self._family(name)
        values = [
            CTYPE[letter].from_address(parameters[i]).value
            for i, letter in enumerate(SIGNATURE_OF[family])
        ]
        self.kernels.append(name)
        self._shared_bytes = shared
        self._time_s += self._noisy(self.truth.launch_s)
        getattr(self, f"_{family}")(name, gx, bx, *values)
        return 0

    # Kernels.

    @staticmethod
    def _family(name):
        if name in SIGNATURE_OF:
            return name
        if (more := family_of(name)) is not None:
            return more
        for start, family in (("chase_", "chase"), ("repeat_", "repeat"), ("atom", "atomic")):
            if name.startswith(start):
                return family
        if name.startswith("red_"):
            return "atomic"
        if name.partition("_")[0] in ("read", "write", "copy"):
            return "stream"
        if name.rpartition("_")[0] in OPERATIONS:
            return "arithmetic"
        raise KeyError(name)

    def _clocks(self, pointer, warps, cycles, before=0):
        """What a launch leaves that counts `cycles`, `before` which it has run as long as that."""
        self._time_s += self._noisy((before + cycles) / self.truth.clock_hz)
        if self._sizes[pointer] < 16 * warps:
            raise ValueError("the clocks do not fit")
        stops = np.full(warps, 1000 + round(self._noisy(cycles)), np.int64)
        pairs = np.stack([np.full(warps, 1000, np.int64), stops], axis=1)
        ctypes.memmove(self._memory[pointer], pairs.tobytes(), min(pairs.nbytes, 1 << 20))

    def _arithmetic(self, name, grid, block, clocks, sink, iterations, seed):
        operation, _, shape = name.rpartition("_")
        chains, steps = map(int, shape.split("x"))
        length = steps * OPERATIONS[operation]
        alone = self.truth.latency[operation] * length + 9
        warps = block // 32
        crowded = 32 * warps * chains * length / self.truth.rate[operation]
        self._clocks(clocks, warps, iterations * max(alone, crowded) + 30)

    def _chase_fill(self, name, grid, block, ring, nodes, step, node_bytes, pitch, lanes):
        if (step and math.gcd(step, nodes) != 1) or nodes * node_bytes > self._sizes[ring]:
            raise ValueError("not one ring, or not in its memory")
        self._loaded.discard(ring)

    def _chase(
        self, name, grid, block, clocks, sink, ring, nodes, node_bytes, pitch, lanes, warm, hops
    ):
        t = self.truth
        warps = grid * block // 32
        size = nodes * node_bytes
        if pitch == 128:
            latency = t.l2 + t.transaction * (lanes - 1)
        elif node_bytes > 1 << 20:
            latency = t.l2 + t.tlb_miss * (nodes << 21 > t.tlb_bytes)
        elif name == "chase_ca" and size <= t.l1_bytes:
            latency = t.l1
        elif size <= t.l2_bytes or self._still_there(ring, (warm + hops) * node_bytes):
            latency = t.l2
        else:
            latency = t.dram if lanes == 1 else self._latency_at(warps * 256 * (pitch / 8))
        self._loaded.add(ring)
        self._clocks(clocks, warps, hops * latency, before=warm * latency)

    def _still_there(self, ring, touched_bytes):
        """Whether an earlier launch left in L2 the little of a ring that this one touches."""
        return ring in self._loaded and touched_bytes < self.truth.l2_bytes

    def _latency_at(self, bytes_):
        """latency = a + b T / (c - T) where T = bytes clock / latency, by bisection."""
        t = self.truth
        low, high = t.dram, 1e7
        for _ in range(200):
            latency = (low + high) / 2
            rate = bytes_ * t.clock_hz / latency
            is_low = rate >= t.capacity or (
                t.dram + t.loaded_slope * rate / (t.capacity - rate) > latency
            )
            low, high = (latency, high) if is_low else (low, latency)
        return latency

    def _chase_shared(self, name, grid, block, clocks, sink, degree, hops):
        self._clocks(clocks, 1, hops * (self.truth.shared + self.truth.conflict * (degree - 1)))

    def _stream(self, name, grid, block, to, source, sink, elements, stride, passes):
        mode, width, in_flight = name.replace("x", "_").split("_")
        if elements * int(width) * stride > self._room(source):
            raise ValueError("past the end of the array")
        if elements * int(width) >= 2 * self.truth.l2_bytes:
            self._loaded.clear()
        level = "dram" if passes == 1 else "l2"
        occupancy = grid * block / self.truth.sms / 2048
        rate = self.truth.stream[level] * (1.0 if occupancy >= 0.5 else 2 * occupancy)
        rate *= self.truth.write_share if mode == "write" else 1.0
        moved = elements * int(width) * passes * (2 if mode == "copy" else 1)
        if mode == "copy":
            rate = min(
                self.truth.stream[level],
                self._copied(grid * block * int(width) * int(in_flight), rate),
            )
        self._time_s += self._noisy(moved / rate)

    def _copied(self, held, rate):
        """T of 2 held / T = held / rate + v T / 2 W: what the DRAM writes keeps loads waiting."""
        t = self.truth
        v = t.write_wait_s / (2 * t.write_share * t.stream["dram"])
        alone = held / rate
        return (math.sqrt(alone**2 + 8 * held * v) - alone) / (2 * v)

    def _repeat(self, name, grid, block, clocks, sink, source, toggle, iterations):
        _, level, width = name.split("_")
        warps = block // 32
        rate = self.truth.near[level] * min(1.0, warps * int(width) / 64)
        self._clocks(clocks, warps, warps * 32 * int(width) * 8 * iterations / rate)

    def _empty(self, name, grid, block):
        self._time_s += self._noisy(grid * self.truth.block_s)

    def _block_times(self, name, grid, block, clocks, sm, cycles):
        pairs, places, begin_s = [], [], self._time_s
        at_once = min(32, 2048 // block, 167936 // (self._shared_bytes + 1024))
        for i in range(grid):
            wave = i // self.truth.sms // at_once
            start = wave * (cycles + round(self.truth.replacement))
            self._time_s = max(self._time_s, begin_s + (start + cycles) / self.truth.clock_hz)
            pairs += [start, start + cycles]
            places.append(i % self.truth.sms)
        ctypes.memmove(self._memory[clocks], np.array(pairs, np.int64).tobytes(), 8 * len(pairs))
        ctypes.memmove(self._memory[sm], np.array(places, np.int32).tobytes(), 4 * len(places))

    def _barriers(self, name, grid, block, clocks, sink, iterations):
        barrier = self.truth.barrier + self.truth.barrier_warp * (block // 32 - 8)
        self._clocks(clocks, block // 32, 64 * iterations * barrier)

    def _clock_rate(self, name, grid, block, pairs, span_ns):
        self._time_s += span_ns / 1e9
        values = np.array([span_ns * self.truth.clock_hz / 1e9, span_ns], np.int64)
        ctypes.memmove(self._memory[pairs], values.tobytes(), 16)

    def _atomic(self, name, grid, block, clocks, sink, words, sharing, line_words, iterations):
        t = self.truth
        shared = name == "atom_shared"
        alone, further = (
            (t.atomic_shared, t.atomic_shared_conflict) if shared else (t.atomic, t.atomic_conflict)
        )
        in_turn = block // 32 * sharing * t.shared_lane if shared else 0.0
        cycles = max(alone + further * (sharing - 1), in_turn)
        self._clocks(clocks, block // 32, iterations * cycles)


def known_chip(capability: tuple[int, int] = (8, 0)) -> Truth:
    return Truth(
        **more_known_numbers(),
        capability=capability,
        latency={name: 4.0 + 2 * (i % 9) for i, name in enumerate(OPERATIONS)},
        rate={name: (128.0, 64.0, 16.0)[i % 3] for i, name in enumerate(OPERATIONS)},
    )


EMPTY_CODE = CompiledCode("sm_80", {file.stem: file.stem.encode() for file in source_files()})
"""Cubins that hold only their names."""
