"""Loads take longer or less long by where their lines lie, and wait for what the DRAM writes."""

from __future__ import annotations

import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, request, streams

from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.layout import GLOBAL, LINE_BYTES
from kernelcast.simulation.hardware import ChipShare, SmTimings, hardware_record

ROUNDS = 1000
CHUNK_LINES = 32
"""Lines of 4 KiB, which lie together."""
MACHINE = load_machine("h100-sxm")
SPREAD = 100.0
ALONE = {
    "dram_spread": SPREAD,
    **dict.fromkeys(("dram_line_spread", "l2_spread", "dram_contention", "dram_write_wait"), 0.0),
}
FROM_DRAM = {"dram": 1.0, "dram_cycles": 0.01}


def setting(changed, rows=FROM_DRAM):
    return Setting(MACHINE, changed={**ALONE, **changed}, rows=rows, is_plain=True)


def round_cycles(rounds_of, given):
    """From one round to the next of loads that are all waited for, by the lines of each load."""
    ops: list[Op] = []
    words = entering(0)
    for lines_of_loads in rounds_of:
        for lines in lines_of_loads:
            is_first = lines is lines_of_loads[0]
            words += request(len(ops), GLOBAL, lines)
            ops.append(
                Op(OpClass.LOAD, counter=0, waits=(0,) if is_first else (), space=Space.GLOBAL)
            )
    ops.append(Op(OpClass.FP32, waits=(0,)))
    found = played(program([*ops, EXIT]), streams([[words]]), given)
    return found.cycles / len(rounds_of)


def apart(loads, rounds=ROUNDS):
    """Loads of a line each, all of them in chunks of their own."""
    return [[[(at * loads + i) * CHUNK_LINES * 7] for i in range(loads)] for at in range(rounds)]


def longer(changed, rounds_of, rows=FROM_DRAM):
    """What spread latencies add to a round."""
    none = {**changed, **dict.fromkeys(("dram_spread", "dram_line_spread", "l2_spread"), 0.0)}
    return round_cycles(rounds_of, setting(changed, rows)) - round_cycles(
        rounds_of, setting(none, rows)
    )


def test_a_load_alone_takes_the_mean_latency():
    assert longer({}, apart(1)) == pytest.approx(0, abs=0.1 * SPREAD)


@pytest.mark.parametrize("loads", [2, 4, 8])
def test_a_warp_waits_for_the_last_of_its_loads(loads):
    """By s (1/2 + 1/3 + ... + 1/k) longer."""
    expected = SPREAD * sum(1 / k for k in range(2, loads + 1))
    assert longer({}, apart(loads)) == pytest.approx(expected, rel=0.1)


TOGETHER = [[[at * CHUNK_LINES * 7 + i] for i in range(8)] for at in range(ROUNDS)]
"""Eight loads of a line each in every round, which lie together."""


def test_lines_that_lie_together_come_together():
    assert longer({}, TOGETHER) == pytest.approx(0, abs=0.1 * SPREAD)


def test_of_lines_that_lie_together_the_last_comes_later():
    """By s (1/2 + 1/3 + ... + 1/8), s being the spread within 4 KiB."""
    expected = SPREAD * sum(1 / k for k in range(2, 9))
    found = longer({"dram_spread": 0.0, "dram_line_spread": SPREAD}, TOGETHER)
    assert found == pytest.approx(expected, rel=0.1)


def test_a_load_takes_longer_while_other_sms_load(set_numbers):
    """In proportion to how many of them do."""
    numbers = {"latency.dram_all_sms": 33.0, "latency.l2_all_sms": 18.0, "sm.count": 66}
    slower = set_numbers(MACHINE, numbers)
    latency = slower.number("latency.dram")
    for busy, expected, from_l2 in ((66, latency + 33, 18), (22, latency + 11, 6)):
        made = hardware_record(
            SmTimings(slower),
            ChipShare(1, busy, 1 / busy),
            resident=1,
            warps=1,
            registers=0,
            has_l1=True,
        )
        assert made[0]["dram_latency"] == pytest.approx(expected)
        assert made[0]["l2_all_sms"] == pytest.approx(from_l2)


