"""A pipe of double precision for all schedulers of an SM, which take turns at it."""

from __future__ import annotations

import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, streams

from kernelcast.ir import OpClass
from kernelcast.machines.loader import load_machine

COUNT = 24
WARPS = 8
"""Two for each scheduler."""


def ends_of_warps(gpu: str) -> list[int]:
    """When each warp of a block ends that only adds in double precision."""
    kernel = program([*[Op(OpClass.FP64)] * COUNT, EXIT])
    changed = {"l0_lines": 0, "read_cycles": 0.0, "policy": 0}
    setting = Setting(load_machine(gpu), changed=changed)
    events = played(kernel, streams([[entering(0)] * WARPS]), setting).events
    return [int(events["cycle"][events["warp"] == warp].max()) for warp in range(WARPS)]


@pytest.mark.parametrize("gpu", ["rtx-2080-ti", "rtx-3080"])
def test_no_scheduler_comes_before_the_others(gpu):
    ends = ends_of_warps(gpu)
    assert max(ends) > 16 * COUNT * WARPS * 0.9  # the pipe is always busy
    assert min(ends) > 0.9 * max(ends)
