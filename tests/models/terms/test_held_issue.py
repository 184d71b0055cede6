"""Issue slots lost to the banks of registers, on an H100, of code executed again and again."""

from __future__ import annotations

import pytest

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import IssueControl, OpClass
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.held_issue import held_slots_per_warp
from kernelcast.models.terms.throughput import worksheet

TIMES = 10


def code(*reads, stall=1, after_own=None):
    """Instructions of one basic block that read so many registers of each bank."""
    own = after_own or reads
    return [
        {
            "op_class": OpClass.FP32,
            "times": TIMES,
            "issue_cycles": stall,
            "control": IssueControl(bank_reads=kept, bank_reads_after_others=named),
        }
        for named, kept in zip(reads, own, strict=True)
    ]


@pytest.mark.parametrize(
    ("reads", "held"),
    [
        # FFMA with two registers of a bank takes two cycles, FADD with one of each takes one.
        ([(1, 2)], 1),
        ([(1, 1)], 0),
        ([(3, 3)], 2),
        # FFMA and IMAD in turns: six registers, three of each bank.
        ([(2, 1), (1, 2)], 1),
        ([], 0),
    ],
)
def test_registers_of_one_bank_follow_each_other(make_case, reads, held):
    case = make_case(load_machine("h100-sxm"), code(*reads), is_one_block=True)
    assert held_slots_per_warp(case) == pytest.approx(TIMES * held)


def test_what_is_kept_helps_where_no_other_warp_comes_between(make_case):
    named, kept = [(2, 1), (2, 1)], [(2, 1), (1, 0)]
    machine = load_machine("h100-sxm")
    at_once = make_case(machine, code(*named, after_own=kept), is_one_block=True)
    apart = make_case(machine, code(*named, after_own=kept, stall=3), is_one_block=True)
    assert held_slots_per_warp(at_once) == pytest.approx(TIMES * 1)
    assert held_slots_per_warp(apart) == pytest.approx(TIMES * 2)


def test_they_are_issue_slots(make_case, set_numbers):
    machine = load_machine("h100-sxm")
    without = set_numbers(machine, {"registers.read_cycles": None})
    busy = []
    for chip in (machine, without):
        case = make_case(chip, code((3, 3)), is_one_block=True)
        uses = {
            use.resource: use.cycles_per_warp
            for use in worksheet(case, Estimate.CENTRAL, "this test").uses
        }
        busy.append(uses[Bottleneck.ISSUE])
    assert busy == pytest.approx([3 * TIMES / 4, TIMES / 4])
