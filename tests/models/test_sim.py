"""Sim et al. 2012, as Volkov 2016 works it out in section 7.4."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcast.errors import InputError
from kernelcast.machines.loader import load_machine
from kernelcast.models.mix import Mix, mix_work
from kernelcast.models.sim import Sim, SimInputs, solve

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


def test_a_negative_delay_is_refused():
    with pytest.raises(InputError):
        Sim(departure_delay=-1)
    with pytest.raises(InputError):
        Sim(departure_delay=float("nan"))
