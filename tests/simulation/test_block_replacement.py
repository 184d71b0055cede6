"""How soon a block follows the one whose place it takes."""

from __future__ import annotations

import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, request, streams

from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.layout import GLOBAL

BLOCKS = 16
REPLACEMENT, DRAIN = 500.0, 40.0
SETTING = Setting(
    load_machine("a40"),
    changed={"replacement": REPLACEMENT, "drain": DRAIN, "block_interval": 0.0},
    is_plain=True,
)
CODE = program([Op(OpClass.STORE, space=Space.GLOBAL), EXIT])


def gaps(*, stores):
    """Cycles from the end of a block to the first issue of the next, of blocks of one warp."""
    words = entering(0) + (request(0, GLOBAL, [0]) if stores else [])
    times = played(CODE, streams([[words]] * BLOCKS), SETTING).times
    begun, ended = times[:, 0], times[:, 1]
    return begun[1:] - (ended[:-1] - 1 if not stores else begun[:-1])


def test_a_block_follows_sooner_on_one_that_has_stored_nothing():
    """An instruction whose lanes are all off stores nothing."""
    assert set(gaps(stores=False)) == {REPLACEMENT - DRAIN}
    life = played(CODE, streams([[entering(0)]]), SETTING).times[0, 1]
    assert gaps(stores=True) == pytest.approx(REPLACEMENT + life, abs=2)
