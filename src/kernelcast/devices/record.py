"""What a program did on the device, in order: launches, copies and fills, in forecast time."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from kernelcast.checking.checked import CheckedLaunch
from kernelcast.devices.forecasts import LaunchForecast
from kernelcast.ir import Launch


class CopyKind(StrEnum):
    """What was moved or written, and where to."""

    HOST_TO_HOST = "host to host"
    HOST_TO_DEVICE = "host to device"
    DEVICE_TO_HOST = "device to host"
    DEVICE_TO_DEVICE = "device to device"
    FILL = "fill"


class HostCall(StrEnum):
    """What a program calls that the device takes part in."""

    LAUNCH = "launch"
    COPY = "copy"
    FILL = "fill"
    ALLOCATE = "allocate"
    FREE = "free"
    WAIT = "wait for a stream or all"
    WAIT_FOR_EVENT = "wait for an event"


@dataclass(slots=True)
class HostCalls:
    """Calls of one kind, and how long the host waited in them in forecast time."""

    count: int = 0
    waited_s: float = 0.0


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """A launch that was executed. Times are in seconds, `begin_s` from the program's first work;
    `executed_s` is what this machine took to execute it, without its forecast. One that
    `is_repeat` was not, as it would have changed nothing."""

    kernel: str
    launch: Launch
    forecast: LaunchForecast
    stream: int
    begin_s: float
    executed_s: float
    thread_instructions: int
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class TransferRecord:
    """A copy or a fill."""

    kind: CopyKind
    size_bytes: int
    seconds: float
    stream: int
    begin_s: float


@dataclass
class ProgramRecord:
    """All that a program did.

    `host` are calls of the host by their kind, `failures` launches that went wrong, and why,
    `checked` what was found in launches that were to be checked, which are none of `launches`.
    """

    launches: list[LaunchRecord] = field(default_factory=list)
    transfers: list[TransferRecord] = field(default_factory=list)
    host: dict[HostCall, HostCalls] = field(
        default_factory=lambda: {call: HostCalls() for call in HostCall}
    )
    failures: list[str] = field(default_factory=list)
    checked: list[CheckedLaunch] = field(default_factory=list)
    end_s: float = 0.0
    most_bytes: int = 0
    processes: int = 0
