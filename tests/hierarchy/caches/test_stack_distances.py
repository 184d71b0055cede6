"""Stack distances: a fully associative cache is what they say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hierarchy.caches.streams import stream_of
from tests.hierarchy.caches.test_whole_grid import LOAD

from kernelcast.hierarchy.caches.memory_system import CacheShape, MemorySystem
from kernelcast.hierarchy.caches.stack_distances import StackDistances, distances, l2_distances

accesses = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 15)), min_size=1, max_size=60)


def streams(chosen):
    work = [[[(0, [(line, sectors, 0)]) for line, sectors in chosen]]]
    return replace(stream_of(work), rows=(LOAD,))


@given(accesses, st.integers(1, 14))
def test_a_fully_associative_cache_equals_its_stack_distances(chosen, ways):
    system = MemorySystem(1, 1, None, CacheShape(1, ways))
    found = l2_distances(streams(chosen), frozenset(), system)
    assert found.counts.sum() == sum(sectors.bit_count() for _, sectors in chosen)
    assert found.error == pytest.approx(0, abs=1e-12)


def test_by_hand():
    # Line 1 again after one other line, 2 after two, and a sector of 3 that was not there.
    found = distances(np.array([1, 2, 1, 3, 3, 2]), np.array([1, 1, 1, 1, 2, 1]))
    assert found.tolist() == [0, 1, 1, 4]
    assert StackDistances(found, 0.0, 3).hit_ratio(2) == pytest.approx(1 / 6)


def test_sets_cost_some_hits():
    chosen = [(line, 15) for _ in range(4) for line in range(0, 64, 4)]
    system = MemorySystem(1, 1, None, CacheShape(8, 2))
    found = l2_distances(streams(chosen), frozenset(), system)
    assert found.hit_ratio(16) == 0.75
    assert found.error == 0.75
