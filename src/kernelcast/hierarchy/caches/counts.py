"""What simulated caches count; every number is of the whole grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernelcast.ir import Location, OpClass, Space
from kernelcast.profiling.profile import AccessProfile


@dataclass(frozen=True, slots=True)
class Lookups:
    """Sectors asked of a cache, and how many of them it held."""

    sectors: float = 0.0
    hits: float = 0.0

    @property
    def misses(self) -> float:
        """Sectors that the next level is asked for."""
        return self.sectors - self.hits

    @property
    def hit_ratio(self) -> float:
        """Share of the sectors that the cache held, NaN where none was asked for."""
        return self.hits / self.sectors if self.sectors else float("nan")

    def times(self, factor: float) -> Lookups:
        """As many times the sectors, of which the same share hits."""
        return Lookups(factor * self.sectors, factor * self.hits)

    def __add__(self, other: Lookups) -> Lookups:
        return Lookups(self.sectors + other.sectors, self.hits + other.hits)


@dataclass(frozen=True, slots=True)
class AccessCounts:
    """All executions of one static memory instruction in one space, at every level.

    `requests` are warp-level executions with an active lane, `lines` the 128 B lines that they ask
    for, one request's equal lines merged. `missed_lines` are those of which the L1 cache lacked a
    sector: a load takes a miss register for each. `l1` and `l2` are sectors looked up there; what
    passes by the L1 cache is looked up in the L2 cache alone, which takes whatever is stored.
    `dram_sectors` are read from the DRAM because of this instruction, and `dirtied_sectors` are to
    be written there; for both, the DRAM turns to another chunk of memory in so many `visits`.
    """

    instruction: int
    op_class: OpClass
    space: Space
    location: Location | None
    requests: float
    lines: float
    missed_lines: float
    l1: Lookups
    l2: Lookups
    dram_sectors: float
    dirtied_sectors: float = 0.0
    visits: float = 0.0


@dataclass(frozen=True, slots=True)
class SimulatedBlocks:
    """The blocks that ran through the caches, of those of the grid.

    `spread` is by how much their spans differ in what they move (see `whole_grid`). Where they are
    not `in_whole_waves`, they lay on some of the SMs.
    """

    blocks: int
    of: int
    spread: float
    in_whole_waves: bool


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """Traffic of a launch through the caches of a machine.

    `dram_read_sectors` and `dram_written_sectors` move between L2 cache and DRAM, write-backs and
    the reads that fill partly written sectors included: together between `least_dram_sectors` and
    `most_dram_sectors`, which differ where blocks were left out. `dirty_sectors` are in the L2
    cache alone when the launch ends: they are written back later, `unfilled_sectors` of them read
    before. They are among those written, and read, unless the L2 cache was flushed. Of those
    written, `spilled_sectors` are of local memory. All follows from the blocks that were
    `simulated`.
    """

    accesses: tuple[AccessCounts, ...]
    dram_read_sectors: float
    dram_written_sectors: float
    least_dram_sectors: float
    most_dram_sectors: float
    simulated: SimulatedBlocks
    dirty_sectors: float = 0.0
    unfilled_sectors: float = 0.0
    spilled_sectors: float = 0.0
    assumptions: tuple[str, ...] = ()

    @property
    def l2_sectors(self) -> float:
        """Sectors that the SMs ask of the L2 cache or write there."""
        return sum(a.l2.sectors for a in self.accesses)


def asked_by(
    counts: CacheCounts, before: Sequence[AccessProfile], after: Sequence[AccessProfile]
) -> CacheCounts:
    """The counts if the same lanes asked in other warps: as `after` tells, and not as `before`.

    Of as many more lines and sectors as these ask for, the caches hold the same share.
    """
    own, other = ({(a.instruction, a.space): a for a in every} for every in (before, after))
    return replace(
        counts,
        accesses=tuple(
            _asked_by(access, own[key], other[key])
            for access in counts.accesses
            if (key := (access.instruction, access.space)) in other
        ),
    )


def _asked_by(access: AccessCounts, before: AccessProfile, after: AccessProfile) -> AccessCounts:
    lines = after.lines / before.lines if before.lines else 1.0
    sectors = after.sectors / before.sectors if before.sectors else 1.0
    return replace(
        access,
        requests=after.requests,
        lines=lines * access.lines,
        missed_lines=lines * access.missed_lines,
        l1=access.l1.times(sectors),
        l2=access.l2.times(sectors),
    )


def held_at_best(counts: CacheCounts, read_sectors: float, written_sectors: float) -> CacheCounts:
    """The counts if the caches held all that is wanted more than once: loads ask the L2 cache for
    no more than `read_sectors`, those that differ, and the DRAM moves these and `written_sectors`,
    each chunk of memory at once, so that it never turns to another.

    The caches then hold more of every load alike; nothing else changes.
    """
    loads = [a for a in counts.accesses if _is_cached_load(a)]
    asked, missed = sum(a.l2.sectors for a in loads), sum(a.l2.misses for a in loads)
    of_l1, of_l2 = (min(1.0, read_sectors / of) if of else 1.0 for of in (asked, missed))
    return replace(
        counts,
        accesses=tuple(
            replace(_held_better(a, of_l1, of_l2) if _is_cached_load(a) else a, visits=0.0)
            for a in counts.accesses
        ),
        dram_read_sectors=min(counts.dram_read_sectors, read_sectors),
        dram_written_sectors=min(counts.dram_written_sectors, written_sectors),
        least_dram_sectors=min(counts.least_dram_sectors, read_sectors + written_sectors),
        most_dram_sectors=min(counts.most_dram_sectors, read_sectors + written_sectors),
        spilled_sectors=0.0,
    )


def _is_cached_load(access: AccessCounts) -> bool:
    return access.op_class is OpClass.LOAD and access.l1.sectors > 0


def _held_better(access: AccessCounts, of_l1: float, of_l2: float) -> AccessCounts:
    """A load of whose sectors such shares are asked of the L2 cache, and missed there."""
    misses = of_l2 * access.l2.misses
    asked = max(misses, of_l1 * access.l2.sectors)
    share = asked / access.l2.sectors if access.l2.sectors else 1.0
    return replace(
        access,
        missed_lines=share * access.missed_lines,
        l1=Lookups(access.l1.sectors, access.l1.hits + access.l2.sectors - asked),
        l2=Lookups(asked, asked - misses),
        dram_sectors=of_l2 * access.dram_sectors,
    )
