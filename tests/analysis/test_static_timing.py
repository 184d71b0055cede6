"""Issue of one warp: known schedules, and laws that hold of all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.analysis.static_timing import TimedInstruction, loop_cycles, schedule


def cycles(*steps):
    return [issue.cycle for issue in schedule(steps).issues]


def test_nothing_takes_no_time():
    assert schedule([]).cycles == 0
    assert schedule([]).critical_path == ()
    assert loop_cycles([]) == 0


def test_a_counter_is_waited_for_until_its_last_release():
    steps = [
        TimedInstruction(1, raises=((0, 50),)),
        TimedInstruction(1, raises=((0, 20),)),
        TimedInstruction(4, waits=((0, 0),)),
    ]
    found = schedule(steps)
    assert [issue.cycle for issue in found.issues] == [0, 1, 50]
    assert found.issues[2].held_by == 0
    assert found.cycles == 54


def test_a_wait_may_leave_some_outstanding():
    loads = [TimedInstruction(1, raises=((0, 50),)), TimedInstruction(1, raises=((0, 90),))]
    assert cycles(*loads, TimedInstruction(1, waits=((0, 1),)))[-1] == 50
    assert cycles(*loads, TimedInstruction(1, waits=((0, 2),)))[-1] == 2


def test_a_release_that_has_passed_holds_nobody():
    assert cycles(
        TimedInstruction(30, raises=((0, 20),)), TimedInstruction(1, waits=((0, 0),))
    ) == [0, 30]


def test_the_critical_path_goes_through_what_was_waited_for():
    steps = [
        TimedInstruction(1),
        TimedInstruction(1, raises=((0, 40),)),
        TimedInstruction(9),
        TimedInstruction(9),
        TimedInstruction(1, waits=((0, 0),)),
        TimedInstruction(1),
    ]
    assert schedule(steps).critical_path == (0, 1, 4, 5)


def test_a_loop_carried_wait_sets_the_period():
    assert (
        loop_cycles([TimedInstruction(2, raises=((0, 30),), waits=((0, 0),)), TimedInstruction(3)])
        == 30
    )
    assert (
        loop_cycles([TimedInstruction(2, raises=((0, 30),), waits=((0, 1),)), TimedInstruction(3)])
        == 15
    )


STEPS = st.lists(
    st.builds(
        TimedInstruction,
        st.integers(1, 15),
        st.lists(st.tuples(st.integers(0, 5), st.integers(1, 60)), max_size=2).map(tuple),
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=12,
)


@given(STEPS)
def test_no_step_issues_before_its_predecessor_allows(steps):
    found = schedule(steps)
    for before, step, after in zip(found.issues, steps, found.issues[1:], strict=False):
        assert after.cycle >= before.cycle + step.issue_cycles


@given(STEPS)
def test_a_round_takes_at_least_its_stalls_and_never_more_than_one_alone(steps):
    alone = schedule(steps).cycles
    tail = max((c for step in steps for _, c in step.raises), default=0)
    period = loop_cycles(steps)
    assert sum(step.issue_cycles for step in steps) <= period + 1e-9
    assert period <= alone + tail


@given(STEPS, st.integers(1, 40))
def test_longer_latencies_never_make_anything_earlier(steps, more):
    slower = [
        TimedInstruction(s.issue_cycles, tuple((k, c + more) for k, c in s.raises), s.waits)
        for s in steps
    ]
    for fast, slow in zip(schedule(steps).issues, schedule(slower).issues, strict=True):
        assert slow.cycle >= fast.cycle


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_loop_without_waits_takes_the_sum_of_its_stalls(rounds):
    assert loop_cycles([TimedInstruction(3)] * rounds) == 3 * rounds
