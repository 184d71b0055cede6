"""Volkov 2016, sections 4.1, 4.7 and 6: the synthetic mix on machine files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError, MissingNumberError
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.latency_hiding import Chip, needed_warps, throughput_bound
from kernelcast.models.terms.mix import Mix, MixKind, mix_chip, mix_contention, mix_work

GPUS = ("8800-gtx", "gtx-280", "gtx-480", "gtx-680", "gtx-980")
TABLE_4_1 = {
    "8800-gtx": (444, 0.0268, 20, 0.25, 0.5),
    "gtx-280": (434, 0.0277, 24, 0.25, 0.5),
    "gtx-480": (513, 0.0599, 18, 1, 1),
    "gtx-680": (301, 0.1338, 9, 4, 4),
    "gtx-980": (368, 0.0814, 6, 4, 4),
}
# Tables 6.1 and 6.2, per scheduler: operations per cycle, and latency in cycles.
TWO_WAY_CONFLICT = {
    "8800-gtx": (3, 54),
    "gtx-280": (4, 56),
    "gtx-480": (4, 58),
    "gtx-680": (4, 56),
    "gtx-980": (4, 26),
}
SFU = {
    "8800-gtx": (2, 32),
    "gtx-280": (2, 34),
    "gtx-480": (2, 22),
    "gtx-680": (8, 9),
    "gtx-980": (8, 13),
}
RANDOM = {
    "8800-gtx": (0.027, 644),
    "gtx-280": (0.016, 662),
    "gtx-480": (0.029, 1571),
    "gtx-680": (0.034, 1213),
    "gtx-980": (0.023, 534),
}


@pytest.mark.parametrize("name", GPUS)
def test_table_4_1_comes_from_the_machine_files(name):
    chip = mix_chip(load_machine(name), Mix(1))
    lat, thru, alu_lat, alu_thru, issue = TABLE_4_1[name]
    assert chip.mem_thru == pytest.approx(thru, abs=5e-5)
    assert (chip.mem_lat, chip.alu_lat, chip.alu_thru, chip.issue_thru) == (
        lat,
        alu_lat,
        alu_thru,
        issue,
    )


def per_scheduler(name: str, chip: Chip) -> float:
    return 32 * chip.mem_thru / load_machine(name).number("sm.schedulers")


@pytest.mark.parametrize("name", GPUS)
def test_tables_6_1_and_6_2_shared_memory_and_special_functions(name):
    machine = load_machine(name)
    for mix, (operations, latency) in (
        (Mix(1, MixKind.SHARED, 2), TWO_WAY_CONFLICT[name]),
        (Mix(1, MixKind.SFU), SFU[name]),
    ):
        chip = mix_chip(machine, mix)
        assert per_scheduler(name, chip) == pytest.approx(operations)
        assert chip.mem_lat == latency


@pytest.mark.parametrize("name", RANDOM)
def test_tables_6_1_and_6_2_unstructured_access(name):
    chip = mix_chip(load_machine(name), Mix(1, MixKind.RANDOM))
    operations, latency = RANDOM[name]
    assert per_scheduler(name, chip) == pytest.approx(operations, rel=0.001)
    assert chip.mem_lat == pytest.approx(latency, rel=0.015)


@pytest.mark.parametrize(("name", "slower"), list(zip(RANDOM, (32, 56, 33, 31, 28), strict=True)))
def test_section_6_7_unstructured_access_is_28_to_33_times_slower_and_56_times_on_gt200(
    name, slower
):
    """As Table 6.1 rounds it, to two digits of a small number."""
    machine = load_machine(name)
    streaming, random = (mix_chip(machine, Mix(0, k)) for k in (MixKind.STREAMING, MixKind.RANDOM))
    assert streaming.mem_thru / random.mem_thru == pytest.approx(slower, rel=0.03)


@pytest.mark.parametrize(
    ("name", "faster"), list(zip(RANDOM, (0, 0.75, 0.05, 0, -0.12), strict=True))
)
def test_a_rate_that_nobody_measured_is_that_of_transactions_of_128_bytes(
    set_numbers, name, faster
):
    """Right to 13 % on four of the chips, and three quarters too fast on GT200."""
    machine = load_machine(name)
    unknown = set_numbers(machine, {"dram.scattered_rate": None})
    rule, measured = (mix_chip(m, Mix(0, MixKind.RANDOM)).mem_thru for m in (unknown, machine))
    assert rule / measured == pytest.approx(1 + faster, abs=0.03)


@pytest.mark.parametrize(("kind", "slots"), [(MixKind.SFU, 2), (MixKind.SHARED, 3)])
def test_section_4_7_issue_slots_of_maxwell(kind, slots):
    """alpha additions and one slow instruction take alpha + 2 or alpha + 3 slots of 4 schedulers.

    Alone, the slow ones still run at the 1 per cycle of Table 6.1.
    """
    machine = load_machine("gtx-980")
    chip = mix_chip(machine, Mix(1, kind))
    assert throughput_bound(chip, 0) == 1
    for alpha in (2, 4, 16, 64):
        assert throughput_bound(chip, alpha) == pytest.approx(4 / (alpha + slots))
        work = mix_work(machine, Mix(alpha, kind), 64)
        assert float(work.bound) == pytest.approx(4 / (alpha + slots))
    kepler = mix_chip(load_machine("gtx-680"), Mix(1, kind))
    assert throughput_bound(kepler, 16) == pytest.approx(4 / 17)


@pytest.mark.parametrize(("kind", "same", "add"), [(MixKind.SFU, 13, 9), (MixKind.SHARED, 24, 22)])
def test_section_4_7_latency_depends_on_the_next_instruction_on_maxwell(kind, same, add):
    machine = load_machine("gtx-980")
    for alpha, slow in ((0, same), (0.5, (same + add) / 2), (1, add), (8, add)):
        work = mix_work(machine, Mix(alpha, kind), 1)
        assert float(work.alone_cycles) == pytest.approx(slow + 6 * alpha)


@pytest.mark.parametrize(
    ("name", "mix", "slots"),
    [
        ("gtx-480", Mix(64, MixKind.SHARED, 4), 4),
        ("gtx-680", Mix(64, MixKind.STRIDED, 3), 3),
        ("gtx-680", Mix(64), 1),
        ("gtx-280", Mix(64, MixKind.SHARED, 4), 1),
        ("gtx-980", Mix(64, MixKind.STRIDED, 3), 1),
    ],
)
def test_fermi_and_kepler_issue_every_further_pass_again(name, mix, slots):
    """Section 3.6, as in the worksheet of a kernel: bank conflicts and further lines."""
    assert mix_chip(load_machine(name), mix).mem_slots == slots


def test_stride_two_on_maxwell_halves_throughput_and_hardly_delays():
    """Section 4.3: 0.041 instructions per cycle, 376 cycles measured."""
    chip = mix_chip(load_machine("gtx-980"), Mix(0, MixKind.STRIDED, 2))
    assert chip.mem_thru == pytest.approx(0.041, abs=5e-4)
    assert chip.mem_lat == pytest.approx(376, rel=0.05)
    assert needed_warps(chip, 0) == pytest.approx(16, abs=0.5)


@pytest.mark.parametrize(
    ("name", "stride", "cost"),
    [
        ("8800-gtx", 2, 8),  # 32 transactions of 32 B in place of 128 B
        ("gtx-280", 2, 2),  # a half-warp touches one segment of 128 B
        ("gtx-280", 16, 16),  # two lanes on every segment of 128 B, one in either half
        ("gtx-480", 3, 3),
        ("gtx-480", 31, 31),
        ("gtx-680", 4, 4),
        ("gtx-680", 16, 8),
    ],
)
def test_bytes_of_strided_accesses_by_compute_capability(name, stride, cost):
    """The strides at which every lane has its own line are bound by turns; see below."""
    machine = load_machine(name)
    free, strided = (mix_chip(machine, Mix(0, MixKind.STRIDED, ways)) for ways in (1, stride))
    assert free == mix_chip(machine, Mix(0))
    assert free.mem_thru / strided.mem_thru == pytest.approx(cost)


@pytest.mark.parametrize("name", GPUS)
def test_a_stride_of_a_line_is_as_slow_as_anywhere(name):
    """Every lane has a line to itself in both; a kernel's counts could not tell them apart."""
    machine = load_machine(name)
    far, random = (
        mix_chip(machine, Mix(0, *kind)).mem_thru
        for kind in ((MixKind.STRIDED, 32), (MixKind.RANDOM,))
    )
    assert far == random


