"""Lines that an L1 cache awaits: they take their place when they come, or when they are missed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, request, streams

from kernelcast.hierarchy.caches.layout import ALLOCATES_L1, ASKS_L1
from kernelcast.hierarchy.caches.memory_system import CacheShape, MemorySystem
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.layout import GLOBAL
from kernelcast.simulation.simulated import Simulated

MACHINE = load_machine("h100-sxm")
LINES = 8
"""Of the L1 cache, in one set."""
CACHES = MemorySystem(1, 1, CacheShape(1, LINES), CacheShape(64, 16))
CACHED = {"rule": ASKS_L1 | ALLOCATES_L1, "dram": 0.0}
SECTORS = 4
ROUNDS = 10


def reading(batches: Sequence[Sequence[int]], *, late: bool) -> Simulated:
    """A warp that asks for lines, and for those of the next batch when all of one are there."""
    ops: list[Op] = []
    words = entering(0)
    for batch in batches:
        for place, line in enumerate(batch):
            words += request(len(ops), GLOBAL, [line])
            ops.append(
                Op(
                    OpClass.LOAD,
                    counter=0,
                    waits=() if place else (0,),
                    space=Space.GLOBAL,
                )
            )
    ops.append(Op(OpClass.FP32, waits=(0,)))
    setting = Setting(
        MACHINE,
        changed={"fills_late": late, "l2_spread": 0.0},
        rows=CACHED,
        is_plain=True,
        system=CACHES,
    )
    return played(program([*ops, EXIT]), streams([[words]]), setting)


@pytest.mark.parametrize(("late", "hits"), [(True, 2 * 2 * (ROUNDS - 1)), (False, 0)])
def test_what_is_on_its_way_leaves_in_the_cache_what_it_will_replace(late: bool, hits: int) -> None:
    """Twelve lines go round in a cache of eight, six at a time.

    When six are asked for, eight have come: the six before, and the last two of these. Where each
    that is missed replaces another at once, those two are gone when it is their turn.
    """
    found = reading([range(6), range(6, 12)] * ROUNDS, late=late)
    assert found.l1_hits == SECTORS * hits


@pytest.mark.parametrize("late", [True, False])
def test_a_line_on_its_way_is_waited_for_and_not_asked_for_again(late: bool) -> None:
    once, twice = reading([[1]], late=late), reading([[1, 1]], late=late)
    assert twice.l1_hits == SECTORS
    assert twice.l2_busy == once.l2_busy
    # It is looked up when it has come.
    assert 0 <= twice.cycles - once.cycles - MACHINE.number("latency.l1") < 8


def test_a_line_that_came_and_left_is_asked_for_again() -> None:
    found = reading([range(LINES), range(LINES, 2 * LINES), [0]], late=True)
    assert found.l1_hits == 0


@pytest.mark.parametrize("late", [True, False])
def test_a_footprint_that_fits_is_read_once(late: bool) -> None:
    found = reading([range(LINES)] * ROUNDS, late=late)
    assert found.l1_hits == SECTORS * LINES * (ROUNDS - 1)
