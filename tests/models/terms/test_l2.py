"""The time of the L2 cache: bytes, requests, and what is written."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelcast import api
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.l2 import l2_seconds
from kernelcast.profiling.profile import Footprint

H100 = load_machine("h100-sxm")
READ, WRITTEN, REQUESTS, APART = (
    H100.number(f"l2.{name}")
    for name in ("bandwidth", "write_bandwidth", "request_rate", "write_rate")
)
ANYWHERE = """
extern "C" __global__ void anywhere(unsigned* words, unsigned* out) {
    unsigned place = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u, sum = 0;
    for (int i = 0; i < 16; ++i) {
        place = place * 1664525u + 1013904223u;
        USE atomicAdd(words + (place >> 11), place);
    }
    if (sum == 12345) out[0] = sum;
}
"""
WARPS = (1 << 14) * 8
few = st.integers(1, 32)
LEAST = 1 - 1e-12


def access(op_class, lines, each, times=1):
    """Requests of a warp for `lines` lines, and `each` sectors of every one."""
    touched = {"lines": times * lines, "sectors": times * lines * each}
    return {"op_class": op_class, "space": Space.GLOBAL, "times": times, "access": touched}


def load(lines, each):
    return access(OpClass.LOAD, lines, each)


def store(lines, each):
    return access(OpClass.STORE, lines, each)


def atomic(lines, each):
    return access(OpClass.ATOMIC, lines, each)


@pytest.fixture
def seconds(make_case, set_numbers):
    """Of a mean warp on an H100 whose L1 cache keeps nothing; other numbers as given."""

    def found(*accesses, **numbers):
        changed = {f"l2.{name}": value for name, value in numbers.items()}
        machine = set_numbers(H100, {"l1.caches_global": 0, **changed})
        whole = l2_seconds(make_case(machine, accesses), Estimate.CENTRAL)
        return whole and whole / WARPS

    return found


def test_whole_lines_are_read_at_the_bandwidth_of_streams(seconds):
    assert seconds(load(1, 4)) == pytest.approx(128 / READ)


def test_lanes_with_a_line_each_are_bound_by_requests(seconds):
    """The random reads of an H100 within its L2 cache."""
    assert seconds(load(32, 1)) == pytest.approx(32 / REQUESTS)
    assert 32 / REQUESTS > 1.5 * 32 * 32 / READ


def test_instructions_take_turns(seconds):
    """Whole lines of one do not hide the requests of another."""
    assert seconds(load(1, 4), load(32, 1)) == pytest.approx(128 / READ + 32 / REQUESTS)


def test_what_is_read_waits_for_what_is_written(seconds):
    """Lines copied within the L2 cache of an H100 move at 5.51 TB/s, reads and writes together."""
    assert seconds(store(1, 4)) == pytest.approx(128 / WRITTEN)
    assert seconds(load(1, 4), store(1, 4)) == pytest.approx(128 / WRITTEN + 1 / REQUESTS)
    assert seconds(load(1, 4), store(1, 4)) == pytest.approx(256 / 5.51e12, rel=0.03)


def test_lanes_that_write_a_sector_of_a_line_each_are_bound_by_requests(seconds):
    """The stores of a transposition by columns: at a bandwidth of streams, a third of the time."""
    assert seconds(store(32, 1)) == pytest.approx(32 / APART)


def test_further_sectors_of_a_line_take_the_rest_of_what_a_line_takes(seconds):
    further = (128 / WRITTEN - 1 / APART) / 3
    assert seconds(store(8, 2)) == pytest.approx(8 * (1 / APART + further))


def test_slices_look_up_what_is_read_and_what_is_changed(seconds):
    """Requests of both kinds add up; what is changed counts for 1.5, as half of it passes both
    partitions: the sparse product that adds its entries by atomics."""
    assert seconds(load(32, 1), atomic(32, 1)) == pytest.approx((32 + 48) / REQUESTS)
    assert seconds(load(32, 1), store(8, 1)) == pytest.approx(32 / REQUESTS + 8 / APART)


def test_what_an_atomic_gives_back_passes_another_slice_if_somebody_reads_it(tmp_path):
    """67 G exchanges a second anywhere in 8 MiB of an H100, of 91 G reductions."""
    found = {}
    for name, use in (("unread", ""), ("read", "sum += ")):
        file = tmp_path / f"{name}.cu"
        file.write_text(ANYWHERE.replace("USE", use))
        build = api.Build(cache=None)
        launch = api.Launch(
            grid=256, block=256, args={"words": api.u32(1 << 21), "out": api.u32(1)}
        )
        kernel = api.load(file, gpu="h100-sxm", build=build)
        case = api.case(kernel, launch, "h100-sxm", build=build)
        seconds = l2_seconds(case, Estimate.CENTRAL)
        assert seconds
        found[name] = seconds
    lanes = 256 * 256 * 16
    assert lanes / found["unread"] == pytest.approx(91e9, rel=0.03)
    assert lanes / found["read"] == pytest.approx(67e9, rel=0.03)


def test_a_cache_in_one_part_looks_up_what_is_changed_once(seconds):
    found = seconds(load(32, 1), atomic(32, 1), partitions=1, write_bandwidth=32 * REQUESTS)
    assert found == pytest.approx(64 / REQUESTS)


def test_a_chip_that_nobody_measured_moves_bytes(seconds):
    found = seconds(load(32, 1), store(1, 4), request_rate=None, write_bandwidth=None)
    assert found == pytest.approx((1024 + 128) / READ)


def test_sectors_written_apart_take_longer_where_reads_go_the_same_way(seconds):
    """Quarters of sectors that `reaction` of HeCBench stores on an RTX 3080."""
    apart = {"request_rate": None, "write_bandwidth": None, "write_rate": READ / 64}
    assert seconds(load(1, 4), store(1, 4), **apart) == pytest.approx(2 * 128 / READ)
    assert seconds(load(16, 1), store(16, 1), **apart) == pytest.approx(16 * (32 + 64) / READ)


def test_sectors_apart_are_those_of_streams_where_nobody_measured_them(seconds):
    assert seconds(store(16, 2), write_rate=None) == pytest.approx(1024 / WRITTEN)


def test_nothing_is_said_without_a_bandwidth(seconds):
    assert seconds(load(1, 4), bandwidth=None) is None


def test_the_bounds_of_the_traffic_are_those_of_the_time(make_case):
    """A block wants the same of its 8 x 32 sectors twice; the L1 cache may keep them or not."""
    sectors = 32.0 * WARPS
    array = Footprint("a", int(32 * sectors), True, False, sectors, sectors, 2 * sectors)
    case = make_case(H100, [access(OpClass.LOAD, 32, 1, times=2)], footprints=[array])
    low, central, high = (l2_seconds(case, estimate) for estimate in Estimate)
    assert central
    assert low == central == pytest.approx(sectors / REQUESTS)
    assert high == pytest.approx(2 * central)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=few, each=st.integers(1, 4), further=few)
def test_more_requests_never_take_less(seconds, lines, each, further):
    before = seconds(load(lines, each))
    assert seconds(load(lines + further, each)) >= before * LEAST
    assert seconds(load(lines, each), store(further, 1)) >= before * LEAST
    assert seconds(load(lines, each), atomic(further, 1)) >= before * LEAST
