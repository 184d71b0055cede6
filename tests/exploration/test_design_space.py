"""Axes as they are typed, and the configurations that they span."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.exploration.conftest import CHIP, space

from kernelcast.errors import InputError, NotFoundError
from kernelcast.exploration.design_space import _CHOOSE_COUNTS, design_space, read_axis
from kernelcast.hierarchy.rules import access_rules
from kernelcast.machines.kept import _NotedNumbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("sm.count=15:80:5", tuple(range(15, 85, 5))),
        ("sm.count=15:79:5", tuple(range(15, 80, 5))),
        ("sm.count=15:15:5", (15,)),
        ("sm.count=80, 40,80", (80, 40)),
        ("dram.bandwidth=240e9,480e9", (240e9, 480e9)),
        ("clock.sm=1.0e9:1.3e9:0.1e9", (1.0e9, 1.1e9, 1.2e9, 1.3e9)),
    ],
)
def test_values_of_an_axis(text, values):
    assert read_axis(text).values == pytest.approx(values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sm.count", "no values; write PATH=START:STOP:STEP"),
        ("sm.count=", "no values"),
        ("sm.count=a", "'a' is not a number"),
        ("sm.count=1,nan", "'nan' is not a number"),
        ("sm.count=inf", "'inf' is not a number"),
        ("sm.count=1:10", "'1:10' is no range"),
        ("sm.count=10:1:1", "'10:1:1' is no range; write START:STOP:STEP, upwards"),
        ("sm.count=1:10:0", "is no range"),
        ("sm.count=1:10:-1", "is no range"),
        ("sm.count=0", "0 is out of range; give a whole number from 1"),
        ("sm.count=0:80:20", "0 is out of range"),
        ("sm.count=1.5", "1.5 is out of range; give a whole number"),
        ("l1.ways=0,4", "0 is out of range"),
        ("dram.bandwidth=-1e9", "-1e.09 is out of range"),
        ("dram.bandwidth=1e6:1e12:1", "take steps that give 1000000 at most"),
        ("l1.tag_bank_bits=1,2", "l1.tag_bank_bits is a list of numbers"),
    ],
)
def test_impossible_sweeps_are_refused_before_anything_runs(text, message):
    with pytest.raises(InputError, match=message) as caught:
        read_axis(text)
    assert caught.value.where == f"--sweep {text}"


def test_an_unknown_number_names_the_nearest():
    with pytest.raises(NotFoundError, match=r"did you mean dram.bandwidth") as caught:
        read_axis("dram.bandwith=1e12")
    assert caught.value.where == "--sweep dram.bandwith=1e12"


def test_the_last_axis_varies_fastest():
    found = space("sm.count=10,20", "clock.sm=1e9,2e9,3e9")
    assert len(found) == 6
    numbers = found.numbers(np.arange(6))
    assert numbers["sm.count"].tolist() == [10, 10, 10, 20, 20, 20]
    assert numbers["clock.sm"].tolist() == [1e9, 2e9, 3e9] * 2
    for at in range(6):
        machine = found.machine_at(at)
        assert {path: machine.number(path) for path in numbers} == {
            path: values[at] for path, values in numbers.items()
        }
        assert machine.overrides == ("sm.count", "clock.sm")


def test_nothing_swept_and_a_number_swept_twice_are_refused():
    with pytest.raises(InputError, match="nothing is swept"):
        space()
    with pytest.raises(InputError, match=r"sm.count is swept twice"):
        space("sm.count=1,2", "sm.count=3")


def test_more_configurations_than_can_be_held_are_refused():
    axes = ("dram.bandwidth=1e9:1e12:1e6", "l2.bandwidth=1e9:1e10:1e7")
    with pytest.raises(InputError, match=r"9e\+08 configurations, .* take wider steps"):
        space(*axes)


def test_numbers_that_ask_for_another_execution_are_refused(set_numbers):
    chip = set_numbers(CHIP, {"coalescing.lanes": 32})
    assert len(design_space(chip, [read_axis("coalescing.lanes=32")])) == 1
    with pytest.raises(InputError, match=r"at coalescing.lanes 16 other things are counted"):
        design_space(chip, [read_axis("coalescing.lanes=32,16")])
    numbers = _NotedNumbers(CHIP.quantities)
    access_rules(replace(CHIP, quantities=numbers))
    assert set(numbers.paths) <= {*_CHOOSE_COUNTS, "l1.tag_bank_bits"}


def test_a_capacity_that_its_ways_do_not_divide_is_refused(set_numbers):
    chip = set_numbers(CHIP, {"l1.size": 6 * 128 * 64, "l1.ways": 6, "l1.line": 128})

    def sweep(*texts: str) -> int:
        return len(design_space(chip, [read_axis(text) for text in texts]))

    assert sweep("l1.ways=2,4,6") == 3
    assert sweep(f"l1.size={6 * 128 * 32},{6 * 128 * 128}") == 2
    with pytest.raises(InputError, match=r"l1.size 49152 B is no multiple of 5 ways of 128 B"):
        sweep("l1.ways=4,5")
    with pytest.raises(InputError, match=r"no multiple of 7 ways .* take sizes that 896 B divide"):
        sweep("l1.size=49152", "l1.ways=6,7")
    with pytest.raises(InputError, match=r"l1.size 1000 B is no multiple"):
        sweep("l1.size=1000")


def test_ways_of_nobody_knows_what_are_not_checked(set_numbers):
    chip = set_numbers(CHIP, {"l1.ways": None})
    assert len(design_space(chip, [read_axis("l1.size=1000")])) == 1
