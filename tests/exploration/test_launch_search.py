"""The launch search: what is derived for other blocks beside what executing them gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.kept import CACHE

from kernelcast import api
from kernelcast.exploration.advice import LaunchSearch
from kernelcast.exploration.candidates import Candidate, proposed, same_warps, why_fixed
from kernelcast.forecasting.build import Build
from kernelcast.frontends.workloads import Workload
from kernelcast.models import load_model
from kernelcast.profiling.run import ENOUGH

ROOT = Path(__file__).parents[2]
NESTS = ROOT / "tests" / "frontends" / "c" / "nests"
SIZES = {"width": 512, "height": 512}


def search_of(work: Workload, model: str = "volkov") -> LaunchSearch:
    build = Build(cache=CACHE)
    return LaunchSearch(work, api.machine("a100-sxm-80gb"), load_model(model), build, ENOUGH)


def stencil() -> Workload:
    return api.workload(NESTS / "stencils.c", function="convolution_2d", sizes=SIZES)


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
def test_derived_times_are_near_executed_ones(model):
    """A 2D convolution, whose blocks share what they read: within 15 %, most within 7 %."""
    work = stencil()
    search = search_of(work, model)
    launch = work.launches[-1]
    case = search.case(launch)
    ranked = search.ranked(case, proposed(case, None, why_fixed(case)))
    derived = [c for c in ranked if not c.is_executed][::3]
    assert len(derived) >= 5
    ratios = [c.time_s / search.executed(c, launch).time_s for c in derived]
    assert all(ratio == pytest.approx(1, rel=0.15) for ratio in ratios), ratios
    assert sum(abs(ratio - 1) < 0.07 for ratio in ratios) > len(ratios) / 2


def test_of_every_kind_of_warp_one_is_executed():
    work = stencil()
    search = search_of(work)
    case = search.case(work.launches[-1])
    every = proposed(case, None, why_fixed(case))
    executed = [c.block for c in search.ranked(case, every) if c.is_executed]
    assert sorted(block[0] for block in executed) == [8, 16]


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
