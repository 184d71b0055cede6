"""NVIDIA's driver through ctypes: one GPU, its memory, its kernels and its events.

This file is copied into the folder that measures by itself and needs nothing but Python 3.10 there.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
    "cuDeviceGetPCIBusId": (ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
    "cuDevicePrimaryCtxRetain": (_OUT_HANDLE, ctypes.c_int),
    "cuCtxSetCurrent": (_HANDLE,),
    "cuCtxSynchronize": (),
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
    "cuFuncGetAttribute": (_OUT_INT, ctypes.c_int, _HANDLE),
    "cuLaunchKernel": (_HANDLE, *[_U] * 6, _U, _HANDLE, _OUT_HANDLE, _OUT_HANDLE),
    "cuEventCreate": (_OUT_HANDLE, _U),
    "cuEventRecord": (_HANDLE, _HANDLE),
    "cuEventSynchronize": (_HANDLE,),
    "cuEventElapsedTime": (ctypes.POINTER(ctypes.c_float), _HANDLE, _HANDLE),
}
"""Parameters of the driver's functions, as cuda.h declares them; all return an int."""

# CUresult, CUfunction_attribute and CUdevice_attribute, by their numbers in cuda.h.
_OUT_OF_MEMORY = 2
_KINDS: Mapping[int, str] = {
    _OUT_OF_MEMORY: "no memory",
    34: "no driver",  # a stub of the library
    46: "busy",
    100: "no GPU",
    101: "no GPU",  # of that number
    200: "no code",
    209: "no code",  # for this chip
    214: "crashed",  # memory that could not be corrected
    700: "crashed",  # an address outside of all memory
    702: "hangs",
    714: "crashed",  # the hardware's stack
    715: "crashed",  # an instruction that is none
    716: "crashed",  # an address that is not aligned
    717: "crashed",  # an address in the wrong memory
    718: "crashed",  # a program counter that is none
    719: "crashed",
    802: "no driver",  # not started yet
    803: "no driver",  # another version than the kernel's part
    804: "no driver",  # a compatibility package for other GPUs
}
"""What a status means for who measures; all others are "failed"."""
_HINTS: Mapping[str, str] = {
    "busy": "; wait until other programs have left the GPU",
    "no code": "; for a driver older than that of CUDA 13, measure.py --nvcc compiles anew",
}
_MAX_THREADS_PER_BLOCK, _MAX_DYNAMIC_SHARED = 0, 8
_FOLDERS = (
    "",
    "/usr/local/nvidia/lib64/",
    "/usr/lib/x86_64-linux-gnu/",
    "/usr/lib/aarch64-linux-gnu/",
    "/usr/lib64/",
    "/usr/lib/wsl/lib/",
)
"""Where libraries of the driver lie; the linker's own places first."""
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
    """What stands in the way.

    `kind` is no driver, no GPU, busy, no code, no memory, no profiler, crashed, hangs or failed.
    """

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: {what}")
        self.kind = kind


def opened(names: Sequence[str]) -> Any:
    """The first of some libraries that can be loaded; OSError of the first if none can."""
    first = None
    for path in (folder + name for folder in _FOLDERS for name in names):
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            first = first or error
    raise first or OSError("no library is named")


def open_driver() -> Any:
    """NVIDIA's driver library, its functions' types declared."""
    names = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")
    try:
        return declared(opened(names))
    except OSError:
        raise GpuError("no driver", f"cannot load {names[0]}; install NVIDIA's driver") from None
    except AttributeError as error:
        raise GpuError("no driver", f"{names[0]} is too old: {error}") from None


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
        self._start, self._stop = ctypes.c_void_p(), ctypes.c_void_p()
        for event in (self._start, self._stop):
            self._call("cuEventCreate", ctypes.byref(event), 0)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status == 0:
            return
        text = ctypes.c_char_p()
        self._driver.cuGetErrorString(status, ctypes.byref(text))
        what = f"{name}: {(text.value or b'unknown error').decode()} ({status})"
        kind = _KINDS.get(status, "failed")
        if status == _OUT_OF_MEMORY and name == "cuDevicePrimaryCtxRetain":
            kind = "busy"
        if kind == "failed":
            kind = {"cuInit": "no driver", "cuModuleLoadData": "no code"}.get(name, kind)
        raise GpuError(kind, what + _HINTS.get(kind, ""))

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

    def most_threads(self, function: ctypes.c_void_p) -> int:
        """The threads that a block of a kernel can have: fewer where it needs many registers."""
        value = ctypes.c_int()
        self._call("cuFuncGetAttribute", ctypes.byref(value), _MAX_THREADS_PER_BLOCK, function)
        return value.value

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
        grid: int,
        block: int,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        """Hand a launch over, without waiting."""
        slots = (ctypes.c_void_p * max(1, len(arguments)))(
            *(ctypes.addressof(argument) for argument in arguments)
        )
        self._call(
            "cuLaunchKernel", function, grid, 1, 1, block, 1, 1, shared_bytes, None, slots, None
        )

    def launch(
        self,
        function: ctypes.c_void_p,
        grid: int,
        block: int,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        """Launch a kernel and wait for its end."""
        self.enqueue(function, grid, block, arguments, shared_bytes)
        self.wait()

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
