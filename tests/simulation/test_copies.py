"""Copies to shared memory while their warp goes on, and barriers there that wait for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.simulation.programs import (
    EXIT,
    Op,
    Setting,
    at_mbarrier,
    entering,
    played,
    program,
    request,
    streams,
)

import kernelcast as kc
from kernelcast.errors import ExecutionError
from kernelcast.ir import MbarrierUse, OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.layout import GLOBAL

KERNELS = Path(__file__).parent / "kernels"
LATENCY = 5000.0
SETTING = Setting(
    load_machine("h100-sxm"),
    changed={"dram_latency": LATENCY, "dram_spread": 0.0, "dram_contention": 0.0},
    rows={"dram": 1.0, "dram_cycles": 0.01},
    is_plain=True,
)
COPY = Op(OpClass.LOAD, space=Space.GLOBAL, is_copy=True)
GROUP = Op(OpClass.ASYNC_COPY, counter=0)
ADD = Op(OpClass.FP32, waits=(0,))
BROUGHT = Op(OpClass.ATOMIC, space=Space.SHARED, mbarrier=MbarrierUse.COMPLETES)
ARRIVAL = Op(OpClass.ATOMIC, space=Space.SHARED, mbarrier=MbarrierUse.ARRIVES)
WAIT = Op(OpClass.LOAD, space=Space.SHARED, writes="p", mbarrier=MbarrierUse.WAITS)
# One basic block for the warp that copies, one for those that wait.
PIPELINE = program([COPY, BROUGHT, EXIT, WAIT, Op(OpClass.FP32), EXIT], [3, 3])
PRODUCER = entering(0) + request(0, GLOBAL, [7]) + at_mbarrier(1, 5, 0)


def issue_of(found, instruction: int) -> int:
    """The cycle in which an instruction issues first."""
    return int(min(e["cycle"] for e in found.events if e["instruction"] == instruction))


def test_a_warp_goes_on_while_it_copies_until_it_waits_for_the_group():
    kernel = program([COPY, Op(OpClass.FP32), GROUP, ADD, EXIT])
    found = played(kernel, streams([[entering(0) + request(0, GLOBAL, [7])]]), SETTING)
    assert issue_of(found, 2) < 100
    assert LATENCY <= issue_of(found, 3) < 1.5 * LATENCY


@pytest.mark.parametrize("arrivals", [0, 1])
def test_who_waits_at_a_barrier_waits_for_the_copies_of_others(arrivals):
    ways = [[PRODUCER, entering(1) + at_mbarrier(3, 5, arrivals)]]
    goes_on = issue_of(played(PIPELINE, streams(ways), SETTING), 4)
    assert (LATENCY <= goes_on < 1.5 * LATENCY) if arrivals else goes_on < 100


def test_barriers_are_told_apart():
    ways = [[PRODUCER + at_mbarrier(1, 5, 1), entering(1) + at_mbarrier(3, 6, 0)]]
    assert issue_of(played(PIPELINE, streams(ways), SETTING), 4) < 100


def test_arrivals_after_the_wait_has_begun_end_it():
    late = program([Op(OpClass.FP32, stall=15)] * 40 + [ARRIVAL, EXIT, WAIT, ADD, EXIT], [42, 3])
    ways = [[entering(0) + at_mbarrier(40, 1, 0), entering(1) + at_mbarrier(42, 1, 1)]]
    found = played(late, streams(ways), SETTING)
    assert issue_of(found, 43) > issue_of(found, 40) >= 40 * 15


def test_arrivals_that_never_come_are_named():
    ways = [[PRODUCER, entering(1) + at_mbarrier(3, 5, 2)]]
    with pytest.raises(ExecutionError, match="never completed") as caught:
        played(PIPELINE, streams(ways), SETTING)
    assert "warp 1, instruction 3" in str(caught.value)


def test_parts_of_one_instruction_issue_together():
    parts = [
        Op(OpClass.LOAD, 9, 1, (0,), Space.GLOBAL, is_copy=True, offset=16),
        Op(OpClass.STORE, 9, 1, (0,), Space.SHARED, offset=16),
    ]
    table = SETTING.code(program([*parts, Op(OpClass.FP32, offset=32), EXIT])).table
    assert table["pairs"].tolist() == [1, 0, 0, 0]
    assert table["waits"].tolist() == [1, 0, 0, 0]
    assert table["result_counter"].tolist() == [-1, 1, -1, -1]


@pytest.mark.parametrize("name", ["async_copies", "bulk_copies"])
def test_copies_that_few_warps_wait_for_take_what_memory_takes(name):
    """Two copies in flight: each takes half a latency of the DRAM at the least."""
    times = []
    for cycles in (700, 2800):
        machine = kc.machine("h100-sxm", f"latency.dram={cycles}")
        (case,) = kc.cases(kc.workload(KERNELS / f"{name}.cu"), [machine])
        times.append(kc.predict(case, "teg").time_s * machine.number("clock.sm"))
    assert times[1] - times[0] == pytest.approx(64 / 2 * (2800 - 700), rel=0.1)
