"""Natural loops, against graphs whose loops are plain to see and against their definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernelcast.analysis.loops import Loop, innermost, natural_loops


def loops(*successors):
    return {loop.header: set(loop.blocks) for loop in natural_loops(successors)}


def test_straight_code_has_none():
    assert loops((1,), (2,), ()) == {}


def test_a_block_that_repeats_itself():
    assert loops((1,), (1, 2), ()) == {1: {1}}


def test_nested_loops_hold_each_other():
    found = natural_loops(((1,), (2,), (2, 3), (1, 4), ()))
    assert {loop.header: set(loop.blocks) for loop in found} == {1: {1, 2, 3}, 2: {2}}
    assert innermost(found) == (Loop(2, frozenset({2})),)


def test_two_ways_back_to_one_header_are_one_loop():
    assert loops((1, 4), (2, 3), (0,), (0,), ()) == {0: {0, 1, 2, 3}}


def test_a_cycle_with_two_entries_is_no_natural_loop():
    assert loops((1, 2), (2,), (1, 3), ()) == {}


def test_functions_with_entries_of_their_own():
    found = natural_loops(((), (2,), (1,)), (0, 1))
    assert [(loop.header, set(loop.blocks)) for loop in found] == [(1, {1, 2})]


GRAPHS = st.integers(1, 8).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n)
)


def reached(graph, without=None):
    seen, pending = set(), [] if without == 0 else [0]
    while pending:
        block = pending.pop()
        if block not in seen:
            seen.add(block)
            pending += [t for t in graph[block] if t != without]
    return seen


@given(GRAPHS)
def test_a_header_dominates_its_loop(graph):
    for loop in natural_loops(graph):
        assert loop.header in loop.blocks
        assert not (loop.blocks - {loop.header}) & reached(graph, without=loop.header)


@given(GRAPHS)
def test_every_edge_to_a_dominator_is_in_a_loop(graph):
    headers = {loop.header: loop.blocks for loop in natural_loops(graph)}
    for block in reached(graph):
        for target in graph[block]:
            if block not in reached(graph, without=target):
                assert block in headers[target]