def test_a_load_from_l2_takes_longer_while_other_sms_load():
    kept = {"dram": 0.0, "dram_cycles": 0.0}
    alone, all_load = (
        round_cycles(apart(1), setting({"l2_all_sms": more}, kept)) for more in (0.0, 18.0)
    )
    assert all_load - alone == pytest.approx(18, abs=0.1)


def test_latencies_of_l2_are_spread_over_lines_about_their_mean():
    """Anywhere within sqrt(12) s: the last of three comes a quarter of that after the mean."""
    kept = {"dram": 0.0, "dram_cycles": 0.0}
    alike = {"l2_spread": 60.0, "l2_far_latency": MACHINE.number("latency.l2")}
    assert longer(alike, apart(1), kept) == pytest.approx(0, abs=4)
    assert longer(alike, apart(3), kept) == pytest.approx(60 * 12**0.5 / 4, rel=0.1)


@pytest.mark.parametrize(("loads", "expected"), [(1, 0), (2, 0), (3, 1 / 3)])
def test_waits_for_the_way_from_l2_are_spread_about_their_mean(loads, expected):
    """Of loads at the same time the second waits for one line and the third for two: on average
    the later of e and 2 e', of the exponential distribution, comes 2 + 1/3 lines late."""
    line_cycles = 60.0
    even = {"dram_spread": 0.0, "l2_rate": LINE_BYTES / line_cycles}
    kept = {"dram": 0.0, "dram_cycles": 0.0}
    taken = [
        round_cycles(apart(loads), setting({**even, "l2_wait_spread": spread}, kept))
        for spread in (0.0, 1.0)
    ]
    assert (taken[1] - taken[0]) / line_cycles == pytest.approx(expected, abs=0.1)


def test_what_is_drawn_is_the_same_every_time():
    assert round_cycles(apart(2), setting({})) == round_cycles(apart(2), setting({}))


def test_loads_wait_for_what_the_dram_writes():
    """For the share of the time that it does: here about a third."""

    def cycles(wait):
        ops: list[Op] = []
        words = entering(0)
        for at in range(ROUNDS):
            for op_class, waits in ((OpClass.STORE, ()), (OpClass.LOAD, (0,))):
                words += request(len(ops), GLOBAL, [at * CHUNK_LINES * 7 + len(ops) % 2 * 40])
                counter = 0 if op_class is OpClass.LOAD else None
                ops.append(Op(op_class, counter=counter, waits=waits, space=Space.GLOBAL))
        ops.append(Op(OpClass.FP32, waits=(0,)))
        changed = {"dram_spread": 0.0, "dram_write_wait": wait}
        given = setting(changed, {"dram": 1.0, "dram_cycles": 64.0})
        found = played(program([*ops, EXIT]), streams([[words]]), given)
        return found.cycles / ROUNDS

    idle = cycles(0.0)
    busy = cycles(600.0)
    writing = 4 * 64.0 / busy
    # Until the load on the DRAM has settled, it counts for less.
    assert 0.9 * 600 * writing < busy - idle < 600 * writing


def stored(wait, loads):
    """When the last of many stores has arrived, so many loads of other lines before each."""
    ops: list[Op] = []
    words = entering(0)
    for at in range(ROUNDS):
        for op_class in (*[OpClass.LOAD] * loads, OpClass.STORE):
            line = (at * (loads + 1) + len(ops) % (loads + 1)) * CHUNK_LINES * 7
            words += request(len(ops), GLOBAL, [line])
            ops.append(Op(op_class, counter=None, space=Space.GLOBAL))
    given = setting({"dram_spread": 0.0, "dram_write_wait": wait}, {"dram_cycles": 64.0})
    return int(played(program([*ops, EXIT]), streams([[words]]), given).times[0, 1])


@pytest.mark.parametrize("loads", [0, 1])
def test_stores_have_arrived_where_the_l2_cache_has_them_whatever_the_dram_reads(loads):
    """As a profiler finds on an H100: of 59 warps of a transposition 0.7 wait for their stores."""
    assert stored(600.0, loads) == stored(0.0, loads)
