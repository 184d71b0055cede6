"""What requests take of the slices of the L2 cache and of the way from it."""

from __future__ import annotations

from typing import NamedTuple

from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.machines.machine import Machine
from kernelcast.profiling.layout import LINE_SECTORS


class L2Times(NamedTuple):
    """Seconds of the way from all slices for a sector that is read; the others are of the slices.

    For the first sector of a line that is written, and for the others; for a request that reads;
    and, at the least, for one that writes. `is_shared` says whether what is written takes its turn
    among what is read, on the same way.
    """

    read: float
    first_written: float
    written: float
    reading: float
    writing: float
    is_shared: bool

    @property
    def returning(self) -> float:
        """Of a line of which an atomic gives back what was there before."""
        return self.writing - self.reading

    @property
    def of_line(self) -> float:
        """Of a whole line that is written."""
        return self.first_written + (LINE_SECTORS - 1) * self.written


def l2_times(machine: Machine) -> L2Times | None:
    """What requests take of a machine's L2 cache, None where nobody knows its bandwidth."""
    read, written, requests, apart = (
        machine.get(f"l2.{name}")
        for name in ("bandwidth", "write_bandwidth", "request_rate", "write_rate")
    )
    if read is None:
        return None
    each = SECTOR_BYTES / (written or read)
    first = 1 / apart if apart else each
    partitions = machine.get("l2.partitions") or 1.0
    request = 1 / requests if requests else 0.0
    return L2Times(
        SECTOR_BYTES / read,
        first,
        max(0.0, (LINE_SECTORS * each - first) / (LINE_SECTORS - 1)),
        request,
        request * (2 - 1 / partitions),
        written is None,
    )
