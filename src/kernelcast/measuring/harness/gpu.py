"""One GPU through NVIDIA's driver: its memory, its kernels and its events."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .gpu_driver import call, open_driver

Dimensions = int | Sequence[int]
"""Of a grid or a block: one number, or three."""

# CUfunction_attribute and CUdevice_attribute, by their numbers in cuda.h.
_MAX_THREADS_PER_BLOCK, _MAX_DYNAMIC_SHARED = 0, 8
_FUNCTION_ATTRIBUTES = {"shared_bytes": 1, "local_bytes": 3, "registers": 4}
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


class PreparedLaunch(NamedTuple):
    """A launch ready to be handed over; `arguments` are ctypes objects."""

    function: ctypes.c_void_p
    grid: Dimensions
    block: Dimensions
    arguments: Sequence[Any]
    shared_bytes: int = 0


class Gpu:
    """One device through the driver's interface."""

    def __init__(self, driver: Any, ordinal: int = 0) -> None:
        self._driver = driver
        self._modules: dict[bytes, ctypes.c_void_p] = {}
        self._functions: dict[tuple[bytes, str], ctypes.c_void_p] = {}
        self._call("cuInit", 0)
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        self.properties = self._properties(device)
        self._start, self._stop = ctypes.c_void_p(), ctypes.c_void_p()
        for event in (self._start, self._stop):
            self._call("cuEventCreate", ctypes.byref(event), 0)

    def _call(self, name: str, *arguments: Any) -> None:
        call(self._driver, name, *arguments)

    def _properties(self, device: ctypes.c_int) -> dict[str, Any]:
        name = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", name, len(name), device)
        total, version, value = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_int()
        self._call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
        self._call("cuDriverGetVersion", ctypes.byref(version))
        bus_id = ctypes.create_string_buffer(32)
        self._call("cuDeviceGetPCIBusId", bus_id, len(bus_id), device)
        found: dict[str, Any] = {
            "name": name.value.decode("utf-8", "replace"),
            "memory_bytes": total.value,
            "driver": f"{version.value // 1000}.{version.value % 1000 // 10}",
            "pci_bus_id": bus_id.value.decode("ascii", "replace"),
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

    def function(self, cubin: bytes, kernel: str) -> ctypes.c_void_p:
        """A kernel of compiled code."""
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

    def variable(self, cubin: bytes, name: str) -> ctypes.c_uint64:
        """The address of a variable of compiled code."""
        pointer, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._call(
            "cuModuleGetGlobal_v2",
            ctypes.byref(pointer),
            ctypes.byref(size),
            self._module(cubin),
            name.encode(),
        )
        return pointer

    def _module(self, cubin: bytes) -> ctypes.c_void_p:
        if cubin not in self._modules:
            module = ctypes.c_void_p()
            self._call("cuModuleLoadData", ctypes.byref(module), cubin)
            self._modules[cubin] = module
        return self._modules[cubin]

    def allow_shared(self, function: ctypes.c_void_p, size_bytes: int) -> None:
        """Let a kernel have more dynamic shared memory than the default."""
        self._call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, size_bytes)

    def most_threads(self, function: ctypes.c_void_p) -> int:
        """The threads that a block of a kernel can have: fewer where it needs many registers."""
        value = ctypes.c_int()
        self._call("cuFuncGetAttribute", ctypes.byref(value), _MAX_THREADS_PER_BLOCK, function)
        return value.value

    def allocate(self, size_bytes: int) -> ctypes.c_uint64:
        """Device memory, all zero."""
        pointer = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(pointer), size_bytes)
        self.clear(pointer, size_bytes)
        return pointer

    def release(self, pointer: ctypes.c_uint64) -> None:
        """Give device memory back."""
        self._call("cuMemFree_v2", pointer)

    def read(self, pointer: ctypes.c_uint64, into: Any) -> Any:
        """Copy device memory into a ctypes array."""
        self._call("cuMemcpyDtoH_v2", ctypes.addressof(into), pointer, ctypes.sizeof(into))
        return into

    def read_bytes(self, pointer: ctypes.c_uint64, size_bytes: int) -> bytes:
        """Copy device memory to the host."""
        return bytes(self.read(pointer, (ctypes.c_ubyte * size_bytes)()))

    def write(self, pointer: ctypes.c_uint64, data: bytes) -> None:
        """Copy bytes to device memory."""
        self._call("cuMemcpyHtoD_v2", pointer, data, len(data))

    def duplicate(self, to: ctypes.c_uint64, source: ctypes.c_uint64, size_bytes: int) -> None:
        """Copy within device memory, without waiting."""
        self._call("cuMemcpyDtoD_v2", to, source, size_bytes)

    def clear(self, pointer: ctypes.c_uint64, size_bytes: int) -> None:
        """Set device memory to zero, without waiting."""
        self._call("cuMemsetD8_v2", pointer, 0, size_bytes)

    def host_memory(self, size_bytes: int) -> ctypes.c_void_p:
        """Pinned memory of the host."""
        pointer = ctypes.c_void_p()
        self._call("cuMemAllocHost_v2", ctypes.byref(pointer), size_bytes)
        return pointer

    def release_host(self, pointer: ctypes.c_void_p) -> None:
        """Give pinned memory back."""
        self._call("cuMemFreeHost", pointer)

    def enqueue_copy(self, direction: str, to: Any, source: Any, size_bytes: int) -> None:
        """Hand a copy to ("HtoD"), from ("DtoH") or within the device ("DtoD") over.

        Without waiting, but for memory of the host that is not pinned.
        """
        self._call(f"cuMemcpy{direction}Async_v2", to, source, size_bytes, None)

    def copy(self, direction: str, to: Any, source: Any, size_bytes: int) -> float:
        """Copy, as `enqueue_copy` does; the seconds it took."""
        self.mark_start()
        self.enqueue_copy(direction, to, source, size_bytes)
        self.mark_stop()
        return self.seconds()

    def enqueue(
        self,
        function: ctypes.c_void_p,
        grid: Dimensions,
        block: Dimensions,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        """Hand a launch over, without waiting."""
        slots = (ctypes.c_void_p * max(1, len(arguments)))(
            *(ctypes.addressof(argument) for argument in arguments)
        )
        extents = (*_three(grid), *_three(block))
        self._call("cuLaunchKernel", function, *extents, shared_bytes, None, slots, None)

    def launch(
        self,
        function: ctypes.c_void_p,
        grid: Dimensions,
        block: Dimensions,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        """Launch a kernel and wait for its end."""
        self.enqueue(function, grid, block, arguments, shared_bytes)
        self.wait()

    def launch_profiled(self, work: PreparedLaunch) -> None:
        """Launch a kernel, seen by a profiler where one looks on, and wait for its end."""
        self._call("cuProfilerStart")
        self.launch(*work)
        self._call("cuProfilerStop")

    def resources(self, work: PreparedLaunch) -> dict[str, int]:
        """What the driver says of a kernel, and how many of its blocks an SM holds."""
        value = ctypes.c_int()
        found = {}
        for key, number in _FUNCTION_ATTRIBUTES.items():
            self._call("cuFuncGetAttribute", ctypes.byref(value), number, work.function)
            found[key] = value.value
        self._call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(value),
            work.function,
            math.prod(_three(work.block)),
            work.shared_bytes,
        )
        return {**found, "blocks_per_sm": value.value}

    def wait(self) -> None:
        """Wait for all that was handed over; GpuError where some of it failed."""
        self._call("cuCtxSynchronize")

    def mark_start(self) -> None:
        """From here on the seconds count."""
        self._call("cuEventRecord", self._start, None)

    def mark_stop(self) -> None:
        """Up to here the seconds count."""
        self._call("cuEventRecord", self._stop, None)

    def seconds(self) -> float:
        """Wait for the end; the seconds on the GPU between the two marks."""
        self._call("cuEventSynchronize", self._stop)
        elapsed_ms = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(elapsed_ms), self._start, self._stop)
        return elapsed_ms.value / 1e3


def open_gpu(ordinal: int) -> Gpu:
    """The GPU of that number; GpuError where it cannot be used."""
    return Gpu(open_driver(), ordinal)


def _three(extents: Dimensions) -> Sequence[int]:
    return (extents, 1, 1) if isinstance(extents, int) else extents
