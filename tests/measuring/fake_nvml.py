"""NVML without a GPU: functions with the types that nvml.h declares, written down here anew."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

NVML_H: dict[str, Any] = {
    "nvmlInit_v2": [],
    "nvmlSystemGetDriverVersion": [c_void_p, c_uint],
    "nvmlDeviceGetHandleByPciBusId_v2": [c_char_p, POINTER(c_void_p)],
    "nvmlDeviceGetClockInfo": [c_void_p, c_int, POINTER(c_uint)],
    "nvmlDeviceGetMaxClockInfo": [c_void_p, c_int, POINTER(c_uint)],
    "nvmlDeviceGetEnforcedPowerLimit": [c_void_p, POINTER(c_uint)],
    "nvmlDeviceGetPowerUsage": [c_void_p, POINTER(c_uint)],
    "nvmlDeviceGetTemperature": [c_void_p, c_int, POINTER(c_uint)],
    "nvmlDeviceGetCurrentClocksEventReasons": [c_void_p, POINTER(c_ulonglong)],
    "nvmlDeviceGetCurrentClocksThrottleReasons": [c_void_p, POINTER(c_ulonglong)],
    "nvmlDeviceGetViolationStatus": [c_void_p, c_int, POINTER(c_ulonglong * 2)],
    "nvmlDeviceGetEccMode": [c_void_p, POINTER(c_uint), POINTER(c_uint)],
    "nvmlDeviceGetMigMode": [c_void_p, POINTER(c_uint), POINTER(c_uint)],
    "nvmlDeviceGetComputeRunningProcesses_v3": [c_void_p, POINTER(c_uint), c_void_p],
}
HANDLE = 0x7F00_0000_0040
NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE = 3, 6, 7


@dataclass
class FakeNvml:
    """`library()` is NVML; `fails` maps functions to what they return, `lacks` names missing ones.

    `programs` is the number of programs at every asking, the last one from then on.
    """

    bits: int = 0
    violation_ns: dict[int, int] = field(default_factory=dict)
    programs: list[int] = field(default_factory=lambda: [0])
    fails: dict[str, int] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()

    def library(self) -> SimpleNamespace:
        self._library = SimpleNamespace()
        for name, types in NVML_H.items():
            if name not in self.lacks:
                prototype = ctypes.CFUNCTYPE(c_int, *types)
                setattr(self._library, name, prototype(self._answering(name)))
        return self._library

    def _answering(self, name):
        action = getattr(self, name.removeprefix("nvml"))

        def answer(*arguments):
            if name in self.fails:
                return self.fails[name]
            if NVML_H[name][:1] == [c_void_p] and name.startswith("nvmlDevice"):
                assert arguments[0] == HANDLE, name
            return action(*arguments) or 0

        return answer

    def Init_v2(self): ...  # noqa: N802

    def SystemGetDriverVersion(self, out, length):  # noqa: N802
        ctypes.memmove(out, b"580.159.04\0", min(length, 11))

    def DeviceGetHandleByPciBusId_v2(self, bus_id, out):  # noqa: N802
        if bus_id != b"0000:65:00.0":
            return NOT_FOUND
        out[0] = HANDLE
        return 0

    def DeviceGetClockInfo(self, gpu, kind, out):  # noqa: N802
        out[0] = {1: 1755, 2: 3201}[kind]

    def DeviceGetMaxClockInfo(self, gpu, kind, out):  # noqa: N802
        out[0] = {1: 1980, 2: 3201}[kind]

    def DeviceGetEnforcedPowerLimit(self, gpu, out):  # noqa: N802
        out[0] = 700_000

    def DeviceGetPowerUsage(self, gpu, out):  # noqa: N802
        out[0] = 118_250

    def DeviceGetTemperature(self, gpu, sensor, out):  # noqa: N802
        assert sensor == 0
        out[0] = 41

    def DeviceGetCurrentClocksEventReasons(self, gpu, out):  # noqa: N802
        out[0] = self.bits

    def DeviceGetCurrentClocksThrottleReasons(self, gpu, out):  # noqa: N802
        out[0] = self.bits

    def DeviceGetViolationStatus(self, gpu, policy, out):  # noqa: N802
        if policy not in self.violation_ns:
            return NOT_SUPPORTED
        out[0][0], out[0][1] = 10**18, self.violation_ns[policy]
        return 0

    def DeviceGetEccMode(self, gpu, now, pending):  # noqa: N802
        now[0], pending[0] = 1, 1

    def DeviceGetMigMode(self, gpu, now, pending):  # noqa: N802
        now[0], pending[0] = 0, 0

    def DeviceGetComputeRunningProcesses_v3(self, gpu, count, infos):  # noqa: N802
        assert infos is None
        count[0] = self.programs.pop(0) if len(self.programs) > 1 else self.programs[0]
        return INSUFFICIENT_SIZE if count[0] else 0
