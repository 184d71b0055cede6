from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hierarchy.caches.brute_force import BruteForce, sectors_of
from tests.hierarchy.caches.streams import stream_of

from kernelcast.hierarchy.caches import layout
from kernelcast.hierarchy.caches.memory_system import CacheShape, MemorySystem
from kernelcast.hierarchy.caches.simulation import Caches
from kernelcast.profiling.streams import LINE_SHIFT, ROW_MASK, ROW_SHIFT

NAMES = layout.COUNTS.names or ()
LOAD = layout.ASKS_L1 | layout.ALLOCATES_L1
RULES = np.array(
    [
        LOAD,
        layout.IS_STORE,
        layout.IS_ATOMIC,
        0,
        layout.ASKS_L1,
        LOAD | layout.LEAVES_FIRST,
        layout.IS_STORE | layout.LEAVES_FIRST,
        LOAD | layout.IS_LOCAL,
        layout.IS_STORE | layout.IS_LOCAL | layout.ALLOCATES_L1,
        LOAD | layout.FOLLOWS_WAIT,
        layout.IS_STORE | layout.FOLLOWS_WAIT,
    ],
    np.int64,
)

shapes = st.builds(
    CacheShape,
    sets=st.integers(1, 5),
    ways=st.integers(1, 4),
    hashes_sets=st.booleans(),
)
systems = st.builds(
    MemorySystem,
    sms=st.integers(1, 3),
    blocks_per_sm=st.integers(1, 3),
    l1=st.none() | shapes,
    l2=shapes,
    partitions=st.sampled_from([1, 2]),
    fetched_sectors=st.sampled_from([1, 2]),
    chunk_lines=st.sampled_from([1, 8]),
    waiting_sectors=st.integers(0, 20),
    writes_through=st.booleans(),
)
lines = st.tuples(st.integers(0, 40) | st.integers(0, 500), st.integers(1, 15), st.integers(0, 15))
requests = st.tuples(st.integers(0, len(RULES) - 1), st.lists(lines, min_size=1, max_size=3))


@st.composite
def blocks(draw):
    warps = draw(st.integers(1, 3))
    warp = st.lists(requests, max_size=6)
    return draw(st.lists(st.lists(warp, min_size=warps, max_size=warps), min_size=1, max_size=8))


@given(blocks(), systems, st.data())
def test_equals_brute_force(work, system, data):
    cut = data.draw(st.integers(0, len(work)))
    parts = [part for part in (range(cut), range(cut, len(work))) if part]
    streams = stream_of(work, of=len(work) + 1)
    found = Caches(system).run(streams, RULES, parts).counts
    assert_same(found, BruteForce(system).run(streams, RULES, parts))


def assert_same(found, expected):
    for number, rows in enumerate(expected):
        for row, count in enumerate(rows):
            assert {name: found[number, row][name] for name in NAMES} == {
                name: count[name] for name in NAMES
            }, (number, row)


@given(blocks(), systems, st.integers(0, 1))
def test_what_is_asked_of_every_level_is_noted_in_order(work, system, left_out):
    streams, parts = stream_of(work, of=len(work) + left_out), [range(len(work))]
    _, asked = Caches(system).run_noted(streams, RULES, parts)
    expected = BruteForce(system)
    expected.run(streams, RULES, parts)
    assert noted(asked.l1) == expected.asked_of_l1
    assert noted(asked.l2) == expected.asked_of_l2


def noted(words):
    """What stands above the line, the line, and its sectors."""
    line_mask = (1 << layout.NOTED_SHIFT - LINE_SHIFT) - 1
    return [
        (word >> layout.NOTED_SHIFT, word >> LINE_SHIFT & line_mask, sectors_of(word))
        for word in map(int, words)
    ]


@given(systems, st.integers(0, 2**32))
@settings(max_examples=10)
def test_more_turns_than_go_through_the_caches_together_equal_brute_force(system, seed):
    drawn = np.random.default_rng(seed)
    rules = RULES | layout.FOLLOWS_WAIT
    turns = layout.ROUNDS + layout.WAITING
    work = [[drawn_warp(drawn, turns)] for _ in range(system.sms)]
    streams, parts = stream_of(work, of=len(work) + 1), [range(len(work))]
    run = Caches(system).run(streams, rules, parts)
    assert_same(run.counts, BruteForce(system).run(streams, rules, parts))


def drawn_warp(drawn, requests):
    """Requests of a line each."""
    rows, lines = drawn.integers(0, len(RULES), requests), drawn.integers(0, 100, requests)
    sectors, partial = drawn.integers(1, 16, (2, requests))
    each = zip(lines.tolist(), sectors.tolist(), partial.tolist(), strict=True)
    return [(row, [line]) for row, line in zip(rows.tolist(), each, strict=True)]


