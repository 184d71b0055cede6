"""The time of the DRAM by what moves: reads, writes, and sectors that lie apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelcast.hierarchy.caches.counts import (
    AccessCounts,
    CacheCounts,
    Lookups,
    SimulatedBlocks,
)
from kernelcast.hierarchy.traffic import BoundedBytes, Estimate, Traffic
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.dram import dram_bandwidth, dram_time, mixed_seconds, scattered_rate
from kernelcast.profiling.profile import Footprint

LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL}
ALL = SimulatedBlocks(1, 1, 0.0, True)
STORE = {"op_class": OpClass.STORE, "space": Space.GLOBAL}
bandwidths = st.floats(1e11, 1e13)
shares = st.floats(0, 1)


def access(reads=0.0, dirtied=0.0, visits=0.0, op_class=OpClass.LOAD):
    none = Lookups()
    return AccessCounts(
        0, op_class, Space.GLOBAL, None, 1, 1, 1, none, none, reads, dirtied, visits
    )


def simulated(make_case, machine, *accesses, low=1.0, high=1.0):
    """A case whose caches count these accesses, between `low` and `high` times what they move."""
    case = make_case(machine, [LOAD])
    read = sum(a.dram_sectors for a in accesses)
    written = sum(a.dirtied_sectors for a in accesses)
    moved = read + written
    counts = CacheCounts(tuple(accesses), read, written, low * moved, high * moved, ALL)
    dram = BoundedBytes(32 * low * moved, 32 * moved, 32 * high * moved)
    case.__dict__["cache_counts"] = counts
    case.__dict__["traffic"] = Traffic(dram, dram, dram)
    return case


def seconds(case, estimate=Estimate.CENTRAL):
    return dram_time(case, estimate, "this test").seconds


def test_reads_that_lie_together_move_at_the_bandwidth_of_streams(make_case):
    case = simulated(make_case, load_machine("rtx-3080"), access(reads=32e6, visits=1e6))
    assert seconds(case) == pytest.approx(1024e6 / 732.9e9)
    assert dram_time(case, Estimate.CENTRAL, "this test").notes == ()


def test_as_many_reads_as_writes_move_at_the_bandwidth_measured_for_them(make_case):
    """The copies of gpuFLOPBench's matrixT: 2.147 GB in 3.09 ms."""
    both = access(reads=33.5e6, visits=1e6), access(dirtied=33.5e6, visits=1e6)
    case = simulated(make_case, load_machine("rtx-3080"), *both)
    assert seconds(case) == pytest.approx(2144e6 / 694e9)
    (note,) = dram_time(case, Estimate.CENTRAL, "this test").notes
    assert note.startswith("50% of the DRAM's bytes are written, among which it moves 694 GB/s")


def test_a_transpose_reads_rows_and_writes_chunks_of_64_bytes(make_case):
    """transposeCoalesced of matrixT, 16384 by 16384: 4.30 ms on the RTX 3080."""
    sectors = 16384 * 16384 / 8
    rows = access(reads=sectors, visits=sectors / 32)
    chunks = access(dirtied=sectors, visits=sectors / 2)
    case = simulated(make_case, load_machine("rtx-3080"), rows, chunks)
    assert seconds(case) == pytest.approx(32 * sectors / 694e9 + sectors / 2 / 5.95e9)
    assert seconds(case) == pytest.approx(4.30e-3, rel=0.02)
    note = dram_time(case, Estimate.CENTRAL, "this test").notes[-1]
    assert "visits for 64 B each that lie apart, at dram.scattered_rate, measured" in note


def test_single_sectors_reach_a_quarter_of_the_bandwidth(make_case):
    """As if none were shorter than 128 B, where nobody has measured a rate."""
    machine = load_machine("rtx-2080-ti")
    case = simulated(make_case, machine, access(reads=1e6, visits=1e6))
    assert seconds(case) == pytest.approx(128e6 / machine.number("dram.achieved_bandwidth"))
    lines = simulated(make_case, machine, access(reads=4e6, visits=1e6))
    assert seconds(lines) == pytest.approx(seconds(case))


def test_what_is_read_because_it_was_written_in_parts_counts(make_case):
    machine = load_machine("rtx-2080-ti")
    whole = simulated(make_case, machine, access(dirtied=1e6))
    parts = simulated(make_case, machine, access(reads=1e6, dirtied=1e6))
    assert seconds(whole) == pytest.approx(32e6 / 440e9)
    assert seconds(parts) == pytest.approx(32e6 / 440e9 + 32e6 / 593.8e9)