def test_chips_that_nobody_measured_take_the_rule(set_numbers):
    """Without it, bytes are all that is known: 32 sectors for 4."""
    known = {"latency.transaction": 6.0}
    pascal, maxwell = (set_numbers(load_machine(name), known) for name in ("gtx-1080", "m60"))
    unsaid = set_numbers(pascal, {"dram.scattered_transaction": None})
    for machine, slower in ((pascal, 32), (maxwell, 32), (unsaid, 8)):
        streaming, random = (
            mix_chip(machine, Mix(0, k)).mem_thru for k in (MixKind.STREAMING, MixKind.RANDOM)
        )
        assert streaming / random == pytest.approx(slower)


def test_cached_loads_take_the_nearest_cache_that_there_is():
    h100 = load_machine("h100-sxm")
    assert mix_chip(h100, Mix(1, MixKind.CACHED)).mem_lat == h100.number("latency.l1")
    with pytest.raises(InputError, match="never cached"):
        mix_chip(load_machine("gtx-280"), Mix(1, MixKind.CACHED))
    with pytest.raises(MissingNumberError, match=r"l2\.bandwidth"):
        mix_chip(load_machine("gtx-680"), Mix(1, MixKind.CACHED))


def test_listing_3_2_independent_additions_are_six_cycles_apart_on_fermi():
    """A single warp with 3 or more chains issues every 6 cycles, not every 18 / k."""
    machine = load_machine("gtx-480")
    alone = [float(mix_work(machine, Mix(math.inf, ilp=k), 1).alone_cycles) for k in (1, 2, 3, 8)]
    assert alone == [18, 9, 6, 6]


