"""Streams without bottlenecks: requests by hand, and paths that lanes take together as laws."""

from __future__ import annotations

from collections import Counter
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulation.decoding import StreamedRequest, decoded

from kernelcast.ir import Kernel
from kernelcast.profiling.layout import GLOBAL, SHARED
from kernelcast.simulation import layout
from kernelcast.simulation.code import IssueTables
from kernelcast.simulation.regrouping import regrouped
from kernelcast.simulation.rewriting import (
    coalesced,
    sent_together,
    without_atomic_conflicts,
    without_bank_conflicts,
    without_l1_misses,
)
from kernelcast.simulation.streams import (
    ACCESS,
    BLOCK_SHIFT,
    ENTER,
    ENTERED_LANES_SHIFT,
    IDEAL_SHIFT,
    INSTRUCTION_SHIFT,
    LANES_SHIFT,
    LINE,
    LINE_SHIFT,
    LINES_SHIFT,
    OFFSET_SHIFT,
    PASSES_SHIFT,
    SECTORS_SHIFT,
    SPACE_SHIFT,
    TAGS_SHIFT,
    WarpStreams,
)


def enter(block: int, lanes: int = 32) -> list[int]:
    return [ENTER | block << BLOCK_SHIFT | lanes << ENTERED_LANES_SHIFT]


def request(instruction=0, space=GLOBAL, lanes=32, passes=1, ideal=1, lines=(), offset=0):
    """An ACCESS and its lines, pairs of a line and its sectors."""
    word = ACCESS | len(lines) << LINES_SHIFT | instruction << INSTRUCTION_SHIFT
    word |= lanes << LANES_SHIFT | passes << PASSES_SHIFT | ideal << IDEAL_SHIFT
    word |= space << SPACE_SHIFT | len(lines) << TAGS_SHIFT
    place = offset << OFFSET_SHIFT
    return [word, *(LINE | s << SECTORS_SHIFT | place | n << LINE_SHIFT for n, s in lines)]


def streams(*warps: list[int], per_block: int = 1) -> WarpStreams:
    starts = np.cumsum([0, *map(len, warps)])
    words = np.array([word for warp in warps for word in warp], np.int64)
    blocks = len(warps) // per_block
    return WarpStreams(blocks, per_block, np.arange(blocks), starts, words)


def code(*kinds: int, bounds=(), bytes_=4) -> IssueTables:
    table = np.zeros(len(kinds), layout.CODE)
    table["kind"], table["bytes"] = kinds, bytes_
    places = np.array(bounds, np.int64).reshape(-1, 2)
    return IssueTables(cast(Kernel, None), table, places, np.zeros(1, np.int32), 0)


def requests(found: WarpStreams) -> list[StreamedRequest]:
    return [each for each in decoded(found.words) if isinstance(each, StreamedRequest)]


def entered(found: WarpStreams) -> Counter[int]:
    return Counter(each for each in decoded(found.words) if isinstance(each, int))


def loading(block: int, lanes: int, line: int) -> list[int]:
    """Some lanes of a warp enter a basic block of one load of a line."""
    return [*enter(block, lanes), *request(block, lanes=lanes, lines=[(line, 1)])]


# -------------------------------------------------------------------------- requests


def neighbours(*kinds: int, gap: int = 16) -> IssueTables:
    """Instructions one behind the other."""
    tables = code(*kinds)
    tables.table["address"] = gap * np.arange(len(kinds))
    return tables


def of_other_registers(tables: IssueTables) -> IssueTables:
    """Each with an address in registers of its own."""
    tables.table["based_on"] = np.arange(len(tables.table))
    return tables


MANY = 24
FIELDS = [[(10, 3), (11, 1)], [(10, 6), (11, 1)], [(11, 3), (12, 1)]]


def stored(*wanted, between=()):
    """A warp stores to some lines, by an instruction after the other."""
    words = [w for at, lines in enumerate(wanted) for w in (*request(at, lines=lines), *between)]
    return streams([*enter(0), *words])


