"""Volkov 2016, section 6.7: lanes that lie apart, told from counts, and what they cost."""

from __future__ import annotations

import pytest

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.scattered import lanes_apart, scattered_transactions
from kernelcast.models.terms.throughput import worksheet
from kernelcast.models.volkov import Volkov
from kernelcast.profiling.profile import Footprint

LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "reads": ("x",)}
APART = {"lines": 32, "sectors": 32, "transactions_cc10": 32, "transactions_cc12": 32}
APART |= {"bytes_cc12": 1024, "coalesced_cc10": 0, "coalesced_cc12": 0}
RATES = {"8800-gtx": 583e6, "gtx-280": 622e6, "gtx-480": 1218e6}
RATES |= {"gtx-680": 1223e6, "gtx-980": 1864e6}


@pytest.mark.parametrize(
    ("lines", "lanes", "apart"),
    [
        (32, 32, 32),  # each lane anywhere
        (1, 32, 0),  # coalesced, or all lanes one word
        (16, 32, 0),  # two lanes on every line
        (24, 32, 16),  # at least: 16 alone and 16 on the other 8
        (1, 1, 0),  # a lane alone is apart from no other
        (2, 2, 2),
        (4, 32, 0),  # a tile of four rows
    ],
)
def test_lanes_that_have_a_line_to_themselves(make_case, lines, lanes, apart):
    machine = load_machine("gtx-680")
    case = make_case(machine, [{**LOAD, "access": {"lines": lines, "lanes": lanes}}], blocks=1)
    (access,) = case.profile.accesses
    assert lanes_apart(access) == apart * access.requests


def test_shared_memory_has_no_lines(make_case):
    op = {**LOAD, "space": Space.SHARED, "access": {"lines": 32}}
    case = make_case(load_machine("gtx-680"), [op])
    assert lanes_apart(case.profile.accesses[0]) == 0


def scattered(make_case, machine, distinct: float, others: int = 0):
    """A load of 32 lanes apart that together touch `distinct` sectors, beside streams."""
    blocks, warps = 1 << 10, 8 << 10
    requested = 32.0 * warps
    streams = [{**LOAD}] * others
    prints = [Footprint("a", 1, True, False, distinct, requested, requested)]
    prints += [
        Footprint(f"s{i}", 1, True, False, 4.0 * warps, 4.0 * warps, 4.0 * warps)
        for i in range(others)
    ]
    return make_case(
        machine, [{**LOAD, "access": APART}, *streams], blocks=blocks, footprints=prints
    )


def dram_seconds(case) -> float:
    """Time of the whole launch on the DRAM row of the worksheet."""
    sheet = worksheet(case, Estimate.CENTRAL, "this test")
    (row,) = (u for u in sheet.uses if u.resource is Bottleneck.DRAM_BANDWIDTH)
    return sheet.even_cycles(row) / case.machine.number("clock.sm")


@pytest.mark.parametrize("name", RATES)
def test_a_kernel_is_bound_by_the_measured_rate_and_says_whose_that_is(make_case, name):
    case = scattered(make_case, load_machine(name), 32.0 * (8 << 10))
    assert dram_seconds(case) == pytest.approx(32 * (8 << 10) / RATES[name])
    (said,) = (a for a in Volkov().predict(case).assumptions if "scattered_rate" in a)
    assert "of the DRAM's time" in said
    assert "measured (Volkov 2016" in said
    assert "Table 6.1" in said


def test_what_caches_save_is_saved_from_scattered_accesses(make_case):
    """A gather from a table that the caches hold costs the DRAM only what fills them."""
    machine = load_machine("gtx-680")
    table = scattered(make_case, machine, 1000.0, others=3)
    assert scattered_transactions(table, Estimate.CENTRAL) == 1000
    assert scattered_transactions(table, Estimate.HIGH) == 32 * (8 << 10)
    streamed = 3 * 4 * 32 * (8 << 10) / machine.number("dram.achieved_bandwidth")
    assert dram_seconds(table) == pytest.approx(streamed + 1000 / RATES["gtx-680"])


def test_streams_cost_their_bytes_and_nothing_is_said(make_case):
    case = make_case(load_machine("gtx-680"), [LOAD])
    assert scattered_transactions(case, Estimate.HIGH) == 0
    assert not any("apart" in a for a in Volkov().predict(case).assumptions)


def test_chips_that_nobody_measured(make_case, set_numbers):
    """As if no transaction were shorter than 128 B; their bytes where a file says nothing."""
    count = 32.0 * (8 << 10)
    for name in ("k40c", "gh200"):
        case = scattered(make_case, load_machine(name), count)
        (said,) = (a for a in Volkov().predict(case).assumptions if "128 B" in a)
        assert "apart" in said
        rate = case.machine.number("dram.achieved_bandwidth")
        assert dram_seconds(case) == pytest.approx(128 * count / rate)
    unsaid = set_numbers(load_machine("gh200"), {"dram.scattered_transaction": None})
    case = scattered(make_case, unsaid, count)
    assert dram_seconds(case) == pytest.approx(32 * count / rate)


def test_a_bandwidth_set_by_hand_is_that_of_another_memory(make_case):
    machine = load_machine("gtx-680")
    faster = machine.with_quantities({"dram.bandwidth": machine.quantities["dram.bandwidth"]})
    count = 32.0 * (8 << 10)
    case = scattered(make_case, faster, count)
    assert dram_seconds(case) == pytest.approx(128 * count / machine.number("dram.bandwidth"))
