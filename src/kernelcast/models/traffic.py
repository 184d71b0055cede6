"""Bytes that move at every level of the memory hierarchy, bounded where no cache is modelled.

Until a cache is modelled, an execution only says what cannot be avoided and what cannot be
exceeded. The estimate in between follows three rules, none of them fitted:

- The L1 cache merges all that a block asks for more than once; stores pass through it.
- A block finds in the L2 cache what blocks that run at the same time have read, and what its
  neighbours in the grid have, unless too much was touched in between (`models.reuse`).
- The L2 cache keeps the arrays that most blocks share, as many as fit in it whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from kernelcast.ir import OpClass, Space
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import occupancy_of_launch
from kernelcast.models.reuse import Reach, SharedReads, shared_reads
from kernelcast.profiling.profile import AccessProfile, Profile

SECTOR_BYTES = 32
HALF_WARP_LANES = 16


class Estimate(StrEnum):
    """Which of the three figures of a bounded quantity is meant."""

    LOW = "low"
    CENTRAL = "central"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Bytes:
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

    def __add__(self, other: Bytes) -> Bytes:
        return Bytes(self.low + other.low, self.central + other.central, self.high + other.high)


@dataclass(frozen=True)
class Traffic:
    """What the SMs ask of the L1 caches, the L1 caches of the L2 cache, and that of the DRAM.

    Reads and writes of global and local memory, in sectors of 32 B. Compute capability 1.x caches
    neither: there all three levels are the transactions that reach memory.
    """

    l1: Bytes
    l2: Bytes
    dram: Bytes
    assumptions: tuple[str, ...] = ()

    def shares(self, estimate: Estimate) -> tuple[float, float, float]:
        """Shares of the requested bytes that the L1, the L2 and the DRAM end up serving."""
        requested = self.l1.at(estimate)
        if not requested:
            return 1.0, 0.0, 0.0
        from_dram = min(1.0, self.dram.at(estimate) / requested)
        beyond_l1 = max(from_dram, min(1.0, self.l2.at(estimate) / requested))
        return 1 - beyond_l1, beyond_l1 - from_dram, from_dram


def bound_traffic(profile: Profile, machine: Machine) -> Traffic:
    """The traffic of a launch on a machine; see the head of this file for the rules."""
    if machine.compute_capability < (2, 0):
        moved = _uncached_bytes(profile.accesses, machine.compute_capability)
        exact = Bytes(moved, moved, moved)
        return Traffic(exact, exact, exact, (_NO_CACHE,))
    occupancy = occupancy_of_launch(machine, profile.kernel.resources, profile.launch)
    requested = _bytes_of(profile.accesses, Space.GLOBAL)
    local = _bytes_of(profile.accesses, Space.LOCAL)
    l2, l2_notes = _global_l2(profile, machine, requested)
    spilled, local_notes = _local_l2(profile, machine, local, occupancy.blocks_per_sm)
    resident = occupancy.blocks_per_sm * int(machine.number("sm.count", "the traffic bounds"))
    dram, dram_notes = _dram(profile, machine, l2, resident)
    asked = requested + local
    return Traffic(
        Bytes(asked, asked, asked), l2 + spilled, dram, (*l2_notes, *local_notes, *dram_notes)
    )


def caches_loads_in_l1(machine: Machine) -> bool:
    """Whether loads from global memory are cached by the SM unless the code asks otherwise.

    CUDA C++ Programming Guide, "Compute Capabilities": on 2.x and from 7.0 on, not on 3.x to 6.x.
    """
    return machine.compute_capability[0] == 2 or machine.compute_capability >= (7, 0)


_NO_CACHE = "memory is not cached on this chip: every transaction goes to the DRAM"
_COLD = (
    "caches start empty and end written back; an array that is both read and written is read "
    "wherever it is touched"
)


def _bytes_of(accesses: Iterable[AccessProfile], space: Space, *classes: OpClass) -> float:
    return SECTOR_BYTES * sum(
        a.sectors for a in accesses if a.space is space and (not classes or a.op_class in classes)
    )


def _global_l2(
    profile: Profile, machine: Machine, requested: float
) -> tuple[Bytes, tuple[str, ...]]:
    if not caches_loads_in_l1(machine):
        return Bytes(requested, requested, requested), ("the SM does not cache global loads",)
    passed = _bytes_of(profile.accesses, Space.GLOBAL, OpClass.STORE, OpClass.ATOMIC)
    read = SECTOR_BYTES * sum(f.block_sectors for f in profile.footprints if f.read)
    least = min(requested, read + passed)
    if least == requested:
        return Bytes(requested, requested, requested), ()
    note = "a block reads every sector into the L1 cache once; stores and atomics pass through it"
    return Bytes(least, least, requested), (note,)


def _local_l2(
    profile: Profile, machine: Machine, local: float, blocks_per_sm: int
) -> tuple[Bytes, tuple[str, ...]]:
    """Local memory: written back only where the L1 cache cannot hold that of all threads."""
    if not local:
        return Bytes(0.0, 0.0, 0.0), ()
    resources, launch = profile.kernel.resources, profile.launch
    shared = resources.static_shared_bytes + launch.smem_bytes
    held = blocks_per_sm * (launch.threads_per_block * resources.local_bytes + shared)
    if held <= (machine.get("l1.size") or 0.0):
        return Bytes(0.0, 0.0, local), ("local memory stays in the L1 cache, which can hold it",)
    return Bytes(0.0, local, local), ("local memory goes to the L2 cache; none of it to the DRAM",)


def _dram(
    profile: Profile, machine: Machine, l2: Bytes, resident_blocks: int
) -> tuple[Bytes, tuple[str, ...]]:
    arrays = profile.footprints
    written = sum(f.distinct_written_sectors for f in arrays)
    least = SECTOR_BYTES * (written + sum(f.distinct_sectors for f in arrays if f.read))
    most = l2.high
    least = min(least, most)
    capacity = (machine.get("l2.size") or 0.0) / SECTOR_BYTES
    shared = shared_reads(arrays, profile.launch, capacity, resident_blocks)
    again = sum(reads.sectors - reads.array.distinct_sectors for reads in shared)
    central = min(least + SECTOR_BYTES * again, most)
    return Bytes(least, central, most), (_COLD, *_reuse_notes(shared))


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


def _uncached_bytes(accesses: Iterable[AccessProfile], capability: tuple[int, int]) -> float:
    """Bytes of all transactions, by the coalescing rule of compute capability 1.x."""
    moved = 0.0
    for a in accesses:
        if a.space in (Space.GLOBAL, Space.LOCAL) and capability < (1, 2):
            whole = coalesced_transactions_cc10(a)
            # A coalesced half-warp moves its 16 words, any other lane the least that can move.
            moved += HALF_WARP_LANES * a.access_bytes * 2 * a.coalesced_cc10
            moved += max(SECTOR_BYTES, a.access_bytes) * (a.transactions_cc10 - whole)
        elif a.space in (Space.GLOBAL, Space.LOCAL):
            moved += a.bytes_cc12
    return moved


def coalesced_transactions_cc10(access: AccessProfile) -> float:
    """Transactions of the coalesced requests: one per half-warp, two for words of 16 B."""
    per_half_warp = 2 if access.access_bytes == 16 else 1
    return min(2 * per_half_warp * access.coalesced_cc10, access.transactions_cc10)
