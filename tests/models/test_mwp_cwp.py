"""Hong & Kim 2009: Table 2, the cases, and Volkov's check of the model (his section 7.1)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelcast.errors import InputError
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models.mwp_cwp import MwpCwp, MwpCwpInputs, inputs_of_case, solve
from kernelcast.models.terms.base import Bottleneck

TABLE_2 = MwpCwpInputs(
    mem_ld=420,
    departure_del_uncoal=10,
    departure_del_coal=4,
    issue_cycles=4,
    freq_hz=1e9,
    mem_bandwidth=80e9,
    blocks=80,
    active_sms=16,
    active_blocks_per_sm=5,
    warps_per_block=4,
    comp_insts=27,
    uncoal_mem_insts=6,
    coal_mem_insts=0,
    synch_insts=6,
    uncoal_per_mw=32,
    load_bytes_per_warp=128,
)


def gt200(n: float, alpha: float) -> MwpCwpInputs:
    """Volkov's setting: one coalesced load and alpha additions per group, n warps per SM."""
    return MwpCwpInputs(
        mem_ld=434,
        departure_del_uncoal=40,
        departure_del_coal=4,
        issue_cycles=4,
        freq_hz=1.296e9,
        mem_bandwidth=141.7e9,
        blocks=30 * n,
        active_sms=30,
        active_blocks_per_sm=n,
        warps_per_block=1,
        comp_insts=alpha * 1000,
        uncoal_mem_insts=0,
        coal_mem_insts=1000,
        synch_insts=0,
        uncoal_per_mw=1,
        load_bytes_per_warp=128,
    )


def test_table_2_terms():
    r = solve(TABLE_2)
    assert r.mem_l == 730
    assert r.departure_delay == 320
    assert r.mwp_without_bw_full == pytest.approx(2.28, abs=0.005)
    assert r.bw_per_warp == pytest.approx(0.175e9, rel=0.005)
    assert r.mwp_peak_bw == pytest.approx(28.57, rel=0.005)
    assert r.mwp == r.mwp_without_bw_full
    assert r.comp_cycles == 132
    assert r.mem_cycles == 4380
    assert r.cwp_full == pytest.approx(34.18, abs=0.005)
    assert r.cwp == r.n == 20
    assert r.rep == 1
    assert r.case == 23


def test_table_2_with_mwp_rounded_as_the_paper_does():
    r = solve(TABLE_2, mwp=2.28)
    printed = round(r.exec_cycles_app), round(r.synch_cost), round(r.total)
    assert r.exec_cycles_app == pytest.approx(38450, abs=1)
    assert printed[1:] == (12288, printed[0] + 12288)
    assert r.total == pytest.approx(50738, abs=1)


def test_table_2_unrounded():
    r = solve(TABLE_2)
    assert [round(v) for v in (r.exec_cycles_app, r.synch_cost, r.total)] == [38428, 12300, 50728]


def test_cpi_of_table_2():
    """Equation 25: 33 instructions, 4 warps per block, 5 blocks per SM."""
    assert solve(TABLE_2).cpi == pytest.approx(38428 / (33 * 4 * 5), rel=1e-4)


def test_volkovs_check_of_the_parallelism():
    """His section 7.1: MWP_peak_bw 12.4 and CWP 4.3 at alpha = 32."""
    r = solve(gt200(24, 32))
    assert r.mwp_peak_bw == pytest.approx(12.4, abs=0.05)
    assert r.cwp == pytest.approx(4.3, abs=0.05)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_few_warps_are_bound_by_latency(n):
    """Equation 22: 434 + 4 (alpha + 1) cycles per group, whatever n."""
    r = solve(gt200(n, 32))
    assert r.case == 22
    assert r.exec_cycles_app / 1000 == pytest.approx(434 + 4 * 33, rel=0.001)


@pytest.mark.parametrize("n", [6, 12, 24, 32])
def test_many_warps_are_bound_by_computation(n):
    """Equation 24: 4 n (alpha + 1) cycles per group."""
    r = solve(gt200(n, 32))
    assert r.case == 24
    assert r.exec_cycles_app / 1000 == pytest.approx(4 * n * 33, rel=0.001)


def test_loads_alone_are_bound_by_memory():
    r = solve(gt200(32, 0))
    assert r.case == 23
    assert r.exec_cycles_app / 1000 == pytest.approx(434 * 32 / 12.4, rel=0.01)


