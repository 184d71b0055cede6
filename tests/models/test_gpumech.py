"""Huang et al. 2014, as Volkov 2016 works it out in sections 7.5 to 7.8."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models.gpumech import GpuMech, GpuMechInputs, solve
from kernelcast.models.terms.mix import Mix, mix_work

GTO = "greedy-then-oldest"


def paper(n, alpha: float) -> GpuMechInputs:
    """The GPU of the paper: 16 SMs, 1 GHz, 192 GB/s, latencies of 25 and 300 cycles."""
    return GpuMechInputs(
        n=n, alu=alpha, mem=1, alu_lat=25, mem_lat=300, s=128 / 192, cores=16, mshrs=32
    )


def fermi(n, alpha: float, reqs: float = 1) -> GpuMechInputs:
    s = 1.4e9 * 128 / 177.4e9
    return GpuMechInputs(
        n=n, alu=alpha, mem=1, alu_lat=18, mem_lat=513, reqs=reqs, s=s, cores=15, mshrs=64
    )


def test_utilisation_of_the_papers_gpu_exceeds_one():
    assert solve(paper(32, 0)).rho == pytest.approx(1.14, abs=0.005)


def test_a_negative_delay_is_reproduced():
    r = solve(paper(29, 0))
    assert r.mshr_delay == 0
    assert r.rho == pytest.approx(1.03, abs=0.005)
    assert r.bandwidth_delay == pytest.approx(-11, abs=0.5)
    assert r.cpi_final == pytest.approx(-0.7, abs=0.05)


def test_the_singularity_lies_between_28_and_29_warps():
    n = 300 / (16 * 128 / 192)
    assert n == pytest.approx(28.1, abs=0.05)
    before, after = (solve(paper(m, 16)).bandwidth_delay for m in (n - 0.01, n + 0.01))
    assert before > 100
    assert after < -100


@pytest.mark.parametrize("policy", ["round-robin", GTO])
def test_negative_throughput_on_fermi(policy):
    """alpha = 32, n = 34: about -12 additions per cycle and SM."""
    r = solve(fermi(34, 32), policy)
    assert 32 / r.cpi_final * 32 / 33 == pytest.approx(-12, abs=0.5)
    machine = load_machine("gtx-480")
    x = GpuMech(policy=policy, bandwidth=True).warp_throughput(mix_work(machine, Mix(32), 34))
    assert 32 * 32 * x == pytest.approx(-12, abs=0.5)


def test_negative_throughput_with_accesses_of_stride_two():
    """alpha = 0, n = 17: delay -120, -89 cycles per instruction."""
    r = solve(fermi(17, 0, reqs=2))
    assert r.mshr_delay == 0
    assert r.bandwidth_delay == pytest.approx(-120, abs=0.5)
    assert r.cpi_final == pytest.approx(-89, abs=0.5)


def test_round_robin_knows_no_limit_of_bandwidth():
    """Section 7.5: 48/513 loads per cycle on Fermi, 252 GB/s over pins of 177 GB/s."""
    x = GpuMech().warp_throughput(mix_work(load_machine("gtx-480"), Mix(0), 48))
    assert x == pytest.approx(48 / 513)
    assert x * 128 * 15 * 1.4 == pytest.approx(252, abs=0.5)


def test_round_robin_knows_no_limit_of_arithmetic():
    """Section 7.5: 341 additions per cycle on the 128 cores of a Maxwell SM."""
    x = GpuMech().warp_throughput(mix_work(load_machine("gtx-980"), Mix(math.inf), 64))
    assert 32 * x == pytest.approx(341, abs=0.5)


def test_kepler_at_full_occupancy():
    """Section 7.5 prints 115 additions per cycle: that counts the loads, 111 does not."""
    x = GpuMech().warp_throughput(mix_work(load_machine("gtx-680"), Mix(32), 64))
    assert 32 * 33 * x == pytest.approx(115, abs=0.5)
    assert 32 * 32 * x == pytest.approx(111, abs=0.5)


@pytest.mark.parametrize("latency", [6, 9, 18, 25])
def test_greedy_then_oldest_of_additions_alone(latency):
    """Section 7.6: n / max(alu_lat, (n - 1)(1 - 1 / alu_lat) + 1)."""
    n = np.arange(1, 200)
    r = solve(GpuMechInputs(n=n.astype(float), alu=1, mem=0, alu_lat=latency, mem_lat=300), GTO)
    expected = n / np.maximum(latency, (n - 1) * (1 - 1 / latency) + 1)
    np.testing.assert_allclose(1 / r.cpi_final, expected)


@pytest.mark.parametrize(("latency", "excess"), [(25, 1.04), (6, 1.20)])
def test_greedy_then_oldest_exceeds_the_issue_rate(latency, excess):
    """Section 7.6: by 4 % on the paper's GPU, by 20 % on Maxwell."""
    r = solve(GpuMechInputs(n=1e6, alu=1, mem=0, alu_lat=latency, mem_lat=300), GTO)
    assert 1 / r.cpi_final == pytest.approx(excess, abs=0.005)


