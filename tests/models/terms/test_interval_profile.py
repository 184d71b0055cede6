"""The path of a warp cut at its stalls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

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
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms import interval_profile as module
from kernelcast.models.terms.base import Case
from kernelcast.models.terms.interval_profile import IntervalProfile, interval_profile
from kernelcast.models.terms.latency import timing
from kernelcast.profiling.profile import Footprint, RepresentativeWarp

Fields = dict[str, Any]
PASCAL = load_machine("p100-pcie")
MEMORY = 400.0
ADD: Fields = {"op_class": OpClass.FP32, "writes": "x", "reads": ("x",)}
OTHER: Fields = {"op_class": OpClass.FP32, "writes": "z"}
LOAD: Fields = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "reads": ("i",)}
SECOND: Fields = {**LOAD, "writes": "y"}
STORE: Fields = {"op_class": OpClass.STORE, "space": Space.GLOBAL, "reads": ("x",)}
APART = {"sectors": 32, "lines": 32}


def cut(case: Case) -> IntervalProfile:
    return interval_profile(case, MEMORY, "this test")


def rows(profile: IntervalProfile) -> list[tuple[float, ...]]:
    """times, instructions, stall, reads, writes of every kind of interval."""
    columns = (profile.times, profile.insts, profile.stall_cycles, profile.reads, profile.writes)
    return sorted(zip(*(c.tolist() for c in columns), strict=True))


def one_warp(make_case, ops: Sequence[Fields], machine=PASCAL) -> Case:
    return make_case(machine, ops, blocks=1, threads=32)


def test_a_load_an_addition_and_a_store(make_case):
    # The addition waits for the load, the store for the addition: three intervals of one each.
    found = rows(cut(one_warp(make_case, [LOAD, ADD, STORE])))
    assert found == [(1, 1, 0, 0, 1), (1, 1, 5, 0, 0), (1, 1, MEMORY - 1, 1, 0)]


def test_loads_that_are_waited_for_together_stand_together(make_case):
    # Between them lies a stall of arithmetic: it ends an interval, which makes no request.
    ops = [LOAD, OTHER, {**OTHER, "reads": ("z",)}, SECOND, {**ADD, "reads": ("y",)}, STORE]
    found = {row[2]: row[3] for row in rows(cut(one_warp(make_case, ops)))}
    assert found == {0: 0, 5: 0, MEMORY - 1: 2}


def test_requests_after_the_last_wait_belong_to_the_end(make_case):
    profile = cut(one_warp(make_case, [LOAD, ADD, STORE, STORE, LOAD]))
    (last,) = (row for row in rows(profile) if row[2] == 0)
    assert last == (1, 3, 0, 1, 2)


def test_intervals_that_repeat_are_stored_once(make_case):
    chain = {**LOAD, "reads": ("x",), "times": 1000}
    found = rows(cut(one_warp(make_case, [chain, STORE])))
    assert found == [(1, 1, 0, 0, 1), (1000, 1, MEMORY - 1, 1, 0)]


def test_a_scattered_load_makes_a_request_for_every_line(make_case):
    ops = [{**LOAD, "access": APART}, ADD]
    profile = cut(one_warp(make_case, ops))
    assert profile.times @ profile.reads == 32
    # Sectors of 32 B move, a quarter of a line each.
    assert profile.times @ profile.blocks == pytest.approx(8)
    assert profile.misses.block_share == pytest.approx(0.25)


def test_where_lines_move_whole_a_request_is_a_block(make_case):
    array = Footprint("x", 4096, True, False, 32, 32, 32)
    ops = [{**LOAD, "access": APART}, ADD]
    machine = load_machine("gtx-480")
    profile = cut(make_case(machine, ops, blocks=1, threads=32, footprints=[array]))
    assert profile.misses.block_share == 1
    assert profile.times @ profile.blocks == 32


def test_a_launch_without_requests_has_no_misses(make_case):
    profile = cut(one_warp(make_case, [ADD, ADD]))
    assert profile.requests == 0 and np.size(profile.misses.times) == 0
    assert profile.instructions == 2 and not profile.waits_for_memory


@pytest.fixture
def counted(monkeypatch):
    """Let a case have counts of caches."""

    def count(case: Case, *accesses: AccessCounts) -> Case:
        found = CacheCounts(accesses, 0.0, 0.0, 0.0, 0.0, SimulatedBlocks(1, 1, 0.0, True))
        monkeypatch.setattr(Case, "cache_counts", found, raising=False)
        return case

    return count


def access(index: int, op: OpClass, **numbers: Any) -> AccessCounts:
    return AccessCounts(index, op, Space.GLOBAL, None, **numbers)


def test_what_caches_count_is_taken_by_instruction(make_case, counted):
    # Of 4 loads of 32 lines, half of the lines miss; of 4 stores one line misses in the LLC.
    ops = [{**LOAD, "access": APART, "times": 4}, {**STORE, "times": 4}]
    load = access(
        0,
        OpClass.LOAD,
        requests=4,
        lines=128,
        missed_lines=64,
        l1=Lookups(128, 64),
        l2=Lookups(64, 48),
        dram_sectors=16,
    )
    store = access(
        1,
        OpClass.STORE,
        requests=4,
        lines=4,
        missed_lines=0,
        l1=Lookups(),
        l2=Lookups(16, 16),
        dram_sectors=0,
        dirtied_sectors=4,
    )
    profile = cut(counted(one_warp(make_case, ops), load, store))
    assert profile.times @ profile.reads == 64
    assert profile.times @ profile.writes == 4
    assert profile.times @ profile.llc_misses == 64 * 0.25 + 4 * 0.25
    assert profile.times @ profile.blocks == 64 * 0.25 + 4
    assert not any("no caches were simulated" in note for note in profile.notes)


def test_a_load_takes_as_long_as_its_own_hits(make_case, counted):
    # One load hits the L1 cache, the other misses in every cache; the stall is each one's own.
    ops = [LOAD, ADD, {**SECOND, "reads": ("x",)}, {**ADD, "reads": ("y",)}]
    kinds = {"requests": 1, "lines": 1}
    hit = access(
        0,
        OpClass.LOAD,
        **kinds,
        missed_lines=0,
        l1=Lookups(4, 4),
        l2=Lookups(),
        dram_sectors=0,
    )
    miss = access(
        2,
        OpClass.LOAD,
        **kinds,
        missed_lines=1,
        l1=Lookups(4, 0),
        l2=Lookups(4, 0),
        dram_sectors=4,
    )
    l1, dram = (PASCAL.number(f"latency.{level}") for level in ("l1", "dram"))
    stalls = {row[2] for row in rows(cut(counted(one_warp(make_case, ops), hit, miss)))}
    assert {l1 - 1, dram - 1} <= stalls
    assert MEMORY - 1 not in stalls


def test_a_load_that_passes_the_l1_cache_by_asks_for_all_its_lines(make_case, counted):
    load = access(
        0,
        OpClass.LOAD,
        requests=1,
        lines=32,
        missed_lines=32,
        l1=Lookups(),
        l2=Lookups(32, 0),
        dram_sectors=32,
    )
    profile = cut(counted(one_warp(make_case, [LOAD]), load))
    assert (profile.times @ profile.reads, profile.times @ profile.llc_misses) == (32, 32)


def test_representative_warps_count_by_their_share(make_case):
    # A quarter of the warps goes twice through the loop that the others go through once.
    case = one_warp(make_case, [{**LOAD, "reads": ("x",), "times": 8}, STORE])
    whole = case.profile.warp
    short = replace(whole, blocks=whole.blocks[4:], lanes=whole.lanes[4:], instructions=5)
    warps = (RepresentativeWarp(whole, 0.25), RepresentativeWarp(short, 0.75))
    mean = replace(case, profile=replace(case.profile, representatives=warps))
    profile = cut(mean)
    scale = 9 / (0.25 * 9 + 0.75 * 5)  # to the instructions of the mean warp
    assert profile.instructions == pytest.approx(9)
    assert {row[2]: row[0] for row in rows(profile)} == pytest.approx(
        {0: scale, MEMORY - 1: scale * (0.25 * 8 + 0.75 * 4)}
    )


OPS = (ADD, OTHER, LOAD, SECOND, STORE, {**ADD, "reads": ("y", "z")})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(OPS), min_size=1, max_size=40))
def test_the_profile_is_what_a_walk_by_hand_cuts(make_case, ops):
    case = one_warp(make_case, ops)
    timed = timing(case, MEMORY, "this test")
    profile = cut(case)
    assert Counter(dict(by_hand(case, timed))) == pytest.approx(
        Counter({row[1:]: row[0] for row in rows(profile)})
    )
    assert profile.instructions == len(ops)
    loads = sum(op["op_class"] is OpClass.LOAD for op in ops)
    assert profile.times @ profile.reads == pytest.approx(loads)


def by_hand(case: Case, timed) -> Counter[tuple[float, ...]]:
    """Instructions, stall, reads and writes of every interval, instruction by instruction."""
    ready: dict[object, tuple[float, int]] = {}
    intervals: list[list[float]] = [[0, 0, 0, 0]]
    pending = [0.0, 0.0]
    clock = 0.0
    for i in case.kernel.instructions:
        issue, producer = clock, -1
        for register in i.reads:
            if register in ready and ready[register][0] > issue:
                issue, producer = ready[register]
        if issue > clock:
            intervals[-1][1] = issue - clock
            if timed.waits_for_memory[producer]:
                intervals[-1][2:] = pending
                pending = [0.0, 0.0]
            intervals.append([0, 0, 0, 0])
        intervals[-1][0] += 1
        pending[0] += i.op_class is OpClass.LOAD
        pending[1] += i.op_class is OpClass.STORE
        for register in i.writes:
            ready[register] = (issue + timed.latency[i.index], i.index)
        clock = issue + timed.interval[i.index]
    intervals[-1][2:] = pending
    return Counter(map(tuple, intervals))


def test_rows_that_are_alike_are_summed():
    kinds, times = module._alike(
        np.array([[1, 2.0] + 5 * [0], [3, 4] + 5 * [0], [1, 2 + 1e-9] + 5 * [0], [1, 4] + 5 * [0]]),
        np.array([1.0, 2, 3, 4]),
    )
    found = {tuple(kind[:2]): often for kind, often in zip(kinds.tolist(), times, strict=True)}
    assert found == {(1, 2): 4, (3, 4): 2, (1, 4): 4}
