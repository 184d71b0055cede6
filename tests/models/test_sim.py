"""Sim et al. 2012, as Volkov 2016 works it out in section 7.4."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.ir import OpClass
from kernelcast.machines.loader import load_machine
from kernelcast.models.sim import BENEFITS_IN_WORDS, Sim, SimInputs, solve
from kernelcast.models.terms.mix import Mix, mix_work

# Table 7.1: arithmetic latency, cycles per instruction, memory latency, MWP_peak_bw.
TABLE_7_1 = {
    "gtx-480": (18, 1, 513, 30.7),
    "gtx-680": (9, 0.25, 301, 40.3),
    "gtx-980": (6, 0.25, 368, 29.9),
}
WARPS = np.arange(2, 49, 2)


@pytest.mark.parametrize("name", TABLE_7_1)
def test_table_7_1_comes_from_the_machine_files(name):
    inputs = Sim().inputs_of_work(mix_work(load_machine(name), Mix(32), 8))
    latency, cpi, amat, peak = TABLE_7_1[name]
    assert (inputs.avg_inst_lat, float(inputs.cpi), inputs.amat) == (latency, cpi, amat)
    assert float(solve(inputs).mwp_peak_bw) == pytest.approx(peak, abs=0.05)


@pytest.mark.parametrize("alpha", [0, 1, 8, 32, 128])
def test_fermi_as_written_out(alpha):
    n = WARPS
    mwp = np.minimum(n, 30.7265625)
    rate = (alpha + 1) * np.maximum(18 / n, 1)
    cwp = np.minimum(n, 1 + 513 / rate)
    t_comp, t_mem = n * rate, n * 513 / np.minimum(mwp, np.maximum(1, cwp - 1))
    late = np.where(cwp > mwp, 0, t_comp / n)
    expected = np.maximum(t_comp, t_mem + late)
    work = mix_work(load_machine("gtx-480"), Mix(alpha), n)
    np.testing.assert_allclose(n / Sim().warp_throughput(work), expected)


def test_two_warps_of_loads_are_predicted_at_half_their_throughput():
    """The effect of CWP - 1: 513 cycles per load of two warps, not 513 / 2."""
    work = mix_work(load_machine("gtx-480"), Mix(0), [2, 4])
    taken = 1 / Sim().warp_throughput(work)
    assert taken[0] / (513 / 2) == pytest.approx(2, rel=0.02)
    assert taken[1] / (513 / 4) == pytest.approx(1.33, rel=0.05)


def c2050(n, delta: float) -> SimInputs:
    """Loads alone with the data of the paper: 144 GB/s at the pins, MWP_peak_bw 30.7."""
    return SimInputs(
        n=n,
        insts=1,
        mem_insts=1,
        fp_insts=0,
        avg_inst_lat=18,
        cpi=1,
        ilp=1,
        mlp=1,
        amat=440.0,
        mem_cycles=440 / 30.7,
        departure_delay=delta,
    )


def test_departure_delay_caps_mwp_below_bandwidth():
    """Section 7.4: avg_DRAM_lat / Delta = 22 on the C2050, so that MWP_peak_bw never binds."""
    assert solve(c2050(48, 0)).mwp == pytest.approx(30.7)
    assert solve(c2050(48, 20)).mwp == 22


def test_benefits_name_what_each_would_save():
    few, many = (solve(c2050(n, 0)) for n in (4, 48))
    assert few.b_itilp == pytest.approx(18 / 4 - 1)
    assert many.b_itilp == 0
    assert few.b_memlp > 0
    assert many.b_memlp == pytest.approx(0, abs=1)
    assert few.b_fp == 1  # the load is no floating-point instruction
    assert few.b_serial == 0
    serial = SimInputs(
        **{**{k: getattr(c2050(4, 0), k) for k in SimInputs.__slots__}, "w_serial": 5}
    )
    assert solve(serial).b_serial == 5
    assert solve(serial).t_comp == few.t_comp + 5


def by_hand(n, mem_insts) -> SimInputs:
    """20 instructions, 10 of them floating point, ILP 1.5, MLP 2, 6 cycles of serialisation.

    A chip of 18 cycles latency and 1 per instruction, 440 cycles to memory and a transaction every
    20: ITILP_max = 18 / 1 = 18, MWP_peak_bw = 440 / 20 = 22.
    """
    return SimInputs(
        n=n,
        insts=20,
        mem_insts=mem_insts,
        fp_insts=10,
        avg_inst_lat=18,
        cpi=1,
        ilp=1.5,
        mlp=2,
        amat=440.0,
        mem_cycles=20,
        w_serial=6,
    )


def test_equations_by_hand_where_memory_waits():
    """8 warps, 10 memory instructions each."""
    r = solve(by_hand(8, 10))
    # (3)-(5): ITILP = min(1.5 x 8, 18) = 12, W_parallel = 20 x 18 / 12
    assert r.w_parallel == 30
    assert r.t_comp == 30 + 6  # (2)
    # (A.2)-(A.4): mem_cycles = 10 x 440 / 2, CWP_full = (2200 + 30) / 30 = 74.3, capped at N
    assert r.cwp == 8
    assert r.mwp == 8  # (A.5): min(22, 8)
    # (14), (15): MWP_cp = min(8 - 1, 8) = 7, ITMLP = min(2 x 7, 22) = 14; (11): 10 x 440 / 14
    assert r.t_mem == pytest.approx(4400 / 14)
    # (17): CWP <= MWP, so zeta = 1 and F_overlap = 7/8; (16): 36 x 7/8
    assert r.t_overlap == 31.5
    assert r.t_exec == pytest.approx(36 + 4400 / 14 - 31.5)  # (1)
    # What is left of T_mem after the overlap, over what the bandwidth asks for: 10 x 20
    assert r.b_memlp == pytest.approx(4400 / 14 - 31.5 - 200)
    assert r.b_itilp == 30 - 20 * 18 / 18
    assert r.b_serial == 6
    # T_fp = 10 x 18 / 18; what T_comp holds beyond it and the other two benefits
    assert r.b_fp == 36 - 10 - 10 - 6


def test_equations_by_hand_where_bandwidth_binds():
    """24 warps, 10 memory instructions each."""
    r = solve(by_hand(24, 10))
    assert r.w_parallel == 20  # ITILP = min(36, 18)
    assert r.cwp == 24  # min(1 + 2200 / 20, 24)
    assert r.mwp == 22
    assert r.t_mem == 10 * 440 / 22  # ITMLP = min(2 x 22, 22)
    assert r.t_overlap == 26  # CWP > MWP, so all of T_comp
    assert r.t_exec == 200
    assert (r.b_itilp, r.b_memlp, r.b_fp, r.b_serial) == (0, 0, 10, 6)


def test_equations_by_hand_where_computation_binds():
    """24 warps, 1 memory instruction each: 1 + 220 / 20 = 12 warps compute while one waits."""
    r = solve(by_hand(24, 1))
    assert r.cwp == 12
    assert r.t_mem == 440 / 22  # MWP_cp = min(11, 22), ITMLP = min(22, 22)
    assert r.t_overlap == 20  # zeta = 1: min(26 x 23/24, 20)
    assert r.t_exec == 26
    assert (r.b_itilp, r.b_memlp, r.b_fp, r.b_serial) == (0, 0, 10, 6)


@given(
    n=st.integers(1, 64),
    mem_insts=st.floats(0, 20),
    fp_share=st.floats(0, 1),
    ilp=st.floats(1, 8),
    mlp=st.floats(1, 8),
    serial=st.floats(0, 100),
)
def test_the_benefits_of_computation_and_floating_point_are_all_of_t_comp(
    n, mem_insts, fp_share, ilp, mlp, serial
):
    """T_comp = T_fp + B_fp + B_itilp + B_serial, and B_memlp takes T_mem down to its least."""
    i = replace(by_hand(n, mem_insts), ilp=ilp, mlp=mlp, w_serial=serial, fp_insts=20 * fp_share)
    r = solve(i)
    whole = 20 * fp_share * i.cpi + r.b_fp + r.b_itilp + r.b_serial
    assert whole == pytest.approx(float(r.t_comp))
    exposed = r.t_mem - r.t_overlap
    assert exposed - r.b_memlp == pytest.approx(float(min(exposed, mem_insts * i.mem_cycles)))
    assert min(r.b_itilp, r.b_memlp, r.b_fp, r.b_serial) >= -1e-9


def test_a_prediction_says_that_its_benefits_are_read_from_words(make_case):
    add = {"op_class": OpClass.FP32, "writes": "x", "reads": ("x",), "times": 100}
    p = Sim().predict(make_case(load_machine("gtx-480"), [add]))
    assert BENEFITS_IN_WORDS in p.assumptions
    assert all(f"{name}, cycles" in p.terms for name in ("B_itilp", "B_memlp", "B_fp", "B_serial"))


def test_a_negative_delay_is_refused():
    with pytest.raises(InputError):
        Sim(departure_delay=-1)
    with pytest.raises(InputError):
        Sim(departure_delay=float("nan"))
