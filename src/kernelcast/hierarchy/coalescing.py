"""How accesses to global and local memory become transactions, where no cache stands between.

CUDA Programming Guide 2.3, section 5.1.2.1: a half-warp is one transaction where its lanes take the
words of a segment in turn, else one for every lane (compute capability 1.0 and 1.1); or the
segments that it touches, in any order (1.2 and 1.3).
"""

from __future__ import annotations

from collections.abc import Iterable

from kernelcast.ir import Space
from kernelcast.ir.sizes import HALF_WARP_LANES, SECTOR_BYTES
from kernelcast.profiling.profile import AccessProfile


def uncached_bytes(accesses: Iterable[AccessProfile], *, in_order: bool) -> float:
    """Bytes of all transactions; `in_order` is the rule by which lanes merge only in turn."""
    return sum(
        _bytes_in_order(a) if in_order else a.bytes_cc12
        for a in accesses
        if a.space in (Space.GLOBAL, Space.LOCAL)
    )


def coalesced_transactions_in_order(access: AccessProfile) -> float:
    """Transactions of the coalesced requests: one per half-warp, two for words of 16 B."""
    per_half_warp = 2 if access.access_bytes == 16 else 1
    return min(2 * per_half_warp * access.coalesced_cc10, access.transactions_cc10)


def _bytes_in_order(access: AccessProfile) -> float:
    """A coalesced half-warp moves its 16 words, any other lane the least that can move."""
    alone = access.transactions_cc10 - coalesced_transactions_in_order(access)
    together = 2 * HALF_WARP_LANES * access.access_bytes * access.coalesced_cc10
    return together + max(SECTOR_BYTES, access.access_bytes) * alone
