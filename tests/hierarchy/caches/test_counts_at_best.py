"""Counts as if other warps asked, and as if caches held all that is wanted more than once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.hierarchy.caches.counts import (
    AccessCounts,
    CacheCounts,
    Lookups,
    SimulatedBlocks,
    asked_by,
    held_at_best,
)
from kernelcast.ir import OpClass, Space
from kernelcast.profiling.profile import AccessProfile

shares = st.floats(0, 1)


def access(op_class: OpClass, sectors: float, hit: float, hit_l2: float) -> AccessCounts:
    l1 = Lookups(sectors, hit * sectors) if op_class is OpClass.LOAD else Lookups()
    asked = l1.misses if op_class is OpClass.LOAD else sectors
    l2 = Lookups(asked, hit_l2 * asked)
    return AccessCounts(0, op_class, Space.GLOBAL, None, 1.0, 4.0, 2.0, l1, l2, l2.misses)


@given(
    st.lists(st.tuples(st.integers(1, 1000), shares, shares), min_size=1, max_size=4),
    st.integers(1, 1000),
    st.integers(0, 500),
)
def test_nothing_asks_for_more_and_requests_stay(loads, read, written):
    store = access(OpClass.STORE, 100, 0, 0.5)
    accesses = (*(access(OpClass.LOAD, *load) for load in loads), store)
    moved = sum(a.dram_sectors for a in accesses)
    before = CacheCounts(accesses, moved, 80, moved, moved + 80, SimulatedBlocks(1, 1, 0, True))
    after = held_at_best(before, read, written)
    for one, other in zip(before.accesses, after.accesses, strict=True):
        assert other.l1.sectors == one.l1.sectors
        assert other.l2.sectors <= one.l2.sectors * (1 + 1e-9)
        assert other.l2.misses <= one.l2.misses * (1 + 1e-9)
        if one.op_class is OpClass.LOAD:
            assert other.l1.hits + other.l2.sectors == pytest.approx(one.l1.sectors)
    assert after.accesses[-1] == replace(store, visits=0.0)
    # Of one load all may be read from the DRAM, of another all be held.
    asked = sum(a.l2.sectors for a in after.accesses[:-1])
    assert asked <= (read + sum(a.l2.misses for a in after.accesses[:-1])) * (1 + 1e-9)
    assert after.dram_read_sectors <= read and after.dram_written_sectors <= written


def profiled(op_class: OpClass, requests: float, sectors: float) -> AccessProfile:
    lanes = 32 * requests
    return AccessProfile(0, op_class, Space.GLOBAL, 4, None, requests, lanes, sectors, 2 * requests)


@given(st.integers(1, 1000), st.integers(1, 1000), shares, shares, st.floats(0.25, 4))
def test_other_warps_ask_for_their_own_sectors_of_which_as_many_hit(
    requests, sectors, hit, hit_l2, factor
):
    loaded, stored = access(OpClass.LOAD, sectors, hit, hit_l2), access(OpClass.STORE, 8, 0, hit_l2)
    store = replace(stored, instruction=1)
    counts = CacheCounts((loaded, store), 1, 1, 2, 2, SimulatedBlocks(1, 1, 0, True))
    before = profiled(OpClass.LOAD, requests, sectors)
    after = profiled(OpClass.LOAD, 2 * requests, factor * sectors)
    (found,) = asked_by(counts, [before], [after]).accesses
    assert found.requests == after.requests and found.lines == 2 * loaded.lines
    assert found.l1.sectors == pytest.approx(factor * sectors)
    for level in ("l1", "l2"):
        was, now = getattr(loaded, level), getattr(found, level)
        assert now.hits == pytest.approx(factor * was.hits)
    own = replace(loaded, requests=before.requests)
    assert asked_by(counts, [before], [before]).accesses == (own,)
