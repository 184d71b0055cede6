"""How often the L2 cache reads an array that several blocks read, by two rules, neither fitted.

By waves
    Blocks that run at the same time share what they have in common, as if each read a random part
    of the array: K blocks that each touch s of D sectors touch D (1 - (1 - s/D)^K) of them
    together (`profiling.footprints`). From one wave to the next the cache keeps the arrays that
    several blocks share and of which it holds all that is touched until they are wanted again.
By neighbours
    A block finds in the cache what its predecessors along x, y and z have touched
    (`profiling.neighbours`): those that run at the same time, and those where all that is touched
    from them on, in all arrays, fits. Along y that is what a row of blocks touches, along z what a
    layer does. Blocks are taken to start in the order of their index, a wave after the other.

Each rule is blind to reuse that the other sees, the first to halos, rows and columns of blocks, the
second to what blocks share that are no neighbours: what it overlooks it takes for traffic. So the
one that finds less traffic holds, for all arrays together, because they share the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from kernelcast.ir import Dim3, Launch
from kernelcast.profiling.footprints import expected_distinct, pool_size
from kernelcast.profiling.neighbours import AXES, SETS, distances, is_shared
from kernelcast.profiling.profile import Footprint


class Reach(Enum):
    """How far the reuse of an array reaches that several blocks read."""

    WHOLE = auto()
    """The cache keeps the array."""
    NEIGHBOURS = auto()
    """Blocks find all that they share with their neighbours."""
    NEAREST = auto()
    """They do only for the neighbours that are near enough or run at the same time."""
    WAVE = auto()
    """Only blocks that run at the same time share."""


@dataclass(frozen=True, slots=True)
class SharedReads:
    """Sectors of a shared array that the L2 cache reads from the DRAM."""

    array: Footprint
    sectors: float
    reach: Reach


def shared_reads(
    arrays: Sequence[Footprint], launch: Launch, capacity: float, resident: int
) -> tuple[SharedReads, ...]:
    """Reads of every array that several blocks read.

    The L2 cache holds `capacity` sectors, and `resident` blocks run at the same time.
    """
    kept = _kept_whole(arrays, capacity)
    wave = max(1, min(launch.blocks, resident))
    whole = [
        SharedReads(f, f.distinct_sectors, Reach.WHOLE)
        for f in arrays
        if is_shared(f) and f.label in kept
    ]
    others = [f for f in arrays if is_shared(f) and f.label not in kept]
    by_waves = [SharedReads(f, _read_by_waves(f, launch.blocks, wave), Reach.WAVE) for f in others]
    hits, reach = _hits(arrays, launch, capacity, wave)
    by_neighbours = [
        SharedReads(f, _missed(f, launch, hits), reach) if f.fresh else reads
        for f, reads in zip(others, by_waves, strict=True)
    ]
    return (*whole, *min(by_neighbours, by_waves, key=_total))


def _total(reads: Iterable[SharedReads]) -> float:
    return sum(r.sectors for r in reads)


def _hits(
    arrays: Sequence[Footprint], launch: Launch, capacity: float, wave: int
) -> tuple[tuple[float, ...], Reach]:
    """For what share of the blocks that have one the predecessor's sectors are there, by axis."""
    hits = tuple(
        1.0 if fits else _share_of_wave(launch.blocks, wave, distance)
        for fits, distance in zip(
            _fitting(arrays, launch, capacity), distances(launch.grid), strict=True
        )
    )
    return hits, Reach.NEIGHBOURS if all(hit == 1.0 for hit in hits) else Reach.NEAREST


def _missed(array: Footprint, launch: Launch, hits: Sequence[float]) -> float:
    followers = [(n - 1) * hit for n, hit in zip(launch.grid, hits, strict=True)]
    missed = _fresh_sectors(array, launch, launch.grid, followers)
    return max(array.distinct_sectors, missed)


def _kept_whole(arrays: Sequence[Footprint], capacity: float) -> set[str]:
    """Labels of the shared arrays that stay in the cache."""
    return {f.label for f in arrays if is_shared(f) and _touched_between(f, arrays) <= capacity}


def _touched_between(array: Footprint, arrays: Iterable[Footprint]) -> float:
    """Distinct sectors that blocks touch from when one wants a sector of an array until the next
    does, if all go over all arrays evenly: the whole of it, and so large a share of the others."""
    share = array.distinct_sectors / array.block_sectors
    return sum(min(f.distinct_sectors, share * f.block_sectors) for f in arrays)


def _read_by_waves(array: Footprint, blocks: int, wave: int) -> float:
    """Sectors that all waves of `wave` blocks read, each wave on its own."""
    per_block = array.block_sectors / blocks
    pool = pool_size(per_block, array.distinct_sectors, blocks)
    together = expected_distinct(pool, per_block, wave)
    return max(array.distinct_sectors, together * blocks / wave)


def _fitting(arrays: Sequence[Footprint], launch: Launch, capacity: float) -> tuple[bool, ...]:
    """Whether what is touched from a predecessor up to its block fits, along x, y and z."""
    x, y, _ = launch.grid
    boxes = ((1, 1, 1), (x, 1, 1), (x, y, 1))
    return tuple(sum(_touched(f, launch, box) for f in arrays) <= capacity for box in boxes)


def _touched(array: Footprint, launch: Launch, box: Dim3) -> float:
    """Distinct sectors that a box of blocks touches."""
    if array.fresh:
        touched = _fresh_sectors(array, launch, box, [n - 1 for n in box])
    else:
        touched = array.block_sectors / launch.blocks * math.prod(box)
    return min(touched, array.distinct_sectors)


def _fresh_sectors(
    array: Footprint, launch: Launch, box: Dim3, followers: Sequence[float]
) -> float:
    """Sectors that are fresh to the blocks of a box.

    Along an axis, so many of a row's blocks follow one whose sectors count; the others do not.
    """
    total = 0.0
    for axes in range(SETS):
        blocks = math.prod(
            followers[a] if axes >> a & 1 else box[a] - followers[a] for a in range(AXES)
        )
        total += blocks * array.fresh[axes]
    return total * array.block_sectors / launch.blocks


def _share_of_wave(blocks: int, wave: int, distance: int) -> float:
    """Of the blocks with one `distance` before them, the share that has it in its own wave."""
    waves, rest = divmod(blocks, wave)
    together = waves * max(0, wave - distance) + max(0, rest - distance)
    return together / max(1, blocks - distance) if distance < blocks else 1.0
