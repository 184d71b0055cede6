"""The GPU, the pack and the arguments of a launch, for the runner of the ground truth.

This file is copied into the pack and needs nothing but Python 3.10 there.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from kernelcast.measuring.harness.gpu_driver import Gpu, open_driver
    from kernelcast.measuring.harness.runner import code_folder
else:
    from gpu_driver import Gpu, open_driver
    from runner import code_folder

FOLDER = "ground_truth"
"""Where the table, the states, the expected values and the code lie in the pack."""
SUPPORT = "support"
"""The compiled file with the kernels that stand around the launches."""
QUICK_KERNELS = 2
"""Kernels of a family that a quick run takes."""

_SHUFFLE_STEPS = 1 << 16
_THREADS = 32

SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "cuMemcpyHtoD_v2": (ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t),
    "cuMemcpyDtoD_v2": (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t),
    "cuProfilerStart": (),
    "cuProfilerStop": (),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (
        ctypes.POINTER(ctypes.c_int),
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_size_t,
    ),
}
"""Functions of the driver that the microbenchmarks do not need."""

_FUNCTION_ATTRIBUTES = {"shared_bytes": 1, "local_bytes": 3, "registers": 4}
"""CUfunction_attribute, by their numbers in cuda.h."""

Extents = Sequence[int]


@dataclass(frozen=True)
class Work:
    """A launch ready to be handed over; `arguments` are ctypes objects."""

    function: ctypes.c_void_p
    grid: Extents
    block: Extents
    smem_bytes: int
    arguments: Sequence[Any]

    def slots(self) -> Any:
        """The addresses of the arguments."""
        count = max(1, len(self.arguments))
        return (ctypes.c_void_p * count)(*(ctypes.addressof(a) for a in self.arguments))


class Device(Gpu):
    """One GPU, with what known results need of the driver."""

    def write(self, pointer: ctypes.c_uint64, data: bytes) -> None:
        """Copy bytes to device memory."""
        self._call("cuMemcpyHtoD_v2", pointer, data, len(data))

    def read_bytes(self, pointer: ctypes.c_uint64, size_bytes: int) -> bytes:
        """Copy device memory to the host."""
        return bytes(self.read(pointer, (ctypes.c_ubyte * size_bytes)()))

    def duplicate(self, to: ctypes.c_uint64, source: ctypes.c_uint64, size_bytes: int) -> None:
        """Copy within device memory, without waiting."""
        self._call("cuMemcpyDtoD_v2", to, source, size_bytes)

    def clear(self, pointer: ctypes.c_uint64, size_bytes: int) -> None:
        """Set device memory to zero, without waiting."""
        self._call("cuMemsetD8_v2", pointer, 0, size_bytes)

    def start(self, work: Work) -> None:
        """Hand a launch over, without waiting."""
        self._call(
            "cuLaunchKernel",
            work.function,
            *work.grid,
            *work.block,
            work.smem_bytes,
            None,
            work.slots(),
            None,
        )

    def timed(self, work: Work, hold: Work) -> tuple[float, float]:
        """Seconds of one launch on the GPU, and those of handing it over and `hold` before it.

        They pass while the GPU is busy with `hold`, if that takes longer.
        """
        begin = time.perf_counter()
        self.start(hold)
        self.mark_start()
        self.start(work)
        self.mark_stop()
        handing_over_s = time.perf_counter() - begin
        return round(self.seconds(), 10), handing_over_s

    def profiled(self, work: Work) -> None:
        """One launch that a profiler sees, where one looks on."""
        self._call("cuProfilerStart")
        self.start(work)
        self.wait()
        self._call("cuProfilerStop")

    def described(self, work: Work) -> dict[str, int]:
        """What the driver says of a kernel, and how many of its blocks an SM holds."""
        value = ctypes.c_int()
        found = {}
        for key, number in _FUNCTION_ATTRIBUTES.items():
            self._call("cuFuncGetAttribute", ctypes.byref(value), number, work.function)
            found[key] = value.value
        x, y, z = work.block
        self._call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(value),
            work.function,
            x * y * z,
            work.smem_bytes,
        )
        return {**found, "blocks_per_sm": value.value}


def open_device(ordinal: int) -> Device:
    """The GPU of that number; GpuError where it cannot be used."""
    return Device(declared(open_driver()), ordinal)


def declared(driver: Any) -> Any:
    """The driver library with the types of these functions set too."""
    for name, types in SIGNATURES.items():
        function = getattr(driver, name)
        function.argtypes = types
        function.restype = ctypes.c_int
    return driver


class Pack:
    """The folder: its table, and the files that the table points into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        here = folder / FOLDER
        self.table: dict[str, Any] = json.loads((here / "table.json").read_text(encoding="utf-8"))
        self._states = here / "states.bin"
        self._expected = here / "expected.bin"

    def code(self, device: Mapping[str, Any]) -> Path:
        """The folder with code for a device."""
        return code_folder(self.folder / FOLDER, device["major"], device["minor"])

    def states(self, offset: int, size_bytes: int) -> bytes:
        """States of the random number generator."""
        return _part(self._states, offset, size_bytes)

    def expected(self, wanted: Mapping[str, Any]) -> bytes:
        """Expected values of an array; none where the table holds all that is needed."""
        return _part(self._expected, wanted["at"], wanted["size_bytes"]) if "at" in wanted else b""

    def names(self, quick: bool) -> list[str]:
        """The kernels to run."""
        taken: dict[str, int] = {}
        names = []
        for name, kernel in self.table["kernels"].items():
            taken[kernel["family"]] = taken.get(kernel["family"], 0) + 1
            if not quick or taken[kernel["family"]] <= QUICK_KERNELS:
                names.append(name)
        return names


