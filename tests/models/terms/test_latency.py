"""What an instruction waits for: latencies by class, space, level and pattern."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import Guard, OpClass, Register, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.latency import contention_law, load_latency, timing
from kernelcast.models.volkov import Volkov
from kernelcast.profiling.profile import Footprint

LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "reads": ("x",)}
REUSED = 4.0 * 8 * (1 << 14)


def test_register_dependency_latencies_of_volkovs_listing_3_1(make_case):
    """LD, LDS, FADD, MUFU, ST in a row on Kepler: issued at 0, 301, 325, 334 and 343."""
    machine = load_machine("gtx-680")
    case = make_case(
        machine,
        [
            LOAD,
            {**LOAD, "space": Space.SHARED},
            {"op_class": OpClass.FP32, "writes": "x", "reads": ("x",)},
            {"op_class": OpClass.SFU, "writes": "x", "reads": ("x",)},
            {"op_class": OpClass.STORE, "space": Space.GLOBAL, "reads": ("x",)},
        ],
        footprints=[Footprint("a", 1, True, True, REUSED, REUSED, 2 * REUSED, REUSED)],
    )
    p = Volkov(contention=False).predict(case)
    replacement = machine.number("latency.block_replacement")
    assert p.terms["latency bound, cycles"] == pytest.approx(343 + replacement)


def shared_by(make_case, machine, reuse: int):
    """Each sector is asked for `reuse` times by the block that owns it: one DRAM access in n."""
    return make_case(
        machine,
        [{**LOAD, "times": reuse}],
        footprints=[Footprint("a", 1, True, False, REUSED, REUSED, reuse * REUSED)],
    )


def test_loads_take_the_mean_of_the_levels_that_serve_them(make_case):
    machine = load_machine("h100-sxm")
    case = shared_by(make_case, machine, 4)
    cycles, notes = load_latency(case, Estimate.CENTRAL, 650)
    assert cycles == pytest.approx(machine.number("latency.l1") * 3 / 4 + 650 / 4)
    assert any("mean latency" in note for note in notes)
    everything_from_dram, _ = load_latency(case, Estimate.HIGH, 650)
    assert everything_from_dram == 650


def streaming(make_case, machine):
    """All loads come from the DRAM."""
    read = Footprint("a", 1, True, False, REUSED, REUSED, REUSED)
    return make_case(machine, [LOAD], footprints=[read])


def test_a_warp_waits_for_the_last_of_the_loads_that_it_has_in_flight(make_case, set_numbers):
    """With s = 100 cycles: 100 / 2 more for two loads, 100 (1/2 + 1/3 + 1/4) for four."""
    known = set_numbers(load_machine("h100-sxm"), {"latency.dram_spread": 100.0})
    for together, cycles in ((1, 700), (2, 750), (4, 700 + 100 * 13 / 12)):
        found, _ = load_latency(streaming(make_case, known), Estimate.CENTRAL, 700, together)
        assert found == pytest.approx(cycles, abs=0.01)
    unknown = set_numbers(known, {"latency.dram_spread": None})
    found, _ = load_latency(streaming(make_case, unknown), Estimate.CENTRAL, 700, 4)
    assert found == 700


def test_of_loads_in_flight_those_that_caches_serve_do_not_count_among_those_of_the_dram(
    make_case, set_numbers
):
    """Of eight loads, a quarter from the DRAM: every wait is for two of these."""
    machine = set_numbers(load_machine("h100-sxm"), {"latency.dram_spread": 100.0})
    found, _ = load_latency(shared_by(make_case, machine, 4), Estimate.CENTRAL, 650, 8)
    assert found == pytest.approx(650 + 100 / 2, abs=0.01)


LAW = {
    "volkov.latency_base": 700.0,
    "volkov.latency_slope": 60.0,
    "volkov.latency_capacity": 3e12,
    "dram.achieved_bandwidth": 3e12,
    "dram.mixed_bandwidth": 2.5e12,
    "dram.write_bandwidth": 3e12,
    "dram.write_wait": 4e-7,
}


def test_loads_wait_for_writes_and_for_what_a_mixture_leaves_of_the_bandwidth(set_numbers):
    """Copies at 1.25 TB/s: half of the bandwidth of the mixture, 5/24 of the time are writes."""
    machine = set_numbers(load_machine("h100-sxm"), LAW)
    law = contention_law(machine, written=0.5)
    assert law
    waited = 4e-7 * machine.number("clock.sm") * 5 / 24
    assert float(law.latency(1.25e12)) == pytest.approx(700 + 60 + waited)
    assert float(law.latency(2.5e12)) == math.inf
    reads = contention_law(machine)
    assert reads
    assert float(reads.latency(1.5e12)) == pytest.approx(700 + 60)


def test_where_nobody_knows_how_long_loads_wait_for_writes_they_are_like_reads(set_numbers):
    machine = set_numbers(load_machine("h100-sxm"), {**LAW, "dram.write_wait": None})
    assert contention_law(machine, written=0.5) == contention_law(machine)


def test_a_second_partition_of_the_l2_cache_takes_half_of_its_loads(make_case, set_numbers):
    machine = set_numbers(load_machine("gtx-680"), {"latency.l2": 100, "latency.l2_far": 200})
    cycles, notes = load_latency(shared_by(make_case, machine, 2), Estimate.CENTRAL, 300)
    assert cycles == pytest.approx(150 / 2 + 300 / 2)
    assert any("partition" in note for note in notes)


def test_a_cache_of_unknown_latency_answers_like_the_next_level(make_case, set_numbers):
    machine = set_numbers(load_machine("h100-sxm"), {"latency.l1": None, "latency.l2": None})
    cycles, notes = load_latency(shared_by(make_case, machine, 2), Estimate.CENTRAL, 650)
    assert cycles == 650
    assert any("latency.l1" in note for note in notes)


def test_scattered_loads_take_longer_than_coalesced_ones(make_case, set_numbers):
    """By what the L1 cache takes for their sectors, where nobody has measured transactions."""
    machine = set_numbers(load_machine("h100-sxm"), {"latency.transaction": None})
    coalesced, scattered = (
        timing(make_case(machine, [{**LOAD, "access": a}]), 500, "this test").latency[0]
        for a in ({}, {"sectors": 32})
    )
    assert coalesced == 500
    assert scattered == pytest.approx(500 + 28 * 32 / machine.number("l1.bandwidth"))


def test_issue_intervals_and_barriers(make_case):
    ops = [{"op_class": OpClass.FP32}, {"op_class": OpClass.BARRIER}]
    for name, interval, barrier in (("8800-gtx", 2, 2), ("gtx-480", 6, 34), ("rtx-4090", 1, 1)):
        timed = timing(make_case(load_machine(name), ops), 0, "this test")
        assert timed.interval == (interval, barrier), name


def test_a_conditional_branch_takes_longer_than_other_instructions_on_fermi(make_case):
    """Section 3.7: 28 cycles where it is not taken, 32 where it is; the mean stands for both."""
    case = make_case(load_machine("gtx-480"), [{"op_class": OpClass.BRANCH}])
    conditional = replace(case.kernel.instructions[0], guard=Guard(Register("p", "pred")))
    guarded = replace(case, kernel=replace(case.kernel, instructions=(conditional,)))
    assert timing(case, 0, "this test").interval == (6,)
    assert timing(guarded, 0, "this test").interval == (30,)


@pytest.mark.parametrize(
    ("reader", "sfu", "shared"),
    [
        (OpClass.FP32, 9, 22),
        (OpClass.INT, 9, 22),
        (OpClass.SFU, 13, 24),
        (OpClass.LOAD, 13, 24),
        (None, 13, 24),
    ],
)
def test_results_reach_the_cuda_cores_of_maxwell_sooner(make_case, reader, sfu, shared):
    """Section 4.7: 13 and 24 cycles to another of their kind, 9 and 22 to an addition."""
    root: dict[str, Any] = {"op_class": OpClass.SFU, "writes": "x", "reads": ("a",)}
    load = {**LOAD, "space": Space.SHARED, "reads": ("a",)}
    between = {"op_class": OpClass.FP32, "writes": "z", "reads": ("a",)}
    for slow, expected in ((root, sfu), (load, shared)):
        ops: list[dict[str, Any]] = [slow, between]
        if reader is not None:
            space = Space.SHARED if reader is OpClass.LOAD else None
            ops.append({"op_class": reader, "space": space, "writes": "y", "reads": ("x",)})
        case = make_case(load_machine("gtx-980"), ops)
        whole = replace(case.kernel.blocks[0], end=len(ops))
        case = replace(case, kernel=replace(case.kernel, blocks=(whole,)))
        assert timing(case, 0, "this test").latency[0] == expected


@pytest.mark.parametrize(
    ("name", "latency"),
    [("8800-gtx", 54), ("gtx-280", 56), ("gtx-480", 58), ("gtx-680", 56), ("gtx-980", 26)],
)
def test_two_way_bank_conflicts_take_what_table_6_2_says(make_case, name, latency):
    load = {**LOAD, "space": Space.SHARED, "access": {"passes": 2, "passes_half_warp": 4}}
    timed = timing(make_case(load_machine(name), [load]), 0, "this test")
    assert timed.latency == (latency,)


@pytest.mark.parametrize(
    ("name", "access", "per_transaction", "more"),
    [
        ("8800-gtx", {"transactions_cc10": 32}, 6.7, 30),
        ("gtx-280", {"transactions_cc12": 32}, 7.6, 30),
        ("gtx-480", {"lines": 32, "sectors": 32}, 34, 31),
        ("gtx-680", {"lines": 32, "sectors": 32}, 33, 28),
        ("gtx-980", {"lines": 32, "sectors": 32}, 5.9, 28),
    ],
)
def test_diverging_loads_take_what_table_6_7_says(make_case, name, access, per_transaction, more):
    case = make_case(load_machine(name), [{**LOAD, "access": access}])
    assert timing(case, 500, "t").latency == (pytest.approx(500 + more * per_transaction),)


def test_a_chip_of_which_the_cost_of_transactions_is_unknown_says_so(make_case):
    machine = load_machine("k40c")
    apart, together = (
        timing(make_case(machine, [{**LOAD, "access": a}]), 500, "t")
        for a in ({"lines": 32, "sectors": 32}, {})
    )
    assert apart.latency == together.latency == (500,)
    assert any("latency.transaction" in note for note in apart.notes)
    assert not any("latency.transaction" in note for note in together.notes)


def test_a_class_without_a_latency_takes_that_of_fp32_and_says_so(make_case, set_numbers):
    machine = set_numbers(load_machine("h100-sxm"), {"latency.bitfield": None, "latency.fp32": 5})
    timed = timing(make_case(machine, [{"op_class": OpClass.BITFIELD}]), 0, "this test")
    assert timed.latency == (5,)
    assert any("latency.bitfield" in note for note in timed.notes)


def test_generic_loads_follow_their_addresses(make_case):
    """The instruction says generic; the access profile knows it was shared memory."""
    machine = load_machine("h100-sxm")
    case = make_case(machine, [{**LOAD, "space": Space.SHARED}])
    generic = replace(case.kernel.instructions[0], space=Space.GENERIC)
    case = replace(case, kernel=replace(case.kernel, instructions=(generic,)))
    timed = timing(case, 500, "this test")
    assert timed.latency == (machine.number("latency.shared"),)
    assert timed.waits_for_memory == (False,)
