"""Advice for loops of C, judged by the timing simulation of other candidates."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kept import CACHE

from kernelcast import api
from kernelcast.exploration.advice import LaunchSearch, advise_launch
from kernelcast.exploration.candidates import Candidate
from kernelcast.forecasting.build import Build
from kernelcast.models import load_model
from kernelcast.profiling.run import ENOUGH

NESTS = Path(__file__).parents[1] / "frontends" / "c" / "nests"


@pytest.mark.parametrize(
    ("file", "function", "sizes"),
    [
        ("others.c", "transpose", {"n": 512, "m": 512}),
        ("algebra.c", "mvt", {"n": 512}),
        ("stencils.c", "jacobi_2d", {"steps": 1, "n": 256}),
    ],
)
def test_no_candidate_is_10_percent_faster_than_the_advised_one(file, function, sizes):
    work = api.workload(NESTS / file, function=function, sizes=sizes)
    launch, gpu = work.launches[-1], api.machine("a100-sxm-80gb")
    build = Build(cache=CACHE)
    found = advise_launch(work, launch, gpu, load_model("volkov"), build=build)
    judge = LaunchSearch(work, gpu, load_model("auto"), build, ENOUGH)
    advised = found.best or Candidate(launch.grid, launch.block)
    others = [c for c in found.candidates if c.cap is None and not c.refused]
    assert len(others) > 5
    advised_s = judge.executed(advised, launch).time_s
    least_s = min(judge.executed(c, launch).time_s for c in others[::4])
    assert advised_s <= 1.1 * least_s
