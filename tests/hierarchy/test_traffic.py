"""Bounds of traffic: what cannot be avoided, what cannot be exceeded, and the estimate between."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelcast.hierarchy.traffic import Estimate, bound_traffic
from kernelcast.ir import OpClass, Resources, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.profile import Footprint

BLOCKS = 1 << 14
WARPS = BLOCKS * 8
LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL}
STORE = {"op_class": OpClass.STORE, "space": Space.GLOBAL}
APART = {"transactions_cc10": 32, "coalesced_cc10": 0}


def array(label: str, distinct: float, block: float, requested: float, **flags: object):
    read, written = flags.get("read", True), flags.get("written", False)
    return Footprint(
        label,
        int(32 * distinct),
        bool(read),
        bool(written),
        distinct,
        block,
        requested,
        distinct if written else 0.0,
    )


def test_a_stream_moves_every_byte_once_at_every_level(make_case):
    """y = a x + y with words of 4 B: 12 B per element, and nothing to argue about."""
    n = 4.0 * WARPS
    case = make_case(
        load_machine("h100-sxm"),
        [LOAD, LOAD, STORE],
        footprints=[array("x", n, n, n), array("y", n, n, 2 * n, written=True)],
    )
    for level in (case.traffic.l1, case.traffic.l2, case.traffic.dram):
        assert level.low == level.central == level.high == 12 * 32 * WARPS


def shared_by_all(make_case, machine: str, megabytes: float):
    """Every block reads all of a table once; requests see each sector twice."""
    sectors = megabytes * 2**20 / 32
    loads = round(2 * sectors / 8 / 4)
    return make_case(
        load_machine(machine),
        [{**LOAD, "times": loads}],
        footprints=[array("table", sectors, sectors * BLOCKS, 2 * sectors * BLOCKS)],
    )


def test_a_table_in_the_l2_cache_is_read_once(make_case):
    dram = shared_by_all(make_case, "h100-sxm", 2).traffic.dram
    assert dram.low == dram.central == pytest.approx(2 * 2**20)


def test_a_table_beyond_the_l2_cache_is_read_by_every_wave(make_case):
    case = shared_by_all(make_case, "gtx-680", 2)  # 512 KiB of L2 cache
    wave = case.occupancy.blocks_per_sm * 8
    assert case.traffic.dram.central == pytest.approx(2 * 2**20 * BLOCKS / wave)
    assert case.traffic.dram.high == pytest.approx(2 * 2 * 2**20 * BLOCKS)


def test_the_l2_cache_keeps_what_most_blocks_share(make_case):
    """A small table and halos of a large grid: the table is not read again by every wave."""
    table, grid = 2.0**10, 2.0**22
    case = make_case(
        load_machine("gtx-680"),
        [LOAD],
        footprints=[
            array("grid", grid, 1.1 * grid, 4 * grid),
            array("table", table, table * BLOCKS, table * BLOCKS),
        ],
    )
    assert "grid" in " ".join(case.traffic.assumptions)
    assert case.traffic.dram.low <= case.traffic.dram.central <= 32 * (1.11 * grid + table)


def test_loads_skip_the_l1_cache_from_kepler_to_pascal(make_case):
    for name, cached in (
        ("gtx-480", True),
        ("gtx-680", False),
        ("p100-pcie", False),
        ("v100-sxm2", True),
    ):
        n = 4.0 * WARPS
        case = make_case(
            load_machine(name), [{**LOAD, "times": 10}], footprints=[array("x", n, n, 10 * n)]
        )
        expected = 1 if cached else 10
        assert case.traffic.l2.central == pytest.approx(expected * n * 32), name
        assert case.traffic.dram.central == pytest.approx(n * 32), name


def test_stores_pass_through_the_l1_cache(make_case):
    n = 4.0 * WARPS
    case = make_case(
        load_machine("h100-sxm"),
        [{**STORE, "times": 10}],
        footprints=[array("y", n, n, 10 * n, read=False, written=True)],
    )
    assert case.traffic.l2.low == case.traffic.l2.high == 10 * n * 32
    assert case.traffic.dram.central == n * 32


@pytest.mark.parametrize(
    ("name", "access", "bytes_per_warp"),
    [
        ("8800-gtx", {}, 128),
        ("8800-gtx", APART, 32 * 32),
        ("gtx-280", {"bytes_cc12": 192}, 192),
    ],
)
def test_without_a_cache_transactions_are_what_moves(make_case, name, access, bytes_per_warp):
    case = make_case(load_machine(name), [{**LOAD, "access": access}])
    for level in (case.traffic.l1, case.traffic.l2, case.traffic.dram):
        assert level.low == level.central == level.high == bytes_per_warp * WARPS
    assert case.traffic.shares(Estimate.CENTRAL) == (0, 0, 1)


def test_words_of_16_bytes_are_two_segments_on_tesla(make_case):
    access = {"transactions_cc10": 4, "coalesced_cc10": 1}
    case = make_case(load_machine("8800-gtx"), [{**LOAD, "access_bytes": 16, "access": access}])
    assert case.traffic.dram.central == 512 * WARPS


def local_case(make_case, gpu, what, local_bytes):
    return make_case(
        load_machine(gpu),
        [{**what, "space": Space.LOCAL}],
        resources=Resources(registers=32, local_bytes=local_bytes),
    )


@pytest.mark.parametrize(("local_bytes", "expected"), [(16, 0.0), (4096, 128.0)])
def test_loads_of_local_memory_leave_the_sm_only_where_it_does_not_fit(
    make_case, local_bytes, expected
):
    case = local_case(make_case, "h100-sxm", LOAD, local_bytes)
    assert case.traffic.l1.central == 128 * WARPS
    assert case.traffic.l2.central == expected * WARPS
    assert case.traffic.l2.high == 128 * WARPS


@pytest.mark.parametrize(("gpu", "expected"), [("gtx-480", 0.0), ("rtx-2080-ti", 128.0)])
def test_stores_to_local_memory_pass_through_the_l1_from_volta_on(make_case, gpu, expected):
    """A spilling kernel's L2 writes on an RTX 2080 Ti are all its stores."""
    case = local_case(make_case, gpu, STORE, 16)
    assert case.traffic.l2.central == expected * WARPS


