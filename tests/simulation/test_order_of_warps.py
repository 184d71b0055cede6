"""Which ready warp a scheduler issues from: in line, as an H100 does, or by age."""

from __future__ import annotations

import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, program, streams
from tests.simulation.programs import played as played_program
from tests.simulation.straight_code import ALL_THERE, played, straight_code

from kernelcast.ir import OpClass
from kernelcast.machines.loader import load_machine

COUNT = 256
WARPS = 16
"""Four for each scheduler."""
OLDEST, YOUNGEST, IN_LINE = 1, 2, 3


def mean_over_span(policy, **fields) -> float:
    """Of the warps of an SM, their mean cycles over those of all."""
    code = straight_code(COUNT, **fields)
    found = played(code, {**ALL_THERE, "policy": policy}, warps=WARPS, most_events=1 << 14)
    events = found.events
    ends = [events["cycle"][events["warp"] == warp].max() for warp in range(WARPS)]
    return float(sum(ends)) / WARPS / found.cycles


def test_a_warp_that_never_yields_goes_on_until_it_ends():
    one_by_one = (1 + 2 + 3 + 4) / 4 / 4
    assert mean_over_span(IN_LINE) == pytest.approx(one_by_one, abs=0.03)


def test_warps_that_yield_take_turns():
    """As dependent instructions do, four cycles apart: all end together."""
    assert mean_over_span(IN_LINE, yields=1, stall=4) > 0.98
    assert mean_over_span(IN_LINE, yields=1, stall=2) > 0.98


def test_by_age_alone_the_youngest_end_first_all_the_same():
    assert mean_over_span(YOUNGEST, yields=1, stall=2) < 0.8


def test_by_age_the_two_that_come_first_take_turns_where_they_yield():
    two_by_two = (2 + 2 + 4 + 4) / 4 / 4
    for policy in (OLDEST, YOUNGEST):
        assert mean_over_span(policy, yields=1) == pytest.approx(two_by_two, abs=0.03)


def first_to_end(policy: int) -> int:
    """Of two long blocks, of which the second begins later where a short one was, who ends first.

    The short one had the lower place of every scheduler.
    """
    code = program([*[Op(OpClass.FP32, stall=2)] * (1 + COUNT), EXIT], [1, COUNT, 1])
    short, long = ([*entering(at), *entering(2)] for at in (0, 1))
    changed = {**ALL_THERE, "policy": policy}
    setting = Setting(load_machine("rtx-3080"), resident=2, changed=changed)
    events = played_program(
        code, streams([[way] * 8 for way in (short, long, long)]), setting
    ).events
    ends = {block: events["cycle"][events["block"] == block].max() for block in (1, 2)}
    return min(ends, key=ends.__getitem__)


def test_a_block_that_begins_comes_before_those_that_are_there_or_after_them():
    assert first_to_end(OLDEST) == 1
    assert first_to_end(YOUNGEST) == 2


def test_a_branch_that_is_taken_takes_longer_than_one_that_is_not():
    code = straight_code(1, jumps=1, stall=5)
    rounds = 20
    for jump, each in ((0.0, 5), (10.0, 10)):
        found = played(code, {**ALL_THERE, "jump_cycles": jump}, rounds=rounds)
        assert found.cycles == pytest.approx(each * rounds, abs=12)
