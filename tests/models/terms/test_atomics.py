"""Atomics on one address follow each other: how many there are, and what they take."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.profiling.synthetic_traces import access_kernel, memory, scattered, warp
from tests.profiling.synthetic_traces import profile as synthetic_profile

from kernelcast import api
from kernelcast.execution.address_map import GLOBAL_BASE
from kernelcast.hierarchy.atomics import in_turn_cycles
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass, Space
from kernelcast.models.terms.base import Bottleneck, Case
from kernelcast.models.terms.l2 import l2_seconds
from kernelcast.models.terms.throughput import worksheet

SOURCE = """
// Lanes add to words of a table, `spread` of them; the value differs, so that nothing is merged.
extern "C" __global__ void add(unsigned *table, int spread, int times) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < times; ++i)
        atomicAdd(table + thread % spread, thread + i);
}
"""
FLOATS = """
extern "C" __global__ void total(float *sum) { atomicAdd(sum, 0.5f * threadIdx.x); }
"""
BLOCKS, THREADS, TIMES = 64, 64, 4
EXACT = api.Sampling(exact=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    file = tmp_path_factory.mktemp("atomics") / "add.cu"
    file.write_text(SOURCE)

    def case(gpu, spread, isa="auto", sampling=EXACT, blocks=BLOCKS) -> Case:
        build = api.Build(cache=None, isa=isa)
        args = {"table": api.u32(4096), "spread": spread, "times": TIMES}
        launch = api.Launch(grid=blocks, block=THREADS, args=args, kernel="add")
        kernel = api.load(file, gpu=gpu, kernel="add", build=build)
        return api.case(kernel, launch, gpu, sampling=sampling, build=build)

    return case


def cycles(case: Case) -> float | None:
    """Of the atomics of the whole chip."""
    sheet = worksheet(case, Estimate.CENTRAL, "a test")
    found = [u for u in sheet.uses if u.resource is Bottleneck.ATOMICS]
    if not found:
        return None
    return found[0].cycles_per_warp * case.profile.warps / sheet.sms


@pytest.mark.parametrize("isa", ["ptx", "sass"])
@pytest.mark.parametrize("spread", [1, 2, 64])
def test_the_word_that_most_lanes_go_to_is_counted(made, isa, spread):
    profile = made("a100-sxm-80gb", spread, isa).profile
    assert profile.atomics.most_on_word == BLOCKS * THREADS * TIMES / spread
    merged = 32 if spread == 1 else 1
    assert profile.merged_atomics.most_on_word == profile.atomics.most_on_word / merged


def test_a_sample_stands_for_all_blocks(made):
    exact, sample = (
        made("a100-sxm-80gb", 2, sampling=sampling).profile.atomics
        for sampling in (EXACT, api.Sampling(blocks=40))
    )
    assert sample == exact
    assert sample.chunk_turns.tolist() == exact.chunk_turns.tolist()


def test_each_takes_a_clock_of_the_sm_or_what_was_measured(made):
    """NVIDIA, Kepler GK110 whitepaper: a common address, one operation per clock."""
    case = made("a100-sxm-80gb", 1)
    count = BLOCKS * THREADS * TIMES
    assert cycles(case) == pytest.approx(count)
    slow = api.machine("a100-sxm-80gb", "atomics.same_address=2e-9")
    clock_hz = slow.number("clock.sm")
    assert cycles(replace(case, machine=slow)) == pytest.approx(count * 2e-9 * clock_hz)


def test_of_ptx_the_assembler_may_merge_those_of_a_warp(made):
    assert cycles(made("a100-sxm-80gb", 1, "ptx")) == pytest.approx(BLOCKS * THREADS * TIMES / 32)


def test_words_apart_wait_for_each_other_in_a_slice_of_newer_chips(made):
    # 4096 words: lines of which each of 128 warps changes one, four times. Four are of a slice.
    assert cycles(made("k40c", 4096)) == TIMES
    busiest = cycles(made("a100-sxm-80gb", 4096))
    assert busiest is not None
    of_whole_sectors = api.machine("a100-sxm-80gb").number("atomics.several_words")
    lines = busiest / of_whole_sectors / (4 * 4 * TIMES)
    assert lines == pytest.approx(round(lines))
    assert lines >= 1
    assert cycles(made("gtx-280", 1)) is None


LINE = GLOBAL_BASE + 4096
PER_REQUEST_NS = [
    # Addresses of the lanes, and what a request takes where all warps of an H100 make the same.
    ([LINE], 0.733),
    ([LINE, LINE], 1.46),
    ([LINE] * 32, 23.4),
    ([LINE, LINE + 4], 0.730),
    ([LINE, LINE + 32], 1.47),
    ([LINE + 8 * lane for lane in range(16)], 2.92),
    ([LINE + 4 * (lane // 8) for lane in range(32)], 5.87),
    ([LINE + 4 * (lane // 16) for lane in range(32)], 11.9),
    ([LINE + 4 * (lane % 4) for lane in range(32)], 5.84),
    ([LINE + 4 * (lane % 2) for lane in range(32)], 11.8),
    ([LINE + 128 * (lane % 8) for lane in range(32)], 12.1),  # each line four times
    ([LINE + 128 * (lane % 16) for lane in range(32)], 6.06),
    ([LINE + 128 * lane for lane in range(32)], 3.05),
    ([LINE + 256 * (lane % 2) for lane in range(32)], 11.8),
    ([LINE + 512 * (lane % 2) for lane in range(32)], 22.5),
    ([LINE + 4096 * (lane % 2) for lane in range(32)], 11.8),
]


@pytest.mark.parametrize(("addresses", "measured_ns"), PER_REQUEST_NS)
def test_what_meets_at_a_slice_of_an_h100_takes_as_long_as_measured(addresses, measured_ns):
    """measurements/data/h100-sxm/probes, 4224 warps that do nothing else."""
    mask = (1 << len(addresses)) - 1
    lanes = [*addresses, *[0] * (32 - len(addresses))]
    machine = api.machine("h100-sxm")
    found = synthetic_profile(
        access_kernel(Space.GLOBAL, 4, OpClass.ATOMIC),
        warp(0, 0),
        scattered(0, lanes, mask),
        arrays=memory(1 << 20),
    )
    ns = 1e9 * in_turn_cycles(found.atomics, machine, "a test") / machine.number("clock.sm")
    assert ns == pytest.approx(measured_ns, rel=0.06)


@pytest.mark.parametrize(
    ("words", "measured_ns"),
    [(1, 16.6), (2, 16.5), (4, 8.36), (8, 4.27), (16, 3.17), (32, 2.64), (256, 10.9 / 8)],
)
def test_before_hopper_a_sector_takes_longer_where_several_words_change(words, measured_ns):
    """Lanes go to tid modulo `words` on an Ada, where one word takes 0.518 ns a lane."""
    machine = api.machine("rtx-4090")
    found = synthetic_profile(
        access_kernel(Space.GLOBAL, 4, OpClass.ATOMIC),
        warp(0, 0),
        *[
            scattered(0, [LINE - 4096 + 4 * ((32 * at + lane) % words) for lane in range(32)])
            for at in range(8)
        ],
        arrays=memory(1 << 20),
    )
    ns = 0.518 * in_turn_cycles(found.atomics, machine, "a test") / 8
    assert ns == pytest.approx(measured_ns, rel=0.16)


@pytest.mark.parametrize(("words", "share"), [(32, 1), (256, 0.25)])
def test_sums_of_doubles_follow_each_other_in_a_slice_of_chips_with_few_units(
    tmp_path, words, share
):
    """atomicPerf of HeCBench on an RTX 3080: 0.734 ns a lane on 32 words, 0.184 on 256."""
    file = tmp_path / "sums.cu"
    file.write_text(
        "__global__ void sums(double* sum, int words) "
        "{ atomicAdd(sum + threadIdx.x % words, 1.0); }"
    )
    build = api.Build(cache=None)
    args = {"sum": api.f64(256), "words": words}
    launch = api.Launch(grid=64, block=256, args=args)
    kernel = api.load(file, gpu="rtx-3080", build=build)
    case = api.case(kernel, launch, "rtx-3080", sampling=EXACT, build=build)
    clock_hz = case.machine.number("clock.sm")
    turn_s = case.machine.number("atomics.same_address")
    assert cycles(case) == pytest.approx(share * 64 * 256 * turn_s * clock_hz)


@pytest.mark.parametrize(
    ("words", "measured_ns"),
    [
        (range(32), 0.0381),
        ([lane // 2 for lane in range(32)], 0.0466),
        ([lane // 4 for lane in range(32)], 0.0634),
        ([lane // 8 for lane in range(32)], 0.1313),
        ([lane // 16 for lane in range(32)], 0.2764),
        ([0] * 32, 0.4801),
        ([1024 * lane for lane in range(32)], 0.3539),
    ],
)
def test_requests_anywhere_take_turns_of_all_slices(words, measured_ns):
    """The same, of a random line among 65536, or of as many as lanes."""
    found = synthetic_profile(
        access_kernel(Space.GLOBAL, 4, OpClass.ATOMIC),
        warp(0, 0),
        scattered(0, [LINE + 4 * word for word in words]),
        arrays=memory(1 << 20),
    )
    (access,) = found.accesses
    machine = api.machine("h100-sxm")
    further = 1.5 * access.lines + 2 * (access.rounds - access.lines)
    slices = further / machine.number("l2.request_rate")
    way = 32 * access.turns / machine.number("l2.write_bandwidth")
    assert 1e9 * max(slices, way) == pytest.approx(measured_ns, rel=0.18)


def test_a_launch_of_them_is_bound_by_them(made):
    case = made("a100-sxm-80gb", 1, blocks=4096)
    bounds, played = api.predict(case, "volkov"), api.predict(case, "teg")
    assert bounds.bottleneck is played.bottleneck is Bottleneck.ATOMICS
    assert any("atomics on one address" in text for text in bounds.assumptions)


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_a_sum_of_floats_in_one_word_is_not_merged_and_takes_longer(tmp_path, isa):
    """Three clocks of the L2 cache each: 1.75 ns where whole numbers take 0.74."""
    file = tmp_path / "sum.cu"
    file.write_text(FLOATS)
    build = api.Build(cache=None, isa=isa)
    launch = api.Launch(grid=64, block=64, args={"sum": api.f32(1)})
    kernel = api.load(file, gpu="h100-sxm", build=build)
    case = api.case(kernel, launch, "h100-sxm", sampling=EXACT, build=build)
    meetings = case.profile.atomics if isa == "sass" else case.profile.merged_atomics
    assert meetings.floats_on_word == 64 * 64
    clock_hz = case.machine.number("clock.sm")
    assert cycles(case) == pytest.approx(64 * 64 * 1.75e-9 * clock_hz)


def test_rounds_of_slices_bound_a_launch_of_atomics(made):
    """Sixteen lanes of a warp on each of two words: as many rounds of a line, and of a sector."""
    machine = api.machine("h100-sxm")
    case = made("h100-sxm", 2, blocks=4096)
    atomics = [a for a in case.profile.accesses if a.op_class is OpClass.ATOMIC]
    requests = sum(a.requests for a in atomics)
    assert {(a.rounds / a.requests, a.turns / a.requests) for a in atomics} == {(16, 16)}
    lookups = (1.5 + 15 * 2) * requests / machine.number("l2.request_rate")
    assert l2_seconds(case, Estimate.CENTRAL) == pytest.approx(lookups)


SHARED = """
// Lanes of a warp go to `spread` words of shared memory, and add what is no constant, or one.
extern "C" __global__ void tally(unsigned *out, int spread) {
    __shared__ unsigned sums[64], counts[64];
    int lane = threadIdx.x;
    sums[lane] = counts[lane] = 0;
    __syncthreads();
    atomicAdd(sums + lane % spread, lane);
    atomicAdd(counts + lane % spread, 1);
    __syncthreads();
    out[lane] = sums[lane] + counts[lane];
}
"""


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_lanes_take_turns_at_a_word_of_shared_memory_unless_they_are_counted(tmp_path, isa):
    file = tmp_path / "tally.cu"
    file.write_text(SHARED)
    build = api.Build(cache=None, isa=isa)
    launch = api.Launch(grid=1, block=64, args={"out": api.u32(64), "spread": 4})
    kernel = api.load(file, gpu="h100-sxm", build=build)
    case = api.case(kernel, launch, "h100-sxm", sampling=EXACT, build=build)
    found = [a for a in case.profile.accesses if a.op_class is OpClass.ATOMIC]
    assert [a.passes / a.requests for a in found] == [8, 1]
    shared = next(
        use
        for use in worksheet(case, Estimate.CENTRAL, "a test").uses
        if use.resource is Bottleneck.SHARED_BANDWIDTH
    )
    others = sum(
        a.passes for a in case.profile.accesses if a.space is Space.SHARED and a not in found
    )
    each = case.machine.number("atomics.shared_lane_cycles")
    bank = 128 / case.machine.number("shared.bandwidth")
    expected = others * bank + sum(a.passes for a in found) * each
    assert shared.cycles_per_warp * case.profile.warps == pytest.approx(expected)
