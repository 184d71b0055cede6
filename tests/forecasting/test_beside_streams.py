"""What is executed beside a profile: streams for the machines of its code, and neighbours where
not all blocks run through their caches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
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
        (256, [WITHOUT_CACHES], True),
        (16384, ["a100-sxm-80gb"], True),
    ],
    ids=["all blocks", "a machine without caches", "some blocks"],
)
def test_neighbours_are_asked_where_caches_do_not_tell_all(width, machines, asks):
    sizes = {"width": width, "height": 256}
    work = api.workload(STENCILS, function="convolution_2d", sizes=sizes)
    cases = api.cases(work, [api.machine(n) for n in machines], build=api.Build(cache=CACHE))
    assert any(f.fresh for f in cases[0].profile.footprints) is asks


def test_machines_of_other_code_change_no_streams():
    """Three architectures, of each of which only some blocks are affordable."""
    algebra = STENCILS.with_name("algebra.c")
    work = api.workload(algebra, function="syrk", sizes={"n": 512, "m": 128})
    work = replace(work, launches=work.launches[-1:])
    machines = [api.machine(n) for n in ("h100-sxm", "a100-sxm-80gb", "rtx-4090")]
    build = api.Build(cache=CACHE)
    together = api.cases(work, machines, build=build)
    for machine, one in zip(machines, together, strict=True):
        (alone,) = api.cases(work, [machine], build=build)
        assert one.streams is not None and alone.streams is not None
        assert not one.streams.spans[0].is_consecutive or len(one.streams.spans) > 1
        assert one.streams.spans == alone.streams.spans
        assert np.array_equal(one.streams.words, alone.streams.words)
