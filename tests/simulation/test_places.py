"""Which scheduler a block's warps go to: the one with the fewest, in turn by block."""

from __future__ import annotations

import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, streams

from kernelcast.ir import OpClass
from kernelcast.machines.loader import load_machine

SHORT, LONG = 4, 400
"""Instructions of a warp."""
MACHINE = load_machine("h100-sxm")


def schedulers_of_first_warps(blocks: int, warps: int) -> list[int]:
    """Of blocks that are resident together, by block."""
    kernel = program([Op(OpClass.FP32), EXIT])
    done = streams([[entering(0)] * warps] * blocks)
    events = played(kernel, done, Setting(MACHINE, blocks, is_plain=True)).events
    first = events[(events["warp"] == 0) & (events["instruction"] == 0)]
    return first["scheduler"][first["block"].argsort()].tolist()


@pytest.mark.parametrize("warps", [4, 8, 16])
def test_every_block_begins_at_another_scheduler(warps):
    """Of sieves of an H100, whose first warp has the most to do, all schedulers issue as much."""
    assert schedulers_of_first_warps(4, warps) == [0, 1, 2, 3]


def test_the_first_of_two_warps_always_has_one_of_two_schedulers():
    """Of sieves of 64 threads on an H100, some schedulers issue 270,131, others 70,956."""
    assert schedulers_of_first_warps(8, 2) == [0, 2, 2, 0, 0, 2, 2, 0]


def test_single_warps_spread_over_all_schedulers():
    assert sorted(schedulers_of_first_warps(8, 1)) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_blocks_with_one_long_warp_keep_all_schedulers_busy():
    ops = [Op(OpClass.FP32)] * LONG + [EXIT] + [Op(OpClass.FP32)] * SHORT + [EXIT]
    kernel = program(ops, [LONG + 1, SHORT + 1])
    blocks = 16
    done = streams([[entering(0), *[entering(1)] * 3]] * blocks)
    together = {"block_interval": 0.0}
    found = played(kernel, done, Setting(MACHINE, blocks, changed=together, is_plain=True))
    assert found.cycles == pytest.approx(blocks / 4 * LONG, rel=0.1)
