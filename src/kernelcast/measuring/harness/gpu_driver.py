"""NVIDIA's driver library through ctypes: its functions' types, and what its errors mean."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
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
    "cuMemcpyHtoD_v2": (_POINTER, ctypes.c_char_p, ctypes.c_size_t),
    "cuMemcpyDtoD_v2": (_POINTER, _POINTER, ctypes.c_size_t),
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
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (
        _OUT_INT,
        _HANDLE,
        ctypes.c_int,
        ctypes.c_size_t,
    ),
    "cuLaunchKernel": (_HANDLE, *[_U] * 6, _U, _HANDLE, _OUT_HANDLE, _OUT_HANDLE),
    "cuEventCreate": (_OUT_HANDLE, _U),
    "cuEventRecord": (_HANDLE, _HANDLE),
    "cuEventSynchronize": (_HANDLE,),
    "cuEventElapsedTime": (ctypes.POINTER(ctypes.c_float), _HANDLE, _HANDLE),
    "cuProfilerStart": (),
    "cuProfilerStop": (),
}
"""Parameters of the driver's functions, as cuda.h declares them; all return an int."""

# CUresult, by its numbers in cuda.h.
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
    "no code": "; for a driver older than that of CUDA 13, measure --nvcc compiles anew",
}
_FOLDERS = (
    "",
    "/usr/local/nvidia/lib64/",
    "/usr/lib/x86_64-linux-gnu/",
    "/usr/lib/aarch64-linux-gnu/",
    "/usr/lib64/",
    "/usr/lib/wsl/lib/",
)
"""Where libraries of the driver lie; the linker's own places first."""


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


def call(library: Any, name: str, *arguments: Any) -> None:
    """Call a function of the driver; GpuError where it returns an error."""
    status = getattr(library, name)(*arguments)
    if status == 0:
        return
    text = ctypes.c_char_p()
    library.cuGetErrorString(status, ctypes.byref(text))
    what = f"{name}: {(text.value or b'unknown error').decode()} ({status})"
    kind = _KINDS.get(status, "failed")
    if status == _OUT_OF_MEMORY and name == "cuDevicePrimaryCtxRetain":
        kind = "busy"
    if kind == "failed":
        kind = {"cuInit": "no driver", "cuModuleLoadData": "no code"}.get(name, kind)
    raise GpuError(kind, what + _HINTS.get(kind, ""))
