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
    """Transactions of a launch with the DRAM for lanes that lie apart, a sector each.

    Of what the caches keep from the DRAM, as much as can be is theirs: other accesses stay together
    with their neighbours, whoever asks for them first.
    """
    moved = case.traffic.dram
    return max(0.0, _lanes_apart(case) - (moved.high - moved.at(estimate)) / SECTOR_BYTES)


@kept
def _lanes_apart(case: Case) -> float:
    return sum(lanes_apart(a) for a in case.profile.accesses)
