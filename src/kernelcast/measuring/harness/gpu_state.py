"""What NVML says of a GPU: its clocks, what holds them down, and who else is on it.

NVML comes with NVIDIA's driver; where it is missing, or does not know a number, that is left out.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Mapping
from typing import Any

from .gpu_driver import opened

_HANDLE = ctypes.c_void_p
_OUT_HANDLE = ctypes.POINTER(ctypes.c_void_p)
_OUT_UINT = ctypes.POINTER(ctypes.c_uint)
_OUT_ULONG = ctypes.POINTER(ctypes.c_ulonglong)


class ViolationTime(ctypes.Structure):
    """nvmlViolationTime_t: in ns, when it was read, and how long a policy held the clocks down."""

    _fields_ = (("reference_ns", ctypes.c_ulonglong), ("violation_ns", ctypes.c_ulonglong))


SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "nvmlInit_v2": (),
    "nvmlSystemGetDriverVersion": (ctypes.c_char_p, ctypes.c_uint),
    "nvmlDeviceGetHandleByPciBusId_v2": (ctypes.c_char_p, _OUT_HANDLE),
    "nvmlDeviceGetClockInfo": (_HANDLE, ctypes.c_int, _OUT_UINT),
    "nvmlDeviceGetMaxClockInfo": (_HANDLE, ctypes.c_int, _OUT_UINT),
    "nvmlDeviceGetEnforcedPowerLimit": (_HANDLE, _OUT_UINT),
    "nvmlDeviceGetPowerUsage": (_HANDLE, _OUT_UINT),
    "nvmlDeviceGetTemperature": (_HANDLE, ctypes.c_int, _OUT_UINT),
    "nvmlDeviceGetCurrentClocksEventReasons": (_HANDLE, _OUT_ULONG),
    "nvmlDeviceGetCurrentClocksThrottleReasons": (_HANDLE, _OUT_ULONG),
    "nvmlDeviceGetViolationStatus": (_HANDLE, ctypes.c_int, ctypes.POINTER(ViolationTime)),
    "nvmlDeviceGetEccMode": (_HANDLE, _OUT_UINT, _OUT_UINT),
    "nvmlDeviceGetMigMode": (_HANDLE, _OUT_UINT, _OUT_UINT),
    "nvmlDeviceGetComputeRunningProcesses_v3": (_HANDLE, _OUT_UINT, _HANDLE),
}
"""Parameters of NVML's functions, as nvml.h declares them; all return an int."""

# nvmlReturn_t, nvmlClockType_t and nvmlTemperatureSensors_t, by their numbers in nvml.h.
_SUCCESS, _INSUFFICIENT_SIZE = 0, 7
_SM, _MEMORY = 1, 2
_ON_GPU = 0
_REASONS: Mapping[int, str] = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "heat, by the driver",
    0x40: "heat, by the hardware",
    0x80: "power brake",
}
"""nvmlClocksThrottleReason: those that hold clocks down against the user's settings."""
_POLICIES: Mapping[int, str] = {0: "power cap", 1: "heat", 3: "board limit"}
"""nvmlPerfPolicyType_t: what NVML counts the time of."""
_LINGERING_S, _LINGERING_READINGS = 0.1, 3


