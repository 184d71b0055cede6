"""Which blocks are simulated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.simulation.plan import detailed_sms


@given(st.integers(1, 5000), st.integers(1, 140), st.integers(1, 32), st.floats(0.1, 20_000.0))
def test_a_plan_is_a_part_of_the_grid(of, sms, resident, affordable):
    plan = detailed_sms(of, sms, resident, affordable)
    chosen = [block for own in plan.blocks for block in own]
    assert chosen and len(set(chosen)) == len(chosen)
    assert 0 <= min(chosen) <= max(chosen) < of
    assert all(list(own) == sorted(own) for own in plan.blocks)
    # The blocks of an SM all begin on it where it takes them in turn.
    assert all(len({block % sms for block in own}) == 1 for own in plan.blocks)
    assert plan.busiest == -(-of // sms)
    every = [range(own[0] % sms, of, sms) for own in plan.blocks]
    assert plan.share == sum(map(len, every)) / of
    assert 1 <= plan.simulated <= plan.busiest
    # The first and the last block may have more to do than any other, or less.
    assert 0 in chosen and (of - 1 in chosen or len(plan.blocks) == 1)


@given(st.integers(1, 5000), st.integers(1, 140), st.integers(1, 32), st.floats(1.0, 20_000.0))
def test_a_plan_is_no_larger_than_is_affordable_but_for_two_waves(of, sms, resident, affordable):
    plan = detailed_sms(of, sms, resident, affordable)
    blocks = sum(map(len, plan.blocks))
    least = min(plan.busiest, 3 * resident)
    assert blocks <= max(affordable + resident * len(plan.blocks), least)


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 8))
def test_a_grid_that_is_affordable_is_simulated_whole_on_its_sms(of, sms, resident):
    plan = detailed_sms(of, sms, resident, 1e9)
    assert plan.is_whole
    assert len(plan.blocks) == min(of, sms, 4)


@given(st.integers(1000, 5000), st.integers(1, 40), st.integers(2, 8), st.integers(20, 200))
def test_blocks_left_out_leave_the_last_wave_as_full_as_it_is(of, sms, resident, affordable):
    plan = detailed_sms(of, sms, resident, affordable, 1)
    if plan.busiest > 3 * resident:
        assert plan.simulated % resident == plan.busiest % resident


@pytest.mark.parametrize("wanted", [1, 2, 7])
def test_as_many_sms_as_are_asked_for(wanted):
    plan = detailed_sms(64, 7, 2, 1e9, wanted)
    assert len(plan.blocks) == wanted
    assert {own[0] for own in plan.blocks} <= set(range(7))


def test_four_sms_of_a_grid_by_hand():
    plan = detailed_sms(20, 8, 2, 1e9)
    assert plan.blocks == ((0, 8, 16), (2, 10, 18), (3, 11, 19), (4, 12))
    assert (plan.busiest, plan.share) == (3, 11 / 20)


def test_three_waves_are_played_where_they_are_affordable():
    """Of 20 SMs with 6 blocks at a time and 100 blocks each."""
    several, single, short = (detailed_sms(2000, 20, 6, affordable) for affordable in (40, 20, 13))
    assert [len(plan.blocks) for plan in (several, single, short)] == [2, 1, 1]
    assert several.simulated >= 18 and single.simulated >= 18
    assert 12 <= short.simulated < 18


@given(st.integers(1, 5000), st.integers(1, 140), st.integers(1, 32), st.floats(0.1, 20_000.0))
def test_where_blocks_are_uneven_each_is_still_on_one_sm(of, sms, resident, affordable):
    plan = detailed_sms(of, sms, resident, affordable, are_uneven=True)
    chosen = [block for own in plan.blocks for block in own]
    assert chosen and len(set(chosen)) == len(chosen)
    assert 0 in chosen and (of - 1 in chosen or len(plan.blocks) == 1)
    everything = detailed_sms(of, sms, resident, 1e9, sms, most=sms, are_uneven=True)
    assert sorted(block for own in everything.blocks for block in own) == list(range(of))


def test_an_sm_does_not_get_one_column_of_an_uneven_grid():
    """Rows have as many blocks as there are SMs, of which each takes one at a time."""
    sms, rows = 68, 68
    even, uneven = (
        detailed_sms(sms * rows, sms, 1, 1e9, are_uneven=one).blocks for one in (False, True)
    )
    assert {len({block % sms for block in own}) for own in even} == {1}
    assert all(len({block % sms for block in own}) > 0.45 * sms for own in uneven)


def test_the_heaviest_sm_is_simulated_where_all_blocks_are_there_at_once():
    for heaviest in range(50):
        plan = detailed_sms(50, 68, 16, 8, heaviest=heaviest)
        assert (heaviest,) in plan.blocks
    later = detailed_sms(5000, 68, 2, 100, heaviest=21)
    assert later == detailed_sms(5000, 68, 2, 100)