@pytest.mark.parametrize("n", [1, 16, 32, 48])
def test_policies_agree_on_loads_alone(n):
    assert solve(fermi(n, 0), GTO).cpi_multithreading == solve(fermi(n, 0)).cpi_multithreading


@given(r=st.integers(1, 300), m=st.integers(1, 64))
def test_miss_registers_are_taken_in_turns(r, m):
    inputs = GpuMechInputs(n=r, alu=0, mem=1, alu_lat=1, mem_lat=100, mshrs=m)
    mean = sum(math.ceil(j / m) - 1 for j in range(1, r + 1)) / r
    assert solve(inputs).mshr_delay == pytest.approx(100 * mean)


@pytest.mark.parametrize(
    ("warps", "reqs", "registers", "mean_turn"),
    [
        (5, 1, 2, (1 + 1 + 2 + 2 + 3) / 5),
        (6, 1, 3, (3 * 1 + 3 * 2) / 6),
        (48, 2, 64, (64 * 1 + 32 * 2) / 96),  # stride 2 at full occupancy of Fermi
        (48, 32, 128, 6.5),  # 1536 requests in 12 batches: (1 + 2 + .. + 12) / 12
        (64, 1, 64, 1),
        (1, 1, 64, 1),
    ],
)
def test_equation_20_by_hand(warps, reqs, registers, mean_turn):
    """A request that takes the k-th turn at the registers waits k - 1 latencies of memory."""
    inputs = GpuMechInputs(
        n=warps, alu=0, mem=1, alu_lat=1, mem_lat=340, reqs=reqs, mshrs=registers
    )
    assert solve(inputs).mshr_delay == pytest.approx(340 * (mean_turn - 1))


def test_registers_in_short_supply_reach_the_prediction_by_hand():
    """Fermi, alpha = 3, n = 48, two transactions each, pins of which nobody takes note.

    total_cycles = 513 + 3 x 18 = 567, CPI_multithreading = 567 / (48 x 4); 96 requests at 64
    registers wait 513 x 32/96 = 171 cycles, over the 4 instructions of the group.
    """
    r = solve(GpuMechInputs(n=48, alu=3, mem=1, alu_lat=18, mem_lat=513, reqs=2, mshrs=64))
    assert r.cpi_multithreading == 567 / 192
    assert r.mshr_delay == pytest.approx(171)
    assert r.bandwidth_delay == 0
    assert r.cpi_final == pytest.approx(567 / 192 + 171 / 4)


def test_independent_instructions_make_longer_intervals():
    """Equation 10: p (n - 1)(interval_insts - 1) instructions that do not overlap."""
    r = solve(GpuMechInputs(n=3, alu=8, mem=0, alu_lat=20, mem_lat=300, alu_insts=4))
    assert r.total_cycles == 40
    assert r.non_overlapped == pytest.approx(2 * (8 / 40) * 2 * 3)


def asked_for(make_case, set_numbers, rho: float, additions: int = 0):
    """A case on Fermi with the bandwidth at the pins at which the loads ask for `rho` times it."""
    load = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "reads": ("x",)}
    add = {"op_class": OpClass.FP32, "writes": "x", "reads": ("x",)}
    ops = [{**load, "times": 100}] + ([{**add, "times": additions}] if additions else [])
    machine = load_machine("gtx-480")
    plenty = make_case(set_numbers(machine, {"dram.bandwidth": 1e15}), ops, blocks=1 << 10)
    found: Any = GpuMech(bandwidth=True).predict(plenty).terms["rho"]
    bandwidth = 1e15 * found / rho
    return make_case(set_numbers(machine, {"dram.bandwidth": bandwidth}), ops, blocks=1 << 10)


def test_a_negative_time_is_an_error_and_not_a_prediction(make_case, set_numbers):
    case = asked_for(make_case, set_numbers, 1.002)
    with pytest.raises(InputError, match="equation 21"):
        GpuMech(bandwidth=True).predict(case)
    assert GpuMech().predict(case).time_s > 0


def test_a_negative_delay_in_a_positive_time_is_flagged(make_case, set_numbers):
    case = asked_for(make_case, set_numbers, 1.5, additions=20_000)
    p = GpuMech(bandwidth=True).predict(case)
    delay = p.terms["Bandwidth_delay"]
    assert isinstance(delay, float) and delay < 0
    assert 0 < p.time_s < GpuMech().predict(case).time_s
    assert any("impossible" in w for w in p.warnings)


def test_contention_below_the_limit_only_delays(make_case, set_numbers):
    case = asked_for(make_case, set_numbers, 0.9)
    p = GpuMech(bandwidth=True).predict(case)
    assert p.time_s > GpuMech().predict(case).time_s
    assert not any("impossible" in w for w in p.warnings)


@pytest.mark.parametrize("fields", [{"policy": "fifo"}, {"mshrs": -1}])
def test_parameters_that_are_none(fields):
    with pytest.raises(InputError):
        GpuMech(**fields)
