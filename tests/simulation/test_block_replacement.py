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


def times_of(*, stores):
    """When blocks of one warp, one after the other, began and ended; each stores or does not."""
    words = entering(0) + (request(0, GLOBAL, [0]) if stores else [])
    return played(CODE, streams([[words]] * BLOCKS), SETTING).times.T


def test_a_block_follows_sooner_on_one_that_has_stored_nothing():
    """An instruction whose lanes are all off stores nothing."""
    begun, ended = times_of(stores=False)
    last_issue = ended - 1
    assert set(begun[1:] - last_issue[:-1]) == {REPLACEMENT - DRAIN}
    # A block that stores ends when that has arrived, but is replaced from its last issue on.
    life = played(CODE, streams([[entering(0)]]), SETTING).times[0, 1]
    begun, _ = times_of(stores=True)
    assert begun[1:] - begun[:-1] == pytest.approx(REPLACEMENT + life, abs=2)