def test_writes_of_unknown_speed_are_streams(make_case, set_numbers):
    unknown = {"dram.mixed_bandwidth": None, "dram.write_bandwidth": None}
    machine = set_numbers(load_machine("rtx-3080"), unknown)
    assert seconds(simulated(make_case, machine, access(dirtied=1e6))) == pytest.approx(
        32e6 / 732.9e9
    )


def test_a_memory_set_by_hand_mixes_as_it_streams(make_case):
    machine = load_machine("rtx-3080")
    other = machine.with_quantities({"dram.bandwidth": machine.quantities["dram.bandwidth"]})
    case = simulated(make_case, other, access(dirtied=1e6))
    assert seconds(case) == pytest.approx(32e6 / machine.number("dram.bandwidth"))


def test_without_simulated_caches_footprints_say_what_is_written(make_case):
    machine = load_machine("rtx-3080")
    read, written = (
        Footprint(name, 1 << 20, not is_written, is_written, 1e4, 1e4, 1e4, 1e4 * is_written)
        for name, is_written in (("x", False), ("y", True))
    )
    case = make_case(machine, [LOAD, STORE], footprints=[read, written])
    assert case.cache_counts is None
    moved = case.traffic.dram.central
    assert seconds(case) == pytest.approx(moved / 694e9)


def test_nothing_moved_takes_no_time(make_case):
    time = dram_time(simulated(make_case, load_machine("rtx-3080")), Estimate.CENTRAL, "this test")
    assert (time.seconds, time.notes) == (0.0, ())
    assert time.seconds_per_byte == pytest.approx(1 / 732.9e9)


def test_a_sector_that_another_access_fills_takes_nothing(make_case):
    """Counts of a part of a grid can tell of more sectors completed than begun."""
    less = access(reads=-1.0, dirtied=0.5, visits=0.0), access(reads=1e6, visits=1e5)
    assert seconds(simulated(make_case, load_machine("rtx-3080"), *less)) > 0


@given(shares, shares, bandwidths, st.none() | bandwidths, bandwidths, bandwidths)
def test_mixtures_lie_between_their_parts(a, b, reads, triad, mixed, writes):
    of = reads, triad, mixed, writes
    known = [1 / bandwidth for bandwidth in of if bandwidth is not None]
    assert mixed_seconds(0.0, *of) == pytest.approx(1 / reads)
    assert mixed_seconds(0.25, *of) == pytest.approx(1 / triad if triad else np.mean(known[:2]))
    assert mixed_seconds(0.5, *of) == pytest.approx(1 / mixed)
    assert mixed_seconds(1.0, *of) == pytest.approx(1 / writes)
    for written in (a, b):
        taken = mixed_seconds(written, *of)
        assert min(known) * (1 - 1e-9) <= taken <= max(known) * (1 + 1e-9)
    if known == sorted(known) and a <= b:
        assert mixed_seconds(a, *of) <= mixed_seconds(b, *of) * (1 + 1e-9)


def test_what_nobody_measured_is_as_what_is_known():
    assert mixed_seconds(1.0, 4.0, None, 2.0, None) == pytest.approx(1 / 2)
    assert mixed_seconds(0.7, 4.0, None, None, None) == pytest.approx(1 / 4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(sectors=st.floats(1, 1e8), visits=shares, more=shares, low=shares, high=st.floats(1, 4))
def test_visits_only_take_longer_and_bounds_stay_in_order(
    make_case, sectors, visits, more, low, high
):
    machine = load_machine("rtx-3080")

    def visited(share):
        one = access(reads=sectors, visits=share * sectors)
        return simulated(make_case, machine, one, low=low, high=high)

    few, many = visited(min(visits, more)), visited(max(visits, more))
    assert seconds(few) <= seconds(many)
    assert seconds(many) >= 32 * sectors / 732.9e9 * (1 - 1e-9)
    ordered = [seconds(many, estimate) for estimate in Estimate]
    assert ordered == sorted(ordered)


def test_rates_of_chips_that_nobody_measured():
    for name in ("k40c", "gh200"):
        machine = load_machine(name)
        rate, source = scattered_rate(machine, "this test")
        assert rate == pytest.approx(dram_bandwidth(machine, "this test")[0] / 128)
        assert "128 B" in source
