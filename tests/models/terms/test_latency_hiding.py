"""Volkov 2016, chapter 4 and section 6.5: the workload of one parameter."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.models.terms.latency_hiding import (
    Chip,
    MemoryContention,
    contended_throughput,
    memory_throughput,
    needed_warps,
    throughput_bound,
)

# Table 4.1: mem_lat, mem_thru, alu_lat, alu_thru, issue_thru.
CHIPS = {
    "G80": Chip(444, 0.0268, 20, 0.25, 0.5),
    "GT200": Chip(434, 0.0277, 24, 0.25, 0.5),
    "Fermi": Chip(513, 0.0599, 18, 1, 1),
    "Kepler": Chip(301, 0.1338, 9, 4, 4),
    "Maxwell": Chip(368, 0.0814, 6, 4, 4),
}
# Table 4.2, with the bounds that do not matter on a chip left out, as printed.
TABLE_4_2 = {
    "G80": lambda n, a: 32 * a * min(n / (444 + 20 * a), 0.0268, 0.25 / a),
    "GT200": lambda n, a: 32 * a * min(n / (434 + 24 * a), 0.0277, 0.25 / a),
    "Fermi": lambda n, a: 32 * a * min(n / (513 + 18 * a), 0.0599, 1 / (a + 1)),
    "Kepler": lambda n, a: 32 * a * min(n / (301 + 9 * a), 0.1338, 4 / (a + 1)),
    "Maxwell": lambda n, a: 32 * a * min(n / (368 + 6 * a), 0.0814, 4 / (a + 1)),
}
# Section 6.5: Table 6.5 for Kepler, 170 GB/s as loads per cycle and SM.
KEPLER_LAW = MemoryContention(300, ((32, 170e9),)).in_units_of(128 * 8 * 1.124e9)


@pytest.mark.parametrize("name", CHIPS)
def test_table_4_2_adds_per_cycle_and_sm(name):
    warps = np.arange(1, 65)
    for alpha in (1, 2, 8, 16, 32, 49, 64, 128, 512, 4096):
        expected = [TABLE_4_2[name](n, alpha) for n in warps]
        loads = memory_throughput(CHIPS[name], warps, alpha)
        np.testing.assert_allclose(32 * alpha * loads, expected)


def test_loads_alone_need_no_special_case():
    assert memory_throughput(CHIPS["Maxwell"], [1, 64], 0) == pytest.approx([1 / 368, 0.0814])


def test_the_cusp_of_maxwell():
    """Section 4.5: 30 warps for loads alone, 24 for additions alone, about 54 near alpha = 49."""
    chip = CHIPS["Maxwell"]
    assert needed_warps(chip, 0) == pytest.approx(30, abs=0.05)
    assert needed_warps(chip, 1e9) == pytest.approx(24, abs=0.01)
    alpha = np.arange(0, 1000)
    warps = needed_warps(chip, alpha)
    assert warps.max() == pytest.approx(54, abs=1)
    assert alpha[warps.argmax()] == pytest.approx(49, abs=1.5)


def test_capacity_of_kepler_in_loads_per_cycle():
    assert KEPLER_LAW.terms[0][1] == pytest.approx(0.1477, abs=5e-5)


@pytest.mark.parametrize("alpha", [0, 1, 16, 64, 128, 1000])
@pytest.mark.parametrize("warps", [1, 8, 30, 48, 64])
def test_section_6_5_solves_its_equation(warps, alpha):
    """x = min(n / (300 + 32 x / (0.1477 - x) + 9 alpha), 0.1338, 4 / (alpha + 1)).

    The latency branch alone is a quadratic; its lower root is the answer where it is below the
    bound.
    """
    c = KEPLER_LAW.terms[0][1]
    base = 300 + 9 * alpha
    p, q = 32 - base, base * c + warps  # p x^2 + q x - n c = 0
    root = (-q + math.sqrt(q * q + 4 * p * warps * c)) / (2 * p)
    expected = min(root, 0.1338, 4 / (alpha + 1))
    x = memory_throughput(CHIPS["Kepler"], warps, alpha, KEPLER_LAW)
    assert x == pytest.approx(expected, rel=1e-9)


def test_contention_delays_saturation_but_not_the_single_warp():
    chip = CHIPS["Kepler"]
    n = np.arange(1, 65)
    plain, refined = (memory_throughput(chip, n, 0, law) for law in (None, KEPLER_LAW))
    assert refined[0] == pytest.approx(plain[0], rel=0.01)
    assert refined[40] < 0.95 * plain[40]
    # Table 6.4: 90 and 95 % of the peak with 14 and 16 warps on each of 4 schedulers.
    assert refined[[55, 63]] / 0.1338 == pytest.approx([0.90, 0.95], abs=0.025)


def test_refined_law_of_g80():
    """Section 6.4: 441 + 4 x / (71 - x) + 156 x / (121 - x), x in GB/s."""
    law = MemoryContention(441, ((4, 71), (156, 121)))
    assert law.latency(0) == 441
    assert law.latency(50) == pytest.approx(441 + 4 * 50 / 21 + 156 * 50 / 71)
    assert law.latency(71) == math.inf


def test_under_load_the_last_of_several_loads_waits_longer():
    """s = 30 and w = 40 together are spread by 50: of two loads, the last comes 25 after the mean.

    Without load it is 15, which is part of a.
    """
    law = MemoryContention(700, ((40, 2.0),), s=30.0, m=0.5)
    assert float(law.latency(0)) == 700
    assert float(law.latency(1.0)) == pytest.approx(700 + 40 + 25 - 15)
    writes = MemoryContention(700, (), d=20.0, s=30.0, m=0.5)
    assert float(writes.latency(2.0)) == pytest.approx(700 + 40 + 25 - 15)
    assert float(writes.in_units_of(2.0).latency(1.0)) == pytest.approx(700 + 40 + 25 - 15)
    three = writes.times(3, 2400)
    assert float(three.latency(2.0)) == pytest.approx(2400 + 3 * (40 + 25 - 15))


@given(
    n=st.floats(0.1, 200),
    a=st.floats(1, 1e4),
    b=st.floats(0, 1e3),
    c=st.floats(1e-4, 10),
    bound=st.floats(1e-5, 10),
)
def test_the_solution_is_consistent(n, a, b, c, bound):
    law = MemoryContention(a, ((b, c),))
    x = float(contended_throughput(n, law.latency, bound))
    below, above = 0.999 * x, 1.001 * x
    assert 0 < x <= bound
    assert below < n / float(law.latency(below))
    assert above > min(n / float(law.latency(above)), bound)


@given(n=st.floats(1, 64), alpha=st.floats(0, 1e4))
def test_needed_warps_reach_the_bound_and_fewer_do_not(n, alpha):
    chip = CHIPS["Fermi"]
    enough = float(needed_warps(chip, alpha))
    bound = float(throughput_bound(chip, alpha))
    assert memory_throughput(chip, enough, alpha) == pytest.approx(bound)
    assert float(memory_throughput(chip, 0.9 * enough, alpha)) < bound
