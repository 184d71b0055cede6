"""Equations 1 to 10 of Wang et al. 2020, by hand for the chip of their Table III."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.models.terms.memory_divergence import (
    IntervalMisses,
    MissStalls,
    QueueingSystem,
    Scheme,
    WarpIntervals,
    contention,
    solve,
    uncontended_cycles,
)
from kernelcast.models.terms.work import Numbers

TABLE_V = {
    "GPUMech": Scheme("gpumech", "gpumech"),
    "GPUMech+": Scheme("gpumech+", "gpumech+"),
    "MDM-Queue": Scheme("mdm", "gpumech+"),
    "MDM-MSHR": Scheme("gpumech+", "mdm"),
    "MDM": Scheme("mdm", "mdm"),
}
PLAIN = WarpIntervals(times=np.ones(1), insts=10.0, issue_cycles=10.0, stall_cycles=90.0)


def table_iii(
    mshrs: Numbers = 128,
    sms: Numbers = 28,
    noc: float = 1050e9,
    dram: float = 480e9,
    clock: float = 1.4e9,
    w: float = 48,
) -> QueueingSystem:
    return QueueingSystem(w, sms, mshrs, clock * 128 / noc, clock * 128 / dram, 120.0, 220.0)


def waits(
    m_read: float, m_write: float = 0, miss: float = 1, chip: QueueingSystem | None = None
) -> MissStalls:
    return contention(IntervalMisses(1.0, m_read, m_write, miss), chip or table_iii())


@pytest.mark.parametrize(
    ("case", "verdicts", "m", "s_noc", "s_dram", "s_mem", "s_mshr"),
    [
        ((32, 0, 1, {}), (True, True), 128, 611.7, 1338.0, 2289.7, 25186.7),
        ((1, 0, 1, {}), (False, False), 48, 114.7, 250.9, 705.6, 0),
        ((32, 0, 1, {"mshrs": 64}), (True, False), 64, 152.92, 334.51, 827.42, 19030.8),
        ((32, 0, 1, {"mshrs": 71}), (True, False), 71, 169.64, 371.09, 880.74, 18495.5),
        ((32, 0, 1, {"mshrs": 72}), (True, True), 72, 344.06, 752.64, 1436.70, 30170.8),
        ((32, 0, 1, {"mshrs": 256}), (True, True), 256, 1223.34, 2676.05, 4239.39, 21197.0),
        ((32, 1, 1, {}), (True, True), 176, 841.05, 1839.79, 3020.83, 33229.2),
        ((1, 1, 1, {}), (False, True), 96, 229.38, 501.76, 1071.14, 0),
        ((32, 0, 1, {"sms": 15}), (True, False), 128, 163.84, 358.40, 862.24, 9484.6),
        ((32, 0, 1, {"sms": 80}), (True, True), 128, 1747.63, 3822.93, 5910.56, 65016.2),
        ((32, 0, 0.5, {}), (True, True), 128, 611.67, 669.01, 1510.68, 16617.5),
        ((32, 0, 1, {"noc": 350e9}), (True, True), 128, 1835.01, 1338.03, 3513.03, 38643.4),
        ((32, 0, 1, {"clock": 2.0e9}), (True, True), 128, 873.81, 1911.47, 3125.28, 34378.1),
    ],
)
def test_table_iii_by_hand(case, verdicts, m, s_noc, s_dram, s_mem, s_mshr):
    m_read, m_write, miss, numbers = case
    found = waits(m_read, m_write, miss, table_iii(**numbers))
    assert (bool(found.divergent), bool(found.saturated)) == verdicts
    assert found.m == m
    assert found.s_noc == pytest.approx(s_noc, abs=0.06)
    assert found.s_dram == pytest.approx(s_dram, abs=0.06)
    assert found.s_mem == pytest.approx(s_mem, abs=0.06)
    assert found.s_mshr == pytest.approx(s_mshr, abs=0.06)


def test_service_latencies_of_table_iii():
    chip = table_iii()
    assert chip.noc_service == pytest.approx(0.17067, abs=5e-6)
    assert chip.dram_service == pytest.approx(0.37333, abs=5e-6)


def test_the_noc_saturates_from_72_requests_on_and_the_total_jumps():
    last = 340 / (28 * 0.170667)
    assert last == pytest.approx(71.15, abs=0.005)
    mshrs = np.arange(32.0, 257.0)[:, np.newaxis]
    found = waits(32, chip=table_iii(mshrs=mshrs))
    assert (found.saturated[:, 0] == (mshrs[:, 0] >= 72)).all()
    total = dict(zip(mshrs[:, 0], (found.s_mshr + found.s_noc + found.s_dram)[:, 0], strict=True))
    assert total[71.0] == pytest.approx(19036, abs=0.5)
    assert total[72.0] == pytest.approx(31267, abs=0.5)


def test_requests_of_figure_4_are_served_in_batches():
    # Three registers, six requests a warp: two batches a warp, six for three warps (equation 6),
    # and each of the three requests in flight waits for two others.
    one, three = (waits(6, chip=table_iii(mshrs=3, w=w)) for w in (1, 3))
    assert (one.s_mshr / one.s_mem, three.s_mshr / three.s_mem) == (2 - 1, 6 - 1)
    assert three.m == 3
    coalesced = waits(1, chip=table_iii(mshrs=3, w=3))
    assert (bool(coalesced.divergent), float(coalesced.s_mshr), float(coalesced.m)) == (False, 0, 3)


def test_so_many_registers_of_a_streaming_cache_never_run_out():
    # Section VII: 4096 registers; footnote 2 puts the queue of the NoC in their place.
    assert not waits(32, chip=table_iii(mshrs=4096)).divergent
    assert waits(32, chip=table_iii(mshrs=256)).divergent


def test_the_five_schemes_of_table_v():
    """32 reads a warp on Table III: 12 turns at the registers, the mean one 6.5."""
    misses, chip = IntervalMisses(1.0, 32.0), table_iii()
    found = {name: contention(misses, chip, scheme) for name, scheme in TABLE_V.items()}
    half, whole = (611.67 / 2, 1338.03 / 2), (611.67, 1338.03)
    expected = {
        "GPUMech": (0.0, half[1], 5.5 * 340),
        "GPUMech+": (*half, 5.5 * (340 + sum(half))),
        "MDM-Queue": (*whole, 5.5 * (340 + sum(whole))),
        "MDM-MSHR": (*half, 11 * (340 + sum(half))),
        "MDM": (*whole, 11 * (340 + sum(whole))),
    }
    for name, by_hand in expected.items():
        terms = found[name].s_noc, found[name].s_dram, found[name].s_mshr
        assert terms == pytest.approx(by_hand, abs=0.1), name


@pytest.mark.parametrize("name", TABLE_V)
def test_without_divergence_the_schemes_that_know_the_noc_agree(name):
    scheme = TABLE_V[name]
    found = contention(IntervalMisses(1.0, 1.0), table_iii(), scheme)
    assert found.s_mshr == 0
    assert found.s_dram == pytest.approx(250.88)
    assert found.s_noc == pytest.approx(114.69 if scheme.knows_noc else 0, abs=0.01)


@pytest.mark.parametrize("fields", [{"queue": "fifo"}, {"registers": "GPUMech"}])
def test_a_scheme_that_is_none(fields):
    with pytest.raises(InputError, match=next(iter(fields))):
        Scheme(**fields)


READS = st.floats(0, 64)
CHIPS = st.builds(
    table_iii,
    mshrs=st.integers(1, 512),
    sms=st.integers(1, 160),
    noc=st.floats(1e11, 1e13),
    dram=st.floats(1e11, 1e13),
    w=st.integers(1, 64),
)


@given(READS, st.floats(0, 8), st.floats(0, 1), CHIPS)
def test_what_is_always_so(m_read, m_write, miss, chip):
    found = waits(m_read, m_write, miss, chip)
    terms = (found.s_noc, found.s_dram, found.s_mshr)
    assert all(term >= 0 for term in terms)
    assert (found.s_mshr > 0) == bool(found.divergent)
    faster = replace(chip, noc_service=chip.noc_service / 2, dram_service=chip.dram_service / 2)
    sooner = waits(m_read, m_write, miss, faster)
    assert sum((sooner.s_noc, sooner.s_dram, sooner.s_mshr)) <= sum(terms) * (1 + 1e-12)
    more = waits(m_read + 1, m_write, miss, chip)
    assert sum((more.s_noc, more.s_dram, more.s_mshr)) >= sum(terms) * (1 - 1e-12)


@given(READS, CHIPS)
def test_what_waits_longer_for_registers(m_read, chip):
    """GPUMech's mean turn is no later than the last batch, and queues only add to its wait."""
    misses = IntervalMisses(1.0, m_read)
    schemes = (Scheme("mdm", registers) for registers in ("gpumech", "gpumech+", "mdm"))
    first, second, third = (contention(misses, chip, scheme).s_mshr for scheme in schemes)
    assert first <= second * (1 + 1e-12) and second <= third * (1 + 1e-12)


