"""A launch through the caches of a machine: its streams simulated, and set beside its profile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelcast.analysis.stalls import after_waits
from kernelcast.hierarchy.caches.counts import AccessCounts, CacheCounts, Lookups, SimulatedBlocks
from kernelcast.hierarchy.caches.memory_system import MemorySystem, memory_system
from kernelcast.hierarchy.caches.resizing import resized
from kernelcast.hierarchy.caches.simulation import Caches
from kernelcast.hierarchy.caches.whole_grid import SimulatedGrid, simulate
from kernelcast.ir import CacheState, Kernel, Launch
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import occupancy_of_launch
from kernelcast.profiling.profile import AccessProfile, Profile
from kernelcast.profiling.streams import AccessStreams


@dataclass(frozen=True)
class StreamedLaunch:
    """The accesses of a launch, those before which warps wait, and the caches as it finds them."""

    streams: AccessStreams
    after_waits: frozenset[int]
    system: MemorySystem


def streamed(
    streams: AccessStreams, machine: Machine, kernel: Kernel, launch: Launch
) -> StreamedLaunch:
    """A launch on a machine that has the numbers that caches are simulated by."""
    return StreamedLaunch(streams, after_waits(kernel), system_of(machine, kernel, launch))


def system_of(machine: Machine, kernel: Kernel, launch: Launch) -> MemorySystem:
    """The caches of such a machine as a launch finds them, whose blocks all SMs share."""
    resources = kernel.resources
    resident = occupancy_of_launch(machine, resources, launch).blocks_per_sm
    shared_bytes = resources.static_shared_bytes + launch.smem_bytes
    system = memory_system(machine, shared_bytes, resident, launch.carveout)
    return replace(system, blocks_per_sm=min(resident, -(-launch.blocks // system.sms)))


@dataclass(frozen=True)
class Limits:
    """Sectors of global memory that a launch reads and writes in the DRAM, as far as it is known.

    `read` and `written` are what nothing can avoid. `touched` says how many there are at all, and
    `estimated` what it reads by the rules of `hierarchy.reuse`.
    """

    read: float
    written: float
    touched: float
    estimated: float


def count_launch(
    launch: StreamedLaunch,
    profile: Profile,
    limits: Limits,
    state: CacheState = CacheState.COLD,
    earlier: Sequence[StreamedLaunch] = (),
) -> tuple[CacheCounts, NDArray[np.uint8]]:
    """Counts of a launch, `earlier` ones of its workload being those before it, in order; and how
    many sectors the DRAM moved for every word of its streams."""
    after: Caches | None = None
    if state is CacheState.WARM:
        for one in earlier or (launch,):
            _, after = simulate(one.streams, one.after_waits, one.system, after)
    grid, _ = simulate(launch.streams, launch.after_waits, launch.system, after)
    return _count(grid, launch, profile, limits, state), grid.moved


@dataclass(frozen=True)
class NotedLaunch:
    """A launch simulated with caches that start empty, and its stack distances."""

    grid: SimulatedGrid
    launch: StreamedLaunch


def note_launch(launch: StreamedLaunch) -> NotedLaunch:
    """Simulate a launch so that its counts in caches of other capacities are known, too."""
    grid, _ = simulate(launch.streams, launch.after_waits, launch.system, with_distances=True)
    return NotedLaunch(grid, launch)


def count_resized(
    noted: NotedLaunch, system: MemorySystem, profile: Profile, limits: Limits
) -> CacheCounts:
    """Counts of a launch in caches that differ in capacity alone from those it was noted in."""
    grid = resized(noted.grid, noted.launch.system, system)
    counts = _count(grid, replace(noted.launch, system=system), profile, limits, CacheState.COLD)
    return replace(counts, assumptions=(*counts.assumptions, _RESIZED))


_RESIZED = "what caches of other capacities hold follows from stack distances"


def _count(
    grid: SimulatedGrid,
    launch: StreamedLaunch,
    profile: Profile,
    limits: Limits,
    state: CacheState,
) -> CacheCounts:
    accesses = {(a.instruction, a.space): a for a in profile.accesses}
    found = [
        (access, totals)
        for row, totals in zip(launch.streams.rows, grid.totals, strict=True)
        if (access := accesses.get((row.instruction.index, row.space))) is not None
    ]
    scaled = _scaled_by_sectors(found) if grid.is_cut else [(a, _scaled(t, a)) for a, t in found]
    return _counts(scaled, grid, launch.system, limits, state)


_Scaled = Mapping[str, float]
_CountedRows = Sequence[tuple[AccessProfile, np.void]]
_ScaledRows = Sequence[tuple[AccessProfile, _Scaled]]


def _scaled(totals: np.void, access: AccessProfile) -> _Scaled:
    """The totals of a row, for as many requests as the profile counts."""
    simulated = float(totals["requests"])
    return _times(access.requests / simulated if simulated else 0.0, totals)


def _scaled_by_sectors(found: _CountedRows) -> _ScaledRows:
    """The totals of every row where warps were cut, for as many sectors as the profile counts.

    Later requests may ask for fewer than the first. What warps come to only later does in the
    caches what others of its kind do.
    """
    of_kind: dict[object, list[np.void]] = defaultdict(list)
    for access, totals in found:
        of_kind[access.op_class, access.space].append(totals)
    rows = []
    for access, totals in found:
        known = [totals] if _asked(totals) else of_kind[access.op_class, access.space]
        asked = sum(map(_asked, known))
        factor = access.sectors / asked if asked else 0.0
        every = [_times(factor, one) for one in known]
        row = {name: sum(one[name] for one in every) for name in totals.dtype.names or ()}
        rows.append((access, {**row, "requests": access.requests}))
    return rows


def _asked(totals: np.void) -> float:
    """Sectors that warps asked for."""
    return max(float(totals["l1_sectors"]), float(totals["l2_sectors"]))


def _times(factor: float, totals: np.void) -> _Scaled:
    counted = tuple(totals.item())
    return {n: factor * c for n, c in zip(totals.dtype.names or (), counted, strict=True)}


def _counts(
    found: _ScaledRows,
    grid: SimulatedGrid,
    system: MemorySystem,
    limits: Limits,
    state: CacheState,
) -> CacheCounts:
    def total(name: str) -> float:
        return sum(row[name] for _, row in found)

    fills = _fills(total("fills"), grid, system, limits)
    filled = fills / total("fills") if fills else 0.0
    fits = limits.touched <= system.held_sectors
    reads = _first(total("first_reads"), limits.read, limits.estimated, grid, fits=fits)
    # Blocks before those counted have soiled what is written again and again.
    first_writes = total("dirtied") - total("dirtied_again")
    written = first_writes if grid.has_later_spans else limits.written
    if grid.is_cut and not first_writes:
        # Not one of its stores was seen.
        first_writes = limits.written
    writes = _first(first_writes, limits.written, written, grid, fits=fits)
    dirty = min(grid.left_dirty, system.most_dirty_sectors)
    # Atomics may leave sectors to be filled that no store has soiled.
    unfilled = fills * min(1.0, dirty / total("dirtied")) if fills and total("dirtied") else 0.0
    left, not_read = (dirty, unfilled) if state is CacheState.FLUSHED else (0.0, 0.0)
    again = total("again_reads") + fills - not_read
    spilled = total("spilled")
    more_writes = total("dirtied_again") + spilled
    counted_reads = total("first_reads")
    first = _FirstShares(
        reads.central / counted_reads if counted_reads else 1.0,
        writes.central / first_writes if first_writes else 1.0,
    )
    return CacheCounts(
        accesses=tuple(_access_counts(*one, first=first, filled=filled) for one in found),
        dram_read_sectors=reads.central + again,
        dram_written_sectors=max(0.0, writes.central - left) + more_writes,
        least_dram_sectors=reads.low + again + max(0.0, writes.low - left) + more_writes,
        most_dram_sectors=reads.high + again + max(0.0, writes.high - left) + more_writes,
        simulated=SimulatedBlocks(grid.blocks, grid.of, grid.spread, _in_whole_waves(grid)),
        dirty_sectors=dirty,
        unfilled_sectors=unfilled,
        spilled_sectors=spilled,
        assumptions=(*_STATE_NOTES[state], *_grid_notes(grid)),
    )


class _FirstShares(NamedTuple):
    """Of the sectors that a span reads or soils first, those that no block before it did."""

    reads: float
    writes: float


def _access_counts(
    access: AccessProfile, row: _Scaled, *, first: _FirstShares, filled: float
) -> AccessCounts:
    counted = row["first_reads"] + row["again_reads"]
    loaded = first.reads * row["first_reads"] + row["again_reads"]
    read = loaded + filled * row["fills"]
    seen = counted + row["dirtied"]
    again = row["dirtied_again"]
    dirtied = first.writes * (row["dirtied"] - again) + again
    left = row["fills"] / row["begun"] if row["begun"] else 0.0
    visits = row["visits"] + left * row["apart"]
    return AccessCounts(
        instruction=access.instruction,
        op_class=access.op_class,
        space=access.space,
        location=access.location,
        requests=row["requests"],
        lines=row["lines"],
        missed_lines=row["missed_lines"],
        l1=Lookups(row["l1_sectors"], row["l1_hits"]),
        l2=_looked_up(row, loaded / counted if counted else 1.0),
        dram_sectors=read,
        dirtied_sectors=dirtied,
        visits=visits * (read + dirtied) / seen if seen else 0.0,
    )


def _looked_up(row: _Scaled, missed: float) -> Lookups:
    """Of what was counted as missed in the L2 cache such a share was; the rest had been read before
    its span, out of sight."""
    sectors, hits = row["l2_sectors"], row["l2_hits"]
    return Lookups(sectors, sectors - missed * (sectors - hits))


def _fills(counted: float, grid: SimulatedGrid, system: MemorySystem, limits: Limits) -> float:
    """Sectors that were written in parts only and are read before they are written back.

    What was read once is whole for as long as it stays in the L2 cache. Where that holds all that
    the launch writes, it is so once: spans of blocks see their own writes alone. On an H100 8 M
    stores to words all over 34 MB read 37 MB, not the 159 MB that the spans of such a launch count.
    """
    if not system.fills_partial_sectors:
        return 0.0
    if grid.is_whole or limits.written > system.l2_sectors:
        return counted
    return min(counted, limits.written)


@dataclass(frozen=True, slots=True)
class _Between:
    low: float
    central: float
    high: float


def _first(
    counted: float, compulsory: float, estimated: float, grid: SimulatedGrid, *, fits: bool
) -> _Between:
    """Of sectors that were touched first in their span, those that move.

    More than are compulsory were touched before, out of sight; see the head of `whole_grid`.
    """
    tells_all = grid.filled and grid.share == 1 and not fits
    if grid.is_whole or counted <= compulsory or tells_all:
        return _Between(counted, counted, counted)
    if fits:
        return _Between(compulsory, compulsory, compulsory)
    return _Between(compulsory, max(compulsory, min(counted, estimated)), counted)


def _in_whole_waves(grid: SimulatedGrid) -> bool:
    """Whether blocks ran as they do on the GPU, from their beginning to their end."""
    return grid.share == 1 and not grid.is_cut


_STATE_NOTES = {
    CacheState.COLD: ("caches start empty and end written back",),
    CacheState.WARM: ("the L2 cache starts as the launches before leave it",),
    CacheState.FLUSHED: ("the L2 cache starts empty, and what it holds at the end stays there",),
}


def _grid_notes(grid: SimulatedGrid) -> tuple[str, ...]:
    if grid.is_whole:
        return ("caches are simulated with all blocks",)
    waves = "in whole waves" if grid.share == 1 else "on some of the SMs"
    first = "what warps do first, of " if grid.is_cut else ""
    note = f"caches are simulated with {first}{grid.blocks} of {grid.of} blocks {waves}"
    if not grid.spread:
        return (note,)
    return (f"{note}, whose blocks differ by {grid.spread:.1%} in what they move",)