def test_spills_that_the_l2_cannot_hold_go_to_the_dram(make_case):
    """Resident threads of an RTX 2080 Ti with 4 KiB each need 285 MB; its L2 has 5.5 MiB."""
    resident = 68 * 1024 * 4096
    stored = local_case(make_case, "rtx-2080-ti", STORE, 4096).traffic
    loaded = local_case(make_case, "rtx-2080-ti", LOAD, 4096).traffic
    launch = local_case(make_case, "rtx-2080-ti", LOAD, 4096).launch
    running = min(resident, launch.blocks * launch.threads_per_block * 4096)
    held = min(1.0, 5.5 * 2**20 / running)
    assert stored.dram.central == (128 * WARPS if held < 1 else 0)
    assert loaded.dram.central == pytest.approx((1 - held) * 128 * WARPS)
    assert local_case(make_case, "rtx-2080-ti", LOAD, 64).traffic.dram.central == 0


def test_a_kernel_without_memory_accesses_moves_nothing(make_case):
    case = make_case(load_machine("h100-sxm"), [{"op_class": OpClass.FP32}])
    assert case.traffic.dram.high == case.traffic.l1.high == 0
    assert case.traffic.shares(Estimate.CENTRAL) == (1, 0, 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    machine=st.sampled_from(["gtx-480", "gtx-680", "v100-sxm2", "h100-sxm"]),
    per_block=st.floats(1, 1e4),
    sharing=st.floats(0, 1),
    reuse=st.floats(1, 100),
    blocks=st.integers(1, 1 << 15),
    written=st.booleans(),
)
def test_the_three_figures_are_ordered(
    make_case, machine, per_block, sharing, reuse, blocks, written
):
    in_blocks = per_block * blocks
    distinct = max(per_block, in_blocks * (1 - sharing))
    requested = in_blocks * reuse
    case = make_case(
        load_machine(machine),
        [{**LOAD, "access": {"sectors": requested / blocks / 8}}],
        blocks=blocks,
        footprints=[array("a", distinct, in_blocks, requested, written=written)],
    )
    traffic = bound_traffic(case.profile, case.machine)
    for level in (traffic.l1, traffic.l2, traffic.dram):
        assert level.low <= level.central <= level.high
    assert traffic.dram.central <= traffic.l1.central * (1 + 1e-9)
    for estimate in Estimate:
        assert sum(traffic.shares(estimate)) == pytest.approx(1)
        assert min(traffic.shares(estimate)) >= 0
