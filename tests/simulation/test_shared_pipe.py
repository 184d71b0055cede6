"""A pipe of double precision for all schedulers of an SM, which take turns at it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.simulation.programs import (
    EXIT,
    Op,
    Setting,
    entering,
    played,
    program,
    request,
    streams,
)

from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.profiling.layout import SHARED

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


def loads_behind_doubles(in_latch: int) -> list[int]:
    """When a warp loads from shared memory whose scheduler has another that adds doubles."""
    chip = apply_overrides(load_machine("rtx-3080"), (f"lsu.doubles_in_latch={in_latch}",))
    loads = [Op(OpClass.LOAD, space=Space.SHARED)] * COUNT
    lengths = [COUNT, COUNT, 1]
    kernel = program([*[Op(OpClass.FP64)] * COUNT, *loads, EXIT], lengths)
    adding = [*entering(0), *entering(2)]
    loading = entering(1)
    for at in range(COUNT, 2 * COUNT):
        loading += request(at, SHARED)
    warps = [adding] * 4 + [[*loading, *entering(2)]] * 4
    changed = {"l0_lines": 0, "read_cycles": 0.0, "policy": 0}
    events = played(kernel, streams([warps]), Setting(chip, changed=changed)).events
    of_one = events[(events["warp"] == 4) & (events["instruction"] < 2 * COUNT)]
    return of_one["cycle"].tolist()


def test_double_precision_stands_where_memory_instructions_enter_their_queue():
    """In turn with a warp that adds, one that loads does so once for every addition."""
    cycles = loads_behind_doubles(1)
    each = 4 * 32 / (2 * 0.89)  # an addition of each scheduler
    between = [b - a for a, b in pairwise(cycles[1:])]
    assert all(abs(cycles_each - each) <= 4 for cycles_each in between)
    assert max(loads_behind_doubles(0)) < 0.2 * max(cycles)