class Monitor:
    """One GPU as NVML sees it. While it is open the driver stays awake between programs.

    `why_not` says why nothing is known of the GPU; empty where something is.
    """

    def __init__(self, library: Any, bus_id: str) -> None:
        self._library = library
        self._gpu = ctypes.c_void_p()
        self.why_not = ""
        try:
            _declare(library)
            status = library.nvmlInit_v2()
            if status == _SUCCESS:
                status = library.nvmlDeviceGetHandleByPciBusId_v2(
                    bus_id.encode(), ctypes.byref(self._gpu)
                )
            if status != _SUCCESS:
                self.why_not = f"NVML returns {status}"
        except AttributeError as error:
            self.why_not = f"NVML is not as expected: {error}"

    def facts(self) -> dict[str, Any]:
        """What does not change while the GPU is measured."""
        if self.why_not:
            return {"unavailable": self.why_not}
        version = ctypes.create_string_buffer(96)
        if self._ask("nvmlSystemGetDriverVersion", version, len(version), of_gpu=False):
            found: dict[str, Any] = {"driver_version": version.value.decode("utf-8", "replace")}
        else:
            found = {}
        found["sm_max_mhz"] = self._number("nvmlDeviceGetMaxClockInfo", _SM)
        found["memory_max_mhz"] = self._number("nvmlDeviceGetMaxClockInfo", _MEMORY)
        found["power_limit_w"] = _thousandth(self._number("nvmlDeviceGetEnforcedPowerLimit"))
        found["ecc"] = self._mode("nvmlDeviceGetEccMode")
        found["mig"] = self._mode("nvmlDeviceGetMigMode")
        return {key: value for key, value in found.items() if value is not None}

    def state(self) -> dict[str, Any]:
        """How the GPU is now."""
        if self.why_not:
            return {}
        bits = self._reasons()
        found = {
            "sm_mhz": self._number("nvmlDeviceGetClockInfo", _SM),
            "memory_mhz": self._number("nvmlDeviceGetClockInfo", _MEMORY),
            "temperature_c": self._number("nvmlDeviceGetTemperature", _ON_GPU),
            "power_w": _thousandth(self._number("nvmlDeviceGetPowerUsage")),
            "held_down": None if bits is None else reasons(bits),
            "held_down_ns": self._violations() or None,
        }
        return {key: value for key, value in found.items() if value is not None}

    def programs(self, own: int = 0) -> int | None:
        """Programs that compute on the GPU, besides `own` ones; None where that is unknown.

        One that has just ended may be listed for a moment: the least of some readings.
        """
        if self.why_not:
            return None
        for _ in range(_LINGERING_READINGS):
            count = ctypes.c_uint()
            name = "nvmlDeviceGetComputeRunningProcesses_v3"
            status = self._status(name, ctypes.byref(count), None)
            if status not in (_SUCCESS, _INSUFFICIENT_SIZE):
                return None
            if count.value <= own:
                break
            time.sleep(_LINGERING_S)
        return max(0, count.value - own)

    def _reasons(self) -> int | None:
        """By the function's name of today, or by that of drivers before version 535."""
        for name in ("EventReasons", "ThrottleReasons"):
            bits = self._number(f"nvmlDeviceGetCurrentClocks{name}", out=ctypes.c_ulonglong)
            if bits is not None:
                return bits
        return None

    def _violations(self) -> dict[str, int]:
        found = {}
        for policy, name in _POLICIES.items():
            taken = ViolationTime()
            if self._ask("nvmlDeviceGetViolationStatus", policy, ctypes.byref(taken)):
                found[name] = taken.violation_ns
        return found

    def _mode(self, name: str) -> bool | None:
        now, pending = ctypes.c_uint(), ctypes.c_uint()
        is_known = self._ask(name, ctypes.byref(now), ctypes.byref(pending))
        return bool(now.value) if is_known else None

    def _number(self, name: str, *arguments: Any, out: Any = ctypes.c_uint) -> int | None:
        value = out()
        return int(value.value) if self._ask(name, *arguments, ctypes.byref(value)) else None

    def _ask(self, name: str, *arguments: Any, of_gpu: bool = True) -> bool:
        """Whether NVML answered."""
        return self._status(name, *arguments, of_gpu=of_gpu) == _SUCCESS

    def _status(self, name: str, *arguments: Any, of_gpu: bool = True) -> int | None:
        function = getattr(self._library, name, None)
        if function is None:
            return None
        return int(function(self._gpu, *arguments) if of_gpu else function(*arguments))


class _NoMonitor(Monitor):
    """Where NVML cannot be loaded."""

    def __init__(self, why_not: str) -> None:
        self.why_not = why_not


def open_monitor(bus_id: str) -> Monitor:
    """NVML's view of the GPU at an address of the PCI bus."""
    names = ("nvml.dll",) if sys.platform == "win32" else ("libnvidia-ml.so.1", "libnvidia-ml.so")
    try:
        return Monitor(opened(names), bus_id)
    except OSError as error:
        return _NoMonitor(f"cannot load NVML: {error}")


def reasons(bits: int) -> list[str]:
    """What holds the clocks down, by NVML's bits."""
    return [name for bit, name in _REASONS.items() if bits & bit]


def held_down(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What held the clocks down at two states or between them."""
    found = [*before.get("held_down", ()), *after.get("held_down", ())]
    earlier: Mapping[str, int] = before.get("held_down_ns", {})
    for name, until_ns in after.get("held_down_ns", {}).items():
        if name in earlier and until_ns > earlier[name]:
            found.append(name)
    return sorted(set(found))


def _declare(library: Any) -> None:
    """Set the types of NVML's functions; older versions lack some."""
    for name, types in SIGNATURES.items():
        function = getattr(library, name, None)
        if function is not None:
            function.argtypes = types
            function.restype = ctypes.c_int


def _thousandth(value: int | None) -> float | None:
    return None if value is None else value / 1e3
