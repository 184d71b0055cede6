"""What asks for nothing takes its turn in the load/store unit: instructions with no lane on, and
barriers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, request, streams

from kernelcast.ir import OpClass, Space
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.layout import SHARED

RTX_3080 = load_machine("rtx-3080")
TIMES = 64
WARPS = 16
SETTING = Setting(RTX_3080, is_plain=True)


def cycles(times, *, has_lanes):
    """Of warps that load from shared memory so often, each time with all lanes or with none."""
    op = Op(OpClass.LOAD, space=Space.SHARED)
    words = entering(0)
    for at in range(times):
        words += request(at, SHARED) if has_lanes else []
    return played(program([*[op] * times, EXIT]), streams([[words] * WARPS]), SETTING).cycles


@pytest.mark.parametrize("has_lanes", [False, True])
def test_loads_take_the_unit_as_long_with_lanes_as_without(has_lanes):
    further = cycles(2 * TIMES, has_lanes=has_lanes) - cycles(TIMES, has_lanes=has_lanes)
    each = WARP_LANES / RTX_3080.number("throughput.load")
    assert further / (WARPS * TIMES) == pytest.approx(each, rel=0.03)


def test_a_barrier_takes_the_unit_one_cycle():
    """Of blocks of one warp, which nobody lets wait: beside loads, which take two."""
    load, barrier = Op(OpClass.LOAD, space=Space.SHARED), Op(OpClass.BARRIER)

    def cycles_of(times):
        words = entering(0)
        for at in range(times):
            words += request(2 * at, SHARED)
        code = program([*[load, barrier] * times, EXIT])
        return played(code, streams([[words]] * WARPS), replace(SETTING, resident=WARPS)).cycles

    further = cycles_of(2 * TIMES) - cycles_of(TIMES)
    each = WARP_LANES / RTX_3080.number("throughput.load")
    assert each == 2
    assert further / (WARPS * TIMES) == pytest.approx(each + 1, rel=0.1)