@given(st.lists(st.tuples(READS, st.floats(0, 1)), min_size=1, max_size=8), CHIPS)
def test_many_chips_at_once_are_the_same_as_one_by_one(intervals, chip):
    reads, miss = np.array(intervals).T
    misses = IntervalMisses(np.arange(1.0, 1 + len(reads)), reads, 1.0, miss)
    sms = np.arange(1.0, 5.0)
    together = solve(PLAIN, misses, replace(chip, sms=sms[:, np.newaxis]))
    for row, count in enumerate(sms):
        alone = solve(PLAIN, misses, replace(chip, sms=count))
        assert together.cycles[row] == pytest.approx(float(alone.cycles[0]))
        s = contention(misses, replace(chip, sms=count))
        by_hand = misses.times @ (s.s_mshr + s.s_noc + s.s_dram)
        assert together.cycles[row] - together.base[row] - together.dependence[
            row
        ] == pytest.approx(by_hand, abs=1e-6)


def test_more_chips_than_are_solved_together():
    sms = np.arange(1.0, 100_001.0)[:, np.newaxis]
    stack = solve(PLAIN, IntervalMisses(np.ones(1), np.ones(1)), table_iii(sms=sms))
    assert len(stack.cycles) == 100_000
    assert (np.diff(stack.cycles) > 0).all()


