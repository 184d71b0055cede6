from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.hierarchy.caches.streams import stream_of
from tests.hierarchy.caches.test_whole_grid import LOAD

from kernelcast.hierarchy.caches import layout
from kernelcast.hierarchy.caches.memory_system import CacheShape, MemorySystem
from kernelcast.hierarchy.caches.resizing import resized
from kernelcast.hierarchy.caches.whole_grid import simulate
from kernelcast.ir import OpClass

STORE = replace(LOAD, instruction=replace(LOAD.instruction, index=1, op_class=OpClass.STORE))
NAMES = ("l1_hits", "l2_sectors", "l2_hits", "again_reads", "dirtied")
SYSTEM = MemorySystem(2, 2, CacheShape(1, 8), CacheShape(1, 16))

lines = st.tuples(st.integers(0, 60), st.integers(1, 15), st.just(0))


def works(rows):
    request = st.tuples(st.integers(0, rows - 1), st.lists(lines, min_size=1, max_size=3))
    warp = st.lists(request, min_size=1, max_size=8)
    return st.lists(st.lists(warp, min_size=2, max_size=2), min_size=1, max_size=6)


shapes = st.builds(CacheShape, st.just(1), st.integers(1, 30))


def simulated(work, system):
    streams = replace(stream_of(work), rows=(LOAD, STORE))
    grid, _ = simulate(streams, (), system, with_distances=True)
    return grid


@given(works(2), shapes)
def test_a_system_of_the_same_capacities_counts_what_was_simulated(work, shape):
    system = replace(SYSTEM, l2=shape)
    grid = simulated(work, system)
    same = resized(grid, system, system)
    for name in layout.COUNTS.names or ():
        assert np.array_equal(same.totals[name], grid.totals[name]), name


@given(works(2), shapes)
def test_an_l2_cache_of_another_capacity_counts_what_would_be_simulated(work, shape):
    found = resized(simulated(work, SYSTEM), SYSTEM, replace(SYSTEM, l2=shape))
    expected = simulated(work, replace(SYSTEM, l2=shape))
    for name in NAMES:
        assert np.array_equal(found.totals[name], expected.totals[name]), name
    assert found.filled == expected.filled


@given(works(1), shapes)
def test_l1_caches_of_another_capacity_hold_and_ask_what_would_be_simulated(work, shape):
    found = resized(simulated(work, SYSTEM), SYSTEM, replace(SYSTEM, l1=shape))
    expected = simulated(work, replace(SYSTEM, l1=shape))
    for name in ("l1_hits", "l2_sectors"):
        assert np.array_equal(found.totals[name], expected.totals[name]), name
