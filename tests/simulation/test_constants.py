"""Constants come line by line: to a scheduler, whose warps wait for those that code names, and to
an SM, which gives the lanes of a warp one word after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, program, request, streams

import kernelcast as kc
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.layout import PARAM
from kernelcast.simulation import layout
from kernelcast.simulation.constants import IN_STREAM
from kernelcast.simulation.layout import ROW
from kernelcast.simulation.plan import DetailedSms
from kernelcast.simulation.removals import NOTHING, Removal, Removals
from kernelcast.simulation.removing import without
from kernelcast.simulation.simulate import SimulationInput, simulate
from kernelcast.simulation.simulated import Simulated

EXAMPLES = Path(__file__).parents[2] / "examples"
MISS, FAR, HIT = 50, 100, 30
CACHES = {
    "constant_lines": 8,
    "constant_told_lines": 8,
    "constant_near_latency": MISS,
    "constant_sets": 8,
    "constant_ways": 4,
    "constant_far_latency": FAR,
    "constant_word_cycles": 2.0,
    "constant_interval": 0.0,
}
PLAIN = Setting(load_machine("h100-sxm"), is_plain=True)
LOAD = Op(OpClass.LOAD, counter=0, space=Space.PARAM)
WAIT = Op(OpClass.FP32, waits=(0,))
NAMES = Op(OpClass.FP32)


def played(
    ops: list[Op],
    lines: list[int],
    warps: list[list[int]],
    changed: Mapping[str, float] | None = None,
    removed: Removals = NOTHING,
    width: int = 4,
) -> Simulated:
    """Warps of a block that do all of `ops`, of which each reads the line of constants given; -1
    reads none. What does not load it names it."""
    kernel = program([*ops, EXIT])
    setting = PLAIN.with_numbers(**{**CACHES, **(changed or {})})
    code = setting.code(kernel)
    code.table["constant"][: len(lines)] = lines
    loads = code.table["kind"] == layout.CONSTANT
    code.table["names_constant"] = (code.table["constant"] != -1) & ~loads
    code.table["latency"][loads], code.table["bytes"][loads] = HIT, width
    done = streams([[[*entering(0), *words] for words in warps]])
    given = SimulationInput(code, done, setting.hardware(code, done.warps), np.zeros(8, ROW))
    plan = DetailedSms(1, ((0,),), 1, 1 / 64)
    return simulate(without(given, removed), plan, None, most_issued=1 << 16, most_events=1 << 10)


def missed(found: Simulated) -> list[int]:
    """Cycles that every instruction issued waited for a constant, warp by warp."""
    return found.events["missed"].tolist()


def loading(at: int, words: list[int]) -> list[int]:
    """An instruction loads words, by their places, each for some of the lanes."""
    lines = sorted({word // 32 for word in words})
    made = request(at, PARAM, lines, passes=len(words), sectors=0)
    for word in words:
        made[1 + lines.index(word // 32)] |= 1 << word % 32 // 8 + 2
    return made


def test_a_named_constant_is_waited_for_once_by_a_scheduler():
    found = played([NAMES, NAMES, NAMES], [3, 3, 4], [[]])
    assert missed(found)[:3] == [MISS, 0, MISS]
    assert found.stalls[:, layout.IMC_MISS].sum() == 2 * MISS


def test_warps_of_a_scheduler_wait_for_one_line_together():
    """Five warps, so that the first scheduler has two, which issue and end one after the other."""
    found = played([NAMES], [3], [[]] * 5)
    named = found.events[found.events["instruction"] == 0]
    assert named["missed"].tolist() == [MISS] * 5
    assert sorted(named["cycle"].tolist()) == [*[MISS] * 4, MISS + 2]


def test_who_comes_later_waits_for_what_is_left():
    """A warp of the same scheduler has something else to do first."""
    slow = Op(OpClass.FP32, stall=15)
    kernel = program([slow, slow, NAMES, EXIT], [2, 2])
    setting = PLAIN.with_numbers(**CACHES)
    code = setting.code(kernel)
    code.table["constant"], code.table["names_constant"] = [-1, -1, 3, -1], [0, 0, 1, 0]
    first, others = entering(1), [*entering(0), *entering(1)]
    done = streams([[first, *[others] * 4]])
    given = SimulationInput(code, done, setting.hardware(code, 5), np.zeros(8, ROW))
    plan = DetailedSms(1, ((0,),), 1, 1 / 64)
    found = simulate(given, plan, None, most_issued=1 << 16, most_events=1 << 10)
    named = found.events[found.events["instruction"] == 2]
    of_two = named[named["scheduler"] == named[named["warp"] == 0]["scheduler"]]
    # The younger one issues first, in cycles 0, 15 and then 30; the other one asks in cycle 1.
    assert sorted(of_two["missed"].tolist()) == [1 + MISS - 30, MISS]


@pytest.mark.parametrize(("lines", "misses"), [(8, 8), (9, 18)])
def test_what_was_used_longest_ago_makes_room(lines, misses):
    """A loop over one line more than there are places finds none of them."""
    named = [*range(lines)] * 2
    found = played([NAMES] * len(named), named, [[]])
    assert sum(m > 0 for m in missed(found)) == misses


def test_lines_come_one_after_the_other():
    every = {"constant_interval": 20.0}
    found = played([NAMES], [3], [[]] * 4, every)
    named = found.events[found.events["instruction"] == 0]
    assert sorted(named["missed"].tolist()) == [MISS, MISS + 20, MISS + 40, MISS + 60]


def test_a_named_constant_may_stand_in_the_stream():
    uniform = Op(OpClass.LOAD, space=Space.PARAM)
    found = played([uniform, uniform], [-1, -1], [[]])
    assert missed(found)[:2] == [0, 0]
    code = [*loading(0, [40]), *loading(1, [50])]  # words 40 and 50, lines 2 and 3 of 64 B
    kernel_lines = [IN_STREAM, IN_STREAM]
    named = _named_by_register(kernel_lines, code)
    assert missed(named)[:2] == [MISS, MISS]
    assert missed(_named_by_register(kernel_lines, [*loading(0, [40]), *loading(1, [41])]))[:2] == [
        MISS,
        0,
    ]


@pytest.mark.parametrize(("lines", "misses"), [(2, 2), (3, 6)])
def test_what_registers_tell_has_a_cache_of_its_own(lines, misses):
    """A loop over one line more than it holds finds none there, and named ones stay in theirs."""
    told = [16 * at for at in range(lines)] * 2
    words = [word for at, first in enumerate(told) for word in loading(at, [first])]
    in_stream, named = [IN_STREAM] * len(told), [90, 91, 92] * 2
    found = _named_by_register([*in_stream, *named], words, {"constant_told_lines": 2})
    waited = missed(found)
    assert sum(m > 0 for m in waited[: len(told)]) == misses
    assert sum(m > 0 for m in waited[len(told) :]) == 3


def _named_by_register(
    lines: list[int], words: list[int], changed: Mapping[str, float] | None = None
) -> Simulated:
    """Loads to uniform registers, which their warp waits for before it issues them."""
    count = len(lines)
    kernel = program([Op(OpClass.LOAD, space=Space.PARAM)] * count + [EXIT])
    setting = PLAIN.with_numbers(**{**CACHES, **(changed or {})})
    code = setting.code(kernel)
    code.table["constant"][:count], code.table["names_constant"][:count] = lines, 1
    done = streams([[[*entering(0), *words]]])
    given = SimulationInput(code, done, setting.hardware(code, 1), np.zeros(8, ROW))
    plan = DetailedSms(1, ((0,),), 1, 1 / 64)
    return simulate(given, plan, None, most_issued=1 << 16, most_events=1 << 10)


@pytest.mark.parametrize(
    ("width", "words", "cycles"),
    [(4, 1, 0), (4, 32, 62), (8, 32, 62), (16, 1, 2), (16, 8, 30)],
)
def test_lanes_get_their_words_one_after_the_other(width, words, cycles):
    there = {"constant_sets": 0}
    listed = [*range(0, 4 * words, 4)]
    found = played([LOAD, WAIT], [IN_STREAM, -1], [loading(0, listed)], there, width=width)
    issued = found.events["cycle"].tolist()
    assert issued[1] - issued[0] == HIT + cycles


def test_a_load_that_misses_comes_from_beyond_and_the_next_one_does_not():
    ops, lines = [LOAD, WAIT, LOAD, WAIT], [IN_STREAM, -1, IN_STREAM, -1]
    found = played(ops, lines, [[*loading(0, [40]), *loading(2, [41])]])
    cycle = found.events["cycle"].tolist()
    assert (cycle[1] - cycle[0], cycle[3] - cycle[2]) == (FAR, HIT)


@pytest.mark.parametrize(("lines", "misses"), [(4, 4), (5, 10)])
def test_a_set_holds_as_many_lines_as_it_has_ways(lines, misses):
    """Lines 8 apart lie in one set."""
    wanted = [128 * at for at in range(lines)] * 2
    ops = [LOAD, WAIT] * len(wanted)
    words = [w for at, word in enumerate(wanted) for w in loading(2 * at, [word])]
    found = played(ops, [IN_STREAM, -1] * len(wanted), [words])
    waited = np.diff(found.events["cycle"])[::2]
    assert (waited == FAR).sum() == misses


def test_a_load_of_what_the_code_names_asks_for_one_line():
    found = played([LOAD, WAIT, LOAD, WAIT], [7, -1, 7, -1], [[]])
    cycle = found.events["cycle"].tolist()
    assert (cycle[1] - cycle[0], cycle[3] - cycle[2]) == (FAR, HIT)


def test_without_their_latency_constants_are_there_at_once():
    ops, lines = [LOAD, WAIT, NAMES], [IN_STREAM, -1, 5]
    removed = frozenset({Removal.CONSTANT_LATENCY})
    found = played(ops, lines, [loading(0, [*range(32)])], removed=removed)
    assert found.stalls[:, layout.IMC_MISS].sum() == 0
    assert found.events["cycle"].tolist() == [0, 1, 2, 3]


def test_words_of_constants_have_nothing_to_do_with_the_l1_cache():
    ops, lines, words = [LOAD, WAIT], [IN_STREAM, -1], [loading(0, [*range(32)])]
    removed = frozenset({Removal.L1_BANDWIDTH, Removal.UNCOALESCED_ACCESS})
    with_it = played(ops, lines, words)
    assert with_it.cycles == played(ops, lines, words, removed=removed).cycles


def test_machine_code_says_which_constants_it_reads():
    """What stands in a trace file says so, too."""
    work = kc.workload(EXAMPLES / "saxpy.cu")
    kernel = kc.load(EXAMPLES / "saxpy.cu", gpu="h100-sxm", kernel=work.launches[0].kernel)
    named = [i for i in kernel.instructions if i.constant is not None]
    assert {str(i.operands[1]) for i in named if i.opcode == "ULDC"} >= {"c[0x0][0x208]"}
    assert {i.constant for i in named if "c[0x0][0x208]" in map(str, i.operands)} == {0x208}


def test_a_machine_without_their_caches_has_them_all():
    bare = replace(PLAIN, machine=load_machine("gtx-980"))
    code = bare.code(program([NAMES, EXIT]))
    assert bare.hardware(code, 1)["constant_lines"] == 0
