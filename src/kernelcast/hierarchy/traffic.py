"""Bytes that move at every level of the memory hierarchy.

Where the caches were simulated (`hierarchy.caches`), they say it. Elsewhere an execution only says
what cannot be avoided and what cannot be exceeded. The estimate in between follows three rules,
none of them fitted:

- The L1 cache merges all that a block asks for more than once; stores pass through it.
- A block finds in the L2 cache what blocks that run at the same time have read, and what its
  neighbours in the grid have, unless too much was touched in between (`hierarchy.reuse`).
- The L2 cache keeps an array that blocks share where it holds all that is touched in between. Of
  two partitions, that where a line does not belong keeps a copy for its SMs, so that a line takes
  a place and a half in the mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from kernelcast.hierarchy.caches.counts import CacheCounts
from kernelcast.hierarchy.caches.launch import Limits
from kernelcast.hierarchy.coalescing import uncached_bytes
from kernelcast.hierarchy.reuse import Reach, SharedReads, shared_reads
from kernelcast.hierarchy.rules import (
    caches_loads_in_l1,
    caches_local_in_l1,
    caches_memory,
    merges_in_order,
    places_of_line,
    writes_through_l1,
)
from kernelcast.ir import OpClass, Space
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import occupancy_of_launch
from kernelcast.profiling.profile import AccessProfile, Profile


class Estimate(StrEnum):
    """Which of the three figures of a bounded quantity is meant."""

    LOW = "low"
    CENTRAL = "central"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class BoundedBytes:
    """Bytes moved by the whole launch: at the least, as estimated, at the most."""

    low: float
    central: float
    high: float

    def at(self, estimate: Estimate) -> float:
        """The figure that `estimate` names."""
        match estimate:
            case Estimate.LOW:
                return self.low
            case Estimate.CENTRAL:
                return self.central
            case Estimate.HIGH:
                return self.high

    def __add__(self, other: BoundedBytes) -> BoundedBytes:
        return BoundedBytes(
            self.low + other.low, self.central + other.central, self.high + other.high
        )


@dataclass(frozen=True)
class Traffic:
    """What the SMs ask of the L1 caches, the L1 caches of the L2 cache, and that of the DRAM.

    Reads and writes of global and local memory, in sectors of 32 B. Compute capability 1.x caches
    neither: there all three levels are the transactions that reach memory.
    """

    l1: BoundedBytes
    l2: BoundedBytes
    dram: BoundedBytes
    assumptions: tuple[str, ...] = ()

    def shares(self, estimate: Estimate) -> tuple[float, float, float]:
        """Shares of the requested bytes that the L1, the L2 and the DRAM end up serving."""
        requested = self.l1.at(estimate)
        if not requested:
            return 1.0, 0.0, 0.0
        from_dram = min(1.0, self.dram.at(estimate) / requested)
        beyond_l1 = max(from_dram, min(1.0, self.l2.at(estimate) / requested))
        return 1 - beyond_l1, beyond_l1 - from_dram, from_dram


def simulated_traffic(profile: Profile, counts: CacheCounts) -> Traffic:
    """The traffic of a launch whose caches were simulated: exact, but for blocks left out."""
    asked = _bytes_of(profile.accesses, Space.GLOBAL) + _bytes_of(profile.accesses, Space.LOCAL)
    l2 = SECTOR_BYTES * counts.l2_sectors
    dram = counts.dram_read_sectors + counts.dram_written_sectors
    return Traffic(
        BoundedBytes(asked, asked, asked),
        BoundedBytes(l2, l2, l2),
        BoundedBytes(
            SECTOR_BYTES * counts.least_dram_sectors,
            SECTOR_BYTES * dram,
            SECTOR_BYTES * counts.most_dram_sectors,
        ),
        counts.assumptions,
    )


def simulation_limits(profile: Profile, machine: Machine) -> Limits:
    """What of a launch's traffic with the DRAM is known without its caches."""
    estimated = bound_traffic(profile, machine).dram.central / SECTOR_BYTES
    written = sum(f.distinct_written_sectors for f in profile.footprints)
    return Limits(
        read=sum(f.distinct_sectors for f in profile.footprints if f.read),
        written=written,
        touched=sum(f.distinct_sectors for f in profile.footprints),
        estimated=max(0.0, estimated - written),
    )


def bound_traffic(profile: Profile, machine: Machine) -> Traffic:
    """The traffic of a launch on a machine; see the head of this file for the rules."""
    if not caches_memory(machine):
        moved = uncached_bytes(profile.accesses, in_order=merges_in_order(machine))
        exact = BoundedBytes(moved, moved, moved)
        return Traffic(exact, exact, exact, (_NO_CACHE,))
    occupancy = occupancy_of_launch(machine, profile.kernel.resources, profile.launch)
    requested = _bytes_of(profile.accesses, Space.GLOBAL)
    l2, l2_notes = _global_l2(profile, machine, requested)
    resident = occupancy.blocks_per_sm * int(machine.number("sm.count", "the traffic bounds"))
    local_l2, local_dram, local_notes = _local(profile, machine, occupancy.blocks_per_sm, resident)
    dram, dram_notes = _dram(profile, machine, l2, resident)
    asked = requested + _bytes_of(profile.accesses, Space.LOCAL)
    return Traffic(
        BoundedBytes(asked, asked, asked),
        l2 + local_l2,
        dram + local_dram,
        (*l2_notes, *local_notes, *dram_notes),
    )


