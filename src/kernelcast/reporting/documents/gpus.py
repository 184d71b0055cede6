"""What `gpus` answers: the machines that are known."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kernelcast.machines.machine import Machine


class GpuSummary(Struct, frozen=True):
    """What a list says of a machine; `dram_bandwidth` in bytes per second. Unknown numbers are
    null."""

    name: str
    title: str
    vendor: str
    architecture: str
    chip: str
    compute_capability: str
    sm_count: float | None
    clock_hz: float | None
    dram_bandwidth: float | None
    dram_bytes: float | None


class GpusDocument(Struct, frozen=True):
    """All that `gpus --json` prints."""

    gpus: list[GpuSummary]


def gpus_document(machines: Sequence[Machine]) -> GpusDocument:
    """Machines in the order given."""
    return GpusDocument([_summary(machine) for machine in machines])


def capability(machine: Machine) -> str:
    """Compute capability as NVIDIA writes it: `9.0`."""
    major, minor = machine.compute_capability
    return f"{major}.{minor}"


def _summary(machine: Machine) -> GpuSummary:
    return GpuSummary(
        name=machine.name,
        title=machine.title,
        vendor=machine.vendor,
        architecture=machine.architecture,
        chip=machine.chip,
        compute_capability=capability(machine),
        sm_count=machine.get("sm.count"),
        clock_hz=machine.get("clock.sm"),
        dram_bandwidth=machine.get("dram.bandwidth"),
        dram_bytes=machine.get("dram.size"),
    )
