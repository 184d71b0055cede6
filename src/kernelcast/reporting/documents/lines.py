"""The source lines that cost most of what binds."""

from __future__ import annotations

import linecache
from functools import partial

from msgspec import Struct

from kernelcast.hierarchy.caches.counts import AccessCounts, CacheCounts
from kernelcast.ir import Location
from kernelcast.models.terms.base import Bottleneck
from kernelcast.profiling.profile import LineProfile, Profile
from kernelcast.reporting.documents.base import NotNegative, Positive, Share
from kernelcast.reporting.documents.caches import CachePart, cache_part

MEMORY_BOUND = frozenset(
    {
        Bottleneck.DRAM_BANDWIDTH,
        Bottleneck.PCIE_BANDWIDTH,
        Bottleneck.L2_BANDWIDTH,
        Bottleneck.L1_BANDWIDTH,
        Bottleneck.NOC_BANDWIDTH,
        Bottleneck.MEMORY_LATENCY,
        Bottleneck.MISS_REGISTERS,
        Bottleneck.LSU,
        Bottleneck.ATOMICS,
    }
)
"""Bottlenecks that more or worse global memory accesses make worse."""


class CostlyLine(Struct, frozen=True):
    """A source line: its shares of all warp instructions and of all sectors, and its accesses.

    `bank_conflicts` is cycles of shared memory over those without conflicts; null as
    `sectors_per_request` where the line makes no such accesses. `source` is empty where the file
    cannot be read. `caches` is what simulated caches hold of its accesses.
    """

    file: str
    line: Positive
    instruction_share: Share | None
    sector_share: Share
    sectors_per_request: NotNegative | None
    bank_conflicts: NotNegative | None
    caches: CachePart | None
    source: str


def costly_lines(
    profile: Profile, counts: CacheCounts | None, bottleneck: Bottleneck, most: int
) -> list[CostlyLine]:
    """The `most` lines that ask most of what binds: sectors, shared passes or instructions."""
    instructions = profile.total.warp
    sectors = sum(line.sectors for line in profile.lines)
    return [
        CostlyLine(
            file=line.location.file,
            line=line.location.line,
            instruction_share=line.instructions.warp / instructions if instructions else None,
            sector_share=line.sectors / sectors if line.sectors else 0.0,
            sectors_per_request=(
                line.sectors / line.requests if line.sectors and line.requests else None
            ),
            bank_conflicts=(
                line.shared_passes / line.shared_ideal_passes if line.shared_ideal_passes else None
            ),
            caches=cache_part(counts, partial(_stands_in, line.location)),
            source=source_text(line.location),
        )
        for line in ranked_lines(profile, bottleneck)[:most]
    ]


def _stands_in(place: Location, access: AccessCounts) -> bool:
    return access.location == place


def ranked_lines(profile: Profile, bottleneck: Bottleneck) -> list[LineProfile]:
    """Lines in falling order of their share in what binds; instructions break ties."""

    def cost(line: LineProfile) -> tuple[float, float]:
        if bottleneck is Bottleneck.SHARED_BANDWIDTH:
            return line.shared_passes, line.instructions.warp
        if bottleneck in MEMORY_BOUND:
            return line.sectors, line.instructions.warp
        return line.instructions.warp, line.sectors

    return sorted(profile.lines, key=cost, reverse=True)


def source_text(place: Location) -> str:
    """The line itself where its file can be read, else nothing."""
    return linecache.getline(place.file, place.line).strip()