_NO_CACHE = "memory is not cached on this chip: every transaction goes to the DRAM"
_COLD = (
    "caches start empty and end written back; an array that is both read and written is read "
    "wherever it is touched"
)


def stored_bytes(profile: Profile) -> float:
    """Bytes of the sectors that stores and atomics on global and local memory ask for, which pass
    through the L1 cache."""
    return SECTOR_BYTES * sum(
        a.sectors
        for a in profile.accesses
        if not a.is_load and a.space in (Space.GLOBAL, Space.LOCAL)
    )


def _bytes_of(accesses: Iterable[AccessProfile], space: Space, *classes: OpClass) -> float:
    return SECTOR_BYTES * sum(
        a.sectors for a in accesses if a.space is space and (not classes or a.op_class in classes)
    )


def _global_l2(
    profile: Profile, machine: Machine, requested: float
) -> tuple[BoundedBytes, tuple[str, ...]]:
    if not caches_loads_in_l1(machine):
        return BoundedBytes(requested, requested, requested), (
            "the SM does not cache global loads",
        )
    passed = _bytes_of(profile.accesses, Space.GLOBAL, OpClass.STORE, OpClass.ATOMIC)
    read = SECTOR_BYTES * sum(f.block_sectors for f in profile.footprints if f.read)
    least = min(requested, read + passed)
    if least == requested:
        return BoundedBytes(requested, requested, requested), ()
    note = "a block reads every sector into the L1 cache once; stores and atomics pass through it"
    return BoundedBytes(least, least, requested), (note,)


def _local(
    profile: Profile, machine: Machine, blocks_per_sm: int, resident_blocks: int
) -> tuple[BoundedBytes, BoundedBytes, tuple[str, ...]]:
    """Local memory at the L2 cache and at the DRAM.

    Loads leave the SM where its L1 cache cannot hold the local memory of all its threads. Stores
    pass through an L1 cache that writes through (L2 writes of spilling kernels on an RTX 2080 Ti
    are the stores to global and local memory together). Where the L2 cache cannot hold
    the local memory of all threads that run at once, stores go on to the DRAM, and of the loads
    the share that it cannot hold.
    """
    none = BoundedBytes(0.0, 0.0, 0.0)
    loads = _bytes_of(profile.accesses, Space.LOCAL, OpClass.LOAD)
    stores = _bytes_of(profile.accesses, Space.LOCAL) - loads
    if not loads + stores:
        return none, none, ()
    resources, launch = profile.kernel.resources, profile.launch
    spilled = launch.threads_per_block * resources.local_bytes
    shared = resources.static_shared_bytes + launch.smem_bytes
    notes = []
    held = (machine.get("l1.size") or 0.0) if caches_local_in_l1(machine) else 0.0
    if blocks_per_sm * (spilled + shared) <= held:
        is_through = writes_through_l1(machine) and stores > 0
        through = ", but for stores, which pass through it" if is_through else ""
        notes.append(f"local memory stays in the L1 cache, which can hold it{through}")
        loads, stores = 0.0, stores if is_through else 0.0
    running = min(resident_blocks, launch.blocks) * spilled
    beyond = max(0.0, 1 - (machine.get("l2.size") or 0.0) / running) if running else 0.0
    to_dram = beyond * loads + (stores if beyond else 0.0)
    if to_dram:
        notes.append("local memory goes on to the DRAM: that of all threads exceeds the L2 cache")
    elif loads:
        notes.append("local memory goes to the L2 cache; none of it to the DRAM")
    most = _bytes_of(profile.accesses, Space.LOCAL)
    return BoundedBytes(0.0, loads + stores, most), BoundedBytes(0.0, to_dram, most), tuple(notes)


def _dram(
    profile: Profile, machine: Machine, l2: BoundedBytes, resident_blocks: int
) -> tuple[BoundedBytes, tuple[str, ...]]:
    arrays = profile.footprints
    written = sum(f.distinct_written_sectors for f in arrays)
    least = SECTOR_BYTES * (written + sum(f.distinct_sectors for f in arrays if f.read))
    most = l2.high
    least = min(least, most)
    places = places_of_line(machine.get("l2.partitions") or 1)
    capacity = (machine.get("l2.size") or 0.0) / SECTOR_BYTES / places
    shared = shared_reads(arrays, profile.launch, capacity, resident_blocks)
    again = sum(reads.sectors - reads.array.distinct_sectors for reads in shared)
    central = min(least + SECTOR_BYTES * again, most)
    return BoundedBytes(least, central, most), (_COLD, *_reuse_notes(shared))


_REUSE = {
    Reach.NEIGHBOURS: (
        "blocks find in the L2 cache what their neighbours in the grid have read of {}: all that "
        "is touched in between fits"
    ),
    Reach.NEAREST: (
        "blocks find in the L2 cache what their neighbours in the grid have read of {} only where "
        "these run at the same time or little is touched in between; the rest is read again"
    ),
    Reach.WAVE: "only blocks that run at the same time share {} in the L2 cache, which is smaller",
}


def _reuse_notes(shared: Iterable[SharedReads]) -> Iterator[str]:
    labels: dict[Reach, list[str]] = {}
    for reads in shared:
        labels.setdefault(reads.reach, []).append(reads.array.label)
    for reach, note in _REUSE.items():
        if reach in labels:
            yield note.format(", ".join(labels[reach]))