def test_listing_3_2_a_warp_of_fermi_has_five_loads_in_flight():
    """More chains than that gain nothing, where loads leave the SM; on Kepler no limit is known."""
    fermi, kepler = load_machine("gtx-480"), load_machine("gtx-680")

    def speedup(machine, kind, chains):
        one, many = (mix_work(machine, Mix(0, kind, ilp=k), 1).alone_cycles for k in (1, chains))
        return float(one / many)

    assert [speedup(fermi, MixKind.STREAMING, k) for k in (2, 5, 6, 8)] == [2, 5, 5, 5]
    assert speedup(kepler, MixKind.STREAMING, 8) == 8
    assert speedup(fermi, MixKind.SHARED, 8) == pytest.approx(26 / 6)


@pytest.mark.parametrize("name", GPUS)
def test_more_chains_need_fewer_warps(name):
    machine = load_machine(name)
    one, two = (mix_work(machine, Mix(8, ilp=k), 1) for k in (1, 2))
    assert two.alone_cycles < 0.6 * one.alone_cycles
    np.testing.assert_array_equal(two.bound, one.bound)


@pytest.mark.parametrize(
    ("mix", "warps", "alpha", "named"),
    [
        (Mix(1), 0, None, "occupancy"),
        (Mix(1), 65, None, "occupancy"),
        (Mix(1), math.nan, None, "occupancy"),
        (Mix(1), 8, -1.0, "alpha"),
        (Mix(1), 8, math.nan, "alpha"),
        (Mix(1), 8, 1e308, "alpha"),
        (Mix(1), 8, 5e-324, "alpha"),
    ],
)
def test_impossible_questions_are_refused(mix, warps, alpha, named):
    with pytest.raises(InputError, match=named):
        mix_work(load_machine("gtx-680"), mix, warps, alpha)


@pytest.mark.parametrize(
    "fields",
    [
        {"alpha": -1},
        {"alpha": math.nan},
        {"alpha": 1, "ilp": 0},
        {"alpha": 1, "ilp": 9},
        {"alpha": 1, "ways": 0},
        {"alpha": 1, "ways": 2},
        {"alpha": 1, "kind": MixKind.SHARED, "ways": 3},
        {"alpha": 1, "kind": MixKind.SHARED, "ways": 64},
    ],
)
def test_mixes_that_are_none(fields):
    with pytest.raises(InputError):
        Mix(**fields)


def test_a_number_that_is_missing_is_named(set_numbers):
    machine = set_numbers(load_machine("gtx-680"), {"latency.dram": None})
    with pytest.raises(MissingNumberError, match=r"latency\.dram"):
        mix_work(machine, Mix(1), 8)


def test_contention_counts_the_bytes_that_move():
    machine = load_machine("gtx-680")
    plain, strided = (mix_contention(machine, m) for m in (Mix(0), Mix(0, MixKind.STRIDED, 2)))
    assert plain and strided
    assert plain.terms[0][1] == pytest.approx(0.1477, abs=5e-5)
    assert strided.terms[0][1] == pytest.approx(plain.terms[0][1] / 2)
    assert mix_contention(machine, Mix(0, MixKind.SHARED)) is None


@given(
    alpha=st.floats(1e-12, 1e12) | st.sampled_from([0.0, math.inf]),
    warps=st.integers(1, 24),
    kind=st.sampled_from([k for k in MixKind if k is not MixKind.CACHED]),
    ilp=st.integers(1, 8),
    name=st.sampled_from(GPUS),
)
def test_every_mix_is_finite_on_every_chip(alpha, warps, kind, ilp, name):
    work = mix_work(load_machine(name), Mix(alpha, kind, ilp=ilp), warps)
    assert 0 < float(work.alone_cycles) < math.inf
    assert 0 < float(work.bound) <= 4
    assert 1 <= float(work.ilp) <= ilp * (1 + 1e-12)