def test_stores_next_to_each_other_send_a_sector_once():
    table = neighbours(layout.STORE, layout.STORE, layout.STORE).table
    found = requests(sent_together(stored(*FIELDS), table, MANY))
    assert [r.lines for r in found] == [
        ((10, 3), (11, 1)),
        ((10, 4), (11, 0)),
        ((11, 2), (12, 1)),
    ]


STORES = (layout.STORE, layout.STORE, layout.STORE)


@pytest.mark.parametrize(
    ("tables", "between", "most"),
    [
        (neighbours(*STORES, gap=32), (), MANY),
        (neighbours(layout.STORE, layout.LOAD, layout.STORE), (), MANY),
        (code(*STORES), (), MANY),
        (neighbours(*STORES), enter(1), MANY),
        (of_other_registers(neighbours(*STORES)), (), MANY),
        (neighbours(*STORES), (), 1),
    ],
    ids=[
        "another instruction between",
        "a load between",
        "PTX",
        "another basic block between",
        "addresses in other registers",
        "more lines than are joined",
    ],
)
def test_other_stores_send_all(tables, between, most):
    given_ = stored(*FIELDS, between=between)
    assert (sent_together(given_, tables.table, most).words == given_.words).all()


def test_stores_of_two_warps_are_not_sent_together():
    table = neighbours(layout.STORE, layout.STORE).table
    warps = ([*enter(0), *request(at, lines=[(10, 15)])] for at in range(2))
    given_ = streams(*warps)
    assert (sent_together(given_, table, MANY).words == given_.words).all()


def test_a_column_of_shared_memory_takes_one_pass_and_atomics_stay():
    table = code(layout.LOAD, layout.ATOMIC).table
    column = request(0, SHARED, passes=32)
    atomic = request(1, SHARED, passes=32)
    given_ = streams([*enter(0), *column, *atomic])
    assert [r.passes for r in requests(without_bank_conflicts(given_, table))] == [1, 32]
    assert [r.passes for r in requests(without_atomic_conflicts(given_, table))] == [32, 1]


def test_fields_of_structures_share_out_the_lines_that_they_all_touch():
    """A structure of four words: each field is in all four lines of a warp's structures."""
    lines = [(n, 15) for n in range(8, 12)]
    fields = [w for f in range(4) for w in request(lines=lines, passes=4, offset=4 * f)]
    found = requests(coalesced(streams([*enter(0), *fields]), code(layout.LOAD).table))
    assert [r.lines for r in found] == [((n, 15),) for n in range(8, 12)]
    assert {(r.passes, r.tag_passes) for r in found} == {(1, 1)}


def test_columns_of_a_matrix_share_out_their_lines():
    lines = [(100 * lane, 1 << 2) for lane in range(32)]
    columns = [w for c in range(32) for w in request(lines=lines, passes=32, offset=4 * c)]
    found = requests(coalesced(streams([*enter(0), *columns]), code(layout.LOAD).table))
    assert sorted(r.lines for r in found) == [((100 * lane, 15),) for lane in range(32)]


def test_a_few_lanes_keep_as_many_sectors_as_they_need():
    lines = [(lane, 1) for lane in range(8)]
    found = requests(
        coalesced(streams([*enter(0), *request(lanes=8, lines=lines)]), code(layout.LOAD).table)
    )
    assert [r.lines for r in found] == [((0, 1),)]


@pytest.mark.parametrize("lines", [[(7, 15)], [(7, 1)]], ids=["a row", "one word for all"])
def test_what_is_coalesced_stays(lines):
    given_ = streams([*enter(0), *request(lines=lines)])
    assert (coalesced(given_, code(layout.LOAD).table).words == given_.words).all()


