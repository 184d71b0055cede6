"""The launch search: what is derived for other blocks beside what executing them gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.kept import CACHE

from kernelcast import api
from kernelcast.exploration.advice import LEAST_GAIN, LaunchSearch, advise_launch
from kernelcast.exploration.candidates import (
    Candidate,
    Likeness,
    likeness,
    proposed,
    same_warps,
    why_fixed,
)
from kernelcast.forecasting.build import Build
from kernelcast.frontends.workloads import Workload
from kernelcast.models import load_model
from kernelcast.profiling.run import ENOUGH

ROOT = Path(__file__).parents[2]
NESTS = ROOT / "tests" / "frontends" / "c" / "nests"


def search_of(work: Workload, model: str = "volkov") -> LaunchSearch:
    build = Build(cache=CACHE)
    return LaunchSearch(work, api.machine("a100-sxm-80gb"), load_model(model), build, ENOUGH)


def nest(file: str, function: str, **sizes: int) -> Workload:
    return api.workload(NESTS / file, function=function, sizes=sizes)


def stencil() -> Workload:
    return nest("stencils.c", "convolution_2d", width=256, height=256)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((256, 1, 1), (96, 1, 1), True),
        ((32, 8, 1), (128, 2, 1), True),
        ((16, 16, 1), (16, 4, 1), True),
        ((16, 16, 1), (8, 32, 1), False),
        ((16, 16, 1), (32, 8, 1), False),
        ((48, 2, 1), (96, 1, 1), False),
        ((24, 4, 1), (24, 8, 1), False),
    ],
)
def test_blocks_of_the_same_warps(one, other, same):
    assert same_warps(one, other) is same_warps(other, one) is same


@pytest.mark.parametrize("model", ["volkov", "resios"])
@pytest.mark.parametrize(
    "work",
    [
        nest("others.c", "saxpy", n=1 << 22),
        nest("algebra.c", "mvt", n=2048),
        nest("stencils.c", "jacobi_1d", steps=1, n=1 << 20),
    ],
    ids=lambda work: work.launches[0].kernel,
)
def test_derived_times_are_those_of_executed_ones_within_10_percent(work, model):
    """Streams, rows that a thread reads alone, and neighbours that share what they read."""
    search = search_of(work, model)
    launch = work.launches[-1]
    case = search.case(launch)
    ranked = search.ranked(case, proposed(case, None, why_fixed(case)))
    derived = [c for c in ranked if not c.is_executed][::3]
    assert len(derived) >= 3
    ratios = {c.block: c.time_s / search.executed(c, launch).time_s for c in derived}
    assert all(ratio == pytest.approx(1, rel=0.1) for ratio in ratios.values()), ratios


STRIDED = """
/* kernelcast
[[launch]]
kernel = "rows"
grid = 512
block = 128
args = { x = "f32[512, 1024] random(1)", y = "f32[512 * 1024]" }
*/
extern "C" __global__ void rows(const float* x, float* y) {
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        int at = blockIdx.x % 512 * 1024 + i;
        y[at] = x[at] + 1;
    }
}
"""


def test_where_a_warp_does_less_in_larger_blocks_all_are_executed(tmp_path):
    file = tmp_path / "rows.cu"
    file.write_text(STRIDED)
    search = search_of(api.workload(file))
    case = search.case(search.work.launches[-1])
    assert same_warps(case.launch.block, (256, 1, 1))
    ranked = search.ranked(case, proposed(case, None, why_fixed(case)))
    assert len(ranked) > 5 and all(one.is_executed for one in ranked)


SQUARE = """
/* kernelcast
n = 512
[[launch]]
kernel = "scale"
grid = ["n // 32", "n // 8"]
block = [32, 8]
args = { n = "n", x = "f32[n, n] random(1)" }
*/
extern "C" __global__ void scale(int n, float* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) x[j * n + i] *= 2;
}
"""


def test_of_every_kind_of_warp_one_is_executed(tmp_path):
    (tmp_path / "scale.cu").write_text(SQUARE)
    work = api.workload(tmp_path / "scale.cu")
    search = search_of(work)
    case = search.case(work.launches[-1])
    ranked = search.ranked(case, proposed(case, None, why_fixed(case)))
    executed = [c.block for c in ranked if c.is_executed]
    assert sorted(block[0] for block in executed) == [8, 16]
    assert len(ranked) > 20


@pytest.mark.parametrize("model", ["volkov", "resios"])
@pytest.mark.parametrize(
    "work",
    [
        stencil(),
        nest("algebra.c", "gemm", ni=256, nj=256, nk=32),
        nest("others.c", "transpose", n=4096, m=4096),
    ],
    ids=lambda work: work.launches[-1].kernel,
)
def test_times_at_best_are_no_longer_than_those_of_executed_ones(work, model):
    """Other warps share an SM in another shape: times are bounds, up to what counts as no gain."""
    search = search_of(work, model)
    launch = work.launches[-1]
    case = search.case(launch)
    assert likeness(case) is Likeness.AT_BEST
    ranked = search.ranked(case, proposed(case, None, why_fixed(case)))
    bounds = [c for c in ranked if c.is_bound]
    assert len(bounds) > 20
    ratios = {c.block: c.time_s / search.executed(c, launch).time_s for c in bounds[::5]}
    assert max(ratios.values()) <= 1 + LEAST_GAIN, ratios


@pytest.mark.parametrize("model", ["volkov", "resios", "gpumech"])
def test_what_launches_of_the_same_warps_have_in_common_is_as_if_each_were_by_itself(model):
    search = search_of(nest("algebra.c", "gemm", ni=200, nj=200, nk=16), model)
    case = search.case(search.work.launches[-1])
    ranked = search.ranked(case, proposed(case, None, why_fixed(case)))
    found = [(c.case, c.time_s) for c in ranked if c.case is not None and not c.is_executed]
    assert len(found) > 20
    for one, time_s in found:
        assert one.like is not None
        alone = replace(one, like=replace(one.like))
        assert search.model.predict(alone).time_s == pytest.approx(time_s, rel=1e-12)


def test_of_bounds_no_caches_are_simulated_until_they_could_be_fastest():
    search = search_of(stencil())
    case = search.case(search.work.launches[-1])
    ranked = search.ranked(case, proposed(case, None, why_fixed(case)))
    assert len(ranked) > 20 and all(one.is_bound for one in ranked)
    shapes = {c.block[0] for c in ranked if c.case is not None and c.case.like is case}
    assert shapes >= {8, 16, 32, 64}


def test_of_bounds_all_that_could_be_fastest_are_executed():
    """None that is shown to be faster than the launch is so by a bound alone."""
    work = stencil()
    found = advise_launch(
        work,
        work.launches[-1],
        api.machine("a100-sxm-80gb"),
        load_model("volkov"),
        build=Build(cache=CACHE),
    )
    faster = [c for c in found.candidates if c.time_s < (1 - LEAST_GAIN) * found.current.time_s]
    assert faster and all(c.is_executed for c in faster[:4])


def test_what_blocks_share_in_memory_is_executed_for_each():
    work = api.workload(ROOT / "examples" / "transpose.cu")
    search = search_of(work)
    case = search.case(work.launches[0])
    ranked = search.ranked(case, [Candidate((64, 128, 1), (64, 4, 1))])
    assert all(c.is_executed for c in ranked)


def test_a_model_that_plays_the_launch_executes_every_candidate():
    work = api.workload(ROOT / "examples" / "saxpy.cu")
    small = replace(work.launches[0], grid=(64, 1, 1))
    search = search_of(replace(work, launches=(small,)), "teg")
    ranked = search.ranked(search.case(small), [Candidate((128, 1, 1), (128, 1, 1))])
    assert all(c.is_executed for c in ranked)
