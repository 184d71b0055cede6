"""Requests by code beside those that were executed."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcast.analysis.coalescing import StaticAccess, static_accesses
from kernelcast.ir import Space
from kernelcast.models.terms.base import Case


def by_code_and_executed(case: Case) -> Iterator[tuple[StaticAccess, float, float]]:
    """Accesses in which all lanes took part: sectors, or passes of shared memory, of a warp by code
    and in the mean of the execution."""
    counted = {(a.instruction, a.space): a for a in case.profile.accesses}
    for static in static_accesses(case.kernel, case.launch):
        access = counted.get((static.instruction, static.space))
        if access is None or access.lanes < 32 * access.requests:
            continue
        is_shared = static.space is Space.SHARED
        stated = static.passes if is_shared else static.sectors
        found = access.passes if is_shared else access.sectors
        yield static, stated, found / access.requests
