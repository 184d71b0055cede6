"""An FP32 pipe in two halves, one of which also multiplies integers."""

from __future__ import annotations

import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, streams

from kernelcast.ir import OpClass
from kernelcast.machines.loader import load_machine

FLOATS, PRODUCTS = Op(OpClass.FP32), Op(OpClass.INT_MUL)
COUNT = 96
WARPS = 8
"""Two for each scheduler."""


def cycles_per_instruction(mix, gpu: str = "h100-sxm") -> float:
    """Of a scheduler whose warps issue a mix again and again."""
    kernel = program([*mix * COUNT, EXIT])
    setting = Setting(load_machine(gpu), changed={"l0_lines": 0, "read_cycles": 0.0})
    found = played(kernel, streams([[entering(0)] * WARPS]), setting)
    return found.cycles / (WARPS / 4 * COUNT * len(mix))


@pytest.mark.parametrize(
    ("mix", "cycles"),
    [
        ([FLOATS], 1),
        ([PRODUCTS], 2),
        # While a product takes one half for two cycles, an addition has the other.
        ([FLOATS, PRODUCTS], 1),
        ([FLOATS, PRODUCTS, PRODUCTS], 4 / 3),
    ],
)
def test_a_product_leaves_half_of_the_pipe(mix, cycles):
    assert cycles_per_instruction(mix) == pytest.approx(cycles, rel=0.03)


def test_where_all_lanes_multiply_all_take_turns():
    """An A100 does 64 of either in a cycle."""
    assert cycles_per_instruction([FLOATS, PRODUCTS], "a100-sxm-40gb") == pytest.approx(2, rel=0.03)