@pytest.mark.parametrize(("warps", "cycles"), [(1, 100.0), (2, 100.0), (20, 100.0 + 190 - 90)])
def test_stalls_are_filled_by_other_warps(warps, cycles):
    # Greedy then oldest: p min(1, 0.1 x 90) = 1, so the other warps issue 10 (n - 1) instructions
    # in the stall of 90 cycles; what they issue beyond it does not overlap.
    found = uncontended_cycles(PLAIN, table_iii(w=warps))
    assert found == pytest.approx(cycles)


def test_several_issue_slots_share_the_warps():
    chip = replace(table_iii(w=80), slots=4.0)
    assert uncontended_cycles(PLAIN, chip) == uncontended_cycles(PLAIN, table_iii(w=20))


def test_an_sm_issues_no_faster_than_its_slots():
    # A warp that never stalls leaves no cycle to others, which equations 12 to 16 do not see.
    busy = WarpIntervals(times=np.ones(1), insts=10.0, issue_cycles=10.0, stall_cycles=0.0)
    assert uncontended_cycles(busy, table_iii(w=32)) == 320
    stack = solve(busy, IntervalMisses(np.zeros(0), np.zeros(0)), table_iii(w=32))
    assert (stack.base, stack.dependence, stack.cycles) == (320, 0, 320)
