from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.hierarchy.caches.streams import stream_of
from tests.hierarchy.caches.test_simulation import LARGE, ONE_SM, RULES, load, one_warp, store
from tests.hierarchy.caches.test_simulation import blocks as any_blocks

from kernelcast.hierarchy.caches import layout
from kernelcast.hierarchy.caches.memory_system import CacheShape, MemorySystem
from kernelcast.hierarchy.caches.simulation import AskedWords, Caches
from kernelcast.hierarchy.caches.stack_distances import l1_distances, l2_distances

LINE = 128


def noted(work, system, rules=RULES, before=0):
    """Counts of the last part by row, and the stack distances of both levels."""
    streams = stream_of(work)
    parts = [part for part in (range(before), range(before, len(work))) if part]
    run, asked = Caches(system).run_noted(streams, rules, parts)
    return (
        run.counts[-1],
        l1_distances(asked, rules),
        l2_distances(asked, len(rules), system.fetched_sectors),
    )


def test_a_stream_by_hand():
    # Others used since the line was: 1: 1 (line 2), 3: none before, 2: 2 (lines 1 and 3).
    work = one_warp(load(1), load(2), load(1), load(3), load(2), load(2, 1))
    _, l1, _ = noted(work, ONE_SM)
    hits = [l1.hits_at(lines * LINE)[0] for lines in (1, 2, 3, 100)]
    assert hits == [1, 5, 9, 9]
    assert l1.sectors[0] == 21


def test_a_sector_is_held_as_long_as_its_line_stays():
    # Its line was away in caches of two lines, though it is used again right before.
    work = one_warp(load(1, 1), load(2), load(3), load(1, 2), load(1, 3))
    _, l1, _ = noted(work, ONE_SM)
    assert [l1.hits_at(lines * LINE)[0] for lines in (1, 2, 3)] == [1, 1, 2]


def test_a_sector_written_in_parts_is_held_after_the_second_write():
    work = one_warp(store(1, 3, 3), store(1, 1, 1), load(1, 3))
    _, _, l2 = noted(work, ONE_SM)
    assert (l2.hits_at(LINE).sum(), l2.dirtied_at(LINE).sum()) == (1, 2)


shapes = st.builds(CacheShape, sets=st.just(1), ways=st.integers(1, 30))
systems = st.builds(
    MemorySystem,
    sms=st.integers(1, 3),
    blocks_per_sm=st.integers(1, 3),
    l1=st.none() | shapes | st.just(LARGE),
    l2=shapes,
    writes_through=st.booleans(),
)


def without(work, *left_out):
    """Work without the requests of some rows."""
    return [[[r for r in warp if r[0] not in left_out] for warp in block] for block in work]


@given(any_blocks(), systems, st.data())
def test_a_fully_associative_l2_cache_equals_its_stack_distances(work, system, data):
    early = [n for n, rule in enumerate(RULES) if rule & layout.LEAVES_FIRST]
    work = without(work, *early)
    counts, _, l2 = noted(work, system, before=data.draw(st.integers(0, len(work) - 1)))
    capacity = system.l2.lines * LINE
    lacking = counts["l2_sectors"] - counts["l2_hits"]
    assert np.array_equal(l2.lacking_at(capacity), lacking)
    assert np.array_equal(l2.read_at(capacity), counts["first_reads"] + counts["again_reads"])
    assert np.array_equal(l2.dirtied_at(capacity), counts["dirtied"])


@given(any_blocks(), systems, st.data())
def test_a_fully_associative_l1_cache_equals_its_stack_distances(work, system, data):
    # What does not allocate moves lines in some caches and not in others.
    passing = [
        n
        for n, rule in enumerate(RULES)
        if rule & layout.LEAVES_FIRST or not rule & layout.ALLOCATES_L1
    ]
    work = without(work, *passing)
    counts, l1, _ = noted(work, system, before=data.draw(st.integers(0, len(work) - 1)))
    if system.l1 is None or system.l1.sets > 1:
        return
    assert np.array_equal(l1.sectors, counts["l1_sectors"])
    assert np.array_equal(l1.hits_at(system.l1.lines * LINE), counts["l1_hits"])


@given(any_blocks(), systems, st.lists(st.floats(0, 1e6), min_size=2, max_size=5))
def test_larger_caches_hold_more(work, system, capacities):
    _, l1, l2 = noted(work, system)
    for distances in (l1, l2):
        hits = [distances.hits_at(capacity).sum() for capacity in sorted(capacities)]
        assert all(more >= less - 1e-9 for less, more in pairwise(hits))


@given(st.lists(st.integers(0, 400), max_size=3000))
def test_distances_equal_those_of_a_list(used):
    words = np.array([line << 24 | layout.LOADS << 56 | 1 << 8 | 1 for line in used], np.int64)
    distances = l2_distances(AskedWords(np.empty(0, np.int64), words), 1, 1)
    stack: list[int] = []
    expected = []
    for line in used:
        expected.append(stack.index(line) if line in stack else np.inf)
        if line in stack:
            stack.remove(line)
        stack.insert(0, line)
    for start in distances.buckets[:120]:
        assert distances.hits_at(float(start * LINE)).sum() == sum(e < start for e in expected)


def test_marks_move_together_when_time_runs_out():
    used = np.tile(np.arange(300), 60)
    words = (used << 24 | 1 << 8 | 1).astype(np.int64)
    distances = l2_distances(AskedWords(np.empty(0, np.int64), words), 1, 1)
    # Every line comes back after the 299 others; those of 288 to 303 lines share a bucket.
    assert distances.hits_at(288 * LINE).sum() == 0
    assert distances.hits_at(304 * LINE).sum() == 59 * 300