@given(blocks(), systems)
def test_what_moves_for_every_word_adds_up_to_the_counts(work, system):
    streams = stream_of(work)
    run = Caches(system).run(streams, RULES, [range(len(work))])
    rows = (streams.words >> np.uint64(ROW_SHIFT) & np.uint64(ROW_MASK)).astype(np.int64)
    by_row = np.bincount(rows, run.moved, len(RULES))
    counts = run.counts[0]
    assert list(by_row) == list(counts["first_reads"] + counts["again_reads"] + counts["dirtied"])


def counted(work, system, rules=RULES):
    """Counts of all rows together, by name."""
    streams = stream_of(work)
    found = Caches(system).run(streams, rules, [range(len(work))]).counts
    return {name: int(found[name].sum()) for name in NAMES}


def one_warp(*requests):
    return [[list(requests)]]


LARGE = CacheShape(sets=64, ways=16)
ONE_SM = MemorySystem(1, 1, CacheShape(1, 2), LARGE)
WHOLE = 15


def load(line, sectors=WHOLE):
    return 0, [(line, sectors, 0)]


def store(line, sectors=WHOLE, partial=0):
    return 1, [(line, sectors, partial)]


def test_the_line_leaves_that_was_used_longest_ago():
    found = counted(one_warp(load(1), load(2), load(1), load(3), load(1), load(2)), ONE_SM)
    assert (found["l1_sectors"], found["l1_hits"]) == (24, 8)
    assert (found["l2_sectors"], found["l2_hits"]) == (16, 4)
    assert found["again_reads"] + found["first_reads"] == 12
    assert found["missed_lines"] == 4


def test_a_line_is_brought_sector_by_sector():
    found = counted(one_warp(load(1, 0b0001), load(1, 0b0011), load(1, 0b0011)), ONE_SM)
    assert (found["l1_sectors"], found["l1_hits"]) == (5, 3)
    assert found["first_reads"] + found["again_reads"] == 2


def test_a_store_passes_through_and_brings_nothing_into_the_l1_cache():
    found = counted(one_warp(store(1), load(1), store(1)), ONE_SM)
    assert (found["l1_sectors"], found["l1_hits"]) == (4, 0)
    assert (found["l2_sectors"], found["l2_hits"]) == (12, 12)
    assert (found["first_reads"] + found["again_reads"], found["dirtied"]) == (0, 4)


def test_the_dram_turns_to_a_chunk_once_for_what_waits_together():
    """Chunks of 8 lines: 1 KiB; four sectors of a line, two of half a line."""
    system = replace(ONE_SM, waiting_sectors=8)
    assert counted(one_warp(load(0), load(1), load(7)), system)["visits"] == 1
    assert counted(one_warp(load(0), load(8), load(1)), system)["visits"] == 2
    far = one_warp(load(0), load(8), load(16), load(24), load(1))
    assert counted(far, system)["visits"] == 5
    assert counted(far, replace(system, waiting_sectors=12))["visits"] == 4
    single = one_warp(*(load(8 * n, 0b0001) for n in range(20)))
    assert counted(single, system)["visits"] == 20
    assert counted(one_warp(load(0), load(0)), system)["visits"] == 1


def test_the_dram_turns_once_more_for_writes_among_reads():
    system = replace(ONE_SM, waiting_sectors=64)
    assert counted(one_warp(load(0), store(1)), system)["visits"] == 2
    assert counted(one_warp(load(0), store(1), load(2), store(3)), system)["visits"] == 2
    again = one_warp(store(1, 3), store(1, 3))  # dirty already
    assert counted(again, system)["visits"] == 1


def test_sectors_that_stores_begin_in_parts_leave_apart():
    """Of one line, by stores of 32 sectors to 32 lines each."""
    system = replace(ONE_SM, waiting_sectors=1 << 20)
    lines = range(0, 32 * 8, 8)

    def visits(parts):
        stores = [store(line, s, s * parts) for s in (1, 2) for line in lines]
        found = counted(one_warp(*stores), system)
        return found["visits"], found["apart"]

    assert (visits(0), visits(1)) == ((32, 0), (32, 32))
    whole = counted(one_warp(store(1, 3, 3), store(2, 3, 3), store(1, 3, 3)), system)
    assert (whole["visits"], whole["apart"], whole["begun"], whole["fills"]) == (1, 1, 4, 2)


def test_lines_of_a_store_that_begins_sectors_in_parts_leave_apart():
    """Eight lines of one chunk: whole they leave together."""
    system = replace(ONE_SM, waiting_sectors=1 << 20, chunk_lines=8)
    for parts, expected in ((0, 0), (1, 7)):
        found = counted(one_warp(*(store(line, 1, parts) for line in range(8))), system)
        assert (found["visits"], found["apart"]) == (1, expected)


