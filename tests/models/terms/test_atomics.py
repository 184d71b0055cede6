"""Atomics on one address follow each other: how many there are, and what they take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelcast import api
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.models.terms.base import Bottleneck, Case
from kernelcast.models.terms.throughput import worksheet

SOURCE = """
// Lanes add to words of a table, `spread` of them; the value differs, so that nothing is merged.
extern "C" __global__ void add(unsigned *table, int spread, int times) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < times; ++i)
        atomicAdd(table + thread % spread, thread + i);
}
"""
BLOCKS, THREADS, TIMES = 64, 64, 4
EXACT = api.Sampling(exact=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    file = tmp_path_factory.mktemp("atomics") / "add.cu"
    file.write_text(SOURCE)

    def case(gpu, spread, isa="sass", sampling=EXACT, blocks=BLOCKS) -> Case:
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
    assert profile.same_address_atomics == BLOCKS * THREADS * TIMES / spread
    merged = 32 if spread == 1 else 1
    assert profile.merged_atomics == profile.same_address_atomics / merged


def test_a_sample_stands_for_all_blocks(made):
    exact, sample = (
        made("a100-sxm-80gb", 2, sampling=sampling).profile.same_address_atomics
        for sampling in (EXACT, api.Sampling(blocks=40))
    )
    assert sample == exact


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


def test_words_apart_do_not_wait_for_each_other(made):
    assert cycles(made("a100-sxm-80gb", 4096)) == TIMES
    assert cycles(made("gtx-280", 1)) is None


def test_a_launch_of_them_is_bound_by_them(made):
    forecast = api.predict(made("a100-sxm-80gb", 1, blocks=4096))
    assert forecast.bottleneck is Bottleneck.ATOMICS
    assert any("atomics on one address" in text for text in forecast.assumptions)
