"""What neighbours share is found out where not all blocks run through every machine's caches."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kept import CACHE

from kernelcast import api
from kernelcast.hierarchy.caches.memory_system import missing_numbers
from kernelcast.machines.loader import load_machine, machine_names

STENCILS = Path(__file__).parents[1] / "frontends" / "c" / "nests" / "stencils.c"
WITHOUT_CACHES = next(n for n in machine_names() if missing_numbers(load_machine(n)))


@pytest.mark.parametrize(
    ("width", "machines", "asks"),
    [
        (256, ["a100-sxm-80gb"], False),
        (256, ["a100-sxm-80gb", WITHOUT_CACHES], True),
        (16384, ["a100-sxm-80gb"], True),
    ],
    ids=["all blocks", "a machine without caches", "some blocks"],
)
def test_neighbours_are_asked_where_caches_do_not_tell_all(width, machines, asks):
    sizes = {"width": width, "height": 256}
    work = api.workload(STENCILS, function="convolution_2d", sizes=sizes)
    cases = api.cases(work, [api.machine(n) for n in machines], build=api.Build(cache=CACHE))
    assert any(f.fresh for f in cases[0].profile.footprints) is asks
