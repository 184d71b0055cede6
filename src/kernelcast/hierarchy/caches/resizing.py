"""Simulated caches at other capacities: what stack distances say that changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.hierarchy.caches.memory_system import CacheShape, MemorySystem
from kernelcast.hierarchy.caches.whole_grid import SimulatedGrid, moved_sectors
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.profiling.profile import Floats

_LINE_BYTES = 128


def resized(grid: SimulatedGrid, simulated: MemorySystem, system: MemorySystem) -> SimulatedGrid:
    """A grid with its distances, that was `simulated`, in a system of other capacities.

    To what the simulation counted is added what fully associative caches of the new capacities lack
    more than those of the old ones. What an L1 cache holds more, the L2 cache is not asked for and
    would have held: the DRAM sees what the capacity of the L2 cache makes of it alone. Missed lines
    go with missed sectors. What is written in parts and what is spilled is as it was simulated.
    """
    assert grid.distances is not None
    l1, l2 = grid.distances.l1, grid.distances.l2
    l1_old, l1_new = _l1_bytes(simulated.l1), _l1_bytes(system.l1)
    l2_old, l2_new = (SECTOR_BYTES * s.l2_sectors * grid.share for s in (simulated, system))
    was = grid.totals
    new = was.copy()
    more = l1.lacking_at(l1_new) - l1.lacking_at(l1_old)
    new["l1_hits"] = np.clip(was["l1_hits"] - more, 0, was["l1_sectors"])
    passed_on = was["l1_hits"] - new["l1_hits"]
    new["l2_sectors"] += passed_on
    missed_lines = was["missed_lines"] + passed_on / _sectors_per_missed(was)
    new["missed_lines"] = np.clip(missed_lines, 0, was["lines"])
    lacking = was["l2_sectors"] - was["l2_hits"] + l2.lacking_at(l2_new) - l2.lacking_at(l2_old)
    new["l2_hits"] = new["l2_sectors"] - np.clip(lacking, 0, new["l2_sectors"])
    again = was["again_reads"] + l2.read_at(l2_new) - l2.read_at(l2_old)
    new["again_reads"] = np.maximum(0, again)
    dirtied = was["dirtied"] + l2.dirtied_at(l2_new) - l2.dirtied_at(l2_old)
    new["dirtied"] = np.maximum(0, dirtied)
    again = was["dirtied_again"] + new["dirtied"] - was["dirtied"]
    new["dirtied_again"] = np.clip(again, 0, new["dirtied"])
    left = grid.left_dirty * system.l2_sectors / simulated.l2_sectors
    # What a span moves at the least grows as what all move does; of one span that is the same.
    moved, moves = moved_sectors(was), moved_sectors(new)
    least = round(grid.least_moved * moves / moved, 6) if moved else 0.0
    return replace(
        grid,
        totals=new,
        filled=least >= system.held_sectors * grid.share,
        least_moved=least,
        left_dirty=min(left, float(new["dirtied"].sum())),
    )


def _l1_bytes(shape: CacheShape | None) -> float:
    return _LINE_BYTES * shape.lines if shape else 0.0


def _sectors_per_missed(totals: NDArray[np.void]) -> Floats:
    """By row, missing sectors of a missed line, those of any where none was missed."""
    asked = np.where(totals["l1_sectors"] > 0, totals["l1_sectors"], np.inf)
    asked = asked / np.maximum(1.0, totals["lines"])
    missed = totals["missed_lines"]
    found: Floats = np.where(missed > 0, totals["l2_sectors"] / np.maximum(1.0, missed), asked)
    return found
