"""List scheduling on several units: the order of ties decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.analysis.list_schedule import TieBreak, list_schedule
from kernelcast.errors import InputError

LATENCIES = (1, 2, 2, 1, 1, 2)
NEEDS = ((), (), (), (), (), (4,))
"""Additions take two cycles, all else one: the last addition needs the instruction before it."""


def test_ties_decide_between_six_and_five_cycles():
    """As in the thesis' Figure 5.1, whose program is lost; this graph is our own."""
    assert list_schedule(LATENCIES, NEEDS, 2, TieBreak.CODE).cycles == 6
    assert list_schedule(LATENCIES, NEEDS, 2, TieBreak.FINISHES_FIRST).cycles == 5
    assert list_schedule(LATENCIES, NEEDS, 2).cycles == 5


def test_one_unit_takes_all_latencies():
    for tie in TieBreak:
        assert list_schedule(LATENCIES, NEEDS, 1, tie).cycles == sum(LATENCIES)


def test_a_circle_is_refused():
    with pytest.raises(InputError, match="waits for itself"):
        list_schedule((1, 1), ((1,), (0,)), 2)


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 10))
    latencies = draw(st.lists(st.integers(1, 4), min_size=size, max_size=size))
    needs = [draw(st.sets(st.integers(0, i - 1), max_size=3)) if i else set() for i in range(size)]
    return latencies, [sorted(n) for n in needs]


@given(graphs(), st.integers(1, 4), st.sampled_from(TieBreak))
def test_what_holds_of_every_schedule(graph, units, tie):
    latencies, needs = graph
    found = list_schedule(latencies, needs, units, tie)
    ends = [b + latency for b, latency in zip(found.begins, latencies, strict=True)]
    assert found.cycles == max(ends)
    assert sum(latencies) / units <= found.cycles <= sum(latencies)
    for i, needed in enumerate(needs):
        assert all(ends[n] <= found.begins[i] for n in needed)
    for clock in range(found.cycles):
        busy = sum(b <= clock < e for b, e in zip(found.begins, ends, strict=True))
        assert busy <= units