def test_more_computation_than_waiting_as_printed_and_as_described():
    """Case 5 of section 3.2.2 is equation 24; the printed condition picks equation 23."""
    inputs = gt200(24, 200)
    printed, described = solve(inputs), solve(inputs, comp_over_mem_equation=24)
    assert printed.comp_cycles > printed.mem_cycles
    assert (printed.case, described.case) == (23, 24)
    assert described.exec_cycles_app / 1000 == pytest.approx(4 * 24 * 201, rel=0.001)
    assert printed.exec_cycles_app < described.exec_cycles_app


def test_a_kernel_without_memory_instructions_computes_all_the_time():
    for n in (1, 8):
        r = solve(replace(gt200(n, 32), coal_mem_insts=0))
        assert r.exec_cycles_app == pytest.approx(4 * 32 * 1000 * n)
        assert r.synch_cost == 0


def test_weights_mix_the_latencies():
    """Equations 12 to 15 and 18 for 1 uncoalesced and 3 coalesced instructions."""
    r = solve(replace(TABLE_2, uncoal_mem_insts=1, coal_mem_insts=3))
    assert r.mem_l == 730 / 4 + 420 * 3 / 4
    assert r.departure_delay == 320 / 4 + 4 * 3 / 4
    assert r.mem_cycles == 730 + 3 * 420


LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL}


@pytest.mark.parametrize(
    ("machine", "access", "coalesced", "uncoalesced", "transactions"),
    [
        # One word to the side: 1.0 splits it, 1.2 takes a segment more, later chips a sector more.
        ("8800-gtx", {"coalesced_cc10": 0, "transactions_cc10": 32}, 0, 1, 32),
        ("gtx-280", {"coalesced_cc10": 0, "transactions_cc10": 32}, 1, 0, 1),
        ("gtx-280", {"coalesced_cc12": 0, "transactions_cc12": 4}, 0, 1, 4),
        ("h100-sxm", {"sectors": 5}, 0, 1, 5),
        ("h100-sxm", {"sectors": 1}, 1, 0, 1),
    ],
)
def test_both_policies_of_coalescing_and_their_successor(
    make_case, machine, access, coalesced, uncoalesced, transactions
):
    case = make_case(load_machine(machine), [{**LOAD, "access": access}])
    inputs, _ = inputs_of_case(case, Estimate.CENTRAL)
    assert inputs.coal_mem_insts == coalesced
    assert inputs.uncoal_mem_insts == uncoalesced
    assert inputs.uncoal_per_mw == transactions


def test_constants_of_the_paper_are_used_where_the_machine_has_them(make_case):
    case = make_case(load_machine("gtx-280"), [LOAD])
    inputs, notes = inputs_of_case(case, Estimate.CENTRAL)
    fitted = inputs.mem_ld, inputs.departure_del_uncoal, inputs.departure_del_coal
    assert fitted == (450, 40, 4)
    assert inputs.issue_cycles == 4
    assert not any("Mem_LD" in note for note in notes)


def test_shared_memory_counts_as_computation(make_case):
    shared = {"op_class": OpClass.LOAD, "space": Space.SHARED, "times": 10}
    case = make_case(load_machine("gtx-280"), [LOAD, shared])
    inputs, _ = inputs_of_case(case, Estimate.CENTRAL)
    assert (inputs.mem_insts, inputs.comp_insts) == (1, 10)


def test_a_grid_below_one_wave_takes_a_whole_one(make_case):
    case = make_case(load_machine("gtx-280"), [LOAD], blocks=7)
    inputs, _ = inputs_of_case(case, Estimate.CENTRAL)
    assert (inputs.active_sms, inputs.active_blocks_per_sm) == (7, 1)
    assert solve(inputs).rep == 1


def test_the_doubtful_case_is_told(make_case):
    add = {"op_class": OpClass.FP32, "times": 5000}
    case = make_case(load_machine("gtx-280"), [LOAD, LOAD, add])
    printed = MwpCwp().predict(case)
    assert any("equation 24" in warning for warning in printed.warnings)
    described = MwpCwp(comp_over_mem_equation=24).predict(case)
    assert not any("equation 24" in warning for warning in described.warnings)
    assert described.bottleneck is Bottleneck.ISSUE
    assert described.time_s > printed.time_s


def test_only_two_equations_can_be_chosen():
    with pytest.raises(InputError, match="22"):
        MwpCwp(comp_over_mem_equation=22)
