"""What a program pays beside its kernels: copies between host and device, context and launches.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 4.2. With sizes in bytes, rates in bytes per second:

    TIME = OVERHEAD + EXECUTION                                                         (4.1)
    TRANSFER(size) = size / min(BW_peak, BW_inc(size)),  BW_inc(size) = a + b size      (4.2)
    OVERHEAD = TRANSFER(size) + CUDA + LAUNCH                                           (4.3)

The regression BW_inc is known of one chip. Everywhere else a copy has a latency and a bandwidth,
fitted to copies of 4 B to 256 MB, which for small copies comes to the same and for none to more:

    TRANSFER(size) = latency + size / BW_peak

Copies that overlap with a kernel, in n equal parts on streams of their own, follow each other as in
a pipeline of three stages, its slowest stage at work all the time:

    T = (t_in + t_kernel + t_out) / n + (n - 1) / n max(t_in, t_kernel, t_out)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from kernelcast.errors import InputError, NotFoundError
from kernelcast.ir import CopyPlan, HostMemory, Launch, arrays_in
from kernelcast.machines.machine import Machine, Provenance
from kernelcast.models.terms.base import Case

_NEEDED_BY = "the time of copies"


class Direction(StrEnum):
    """Where a copy goes."""

    TO_DEVICE = "to device"
    TO_HOST = "to host"


@dataclass(frozen=True, slots=True)
class Transfer:
    """A copy of `size_bytes` between host and device; `label` says of what."""

    size_bytes: float
    direction: Direction
    memory: HostMemory = HostMemory.PINNED
    label: str = ""


@dataclass(frozen=True, slots=True)
class TransferLaw:
    """Seconds of a copy by its size.

    `peak` is the bandwidth of large copies. `start` and `slope` are a and b of BW_inc, infinite and
    0 where `latency_s` stands in for them.
    """

    peak: float
    latency_s: float = 0.0
    start: float = math.inf
    slope: float = 0.0
    assumptions: tuple[str, ...] = ()

    def bandwidth(self, size_bytes: float) -> float:
        """Bytes per second at which a copy of that size moves, latency aside."""
        return min(self.peak, self.start + self.slope * size_bytes)

    def seconds(self, size_bytes: float) -> float:
        """TRANSFER(size); nothing is copied in no time.

        InputError for a size that is negative or not finite.
        """
        if not 0 <= size_bytes < math.inf:
            raise InputError(f"{size_bytes} is no size of a copy", hint="give bytes from 0 on")
        if not size_bytes:
            return 0.0
        return self.latency_s + size_bytes / self.bandwidth(size_bytes)

    @property
    def knee_bytes(self) -> float:
        """The size from which on copies have the peak bandwidth; 0 where all have."""
        return max(0.0, (self.peak - self.start) / self.slope) if self.slope else 0.0


@dataclass(frozen=True)
class EndToEnd:
    """What a program waits for around its kernels, in seconds.

    `copies` pairs every transfer with its time. `context_s` is that of creating the context, None
    where nobody has measured it; it is not part of `seconds`, as a program pays it once.
    """

    kernel_s: float
    copies: tuple[tuple[Transfer, float], ...]
    context_s: float | None
    parts: int = 1
    assumptions: tuple[str, ...] = ()

    @property
    def to_device_s(self) -> float:
        """Copies to the device, one after another."""
        return self._copied(Direction.TO_DEVICE)

    @property
    def to_host_s(self) -> float:
        """Copies to the host, one after another."""
        return self._copied(Direction.TO_HOST)

    @property
    def seconds(self) -> float:
        """Copies to the device, kernels and copies back; overlapped where they come in parts."""
        stages = (self.to_device_s, self.kernel_s, self.to_host_s)
        return sum(stages) / self.parts + (1 - 1 / self.parts) * max(stages)

    @property
    def overhead_s(self) -> float:
        """OVERHEAD of (4.3) but for LAUNCH, which every model counts with its kernel."""
        return self.seconds - self.kernel_s + (self.context_s or 0.0)

    def _copied(self, direction: Direction) -> float:
        return sum(s for copy, s in self.copies if copy.direction is direction)


def transfer_law(
    machine: Machine, direction: Direction, memory: HostMemory = HostMemory.PINNED
) -> TransferLaw:
    """The law of copies of one kind, which `assumptions` say where a number of another stands in.

    MissingNumberError where the machine has no bandwidth of copies at all.
    """
    pinned = _number(machine, "pcie.bandwidth", direction)
    if pinned is None:
        machine.number("pcie.bandwidth", _NEEDED_BY)
    peak, latency = pinned, _number(machine, "pcie.latency", direction)
    notes: list[str] = []
    if memory is HostMemory.PAGEABLE:
        slow = _number(machine, "pcie.pageable_bandwidth", direction)
        if slow is None:
            notes.append("copies of pageable memory are as fast as those of pinned memory")
        peak = slow or peak
        latency = _number(machine, "pcie.pageable_latency", direction) or latency
    assert peak is not None
    notes += _assumed(machine, "pcie.bandwidth")
    start = machine.get("pcie.ramp_bandwidth")
    if start is None and latency is None:
        notes.append(f"copies begin at once: {machine.name} has no pcie.latency")
    return TransferLaw(
        peak=peak,
        latency_s=latency or 0.0,
        start=math.inf if start is None else start,
        slope=machine.get("pcie.ramp_slope") or 0.0,
        assumptions=tuple(notes),
    )


def _assumed(machine: Machine, path: str) -> list[str]:
    """What is to be said of a number that nobody has stated or measured of the machine."""
    found = machine.quantities[path]
    if found.kind is not Provenance.ASSUMED:
        return []
    return [f"{path} of {machine.name} is assumed: {found.source}"]


def transfer_time(machine: Machine, transfer: Transfer) -> float:
    """Seconds of one copy; raises as `transfer_law` does."""
    law = transfer_law(machine, transfer.direction, transfer.memory)
    return law.seconds(transfer.size_bytes)


def end_to_end(
    machine: Machine, kernel_s: float, transfers: Sequence[Transfer], parts: int = 1
) -> EndToEnd:
    """The whole of a program: `kernel_s` seconds of kernels, launches included, and copies.

    With `parts` over 1 the work is cut into so many equal ones, whose copies and kernels overlap;
    every copy then pays its latency as often. Raises as `transfer_law` does.
    """
    if parts < 1:
        raise InputError(f"{parts} parts", hint="cut the work into 1 part or more")
    laws = {
        (t.direction, t.memory): transfer_law(machine, t.direction, t.memory) for t in transfers
    }
    copies = tuple(
        (t, parts * laws[t.direction, t.memory].seconds(t.size_bytes / parts)) for t in transfers
    )
    notes = dict.fromkeys(note for law in laws.values() for note in law.assumptions)
    return EndToEnd(kernel_s, copies, machine.get("launch.context"), parts, tuple(notes))


def graph_saving(launches: Sequence[Launch], machine: Machine) -> float | None:
    """Seconds that launches take less as nodes of one graph than queued on a stream.

    None of a single one, and where nobody has measured either.
    """
    count = sum(launch.repeat for launch in launches)
    queued, node = machine.get("launch.overhead"), machine.get("launch.graph_node")
    if count < 2 or queued is None or node is None:
        return None
    return count * (queued - node)


def planned_transfers(cases: Sequence[Case], plan: CopyPlan) -> tuple[Transfer, ...]:
    """The copies of a plan around the launches of a program, cases of one machine in their order.

    NotFoundError where no launch has an array that the plan names.
    """
    sizes = _array_sizes(cases)
    read, written = _read_and_written(cases)
    rows = (
        (Direction.TO_DEVICE, read if plan.to_device is None else plan.to_device),
        (Direction.TO_HOST, written if plan.to_host is None else plan.to_host),
    )
    found = []
    for direction, labels in rows:
        for label in labels:
            if label not in sizes:
                raise NotFoundError("array", label, sizes, where="transfers")
            found.append(Transfer(sizes[label], direction, plan.memory, label))
    return tuple(found)


def _array_sizes(cases: Sequence[Case]) -> dict[str, int]:
    """Bytes of every array that a launch takes, by its label."""
    return {
        name: array.size_bytes
        for case in cases
        for label, value in case.launch.args.items()
        for name, array in arrays_in(label, value)
    }


def _read_and_written(cases: Sequence[Case]) -> tuple[list[str], list[str]]:
    """Arrays that the first launch to touch them reads, and those that are written at all."""
    first: dict[str, bool] = {}
    written: dict[str, None] = {}
    sizes = _array_sizes(cases)
    for case in cases:
        for array in case.profile.footprints:
            if array.label in sizes:
                first.setdefault(array.label, array.read)
                if array.written:
                    written[array.label] = None
    return [label for label, is_read in first.items() if is_read], list(written)


def _number(machine: Machine, path: str, direction: Direction) -> float | None:
    """The number of a direction, that to the device where the other has none."""
    towards = machine.get(path)
    if direction is Direction.TO_DEVICE:
        return towards
    back = machine.get(f"{path}_to_host")
    return towards if back is None else back
