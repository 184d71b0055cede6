"""Loops that try to swap words of shared memory until nobody came in between: sums of floats."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from kernelcast import api
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.models.teg import Teg
from kernelcast.models.terms.base import Case
from kernelcast.simulation.removals import Removal

PROBE = Path(__file__).parents[2] / "measurements/data/h100-sxm/probes/atomics.jsonl.gz"
SOURCE = """
extern "C" __global__ void add(float *out, int sharing, int stride, unsigned mask, int times) {
    __shared__ float sums[4096];
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) sums[i] = 0;
    __syncthreads();
    unsigned word = threadIdx.x % 32 / sharing * stride;
    unsigned pick = (blockIdx.x * blockDim.x + threadIdx.x) * 2246822519u + 777u;
    for (int n = 0; n < times; ++n) {
        if (mask) {
            pick = pick * 1664525u + 1013904223u;
            word = (pick >> 12) & mask;
        }
        atomicAdd(sums + word, 1.0f);
    }
    __syncthreads();
    if (threadIdx.x < 32) out[threadIdx.x] = sums[threadIdx.x * stride];
}
"""


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    file = tmp_path_factory.mktemp("tries") / "add.cu"
    file.write_text(SOURCE)
    kernel = api.load(file, gpu="h100-sxm", kernel="add")

    def case(warps, sharing=1, stride=1, mask=0, times=64) -> Case:
        args = {
            "out": api.f32(32),
            "sharing": sharing,
            "stride": stride,
            "mask": mask,
            "times": times,
        }
        launch = api.Launch(grid=1, block=32 * warps, args=args, kernel="add")
        return api.case(kernel, launch, "h100-sxm")

    return case


def played(case: Case, *removed: Removal):
    return Teg().play(case, frozenset(removed)).found


def measured(pattern: str, mask: int, warps: int) -> float:
    rows = map(json.loads, gzip.decompress(PROBE.read_bytes()).splitlines())
    wanted = ("shared", "add.f32", pattern, mask, warps)
    names = ("set", "op", "pattern", "mask", "warps")
    found = [r["cycles_per_round"] for r in rows if tuple(r.get(n) for n in names) == wanted]
    return float(found[0])


@pytest.mark.parametrize(
    ("sharing", "mask", "warps", "times", "error"),
    [
        *[(1, 0, warps, 256, 0.16) for warps in (1, 8, 32)],
        (2, 0, 1, 256, 0.16),
        (32, 0, 1, 64, 0.16),
        (32, 0, 32, 4, 0.16),
        # Eight warps can fall in step with each other here, and seldom fail then.
        *[(sharing, 0, 8, 256, 0.3) for sharing in (2, 8, 32)],
        *[(1, mask, warps, 128, 0.16) for mask in (31, 1023) for warps in (1, 8, 32)],
    ],
)
def test_a_round_takes_what_an_h100_takes(make, sharing, mask, warps, times, error):
    cycles = [played(make(warps, sharing, mask=mask, times=n)).cycles for n in (times, 2 * times)]
    pattern = "random word" if mask else f"lane / {sharing}"
    expected = measured(pattern, mask, warps)
    assert (cycles[1] - cycles[0]) / times == pytest.approx(expected, rel=error)


def test_of_lanes_on_one_bank_one_succeeds_in_a_turn(make):
    """They go to words of their own, 128 B apart."""
    (tries,) = {
        a.requests
        for a in make(1, stride=32, times=1).profile.accesses
        if make(1).kernel.instructions[a.instruction].traits.swap
    }
    assert tries == 32


def test_warps_try_again_only_where_others_came_in_between(make):
    assert played(make(1, sharing=32)).repeated == 0
    several = make(4)
    assert played(several).repeated > 0
    assert played(several, Removal.ATOMIC_CONFLICTS).repeated == 0


def test_tries_add_up(make):
    """Whatever lanes fail in a turn, every addition is done once."""
    case = make(2, sharing=4, times=3)
    memory = Memory.build(case.kernel, case.launch)
    execute(case.kernel, case.launch, memory)
    assert np.array_equal(memory.array("out")[:8], np.full(8, 2 * 4 * 3))
