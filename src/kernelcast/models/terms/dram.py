"""How long the DRAM takes for what moves to and from it.

It reaches the bandwidth of streams where what it reads lies together; writes, and the turns between
reads and writes, take their own share:

    t = B s(w) + sum over accesses of max(0, V_i / R - B_i s(w))

B are bytes, w the share of them that is written, s(w) seconds per byte: linear between those of
reads (`dram.achieved_bandwidth`), of three reads to a write (`dram.triad_bandwidth`), of as many
reads as writes (`dram.mixed_bandwidth`) and of writes (`dram.write_bandwidth`). V_i are the visits
of the DRAM to chunks of memory for the bytes B_i of one instruction, of which it makes R in a
second (`dram.scattered_rate`): each opens a row, and what waits for that row at the same time is
served with it. Where a sector is all that is wanted of a row, that bounds the time and not the
bytes: V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, section 6.7;
so do chunks of 64 B on an RTX 3080 (gpuFLOPBench, matrixT).

Visits are counted where caches are simulated; elsewhere they are the transactions of `scattered`.
What is the host's (`models.terms.bus`) moves over the bus in place of the DRAM, at the same time as
the rest: the memory beyond the L2 cache takes as long as the one that takes longer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcast.hierarchy.caches.counts import CacheCounts
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Bottleneck, Case
from kernelcast.models.terms.bus import bus_time
from kernelcast.models.terms.scattered import scattered_transactions

_RATE = "dram.scattered_rate"
_MIXTURES = ("dram.triad_bandwidth", "dram.mixed_bandwidth", "dram.write_bandwidth")
_LEAST_SAID = 0.02
"""Of the time: what is less is not said."""


@dataclass(frozen=True, slots=True)
class DramTime:
    """Seconds that the DRAM is busy with a launch, and in words what is not as in long streams.

    Where the bus takes longer for what is the host's, it is the `resource` that these are of.
    """

    seconds: float
    seconds_per_byte: float
    notes: tuple[str, ...]
    resource: Bottleneck = Bottleneck.DRAM_BANDWIDTH


def dram_time(case: Case, estimate: Estimate, needed_by: str) -> DramTime:
    """The time of the DRAM for the traffic of a launch, as estimated.

    Raises MissingNumberError if the machine lacks `dram.bandwidth`.
    """
    machine, moved = case.machine, case.traffic.dram.at(estimate)
    streamed, notes = dram_bandwidth(machine, needed_by)
    share = written_share(case)
    mixed, mixed_note = _mixed_bandwidth(machine, streamed, share)
    apart, apart_note = _apart(case, estimate, mixed, needed_by)
    seconds = moved / mixed + apart
    if mixed < (1 - _LEAST_SAID) * streamed and moved:
        notes = (*notes, mixed_note)
    if apart > _LEAST_SAID * seconds:
        notes = (*notes, f"{apart / seconds:.0%} of the DRAM's time are {apart_note}")
    bus = bus_time(case)
    notes, resource = (*notes, *bus.notes), Bottleneck.DRAM_BANDWIDTH
    if bus.moved_bytes:
        seconds *= max(0.0, 1 - bus.moved_bytes / moved) if moved else 0.0
        if bus.seconds > seconds:
            seconds, resource = bus.seconds, Bottleneck.PCIE_BANDWIDTH
    return DramTime(seconds, seconds / moved if moved else 1 / mixed, notes, resource)


def dram_bandwidth(machine: Machine, needed_by: str) -> tuple[float, tuple[str, ...]]:
    """Bytes per second that the DRAM delivers to the whole chip, and what was assumed.

    The bandwidth that long streams achieve; that at the pins where nobody has measured it, or
    where the user has set it.
    """
    pins = machine.number("dram.bandwidth", needed_by)
    achieved = machine.get("dram.achieved_bandwidth")
    if achieved is None:
        note = "the DRAM delivers its bandwidth at the pins, for want of a measured one"
        return pins, (note,)
    if _is_set_by_hand(machine):
        note = "the DRAM delivers the bandwidth set by hand; the measured one is for another"
        return pins, (note,)
    return achieved, ()


def scattered_rate(machine: Machine, needed_by: str) -> tuple[float | None, str]:
    """Transactions per second of the DRAM that each lie anywhere, and where that comes from.

    None where bytes are all that is known to bound them. Measured on six chips (Volkov 2016,
    section 6.7, Table 6.1; gpuFLOPBench): on five of them as if no transaction were shorter than
    128 B, which stands in on others (`dram.scattered_transaction`).
    """
    known = machine.quantities.get(_RATE)
    is_for_another = _is_set_by_hand(machine) and _RATE not in machine.overrides
    if known is not None and not is_for_another:
        return machine.number(_RATE), f"at {_RATE}, {known.kind} ({known.source})"
    shortest = machine.get("dram.scattered_transaction")
    if shortest is None:
        return None, ""
    bandwidth, _ = dram_bandwidth(machine, needed_by)
    return bandwidth / shortest, f"as if none were shorter than {shortest:.0f} B (Volkov 2016)"


def mixed_seconds(
    written: float,
    reads: float,
    triad: float | None,
    mixed: float | None,
    writes: float | None,
) -> float:
    """Seconds per byte s(w) of which the share `written` is written.

    From the bandwidths of reads and, where they are known, of three reads to a write, of as many
    reads as writes, and of writes: a mixture takes as long as its parts, and writes alone, where
    nobody knows better, as long as the mixture that has most of them.
    """
    known = {0.0: reads, 0.25: triad, 0.5: mixed, 1.0: writes}
    shares = [share for share, bandwidth in known.items() if bandwidth is not None]
    seconds = [1 / bandwidth for bandwidth in known.values() if bandwidth is not None]
    return float(np.interp(written, shares, seconds))


def _mixed_bandwidth(machine: Machine, streamed: float, written: float) -> tuple[float, str]:
    if _is_set_by_hand(machine):
        return streamed, ""
    seconds = mixed_seconds(written, streamed, *map(machine.get, _MIXTURES))
    known = [f"{name}, {q.kind}" for name in _MIXTURES if (q := machine.quantities.get(name))]
    note = (
        f"{written:.0%} of the DRAM's bytes are written, among which it moves "
        f"{1e-9 / seconds:.0f} GB/s ({'; '.join(known)})"
    )
    return 1 / seconds, note


def mixed_over_reads(machine: Machine, written: float) -> float:
    """Bandwidth of a mixture of which the share `written` is written, over that of reads alone."""
    reads = machine.get("dram.achieved_bandwidth")
    if reads is None:
        return 1.0
    return 1 / (reads * mixed_seconds(written, reads, *map(machine.get, _MIXTURES)))


def written_share(case: Case) -> float:
    """Of the bytes that move to and from the DRAM, those that are written."""
    counts = case.cache_counts
    if counts is not None:
        moved = counts.dram_read_sectors + counts.dram_written_sectors
        return counts.dram_written_sectors / moved if moved else 0.0
    written = SECTOR_BYTES * sum(f.distinct_written_sectors for f in case.profile.footprints)
    return min(1.0, written / case.traffic.dram.central) if written else 0.0


def _apart(case: Case, estimate: Estimate, bandwidth: float, needed_by: str) -> tuple[float, str]:
    """Seconds beyond those of the bytes, for visits of the DRAM to what lies apart."""
    rate, source = scattered_rate(case.machine, needed_by)
    moved = case.traffic.dram.at(estimate)
    if not rate or not moved:
        return 0.0, ""
    if case.cache_counts is not None:
        return _counted_apart(case.cache_counts, moved, bandwidth, rate, source)
    apart = min(scattered_transactions(case, estimate), moved / SECTOR_BYTES)
    beyond = max(0.0, apart * (1 / rate - SECTOR_BYTES / bandwidth))
    return beyond, f"visits to sectors of lanes that lie apart, {source}"


def _counted_apart(
    counts: CacheCounts, moved: float, bandwidth: float, rate: float, source: str
) -> tuple[float, str]:
    rows = [
        (SECTOR_BYTES * (a.dram_sectors + a.dirtied_sectors), a.visits) for a in counts.accesses
    ]
    apart = [(own, visits) for own, visits in rows if visits / rate > max(0.0, own) / bandwidth]
    if not apart:
        return 0.0, ""
    of_apart, visits = (sum(column) for column in zip(*apart, strict=True))
    scale = moved / sum(own for own, _ in rows)
    beyond = scale * (visits / rate - of_apart / bandwidth)
    return beyond, f"visits for {of_apart / visits:.0f} B each that lie apart, {source}"


def _is_set_by_hand(machine: Machine) -> bool:
    """Whether the user gave the bandwidth at the pins alone: a memory that nobody has measured."""
    overridden = machine.overrides
    return "dram.bandwidth" in overridden and "dram.achieved_bandwidth" not in overridden
