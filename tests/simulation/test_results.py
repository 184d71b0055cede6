"""The cycles of a launch from those of the blocks that were simulated, and how sure they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelcast.simulation.layout import EVENT
from kernelcast.simulation.plan import DetailedSms
from kernelcast.simulation.results import achieved_warps, are_in_step, launch_time, time_in_step
from kernelcast.simulation.simulated import Simulated


def simulated(*sms: list[tuple[int, int]]) -> tuple[Simulated, DetailedSms]:
    """Blocks by SM, as when they began and ended; 100 SMs are busy, with ten blocks each."""
    numbers = [[100 * k + sm for k in range(len(own))] for sm, own in enumerate(sms)]
    pairs = sorted(
        (number, times)
        for own, held in zip(numbers, sms, strict=True)
        for number, times in zip(own, held, strict=True)
    )
    nothing = np.zeros(1)
    found = Simulated(
        sms=len(sms),
        schedulers=4,
        cycles=max(end for own in sms for _, end in own),
        is_cut=False,
        full_until=0,
        issued_full=0,
        issued=np.array([40]),
        repeated=0,
        stalls=nothing.astype(np.int64),
        busy=nothing,
        times=np.array([times for _, times in pairs]),
        warp_cycles=1.0,
        shared_busy=0.0,
        l1_busy=0.0,
        l2_busy=0.0,
        dram_busy=0.0,
        l1_sectors=0,
        l1_hits=0,
        lines=0,
        lines_from_l2=0,
        events=np.zeros(0, EVENT),
    )
    return found, DetailedSms(1000, tuple(map(tuple, numbers)), 10, len(sms) / 100)


def test_warps_of_blocks_left_out_are_there_for_as_long():
    """One block of one warp after the other on each SM, and nothing between them."""
    even = [(0, 100), (100, 200), (200, 300), (300, 400)]
    found, plan = simulated(even, even)
    busy = replace(found, warp_cycles=2 * 4 * 100.0)
    assert achieved_warps(busy, plan, launch_time(found, plan, 1, 40.0)) == pytest.approx(1.0)


def test_blocks_that_end_in_disorder_take_what_all_executed_while_sms_were_full():
    """Three places: those of the first two blocks go on as fast as they can, and the third block
    ends last. In 600 cycles two SMs of eight blocks each have issued 30 of the 40 instructions."""
    starved = [(0, 100), (0, 150), (0, 900), (100, 300), (150, 400), (300, 600), (400, 700)]
    found, plan = simulated([*starved, (600, 900)], [*starved, (600, 900)])
    full = replace(found, full_until=600, issued_full=30)
    time = launch_time(full, plan, 3, 40.0, ends_in_order=False)
    assert time.block_cycles == pytest.approx(600 * 2 * (40 / 16) / 30)
    assert time.left_out == pytest.approx(2 * time.block_cycles)


def test_blocks_left_out_take_what_the_waves_behind_the_first_took():
    even = [(0, 50), (50, 120), (120, 200), (200, 260)]
    time = launch_time(*simulated(even, even), 1, 40.0)
    assert (time.simulated, time.block_cycles) == (260, 75)
    assert time.cycles == 260 + 6 * 75


def test_the_error_is_that_of_sms_and_waves():
    one, other = [(0, 50), (50, 110), (110, 160)], [(0, 70), (70, 140), (140, 220)]
    time = launch_time(*simulated(one, other), 1, 40.0)
    waves = [50, 60, 70, 70]
    expected = np.var([160, 220], ddof=1) / 2 + 49 * np.var(waves, ddof=1) / 4
    assert time.error == pytest.approx(np.sqrt(expected))
    assert time.error is not None and time.interval is not None
    low, high = time.interval
    assert (low + high) / 2 == pytest.approx(time.cycles) or low == time.cycles / 2
    assert high - time.cycles == pytest.approx(2 * time.error)


def test_waves_that_are_alike_leave_no_doubt():
    alike = [(0, 50), (50, 100), (100, 150)]
    time = launch_time(*simulated(alike, alike), 1, 40.0)
    assert time.interval == (500, 500)


def test_one_sm_does_not_tell_how_far_others_differ():
    found, plan = simulated([(0, 50), (50, 100), (100, 150)])
    assert launch_time(found, plan, 1, 40.0).interval is None
    whole = replace(plan, share=1.0)
    assert launch_time(found, whole, 1, 40.0).error == 0


def test_a_simulation_that_was_cut_does_not_say_how_sure_it_is():
    found, plan = simulated([(0, 50)], [(0, 60)])
    time = launch_time(replace(found, is_cut=True), plan, 1, 400.0)
    assert (time.cycles, time.interval) == (600, None)


def test_a_simulation_that_was_cut_goes_by_the_dram_where_that_binds():
    """It was busy for 40 or 50 of 60 cycles, of 200 altogether; the instructions say ten times."""
    found, plan = simulated([(0, 50)], [(0, 60)])
    cut = replace(found, is_cut=True)
    for busy, cycles in ((50.0, 60 * 200 / 50), (40.0, 60 * 200 / 40), (30.0, 600)):
        time = launch_time(replace(cut, dram_busy=busy), plan, 1, 400.0, dram_cycles=200.0)
        assert time.cycles == pytest.approx(cycles)


def test_blocks_that_were_cut_in_step_leave_a_last_wave_to_itself():
    """Two of 100 instructions at a time, of five: 40 of them take 60 cycles, one alone 12 of 6."""
    found, _ = simulated([(0, -1), (0, -1)])
    found = replace(found, is_cut=True, cycles=60)
    assert are_in_step(found, dram_cycles=0.0)
    last = replace(found, cycles=6, issued=np.array([12]))
    time = time_in_step(found, last, busiest=5, resident=2, each=100.0)
    assert time.cycles == pytest.approx(2 * 200 / 40 * 60 + 100 / 12 * 6)


@pytest.mark.parametrize(
    "change", [{"is_cut": False}, {"times": np.array([(0, 50), (0, -1)])}, {"dram_busy": 50.0}]
)
def test_blocks_are_not_in_step_where_one_has_ended_or_the_dram_binds(change):
    found, _ = simulated([(0, -1), (0, -1)])
    found = replace(found, is_cut=True, cycles=60)
    assert not are_in_step(replace(found, **change), dram_cycles=200.0)
