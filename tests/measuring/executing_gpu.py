"""A driver library whose launches are executed on the CPU, on memory that it hands out itself.

Its clock counts launches: a kernel takes `WARM_S`, or `COLD_S` right after a `read_16x4`.
"""

from __future__ import annotations

import ctypes
import struct
from ctypes import CFUNCTYPE, POINTER, c_int, c_int64, c_ubyte, c_void_p
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tests.kept import CACHE
from tests.measuring import fake_gpu

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cuda import CompiledSource
from kernelcast.ir import ELEMENT_BYTES, Array, Kernel, Launch
from kernelcast.measuring.harness.gpu import ATTRIBUTES

CUDA_H: dict[str, Any] = {
    **fake_gpu.CUDA_H,
    "cuModuleLoadData": [POINTER(c_void_p), c_void_p],
}
"""As cuda.h declares them; code is no text, which would end at a zero."""

WARM_S, COLD_S, EMPTY_S = 1e-5, 3e-5, 1e-6
CLOCK_HZ = 1.5e9
MOST_BYTES = 2 << 20
REGISTERS = 21


@dataclass
class ExecutingGpu:
    """`driver()` is the library, `code` says what a cubin was compiled from.

    Launches on more than `MOST_BYTES` of arrays only take their time. `spoils` names kernels whose
    results are changed, `refuses` kernels that cannot be launched.
    `launched` records the kernels and the bytes of their arrays before the launch.
    """

    code: dict[bytes, CompiledSource]
    spoils: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    launched: list[tuple[str, tuple[bytes, ...]]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._memory: dict[int, ctypes.Array] = {}
        self._handles: dict[int, object] = {}
        self._marks: dict[int, float] = {}
        self._now_s = 0.0
        self._is_cold = False

    def driver(self) -> SimpleNamespace:
        self._library = SimpleNamespace()
        for name in CUDA_H:
            answer = (
                CFUNCTYPE(c_int, *CUDA_H[name])(self._answering(name))
                if hasattr(self, name)
                else SimpleNamespace()  # what only microbenchmarks call
            )
            setattr(self._library, name, answer)
        return self._library

    def _answering(self, name):
        action = getattr(self, name)

        def answer(*arguments):
            try:
                return action(*arguments) or 0
            except Exception as error:  # which a C function cannot raise
                self.errors.append(error)
                return 999

        return answer

    @property
    def held_bytes(self) -> int:
        """Memory that has not been given back."""
        return sum(map(len, self._memory.values()))

    @property
    def is_empty(self) -> bool:
        """Whether all memory has been given back."""
        return not self._memory

    def _new(self, what, out) -> None:
        handle = 64 * (len(self._handles) + 1)
        self._handles[handle] = what
        out[0] = handle

    def cuInit(self, flags): ...  # noqa: N802

    def cuDriverGetVersion(self, out):  # noqa: N802
        out[0] = 13000

    def cuGetErrorString(self, status, out):  # noqa: N802
        out[0] = b"no such luck"

    def cuDeviceGet(self, out, ordinal):  # noqa: N802
        out[0] = 0

    def cuDeviceGetName(self, out, length, device):  # noqa: N802
        ctypes.memmove(out, b"Executing GPU\0", 14)

    def cuDeviceTotalMem_v2(self, out, device):  # noqa: N802
        out[0] = 1 << 30

    def cuDeviceGetAttribute(self, out, attribute, device):  # noqa: N802
        numbers = {"major": 9, "minor": 0, "l2_bytes": 1 << 20, "sm_count": 4}
        names = {number: name for name, number in ATTRIBUTES.items()}
        out[0] = numbers.get(names[attribute], 1)

    def cuDeviceGetPCIBusId(self, out, length, device):  # noqa: N802
        ctypes.memmove(out, b"0000:65:00.0\0", 13)

    def cuDevicePrimaryCtxRetain(self, out, device):  # noqa: N802
        self._new("context", out)

    def cuCtxSetCurrent(self, context): ...  # noqa: N802

    def cuCtxSynchronize(self): ...  # noqa: N802

    def cuMemAlloc_v2(self, out, size):  # noqa: N802
        held = (c_ubyte * size)()
        self._memory[ctypes.addressof(held)] = held
        out[0] = ctypes.addressof(held)

    def cuMemFree_v2(self, pointer):  # noqa: N802
        del self._memory[pointer]

    def _room(self, pointer, size) -> int:
        assert size <= len(self._memory[pointer]), "past the end of an array"
        return pointer

    def cuMemsetD8_v2(self, pointer, value, size):  # noqa: N802
        ctypes.memset(self._room(pointer, size), value, size)

    def cuMemcpyDtoH_v2(self, to, pointer, size):  # noqa: N802
        ctypes.memmove(to, self._room(pointer, size), size)

    def cuMemcpyHtoD_v2(self, pointer, source, size):  # noqa: N802
        ctypes.memmove(self._room(pointer, size), source, size)

    def cuMemcpyDtoD_v2(self, to, source, size):  # noqa: N802
        ctypes.memmove(self._room(to, size), self._room(source, size), size)

    def cuModuleLoadData(self, out, image):  # noqa: N802
        self._new(self.code.get(_elf_at(image)), out)

    def cuModuleGetFunction(self, out, module, name):  # noqa: N802
        code = self._handles[module]
        stands_for_itself = name.decode() in ("clock_rate", "empty", "read_16x4")
        self._new(name.decode() if stands_for_itself else code.kernel(name.decode()), out)

    def cuFuncGetAttribute(self, out, attribute, function):  # noqa: N802
        out[0] = {1: 0, 3: 0, 4: REGISTERS}[attribute]

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, out, function, threads, smem):  # noqa: N802
        out[0] = 2048 // threads

    def cuProfilerStart(self): ...  # noqa: N802

    def cuProfilerStop(self): ...  # noqa: N802

    def cuEventCreate(self, out, flags):  # noqa: N802
        self._new("event", out)

    def cuEventRecord(self, event, stream):  # noqa: N802
        self._marks[event] = self._now_s

    def cuEventSynchronize(self, event): ...  # noqa: N802

    def cuEventElapsedTime(self, out, start, stop):  # noqa: N802
        out[0] = (self._marks[stop] - self._marks[start]) * 1e3

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, smem, stream, slots, extra):  # noqa: N802
        kernel = self._handles[function]
        if isinstance(kernel, Kernel):
            if kernel.label.partition("<")[0] in self.refuses:
                return 701
            self._execute(kernel, (gx, gy, gz), (bx, by, bz), smem, slots)
            self._now_s += COLD_S if self._is_cold else WARM_S
        elif kernel == "clock_rate":
            pairs, ns = (c_int64.from_address(slots[at]).value for at in (0, 1))
            ctypes.memmove(pairs, struct.pack("<qq", round(ns * CLOCK_HZ / 1e9), ns), 16)
            return 0  # it leaves the caches as they are
        elif kernel == "empty":
            self._now_s += EMPTY_S
        self._is_cold = kernel == "read_16x4"
        return 0

    def _execute(self, kernel: Kernel, grid, block, smem, slots) -> None:
        arguments: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        for at, parameter in enumerate(kernel.parameters):
            label = parameter.shown
            data = ctypes.string_at(slots[at], parameter.size_bytes)
            if parameter.is_pointer:
                held = self._memory[int.from_bytes(data, "little")]
                element = parameter.pointee if parameter.pointee in ELEMENT_BYTES else "b8"
                arguments[label] = Array(element, (len(held) // ELEMENT_BYTES[element],))
                arrays[label] = held
            elif parameter.type.startswith("f"):
                (arguments[label],) = struct.unpack({4: "<f", 8: "<d"}[len(data)], data)
            else:
                signed = parameter.type.startswith("s")
                arguments[label] = int.from_bytes(data, "little", signed=signed)
        if sum(map(len, arrays.values())) > MOST_BYTES:
            return
        self.launched.append((kernel.label, tuple(bytes(held) for held in arrays.values())))
        launch = Launch(grid, block, arguments, smem, kernel.label)
        memory = Memory.build(kernel, launch)
        regions = {r.label: r for r in memory.regions if r.is_argument}
        for label, held in arrays.items():
            size = regions[label].size_bytes
            memory.bytes_at(regions[label].address, size)[:] = memoryview(held)[:size]
        execute(kernel, launch, memory, executor="engine", cache=CACHE)
        for label, held in arrays.items():
            size = regions[label].size_bytes
            left = bytearray(memory.bytes_at(regions[label].address, size).tobytes())
            if kernel.label.partition("<")[0] in self.spoils:
                left[2] ^= 0x40
            ctypes.memmove(held, bytes(left), size)


def _elf_at(address: int) -> bytes:
    """The cubin at an address, which ends with one of its tables."""
    head = ctypes.string_at(address, 64)
    if not head.startswith(b"\x7fELF"):
        return head
    programs_at, sections_at = struct.unpack_from("<QQ", head, 32)
    program_bytes, programs, section_bytes, sections = struct.unpack_from("<4H", head, 54)
    end = max(sections_at + section_bytes * sections, programs_at + program_bytes * programs)
    return ctypes.string_at(address, end)
