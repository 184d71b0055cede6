"""What holds up a scheduler behind an instruction: products of integers, and taken branches."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.straight_code import ALL_THERE, played, straight_code

from kernelcast.simulation import layout

COUNT, WARPS = 64, 16
"""Instructions of a warp, and warps: four for each scheduler."""
ROUNDS = 200


def cycles_per_issue(**fields: object) -> float:
    """Of a scheduler that always has a warp."""
    found = played(straight_code(COUNT, **fields), ALL_THERE, warps=WARPS, gpu="h100-sxm")
    return found.cycles / (COUNT * WARPS / 4)


@pytest.mark.parametrize("holds", [0, 1, 2])
def test_an_instruction_holds_up_all_warps_of_its_scheduler(holds):
    assert cycles_per_issue(holds=holds) == pytest.approx(1 + holds, rel=0.05)


@pytest.mark.parametrize(("jumps", "held"), [(layout.DIRECT, 1), (layout.INDIRECT, 7)])
def test_a_taken_branch_holds_up_the_other_warps(jumps, held):
    """A round is one instruction that leads back to itself."""
    code = straight_code(1, jumps=jumps)
    changed: dict[str, Any] = {**ALL_THERE, "jump_holds": (1, 7), "jump_cycles": 0.0}
    found = played(code, changed, rounds=ROUNDS, warps=WARPS, gpu="h100-sxm")
    assert found.cycles == pytest.approx((1 + held) * ROUNDS * WARPS / 4, rel=0.05)


def test_a_branch_by_a_register_takes_longer_than_one_of_the_code():
    for jumps, each in ((layout.DIRECT, 10), (layout.INDIRECT, 38)):
        code = straight_code(1, jumps=jumps)
        changed: dict[str, Any] = {**ALL_THERE, "jump_holds": 0, "jump_cycles": (10.0, 38.0)}
        found = played(code, changed, rounds=ROUNDS, gpu="h100-sxm")
        assert found.cycles == pytest.approx(each * ROUNDS, rel=0.05)
