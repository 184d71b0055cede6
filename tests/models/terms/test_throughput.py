"""Volkov 2016, section 3.6: the worksheet, and what becomes of instructions and bytes in it."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import Instruction, Kernel, OpClass, Space
from kernelcast.isas.assembly import assembled_class
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.throughput import (
    block_launch_cycles,
    issue_cycles_per_warp,
    worksheet,
)
from kernelcast.profiling.profile import Footprint

BLOCKS, WARPS_PER_BLOCK = 1600, 8
LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL}
SHARED = {"op_class": OpClass.LOAD, "space": Space.SHARED}


def rows(case) -> dict[Bottleneck, float]:
    sheet = worksheet(case, Estimate.CENTRAL, "this test")
    return {use.resource: use.cycles_per_warp for use in sheet.uses}


@pytest.fixture
def table_3_2(make_case, set_numbers):
    """The mix of Table 3.2 on the limits of Table 3.3, which are those of a GTX 980.

    Every instruction takes one issue slot there, unlike in section 4.7. 5 loads of 128 B and 5 of
    256 B (stride 2: twice the sectors), none of them cached.
    """
    gtx980 = load_machine("gtx-980")
    per_sm = 10.4 * gtx980.number("sm.count") * gtx980.number("clock.sm")
    limits = {"dram.achieved_bandwidth": per_sm, "throughput.sfu": 32}
    machine = set_numbers(gtx980, {**limits, "issue.sfu": None, "issue.shared": None})
    warps = BLOCKS * WARPS_PER_BLOCK
    sectors = warps * 5 * (4 + 8)
    return make_case(
        machine,
        [
            {"op_class": OpClass.FP32, "times": 100},
            {"op_class": OpClass.SFU, "times": 5},
            {**SHARED, "times": 10},
            {**SHARED, "times": 10, "access": {"passes": 20}},
            {**LOAD, "times": 5},
            {**LOAD, "times": 5, "access": {"sectors": 40, "lines": 10}},
        ],
        blocks=BLOCKS,
        footprints=[Footprint("a", 32 * sectors, True, False, sectors, sectors, sectors)],
    )


def test_table_3_4(table_3_2):
    """CUDA cores 25, SFU 5, shared memory 30, memory 184.5 cycles per warp: memory binds."""
    cycles = rows(table_3_2)
    assert cycles[Bottleneck.FP32] == pytest.approx(25)
    assert cycles[Bottleneck.SFU] == pytest.approx(5)
    assert cycles[Bottleneck.SHARED_BANDWIDTH] == pytest.approx(30)
    assert cycles[Bottleneck.DRAM_BANDWIDTH] == pytest.approx(184.5, abs=0.2)
    busiest = worksheet(table_3_2, Estimate.CENTRAL, "this test").busiest
    assert busiest.resource is Bottleneck.DRAM_BANDWIDTH
    assert 1 / busiest.cycles_per_warp == pytest.approx(0.00542, abs=1e-5)


def test_shared_memory_and_the_l1_cache_take_turns_at_their_banks(make_case):
    """The table of a checksum in shared memory, its bytes all over lines of global memory."""
    table = {**SHARED, "times": 10, "access": {"passes": 20}}
    words = {**LOAD, "times": 10, "access": {"passes": 40, "tag_passes": 10, "lines": 80}}
    machine = load_machine("h100-sxm")
    pass_cycles = 128 / machine.number("shared.bandwidth")
    together = rows(make_case(machine, [table, words]))
    assert together[Bottleneck.SHARED_BANDWIDTH] == pytest.approx(20 * pass_cycles)
    assert together[Bottleneck.L1_BANDWIDTH] == pytest.approx(60 * pass_cycles)
    # Tags are no bank of shared memory's.
    looked_up = {**words, "access": {"passes": 10, "tag_passes": 60, "lines": 240}}
    apart = rows(make_case(machine, [table, looked_up]))
    assert apart[Bottleneck.L1_BANDWIDTH] == pytest.approx(60)
    assert apart[Bottleneck.SHARED_BANDWIDTH] == pytest.approx(30 * pass_cycles)


def test_issue_slots_of_table_3_4():
    """125 single issues, 5 dual ones and 15 reissues over 4 schedulers."""
    assert issue_cycles_per_warp(125, 5, 15, 4) == 36.25


def test_issue_slots_without_dual_issue_or_replays(table_3_2):
    assert rows(table_3_2)[Bottleneck.ISSUE] == pytest.approx(135 / 4)


@pytest.mark.parametrize(("name", "issued"), [("gtx-680", 20), ("gtx-750-ti", 10)])
def test_bank_conflicts_are_issued_again_up_to_kepler(make_case, name, issued):
    case = make_case(load_machine(name), [{**SHARED, "times": 10, "access": {"passes": 20}}])
    assert rows(case)[Bottleneck.ISSUE] == pytest.approx(issued / 4)


def test_integers_have_their_own_pipe_since_volta(make_case):
    mix = [{"op_class": OpClass.FP32, "times": 64}, {"op_class": OpClass.INT, "times": 64}]
    new = rows(make_case(load_machine("v100-sxm2"), mix))
    assert new[Bottleneck.FP32] == new[Bottleneck.INT] == pytest.approx(32)
    old = rows(make_case(load_machine("gtx-980"), mix))
    assert old[Bottleneck.FP32] == pytest.approx(32)
    assert Bottleneck.INT not in old


def test_shared_memory_of_tesla_serves_half_warps(make_case):
    """Volkov's Table 6.1: 8 lanes per cycle on GT200, so 4 cycles for a warp without conflicts."""
    case = make_case(load_machine("gtx-280"), [{**SHARED, "times": 3}])
    assert rows(case)[Bottleneck.SHARED_BANDWIDTH] == pytest.approx(12)


