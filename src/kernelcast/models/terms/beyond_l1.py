"""What every instruction asks of the memory beyond the L1 cache: requests of whole lines.

They are counted where caches were simulated. Where not, the estimated traffic says which share of
the bytes that are loaded passes the L1 cache, and which share of what passes goes on to the DRAM;
both are then those of every load alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from kernelcast.hierarchy.caches.counts import AccessCounts
from kernelcast.hierarchy.traffic import stored_bytes
from kernelcast.ir import OpClass, Space
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.models.terms.base import Case, kept_of_warps
from kernelcast.profiling.profile import AccessProfile, Floats

BLOCK_BYTES = 128
"""A line: BlockSize of the memory-divergence model. A read that misses takes a miss register."""

_ESTIMATED = (
    "all loads miss in the L1 cache alike, and all requests in the LLC: no caches were simulated"
)


@dataclass(frozen=True)
class RequestsBeyondL1:
    """By instruction, of one execution by a warp: lines that are read and written, and sectors.

    `llc_misses` are those of both that miss in the LLC, and `blocks` what they move in units of
    `BLOCK_BYTES`: where an L1 cache takes sectors, less than a line each.
    """

    reads: Floats = field(repr=False)
    writes: Floats = field(repr=False)
    sectors_read: Floats = field(repr=False)
    sectors_written: Floats = field(repr=False)
    llc_misses: Floats = field(repr=False)
    blocks: Floats = field(repr=False)
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """All executions of one instruction in one space."""

    instruction: int
    is_read: bool
    lines: float
    llc_miss: float
    sectors: float


@kept_of_warps
def requests_beyond_l1(case: Case) -> RequestsBeyondL1:
    """What leaves the SM; stores and atomics pass the L1 cache and take none of its registers."""
    counts = case.cache_counts
    asked = _estimated(case) if counts is None else map(_counted, counts.accesses)
    rows = _by_instruction(case, asked)
    executed = np.maximum(case.profile.instruction_warps, 1.0)
    notes = (_ESTIMATED,) if counts is None and rows.any() else ()
    reads, writes, sectors_read, sectors_written, llc_misses, blocks = rows / executed
    return RequestsBeyondL1(reads, writes, sectors_read, sectors_written, llc_misses, blocks, notes)


def _by_instruction(case: Case, asked: Iterable[_Asked]) -> Floats:
    """Sums in the order of the fields of `RequestsBeyondL1`."""
    rows = np.zeros((6, len(case.kernel.instructions)))
    sector = case.machine.get("l1.sector") or SECTOR_BYTES
    for one in asked:
        moved = max(sector * one.lines, one.sectors * SECTOR_BYTES)
        which = 0 if one.is_read else 1
        rows[which, one.instruction] += one.lines
        rows[2 + which, one.instruction] += one.sectors
        rows[4, one.instruction] += one.lines * one.llc_miss
        rows[5, one.instruction] += min(one.lines, moved / BLOCK_BYTES)
    return rows


def _counted(access: AccessCounts) -> _Asked:
    is_read, asked = access.op_class is OpClass.LOAD, access.l2.sectors
    # An L1 cache that writes back keeps stores.
    lines = access.missed_lines if is_read else access.lines if asked else 0.0
    return _Asked(
        access.instruction,
        is_read,
        lines,
        (access.l2.misses if is_read else access.dirtied_sectors) / asked if asked else 0.0,
        asked,
    )


def _estimated(case: Case) -> Iterable[_Asked]:
    beyond_sm = [a for a in case.profile.accesses if a.space in (Space.GLOBAL, Space.LOCAL)]
    moved = case.traffic
    loaded = SECTOR_BYTES * sum(a.sectors for a in beyond_sm if a.is_load)
    passed = stored_bytes(case.profile)
    past_l1 = min(1.0, max(0.0, moved.l2.central - passed) / loaded) if loaded else 0.0
    past_llc = min(1.0, moved.dram.central / moved.l2.central) if moved.l2.central else 0.0
    return (_estimate(a, past_l1 if a.is_load else 1.0, past_llc) for a in beyond_sm)


def _estimate(access: AccessProfile, past_l1: float, past_llc: float) -> _Asked:
    lines, sectors = past_l1 * access.lines, past_l1 * access.sectors
    return _Asked(access.instruction, access.is_load, lines, past_llc, sectors)
