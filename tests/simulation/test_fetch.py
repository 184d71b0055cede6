"""Instructions come to the schedulers line by line, from caches that hold so many of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulation.straight_code import ALL_THERE, played, straight_code

from kernelcast.simulation import layout

PER_LINE = 8
ONE_BY_ONE = {
    "fetch_ahead": 0,
    "fetch_l2_interval": 0.0,
    "fetch_interval": 0.0,
    "fetch_l0_interval": 0.0,
    "keeps_code": 0,
}


def of_lines(count):
    """Code of so many lines; the end is in the last one."""
    return straight_code(PER_LINE * count - 1)


def no_instruction(found):
    return int(found.stalls[:, layout.NO_INSTRUCTION].sum())


def test_every_line_of_cold_code_comes_from_the_l2_cache_once():
    found = played(of_lines(10), ONE_BY_ONE)
    assert (found.lines, found.lines_from_l2) == (10, 10)


def test_without_prefetch_each_line_of_cold_code_takes_the_way_from_l2():
    """Eight instructions of one cycle, and the next line asked for when the last one issues."""
    found = played(of_lines(10), ONE_BY_ONE | {"fetch_l2_latency": 200.0})
    assert no_instruction(found) == 200 + 9 * 199
    assert found.cycles == 10 * 200 + 9 * 7 + 8


def test_code_that_an_sm_holds_whole_is_there_from_the_launch_before():
    """But for its first line, which comes anew."""
    kept = ONE_BY_ONE | {"keeps_code": 1, "instruction_lines": 10}
    assert (played(of_lines(10), kept).lines, played(of_lines(10), kept).lines_from_l2) == (10, 1)
    assert played(of_lines(11), kept).lines_from_l2 == 11


def test_what_was_never_fetched_comes_from_the_dram_and_then_from_the_l2_cache():
    """Of a loop that is larger than both caches, a line takes the one interval, and the other."""
    large = ONE_BY_ONE | {"l0_lines": 4, "instruction_lines": 8, "fetch_l2_interval": 1000.0}
    cold = large | {"fetch_dram_interval": 3000.0}
    first, second = (played(of_lines(40), cold, rounds=n).cycles for n in (1, 2))
    warm = played(of_lines(40), large).cycles
    assert first - warm == pytest.approx(40 * 2000, rel=0.05)
    assert second - first == pytest.approx(warm, rel=0.1)


def test_warm_code_waits_for_nothing():
    cold = played(of_lines(10), ONE_BY_ONE)
    warm = played(of_lines(10), ONE_BY_ONE, rounds=5)
    assert (warm.lines, no_instruction(warm)) == (cold.lines, no_instruction(cold))


def test_a_loop_larger_than_the_schedulers_cache_is_given_by_the_sms():
    found = played(of_lines(40), ONE_BY_ONE | {"l0_lines": 16}, rounds=5)
    assert (found.lines, found.lines_from_l2) == (5 * 40, 40)


def test_a_loop_larger_than_both_comes_from_l2_in_every_round():
    found = played(of_lines(40), ONE_BY_ONE | {"l0_lines": 16, "instruction_lines": 32}, rounds=5)
    assert (found.lines, found.lines_from_l2) == (5 * 40, 5 * 40)


def test_lines_that_are_fetched_ahead_are_asked_for_once_and_waited_for_less():
    alone = played(of_lines(64), ONE_BY_ONE)
    ahead = played(of_lines(64), ONE_BY_ONE | {"fetch_ahead": 8})
    assert ahead.lines == alone.lines == 64
    # Nine lines are on their way at once.
    assert no_instruction(ahead) < no_instruction(alone) / 8


def test_a_cold_line_is_followed_by_those_ahead_of_it():
    """So the first ones are all there when it is, and eight lines take its one way from L2."""
    options = ONE_BY_ONE | {"fetch_ahead": 8, "fetch_l2_latency": 200.0}
    assert no_instruction(played(of_lines(9), options)) == 200


def test_no_line_comes_sooner_than_the_way_to_the_sm_lets_it():
    slow = played(of_lines(50), {"fetch_l2_interval": 40.0, "keeps_code": 0})
    assert slow.cycles > 49 * 40
    assert slow.lines_from_l2 == 50


def test_schedulers_share_what_their_sm_has_got():
    found = played(of_lines(20), ONE_BY_ONE, warps=4)
    assert (found.lines, found.lines_from_l2) == (4 * 20, 20)


def test_warps_of_one_scheduler_share_its_lines():
    found = played(of_lines(20), ONE_BY_ONE, warps=8)
    assert (found.lines, found.lines_from_l2) == (4 * 20, 20)


def test_code_without_places_waits_for_nothing():
    code = straight_code(200)
    code.table["address"] = -1
    found = played(code)
    assert (found.lines, no_instruction(found)) == (0, 0)


def test_a_machine_without_such_numbers_has_every_instruction():
    found = played(of_lines(100), gpu="gtx-980")
    assert (found.lines, no_instruction(found)) == (0, 0)


@pytest.mark.parametrize(("warps", "share"), [(8, 0.34), (16, 0.67), (32, 0.67)])
@pytest.mark.parametrize("kib", [144, 192])
def test_loops_beyond_the_caches_of_an_rtx_4070(warps, share, kib):
    """FFMA of an RTX 4070 SUPER: 34 % of the peak with 8 warps, 66 to 68 % with 16 and 32.

    github.com/cubiepy/cubie, 1e92069; the first number is where fetch.l2_interval is from.
    """
    count = kib * 64
    rounds = 3
    found = played(straight_code(count), gpu="rtx-4070", rounds=rounds, warps=4, blocks=warps // 4)
    assert found.issued.sum() / (4 * found.cycles) == pytest.approx(share, abs=0.02)


@settings(max_examples=20, deadline=None)
@given(
    lines=st.integers(1, 60),
    rounds=st.integers(1, 3),
    warps=st.integers(1, 9),
    ahead=st.integers(0, 10),
    kept=st.integers(1, 80),
)
def test_whatever_is_kept_every_instruction_issues_once(lines, rounds, warps, ahead, kept):
    found = played(
        of_lines(lines),
        {"l0_lines": kept, "instruction_lines": 2 * kept, "fetch_ahead": ahead, "keeps_code": 0},
        rounds=rounds,
        warps=warps,
    )
    assert found.issued.sum() == warps * (rounds * (PER_LINE * lines - 1) + 1)
    assert lines <= found.lines_from_l2 <= found.lines
    assert found.stalls.sum() == found.warp_cycles


@settings(max_examples=20, deadline=None)
@given(lines=st.integers(1, 60), ahead=st.integers(0, 10))
def test_one_warp_is_never_slower_where_more_is_fetched_ahead(lines, ahead):
    fewer = played(of_lines(lines), {"fetch_ahead": ahead, "fetch_l2_interval": 0.0})
    more = played(of_lines(lines), {"fetch_ahead": ahead + 1, "fetch_l2_interval": 0.0})
    assert more.cycles <= fewer.cycles


def test_without_fetch_nothing_is_waited_for():
    assert no_instruction(played(of_lines(100), ALL_THERE)) == 0


def test_a_schedulers_cache_gets_lines_no_faster_than_its_interval():
    """However many are fetched ahead, each takes the interval; a round begins with one latency."""
    fast = {"fetch_ahead": 8, "l0_lines": 16, "fetch_latency": 10.0, "fetch_l0_interval": 20.0}
    short, long = (played(of_lines(40), ONE_BY_ONE | fast, rounds=n) for n in (2, 4))
    each = (long.cycles - short.cycles) / 2 / 40
    assert 20 <= each <= 20 + (10 + 8) / 40