def test_a_rate_that_is_missing_is_named_not_guessed(make_case, set_numbers):
    machine = set_numbers(load_machine("h100-sxm"), {"throughput.sfu": None})
    case = make_case(machine, [{"op_class": OpClass.SFU}, {"op_class": OpClass.FP32}])
    sheet = worksheet(case, Estimate.CENTRAL, "this test")
    assert Bottleneck.SFU not in {use.resource for use in sheet.uses}
    assert any("sfu" in text for text in sheet.left_out)


def test_work_inside_an_sm_is_charged_to_the_fullest(make_case):
    machine = load_machine("v100-sxm2")  # 80 SMs
    case = make_case(machine, [{"op_class": OpClass.FP32, "times": 64}], blocks=81)
    sheet = worksheet(case, Estimate.CENTRAL, "this test")
    fp32 = next(u for u in sheet.uses if u.resource is Bottleneck.FP32)
    assert sheet.even_cycles(fp32) == pytest.approx(32 * 8 * 81 / 80)
    assert sheet.cycles(fp32) == pytest.approx(32 * 8 * 2)


def ptx(op_class: OpClass, *modifiers: str, space: Space | None = None) -> Instruction:
    return Instruction(0, "x", modifiers, (), op_class, space=space)


def test_blocks_begin_one_after_the_other(make_case, set_numbers):
    """0.6 ns a block, however few its warps: 262144 blocks take an H100 157 us at the least."""
    machine = set_numbers(load_machine("h100-sxm"), {"launch.block_interval": 6e-10})
    for warps in (1, 8):
        case = make_case(machine, [{"op_class": OpClass.FP32}], blocks=1 << 18, threads=32 * warps)
        assert block_launch_cycles(case) == pytest.approx(157.3e-6 * 1.98e9, rel=1e-3)
        sheet = worksheet(case, Estimate.CENTRAL, "this test")
        (use,) = (u for u in sheet.uses if u.resource is Bottleneck.BLOCK_LAUNCHES)
        assert sheet.even_cycles(use) == pytest.approx(block_launch_cycles(case))
    unknown = set_numbers(machine, {"launch.block_interval": None})
    assert Bottleneck.BLOCK_LAUNCHES not in rows(make_case(unknown, [{"op_class": OpClass.FP32}]))


def test_what_ptx_becomes_in_machine_code():
    virtual, final = (Kernel("k", isa, "sm_90", (), (), ()) for isa in ("ptx", "sass"))
    assert assembled_class(ptx(OpClass.MOVE, "u32"), virtual) is None
    assert assembled_class(ptx(OpClass.LOAD, "param", "u64", space=Space.PARAM), virtual) is None
    assert assembled_class(ptx(OpClass.CONVERT, "s64", "s32"), virtual) is OpClass.INT
    assert assembled_class(ptx(OpClass.CONVERT, "rn", "f32", "s32"), virtual) is OpClass.CONVERT
    assert assembled_class(ptx(OpClass.LOAD, "global", "f32", space=Space.GLOBAL), virtual)
    assert assembled_class(ptx(OpClass.MOVE), final) is OpClass.MOVE


def test_every_executed_instruction_is_issued(make_case):
    ops = [{"op_class": c, "times": 3} for c in OpClass if not c.is_memory]
    case = make_case(load_machine("h100-sxm"), ops)
    assert rows(case)[Bottleneck.ISSUE] == pytest.approx(3 * len(ops) / 4)
    assert np.isfinite(list(rows(case).values())).all()