def test_loads_that_ask_the_l1_cache_want_nothing_from_beyond_it():
    both = [*request(0, lines=[(1, 15)]), *request(1, lines=[(2, 15)])]
    given_, tables = (
        streams([*enter(0), *both], [*enter(0), *both]),
        code(layout.LOAD, layout.STORE),
    )
    rows = np.ones(1, layout.ROW)
    rows["rule"] = -1
    found = without_l1_misses(given_, tables.table, rows)
    assert [r.lines for r in requests(found)] == [(), ((2, 15),)] * 2
    assert list(found.starts) == [0, 4, 8]


# ---------------------------------------------------------------------------- paths


def test_the_sides_of_a_branch_are_taken_by_half_of_the_warps():
    tables = code(layout.LOAD, layout.LOAD, layout.LOAD, bounds=[(0, 1), (1, 2), (2, 3)])
    warps = [[*enter(0), *loading(1, 16, 2 * w), *loading(2, 16, 2 * w + 1)] for w in range(4)]
    found = regrouped(streams(*warps, per_block=4), tables)
    assert entered(found) == {0: 4, 1: 2, 2: 2}
    merged = requests(found)
    assert [r.passes for r in merged] == [1] * 4
    assert sum(r.lanes for r in merged) == 4 * 32
    assert sorted(line for r in merged for line, _ in r.lines) == list(range(8))


def test_a_loop_that_lanes_leave_one_after_the_other_goes_round_less_often():
    tables = code(layout.ARITHMETIC, layout.ARITHMETIC, bounds=[(0, 1), (1, 2)])
    warp = [*enter(0), *(w for lanes in (32, 16, 8, 4, 2, 2) for w in enter(1, lanes))]
    assert entered(regrouped(streams(warp), tables)) == {0: 1, 1: 2}


def test_full_warps_and_those_that_lack_lanes_all_along_stay():
    tables = code(layout.ARITHMETIC, bounds=[(0, 1)])
    given_ = streams(enter(0), enter(0, 8), per_block=2)
    assert regrouped(given_, tables) is given_


def test_a_basic_block_with_a_barrier_stays():
    tables = code(layout.ARITHMETIC, layout.SYNCHRONISE, bounds=[(0, 1), (1, 2)])
    warps = [[*enter(0), *enter(1, 16), *enter(1, 16)] for _ in range(2)]
    assert entered(regrouped(streams(*warps, per_block=2), tables)) == {0: 2, 1: 4}


ENTRIES = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 32)), max_size=12)


@given(st.lists(ENTRIES, min_size=1, max_size=4))
def test_lanes_and_lines_are_neither_lost_nor_made(paths):
    tables = code(*[layout.LOAD] * 4, bounds=[(i, i + 1) for i in range(4)])
    numbers = iter(range(1000))
    warps = [
        [*enter(0), *(w for block, lanes in path for w in loading(block, lanes, next(numbers)))]
        for path in paths
    ]
    given_ = streams(*warps, per_block=len(warps))
    found = regrouped(given_, tables)
    before, after = requests(given_), requests(found)
    assert sorted(r.lines[0] for r in before) == sorted(line for r in after for line in r.lines)
    lanes: Counter[int] = Counter()
    for path in paths:
        for block, count in path:
            lanes[block] += count
    times = entered(found)
    for block, count in lanes.items():
        assert times[block] >= 1
        assert abs(times[block] - count / 32) <= 1


def test_chosen_instructions_alone_are_changed():
    table = code(layout.LOAD, layout.LOAD).table
    only = np.array([False, True])
    columns = streams([*enter(0), *request(0, SHARED, passes=32), *request(1, SHARED, passes=32)])
    found = requests(without_bank_conflicts(columns, table, only))
    assert [r.passes for r in found] == [32, 1]
    lines = [(100 * lane, 1) for lane in range(32)]
    rows = streams([*enter(0), *request(0, lines=lines), *request(1, lines=lines)])
    assert [len(r.lines) for r in requests(coalesced(rows, table, only))] == [32, 1]
