"""The timing simulation as a model: what it keeps of the counts that all models share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kernelcast as kc
from kernelcast.errors import InputError
from kernelcast.hierarchy.caches.counts import AccessCounts, Lookups
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass, Space
from kernelcast.models.teg import Teg, _far_share
from kernelcast.models.terms.base import Bottleneck, Case
from kernelcast.models.terms.dram import dram_time
from kernelcast.models.volkov import Volkov

EXAMPLES = Path(__file__).parents[2] / "examples"


def case_of(example: str) -> Case:
    (case,) = kc.cases(kc.workload(EXAMPLES / f"{example}.cu"), [kc.machine("rtx-2080-ti")])
    return case


@pytest.mark.parametrize("example", ["saxpy", "transpose", "matmul_naive"])
def test_the_dram_moves_what_the_caches_count(example: str) -> None:
    """Also where most loads find what they want in the L1 cache."""
    case = case_of(example)
    played = Teg().play(case)
    counted = dram_time(case, Estimate.CENTRAL, "a test").seconds
    simulated = float(played.found.issued.sum()) / case.profile.total.warp
    expected = counted * case.machine.number("clock.sm") * simulated / played.plan.share
    assert played.found.dram_busy == pytest.approx(expected, rel=0.15)


def test_a_stream_is_bound_by_the_dram_for_as_long_as_volkov_says() -> None:
    case = case_of("saxpy")
    streamed, bound = kc.predict(case, "teg"), kc.predict(case, "volkov")
    assert streamed.bottleneck is Bottleneck.DRAM_BANDWIDTH
    assert streamed.time_s == pytest.approx(bound.time_s, rel=0.03)


@pytest.mark.parametrize("example", ["saxpy", "spmv_csr"])
def test_a_launch_that_cannot_be_executed_again_is_much_like_one_that_can(example: str) -> None:
    model, case = Teg(instructions=200_000), case_of(example)
    exact, mean = (model.predict(c).time_s for c in (case, replace(case, run=None)))
    assert mean == pytest.approx(exact, rel=0.15)


def test_the_interval_holds_the_forecast() -> None:
    found = Teg(instructions=200_000).predict(case_of("spmv_csr"))
    assert found.low_s is not None and found.high_s is not None
    assert found.low_s <= found.time_s <= found.high_s


# -------------------------------------------------------------------------- all SMs


def test_what_waits_unevenly_takes_about_as_long_in_all() -> None:
    """A line that waits long must not make all that follow wait as long: they ask for theirs at
    their own time."""
    case = case_of("spmv_csr")
    even, uneven = (Teg(uneven_waits=one).predict(case).time_s for one in (False, True))
    assert uneven == pytest.approx(even, rel=0.1)


def test_all_sms_play_the_launch_with_the_whole_of_what_they_share() -> None:
    case = case_of("transpose")
    played = Teg(sms="all").play(case)
    sms = int(case.machine.number("sm.count"))
    assert played.found.sms == sms
    assert played.plan.share == 1
    hardware = played.given.hardware[0]
    clock_hz = case.machine.number("clock.sm")
    assert hardware["l2_rate"] == case.machine.number("l2.bandwidth") / clock_hz
    assert hardware["reading_channels"] == case.machine.number("dram.channels")
    assert any("channels of the DRAM" in note for note in played.notes)
    sampled = Teg().predict(case)
    assert Teg().prediction(played).time_s == pytest.approx(sampled.time_s, rel=0.12)


def test_all_sms_of_a_small_grid_are_those_with_blocks() -> None:
    launch = kc.Launch(grid=10, block=64, args={"x": kc.f32(640), "times": 100})
    case = kc.case(kc.load_source(SUMS, gpu="h100-sxm"), launch, "h100-sxm")
    assert Teg(sms="all").play(case).found.sms == 10


def test_as_many_sms_as_are_affordable_are_played_and_that_is_said() -> None:
    launch = kc.Launch(grid=10_000, block=1024, args={"x": kc.f32(10_000 * 1024), "times": 1000})
    case = kc.case(kc.load_source(SUMS, gpu="h100-sxm"), launch, "h100-sxm")
    played = Teg(instructions=20_000, sms="all").play(case)
    assert 1 <= played.found.sms < 132
    assert played.given.hardware["reading_channels"][0] == 0
    assert any(f"{played.found.sms} of 132 SMs are simulated" in note for note in played.notes)


@pytest.mark.parametrize("sms", ["0", "-1", "half", ""])
def test_a_number_of_sms_that_is_none_is_refused(sms: str) -> None:
    with pytest.raises(InputError, match="sms is a number of SMs, auto or all"):
        Teg(sms=sms).predict(case_of("saxpy"))


SUMS = """
extern "C" __global__ void sums(float* x, int times) {
    float one = threadIdx.x, other = threadIdx.x + 1.0f;
    for (int i = 0; i < times; i++) {
        one += 3.0f;
        other += 4.0f;
    }
    x[blockIdx.x * blockDim.x + threadIdx.x] = one + other;
}
"""


@pytest.mark.parametrize("gpu", ["rtx-2080-ti", "h100-sxm"])
def test_warps_of_a_block_that_only_compute_go_on_together(gpu: str) -> None:
    """As counted on an RTX 2080 Ti; where the elder ones go first, only half as many are left."""
    blocks = 16 * int(kc.machine(gpu).number("sm.count", "a test"))  # as many on every SM
    launch = kc.Launch(grid=blocks, block=1024, args={"x": kc.f32(blocks * 1024), "times": 1000})
    case = kc.case(kc.load_source(SUMS, gpu=gpu), launch, gpu)
    achieved, elder = (
        float(Teg(policy=policy).predict(case).terms["achieved warps per SM"])
        for policy in ("machine", "oldest")
    )
    resident = case.occupancy.warps_per_sm
    assert achieved > 0.97 * resident
    assert elder < achieved


FEW_WORK = """
extern "C" __global__ void few_work(float* x, int working) {
    if (blockIdx.x >= working) return;
    float one = threadIdx.x;
    for (int i = 0; i < 4000; i++) one = one * 0.5f + 1.0f;
    x[blockIdx.x * blockDim.x + threadIdx.x] = one;
}
"""


def test_where_few_blocks_work_all_blocks_of_an_sm_are_played() -> None:
    """Evenly spaced ones would find one working block on an SM, not those that run together."""
    work, blocks = 6 * 108, 60_000
    launch = kc.Launch(grid=blocks, block=256, args={"x": kc.f32(blocks * 256), "working": work})
    gpu = "a100-pcie-80gb"
    case = kc.case(kc.load_source(FEW_WORK, gpu=gpu), launch, gpu)
    alone = kc.Launch(grid=work, block=256, args={"x": kc.f32(work * 256), "working": work})
    together = Teg().predict(kc.case(case.kernel, alone, gpu)).time_s
    handed_out = blocks * case.machine.number("launch.block_interval", "a test")
    assert case.profile.sample.variation > 5
    assert together < Teg().predict(case).time_s < together + 1.3 * handed_out


def test_of_blocks_that_differ_those_that_work_tell_how_long_a_cut_launch_takes() -> None:
    """8 of 20 blocks work, each on an SM of its own; as long as 8 alone."""
    gpu = "a100-pcie-80gb"
    kernel = kc.load_source(FEW_WORK, gpu=gpu)
    some, alone = (
        kc.case(kernel, kc.Launch(n, 256, {"x": kc.f32(n * 256), "working": 8}), gpu)
        for n in (20, 8)
    )
    whole, cut = (Teg(instructions=n).predict(some) for n in (2_000_000, 3_000))
    of_cut, of_whole = (float(one.terms["instructions simulated"]) for one in (cut, whole))
    assert of_cut < of_whole / 2
    assert cut.time_s == pytest.approx(whole.time_s, rel=0.05)
    assert whole.time_s == pytest.approx(Teg().predict(alone).time_s, rel=0.05)


LOAD_AND_COMPUTE = """
extern "C" __global__ void load_and_compute(const float* x, float* sums, int turns) {
    float sum = 0.0f;
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    #pragma unroll 1
    for (int turn = 0; turn < turns; turn++, at += gridDim.x * blockDim.x) {
        float one = x[at];
        for (int i = 0; i < 128; i++) one = one * 0.5f + 1.0f;
        sum += one;
    }
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def test_the_last_warp_of_a_cut_launch_is_left_alone_as_that_of_the_whole() -> None:
    """Eight warps of a scheduler load and compute in turn. Of those that stand in line none is
    ahead, and all hide each other's loads to the end; by age, the last hides none."""
    gpu, threads, turns = "a100-sxm-80gb", 2 * 108 * 512, 400
    x, sums = kc.f32(threads * turns), kc.f32(threads)
    launch = kc.Launch(216, 512, {"x": x, "sums": sums, "turns": turns})
    case = kc.case(kc.load_source(LOAD_AND_COMPUTE, gpu=gpu), launch, gpu)
    whole, cut = (Teg(instructions=n).predict(case) for n in (4_000_000, 100_000))
    of_cut, of_whole = (float(one.terms["instructions simulated"]) for one in (cut, whole))
    assert of_cut < of_whole / 15
    assert cut.time_s == pytest.approx(whole.time_s, rel=0.03)
    in_line = Teg(instructions=100_000, policy="line").predict(case)
    assert whole.time_s > 1.1 * in_line.time_s


def test_what_comes_for_a_load_is_written_through_the_banks_of_the_l1_cache() -> None:
    """Of a warp, two loads of 128 B at 64 B a cycle, read and written, and a store of a whole
    line."""
    (case,) = kc.cases(kc.workload(EXAMPLES / "saxpy.cu"), [kc.machine("a40")])
    whole = case.machine.number("sm.store_whole_cycles", "a test")
    warps_per_sm = case.profile.warps / 84
    for model, stored in ((Teg(), whole), (Volkov(), 2)):
        bounds = {part.name: part.cycles for part in model.predict(case).bounds}
        found = bounds[Bottleneck.L1_BANDWIDTH] / warps_per_sm
        assert found == pytest.approx(2 * (2 + 2) + stored, rel=0.01)


@pytest.mark.parametrize(
    ("hits", "share"),
    [(0, 1.0), (10, 1.0), (20, 1.0), (80, 0.5), (4000, 0.01)],
)
def test_lines_that_many_load_are_near(hits: int, share: float) -> None:
    """Of 20 lines that the DRAM brings, loaded again so many times."""
    read = AccessCounts(
        0, OpClass.LOAD, Space.GLOBAL, None, 20, 20, 20, Lookups(), Lookups(20 + hits, hits), 20
    )
    assert _far_share(read) == pytest.approx(share)


def test_an_sm_with_more_blocks_is_heavier_than_one_with_a_block_that_does_a_little_more() -> None:
    """Of 157 blocks on 108 SMs 49 have two; the last does less than others, which are alike."""
    gpu, blocks = "a100-pcie-80gb", 157
    launch = kc.Launch(blocks, 256, {"x": kc.f32(blocks * 256), "working": blocks})
    case = kc.case(kc.load_source(FEW_WORK, gpu=gpu), launch, gpu)
    work = np.full(blocks, 1000)
    work[100] = 1010  # on an SM with one block
    profile = replace(case.profile, executed_blocks=np.arange(blocks), block_instructions=work)
    odd = replace(case, profile=profile)
    assert Teg().predict(odd).time_s == pytest.approx(Teg().predict(case).time_s, rel=0.02)


# --------------------------------------------------------- what is left out

SPINNING = """
/* kernelcast
[[launch]]
kernel = "spin"
grid = %d
block = 256
args = { out = "u32[256]", rounds = 4000 }
*/
extern "C" __global__ void spin(unsigned* out, int rounds) {
    unsigned x = threadIdx.x;
    for (int i = 0; i < rounds; i++) x = x * x + (x >> 3 ^ i);
    if (x == 1) out[threadIdx.x] = x;
}
"""


@pytest.mark.parametrize("gpu", ["rtx-a4000", "rtx-2080-ti"])
def test_more_blocks_take_longer_in_proportion(tmp_path: Path, gpu: str) -> None:
    """Of long blocks few waves are simulated; where warps have priority by their place, some of
    those blocks are far behind others."""
    of_block = []
    for blocks in (3000, 3300, 3700, 4100):
        (tmp_path / "spin.cu").write_text(SPINNING % blocks)
        (case,) = kc.cases(kc.workload(tmp_path / "spin.cu"), [kc.machine(gpu)])
        rounds = -(-blocks // int(case.machine.number("sm.count")))
        of_block.append(Teg().predict(case).time_s / rounds)
    assert max(of_block) < 1.04 * min(of_block)