def _part(file: Path, offset: int, size_bytes: int) -> bytes:
    with file.open("rb") as opened:
        opened.seek(offset)
        return opened.read(size_bytes)


class Starts:
    """Arrays as they start, made once on the GPU and kept while launches need them."""

    def __init__(self, gpu: Device, pack: Pack) -> None:
        self._gpu = gpu
        self._pack = pack
        self._code = pack.code(gpu.properties) / f"{SUPPORT}.cubin"
        self._made: dict[int, ctypes.c_uint64] = {}

    def kernel(self, name: str) -> ctypes.c_void_p:
        """A kernel of the support code."""
        return self._gpu.function(self._code, name)

    def size_bytes(self, number: int) -> int:
        """Size of an array."""
        return int(self._pack.table["starts"][number]["size_bytes"])

    def put(self, number: int, pointer: ctypes.c_uint64) -> None:
        """Let an array in device memory start, without waiting."""
        start = self._pack.table["starts"][number]
        if not start["kernel"]:
            self._gpu.clear(pointer, start["size_bytes"])
            return
        if number not in self._made:
            self._made[number] = self._make(start)
        self._gpu.duplicate(pointer, self._made[number], start["size_bytes"])

    def keep(self, numbers: Iterable[int]) -> None:
        """Give back all but these."""
        for number in self._made.keys() - set(numbers):
            self._gpu.release(self._made.pop(number))

    def _make(self, start: Mapping[str, Any]) -> ctypes.c_uint64:
        gpu = self._gpu
        # The integers of random words are made eight bytes at a time.
        pointer = gpu.allocate(-(-start["size_bytes"] // 8) * 8)
        states = gpu.allocate(max(8, start["states_bytes"]))
        gpu.write(states, self._pack.states(start["states_at"], start["states_bytes"]))
        pieces = -(-start["count"] // start["piece"])
        numbers = [ctypes.c_uint64(start["piece"]), ctypes.c_int64(start["low"])]
        arguments = [pointer, ctypes.c_uint64(start["count"]), states, *numbers]
        gpu.start(
            Work(
                self.kernel(start["kernel"]),
                (-(-pieces // _THREADS), 1, 1),
                (_THREADS, 1, 1),
                0,
                [*arguments, ctypes.c_uint64(start["range"])],
            )
        )
        if start["is_shuffled"]:
            self._shuffle(pointer, states, start["count"])
        gpu.wait()
        gpu.release(states)
        return pointer

    def _shuffle(self, order: ctypes.c_uint64, state: ctypes.c_uint64, count: int) -> None:
        """In several launches: each exchange waits for the one before, millions take seconds."""
        for first in range(count - 1, 0, -_SHUFFLE_STEPS):
            ends = map(ctypes.c_uint32, (first, max(1, first - _SHUFFLE_STEPS + 1)))
            work = Work(self.kernel("shuffle"), (1, 1, 1), (1, 1, 1), 0, [order, state, *ends])
            self._gpu.start(work)


class Arguments:
    """The arguments of one launch in device memory."""

    def __init__(self, gpu: Device, starts: Starts, launch: Mapping[str, Any]) -> None:
        self._gpu, self._starts = gpu, starts
        self.values: list[Any] = []
        self._arrays: dict[str, tuple[ctypes.c_uint64, int]] = {}
        for argument in launch["args"]:
            if "hex" in argument:
                data = bytes.fromhex(argument["hex"])
                self.values.append((ctypes.c_ubyte * len(data)).from_buffer_copy(data))
            else:
                pointer = gpu.allocate(max(8, starts.size_bytes(argument["start"])))
                self.values.append(pointer)
                self._arrays[argument["label"]] = (pointer, argument["start"])
        starts.keep([number for _, number in self._arrays.values()])
        self.start(self._arrays)

    def start(self, labels: Iterable[str]) -> None:
        """Put arrays back to how they start, without waiting."""
        for label in labels:
            pointer, number = self._arrays[label]
            self._starts.put(number, pointer)

    def result(self, label: str) -> bytes:
        """What an array holds."""
        pointer, number = self._arrays[label]
        return self._gpu.read_bytes(pointer, self._starts.size_bytes(number))

    def release(self) -> None:
        """Give the memory back."""
        for pointer, _ in self._arrays.values():
            self._gpu.release(pointer)
