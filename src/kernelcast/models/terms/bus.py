"""How long the bus takes for arrays of the host that a kernel reads and writes itself.

Pinned memory of the host that is mapped ("zero copy") stays where it is. Both ways carry bytes at
the same time, as fast as large copies:

    t = max(B_r / pcie.bandwidth, B_w / pcie.bandwidth_to_host)

B_r and B_w are bytes of the sectors that are read and written, each of which crosses the bus once
at the least: what a kernel reads again later may cross it again.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.models.terms.base import Case
from kernelcast.models.terms.transfers import Direction, transfer_law
from kernelcast.profiling.profile import Profile

_NO_BUS = "the host's arrays are taken for the device's, for want of pcie.bandwidth"


@dataclass(frozen=True, slots=True)
class BusTime:
    """Seconds that the bus is busy with a launch, the bytes that cross it, and what was assumed."""

    seconds: float
    moved_bytes: float
    notes: tuple[str, ...]


def host_sectors(profile: Profile) -> tuple[float, float]:
    """Sectors of the host's arrays that a launch reads, and that it writes."""
    of_host = [array for array in profile.footprints if array.of_host]
    read = sum(array.distinct_sectors for array in of_host if array.read)
    return read, sum(array.distinct_written_sectors for array in of_host)


def bus_time(case: Case) -> BusTime:
    """The time of the bus; 0, with a note, where nobody knows how fast it is."""
    read, written = (SECTOR_BYTES * sectors for sectors in host_sectors(case.profile))
    if not read + written:
        return BusTime(0.0, 0.0, ())
    if case.machine.get("pcie.bandwidth") is None:
        return BusTime(0.0, 0.0, (_NO_BUS,))
    to_device, to_host = (transfer_law(case.machine, way) for way in Direction)
    seconds = max(read / to_device.peak, written / to_host.peak)
    note = f"{(read + written) / 1e6:.4g} MB of the host's arrays cross the bus"
    return BusTime(seconds, read + written, (note, *to_device.assumptions))
