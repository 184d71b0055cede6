"""What simulated caches hold of accesses, and what these move beyond them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from kernelcast.hierarchy.caches.counts import AccessCounts, CacheCounts, Lookups
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.reporting.documents.base import NotNegative, Share


class CachePart(Struct, frozen=True):
    """Bytes that some accesses ask of every level, and which share of them it held.

    Ratios are null where nothing is asked. Stores are all taken by the L2 cache, so they count as
    hits there. Of the DRAM, what is read for them and what they leave to be written; of the whole
    launch, what is evicted of local memory as well.
    """

    l1_bytes: NotNegative
    l1_hit_ratio: Share | None
    l2_bytes: NotNegative
    l2_hit_ratio: Share | None
    dram_read_bytes: NotNegative
    dram_written_bytes: NotNegative


def launch_part(counts: CacheCounts | None) -> CachePart | None:
    """Of the whole launch; None where there is no access, or no caches were simulated."""
    part = cache_part(counts, lambda _: True)
    if part is None or counts is None:
        return None
    written = part.dram_written_bytes + SECTOR_BYTES * counts.spilled_sectors
    return replace(part, dram_written_bytes=written)


def cache_part(
    counts: CacheCounts | None, chosen: Callable[[AccessCounts], bool]
) -> CachePart | None:
    """Of the accesses chosen; None where there is none, or no caches were simulated."""
    accesses = [a for a in counts.accesses if chosen(a)] if counts else []
    if not accesses:
        return None
    l1 = sum((a.l1 for a in accesses), Lookups())
    l2 = sum((a.l2 for a in accesses), Lookups())
    return CachePart(
        l1_bytes=SECTOR_BYTES * l1.sectors,
        l1_hit_ratio=l1.hit_ratio if l1.sectors else None,
        l2_bytes=SECTOR_BYTES * l2.sectors,
        l2_hit_ratio=l2.hit_ratio if l2.sectors else None,
        dram_read_bytes=SECTOR_BYTES * max(0.0, sum(a.dram_sectors for a in accesses)),
        dram_written_bytes=SECTOR_BYTES * sum(a.dirtied_sectors for a in accesses),
    )
