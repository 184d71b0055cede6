"""Accesses whose lanes lie apart: a memory turns to another place for each of them.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, section 6.7: where
every lane of a warp accesses a place of its own, transactions per second bound the throughput and
not their bytes. That rate is measured (Table 6.1, column random); no rule gives it on all chips.

Counts do not say where lanes lie, but how many lines of 128 B a request touches. Of L lanes on
n lines at least 2 n - L are alone on theirs. Such lanes are taken to be as far from each other as
anywhere, also where they lie a large stride apart.
"""

from __future__ import annotations

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import Space
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.models.terms.base import Case, kept
from kernelcast.profiling.profile import AccessProfile


def lanes_apart(access: AccessProfile) -> float:
    """Lanes of all requests that have a line to themselves, at the least.

    0 where a mean request touches fewer than two lines: one lane alone is apart from no other.
    """
    if access.space is not Space.GLOBAL or access.lines < 2 * access.requests:
        return 0.0
    return max(0.0, 2 * access.lines - access.lanes)


def scattered_transactions(case: Case, estimate: Estimate) -> float:
    """Transactions of a launch with the DRAM for lanes that lie apart, of `transaction_bytes` each.

    Where caches were simulated, they say what each access moves. Elsewhere, of what the caches keep
    from the DRAM, as much as can be is theirs: other accesses stay together with their neighbours,
    whoever asks for them first.
    """
    moved = case.traffic.dram
    if case.cache_counts is not None:
        scale = moved.at(estimate) / moved.central if moved.central else 0.0
        return scale * _moved_apart(case) * SECTOR_BYTES / transaction_bytes(case)
    return max(0.0, _lanes_apart(case) - (moved.high - moved.at(estimate)) / SECTOR_BYTES)


def transaction_bytes(case: Case) -> float:
    """The least that the DRAM moves at once: a sector or more."""
    return max(SECTOR_BYTES, case.machine.get("dram.access") or 0.0)


@kept
def _moved_apart(case: Case) -> float:
    """Sectors that move between L2 cache and DRAM for lanes that lie apart."""
    assert case.cache_counts is not None
    accesses = {(a.instruction, a.space): a for a in case.profile.accesses}
    return sum(
        (counted.dram_sectors + counted.dirtied_sectors) * min(1.0, lanes_apart(own) / own.sectors)
        for counted in case.cache_counts.accesses
        if (own := accesses[counted.instruction, counted.space]).sectors
    )


@kept
def _lanes_apart(case: Case) -> float:
    return sum(lanes_apart(a) for a in case.profile.accesses)
