"""Volkov 2016: the example of section 3.8, waves, and contention in a whole launch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.ir import BasicBlock, Instruction, Kernel, OpClass, Register, Space
from kernelcast.ir.kernel import Resources
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.latency_hiding import MemoryContention
from kernelcast.models.volkov import Volkov, Waves
from kernelcast.profiling.critical_path import walk_warp
from kernelcast.profiling.profile import Footprint, WarpPath

LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "reads": ("x",)}
ADD = {"op_class": OpClass.FP32, "writes": "x", "reads": ("x",)}

# Listing 3.5 as (written, read, latency, interval): intervals of 0 start a pair issued together.
LISTING_3_5 = [
    ("r1", "", 9, 0),  # MOV
    ("r3", "", 9, 3),  # S2R
    ("r0", "", 9, 3),  # S2R
    ("r2", "r0 r3", 9, 3),  # IMAD
    ("r3", "r2", 9, 0),  # ISCADD
    ("r0", "r2", 9, 3),  # ISCADD
    ("r3", "r3", 301, 3),  # LD
    ("r0", "r0", 301, 0),  # LD
    ("r2", "r2", 9, 3),  # ISCADD
    ("r3", "r3 r0", 9, 3),  # FADD
    ("", "r2 r3", 0, 0),  # ST
    ("", "", 0, 0),  # EXIT
]
BLOCK_REPLACEMENT = 201


def listing_cycles(last: int) -> float:
    """Issue time of instruction `last` of Listing 3.5, from 0."""
    rows = LISTING_3_5[: last + 1]
    instructions = tuple(
        Instruction(
            i,
            "op",
            (),
            (),
            OpClass.OTHER,
            reads=tuple(Register(r, "b32") for r in reads.split()),
            writes=(Register(written, "b32"),) if written else (),
        )
        for i, (written, reads, _, _) in enumerate(rows)
    )
    block = BasicBlock(0, 0, len(rows), ())
    kernel = Kernel("vadd", "sass", "sm_30", (), instructions, (block,))
    one = np.zeros(1, np.int32)
    return walk_warp(
        kernel,
        WarpPath(0, 0, one, one + 32, len(rows)),
        lambda i: rows[i.index][2],
        lambda i: rows[i.index][3],
    ).cycles


def test_issue_times_of_section_3_8():
    times = [listing_cycles(i) for i in (0, 2, 3, 4, 6, 7, 9, 10)]
    assert times == [0, 3, 12, 21, 30, 33, 334, 343]


def kepler_vadd(warps_per_sm: int) -> Waves:
    """The whole example: 544 cycles, 8 issues over 4 schedulers, 3 x 128 B of 17.1 B/cycle."""
    return Waves(
        blocks=8 * 1000 * warps_per_sm,
        warps_per_block=1,
        sms=8,
        blocks_per_sm=warps_per_sm,
        latency=MemoryContention(listing_cycles(11) + BLOCK_REPLACEMENT, ()),
        sm_cycles=8 / 4,
        chip_cycles=3 * 128 / (154e9 / 8 / 1.124e9),
    )


def test_bounds_of_section_3_8():
    waves = kepler_vadd(16)
    assert waves.latency.a == 544
    assert 1 / waves.sm_cycles == 0.5
    assert 1 / waves.chip_cycles == pytest.approx(0.0445, abs=1e-4)


@pytest.mark.parametrize("n", [1, 8, 16, 24, 32, 48, 64])
def test_memory_throughput_of_section_3_8(n):
    """min(n 6.35 GB/s, 154 GB/s), by the time of the whole launch."""
    waves = kepler_vadd(n)
    moved = 3 * 128 * waves.blocks
    throughput = moved / waves.cycles * 1.124e9
    assert throughput == pytest.approx(min(n * 6.35e9, 154e9), rel=0.002)


def test_occupancy_needed_in_section_3_8():
    waves = kepler_vadd(64)
    assert waves.latency.a / waves.cycles_per_warp == pytest.approx(154 / 6.35, rel=0.002)


WAVES = st.builds(
    Waves,
    blocks=st.integers(1, 10_000),
    warps_per_block=st.integers(1, 32),
    sms=st.integers(1, 150),
    blocks_per_sm=st.integers(1, 32),
    latency=st.builds(
        lambda a, b, c: MemoryContention(a, ((b, c),) if b else ()),
        st.floats(1, 1e5),
        st.floats(0, 1e3),
        st.floats(1e-3, 10),
    ),
    sm_cycles=st.floats(0.1, 1e4),
    chip_cycles=st.floats(0.1, 1e4),
)


@given(WAVES)
def test_a_launch_is_never_faster_than_its_bounds(waves):
    assert waves.cycles >= waves.steady_cycles >= waves.throughput_cycles
    assert waves.cycles >= waves.latency.a * (1 - 1e-9)
    fullest = math.ceil(waves.blocks / waves.sms) * waves.warps_per_block
    assert waves.cycles >= fullest * waves.sm_cycles * (1 - 1e-9)


@given(WAVES, st.floats(1, 20))
def test_bounds_that_add_up_are_never_faster_than_the_largest_alone(waves, norm):
    soft = replace(waves, norm=norm)
    assert soft.cycles >= waves.cycles * (1 - 1e-9)
    assert soft.cycles >= soft.steady_cycles >= soft.throughput_cycles


def test_two_bounds_that_are_equal_add_up():
    even = Waves(1000, 8, 10, 100, MemoryContention(1.0, ()), 100.0, 100.0)
    soft = replace(even, norm=2.0)
    assert soft.steady_cycles == pytest.approx(math.sqrt(2) * even.steady_cycles, rel=1e-3)


@given(WAVES)
def test_the_last_wave_costs_at_most_one_wave(waves):
    """Whole waves only: no tail; and one block more cannot take longer than a whole wave."""
    whole = waves.sms * waves.blocks_per_sm
    of = Waves(
        2 * whole,
        waves.warps_per_block,
        waves.sms,
        waves.blocks_per_sm,
        waves.latency,
        waves.sm_cycles,
        waves.chip_cycles,
    )
    assert of.cycles == pytest.approx(of.steady_cycles)
    assert waves.cycles <= (waves.blocks // whole + 1) * of.cycles / 2 * (1 + 1e-9)


def chase(make_case, machine, blocks, times=200, alpha=0):
    """Dependent loads that miss every cache, each followed by alpha dependent additions."""
    sectors = 4.0 * times * blocks
    ops = [{**LOAD, "times": times}]
    if alpha:
        ops.append({**ADD, "times": alpha * times})
    return make_case(
        machine,
        ops,
        blocks=blocks,
        threads=32,
        footprints=[Footprint("a", int(32 * sectors), True, False, sectors, sectors, sectors)],
    )


def test_one_warp_waits_for_its_loads(make_case):
    """Little: one warp per SM takes latency times loads, and the memory is what it waits for."""
    machine = load_machine("gtx-680")
    p = Volkov().predict(chase(make_case, machine, 8))
    a = machine.number("volkov.latency_base")
    rest = machine.number("latency.block_replacement")
    assert p.terms["latency bound, cycles"] == pytest.approx(199 * a + rest, rel=0.01)
    assert p.bottleneck is Bottleneck.MEMORY_LATENCY
    assert p.needed_warps == pytest.approx(40, rel=0.03)  # Table 6.4: 10 per scheduler


def test_many_warps_reach_the_bandwidth_and_contention_delays_it(make_case):
    machine = load_machine("gtx-680")
    case = chase(make_case, machine, 8 * 16 * 64)  # full waves of 16 warps
    plain, loaded = Volkov(contention=False).predict(case), Volkov().predict(case)
    assert loaded.time_s > plain.time_s
    terms: Mapping[str, Any] = loaded.terms
    assert terms["latency under load, cycles"] > terms["latency bound, cycles"]


def test_dependent_additions_are_arithmetic_latency(make_case):
    machine = load_machine("gtx-680")
    case = make_case(machine, [{**ADD, "times": 10_000}], blocks=8, threads=32)
    p = Volkov().predict(case)
    assert p.bottleneck is Bottleneck.ARITHMETIC_LATENCY
    assert p.terms["latency bound, cycles"] == pytest.approx(9 * 10_000, rel=0.01)
    assert p.needed_warps == pytest.approx(9 * 4, rel=0.03)  # Table 6.3: 9 per scheduler


def test_bank_conflicts_lengthen_the_latency(make_case):
    load = {"op_class": OpClass.LOAD, "space": Space.SHARED, "writes": "x", "reads": ("x",)}
    machine = load_machine("h100-sxm")
    latencies: list[Any] = [
        Volkov()
        .predict(make_case(machine, [{**load, "times": 100, "access": a}], blocks=1, threads=32))
        .terms["latency bound, cycles"]
        for a in ({}, {"passes": 200})
    ]
    free, conflicting = latencies
    each = machine.number("latency.bank_conflict")
    assert conflicting - free == pytest.approx(99 * each, abs=1)


def test_few_blocks_leave_a_tail(make_case):
    machine = load_machine("h100-sxm")
    ops = [{**ADD, "times": 100_000}]
    blocks = 132 * 8  # one wave of 8 blocks of 8 warps
    whole, more = (
        Volkov().predict(make_case(machine, ops, blocks=n)) for n in (blocks, blocks + 1)
    )
    tail = {part.name: part.cycles for part in more.breakdown}["tail"]
    assert tail > 0.9 * (more.cycles - whole.cycles) > 0


@pytest.mark.parametrize(("warps", "relative"), [(12, 1.0), (16, 1.0), (17, 0.85)])
def test_a_block_of_17_warps_loads_four_schedulers_unevenly(make_case, warps, relative):
    """Section 5.8: reciprocal roots on Kepler, a block per SM: 15 % less than with 12 or 16."""
    machine = load_machine("gtx-680")
    root = {"op_class": OpClass.SFU, "writes": "x", "reads": ("x",), "times": 100_000}
    few = Resources(static_shared_bytes=40_000, registers=10, source="hand")
    case = make_case(machine, [root], blocks=8 * 5, threads=32 * warps, resources=few)
    assert case.occupancy.blocks_per_sm == 1
    p = Volkov().predict(case)
    throughput = case.launch.blocks * warps * 100_000 / 8 / p.cycles
    assert throughput == pytest.approx(relative, rel=0.02)


def test_schedulers_even_out_where_blocks_replace_each_other():
    one = kepler_vadd(17)
    uneven = replace(one, schedulers=4, scheduler_cycles=one.chip_cycles * 2)
    assert uneven.cycles == pytest.approx(one.cycles)


def test_a_machine_without_dram_latency_serves_kernels_that_do_not_load(make_case, set_numbers):
    machine = set_numbers(load_machine("h100-sxm"), {"latency.dram": None})
    assert Volkov().predict(make_case(machine, [ADD])).time_s > 0


@given(WAVES)
def test_the_parts_of_a_launch_are_its_time(waves):
    assert waves.tail_cycles >= 0
    assert waves.uneven_cycles >= 0
    parts = waves.steady_cycles + waves.tail_cycles + waves.uneven_cycles
    assert parts == pytest.approx(waves.cycles)


@pytest.mark.parametrize("times", [1, 10, 1000])
@pytest.mark.parametrize("blocks", [1, 8, 1000])
def test_what_binds_is_the_largest_part(make_case, times, blocks):
    case = make_case(load_machine("gtx-680"), [{**ADD, "times": times}], blocks=blocks, threads=96)
    p = Volkov().predict(case)
    largest = max(p.breakdown, key=lambda part: part.cycles)
    assert largest.name.removeprefix("exposed ") == p.bottleneck
