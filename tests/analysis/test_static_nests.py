"""Loops of C as kernels: what code alone says of their accesses, beside what is executed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.analysis.static_counts import by_code_and_executed
from tests.kept import CACHE

import kernelcast as kc
from kernelcast.analysis.coalescing import MOST_REQUESTS, static_accesses
from kernelcast.analysis.regions import array_regions
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.machines.loader import load_machine

NESTS = Path(__file__).parents[1] / "frontends" / "c" / "nests"
_N = 96
FILES = {
    "algebra.c": ("n", "m", "k", "ni", "nj", "nk", "nl", "nr", "nq", "np"),
    "stencils.c": ("n", "ni", "nj", "nk", "nx", "ny", "width", "height"),
    "statistics.c": ("n", "m"),
    "others.c": ("n", "m", "width", "height"),
}
FEW = {"algebra.c": {}, "stencils.c": {"steps": 1}, "statistics.c": {}}
FEW["others.c"] = {"most": 10 * _N, "offset": 7}
NOT_AFFINE = ("gather", "spmv", "halves", "narrow", "count_and_product")
"""Data say where they go, a remainder by 7, or a number of 16 bits; or lanes go on behind a loop
that each left at its own time."""


@pytest.fixture(
    scope="module",
    params=[(file, isa) for file in FILES for isa in ("ptx", "sass")],
)
def executed(request):
    file, isa = request.param
    work = kc.workload(NESTS / file, sizes=dict.fromkeys(FILES[file], _N) | FEW[file])
    return cases_of_workload(
        work, [load_machine("a100-sxm-80gb")], build=Build(isa=isa, cache=CACHE)
    )


def test_accesses_of_loops_by_code_are_those_executed(executed):
    compared = 0
    for case in executed:
        for static, stated, found in by_code_and_executed(case):
            where = case.kernel.name, case.kernel.instructions[static.instruction]
            if static.is_evaluated:
                compared += 1
                # Where rows begin is a mean over all places where machine code does not tell it.
                rel = 0.1 if case.kernel.isa == "sass" else 1e-6
                assert stated == pytest.approx(found, rel=rel), where
            else:
                assert found <= MOST_REQUESTS
                assert any(name in case.kernel.name for name in NOT_AFFINE), where
    assert compared > 15


def test_arrays_of_loops_by_code_are_those_executed(executed):
    for case in executed:
        found = array_regions(case.kernel, case.launch, static_accesses(case.kernel, case.launch))
        arrays = [f for f in case.profile.footprints if not f.label.startswith("&")]
        assert not found.anywhere and not found.left_out
        assert {f.label for f in arrays if f.written} <= found.written.keys()
        assert {f.label for f in arrays if f.read} <= found.read.keys()