def test_a_sector_written_in_parts_is_read_unless_the_rest_is_written():
    assert counted(one_warp(store(1, 3, 3)), ONE_SM)["fills"] == 2
    assert counted(one_warp(store(1, 3, 3), store(1, 1, 1)), ONE_SM)["fills"] == 1
    assert counted(one_warp(store(1, 3, 3), store(1, 3)), ONE_SM)["fills"] == 0
    read = counted(one_warp(store(1, 3, 3), load(1, 3)), ONE_SM)
    assert (read["fills"], read["first_reads"] + read["again_reads"]) == (0, 2)


def test_an_atomic_reads_and_writes_in_the_l2_cache():
    found = counted(one_warp((2, [(1, 1, 0)]), (2, [(1, 1, 0)]), load(1, 1)), ONE_SM)
    assert (found["l2_sectors"], found["l2_hits"]) == (3, 2)
    assert (found["first_reads"] + found["again_reads"], found["dirtied"]) == (1, 1)


def test_blocks_go_round_the_sms_and_to_where_one_ends():
    # The second block's line is not in the L1 cache of the first SM, the third's is.
    work = [[[load(1)]], [[load(1), load(2)]], [[load(1)]]]
    two = MemorySystem(2, 1, CacheShape(1, 2), LARGE)
    assert counted(work, two)["l1_hits"] == 4
    assert counted(work[:2], two)["l1_hits"] == 0
    assert counted(work[:2], ONE_SM)["l1_hits"] == 4


def test_the_near_partition_keeps_a_copy_so_that_shared_lines_take_two_places():
    # Lines 0 and 1 belong to one partition; two SMs, one at each, read them in turn.
    work = [[[load(0), load(1)] * 2], [[load(0), load(1)] * 2]]
    whole = MemorySystem(2, 1, None, CacheShape(1, 2), partitions=1)
    halves = MemorySystem(2, 1, None, CacheShape(1, 2), partitions=2)
    smaller = MemorySystem(2, 1, None, CacheShape(1, 1), partitions=2)
    assert counted(work, whole)["l2_hits"] == 32 - 8
    assert counted(work, halves)["l2_hits"] == 32 - 8
    assert counted(work, smaller)["l2_hits"] < 32 - 8


def test_what_is_written_takes_two_places_where_the_other_partition_is_near():
    # Lines 0 and 1 belong to the first partition, 32 and 33 to the second, each with two places.
    work = [load(32), load(33), store(0), store(1), load(32), load(33)]
    halves = MemorySystem(2, 1, None, CacheShape(1, 2), partitions=2)
    by_first, by_second = counted([[work]], halves), counted([[[load(0)]], [work]], halves)
    assert (by_first["l2_hits"], by_second["l2_hits"]) == (8 + 8, 8)


def test_a_dram_that_delivers_two_sectors_brings_the_neighbour():
    pairs = MemorySystem(1, 1, None, LARGE, fetched_sectors=2)
    found = counted(one_warp(load(1, 0b0001), load(1, 0b0010), load(1, 0b0100)), pairs)
    assert (found["first_reads"] + found["again_reads"], found["l2_hits"]) == (4, 1)


def test_what_leaves_first_leaves_before_older_lines():
    streaming = 5
    work = one_warp(load(1), (streaming, [(2, WHOLE, 0)]), load(3), load(1))
    assert counted(work, ONE_SM)["l1_hits"] == 4


def test_local_memory_that_fits_is_read_back_from_the_l1_cache():
    spill, restore = (8, [(0, WHOLE, 0)]), (7, [(0, WHOLE, 0)])
    through = counted(one_warp(spill, restore), ONE_SM)
    assert (through["l1_hits"], through["l2_sectors"], through["dirtied"]) == (4, 4, 0)
    behind = MemorySystem(1, 1, CacheShape(1, 2), LARGE, writes_through=False)
    assert counted(one_warp(spill, restore), behind)["l2_sectors"] == 0


def test_what_a_launch_leaves_the_next_one_finds():
    work = one_warp(load(1), load(2), store(3))
    streams = stream_of(work)
    first = Caches(ONE_SM)
    first.run(streams, RULES, [range(1)])
    assert first.dirty_sectors() == 4
    found = Caches(ONE_SM, first).run(streams, RULES, [range(1)]).counts
    assert (found["l1_hits"].sum(), found["l2_hits"].sum()) == (0, 12)
    assert found["dirtied"].sum() == 0


@given(blocks(), st.integers(1, 6), st.integers(1, 3))
def test_hits_grow_with_the_ways(work, ways, sets):
    def hits(ways):
        system = MemorySystem(1, 2, None, CacheShape(sets, ways))
        return counted(
            work, system, RULES & (layout.IS_STORE | layout.IS_ATOMIC | layout.FOLLOWS_WAIT)
        )["l2_hits"]

    assert hits(ways) <= hits(ways + 1)
