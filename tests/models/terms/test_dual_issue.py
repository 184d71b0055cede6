"""Volkov 2016, section 3.8: which instructions of the vector addition issue together on Kepler."""

from __future__ import annotations

import itertools
from dataclasses import replace

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import BasicBlock, Instruction, Kernel, OpClass, Register
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.dual_issue import second_of_pairs
from kernelcast.models.terms.throughput import worksheet

# Listing 3.5: class, register written, registers read.
LISTING_3_5 = [
    (OpClass.MOVE, "r1", ""),
    (OpClass.MOVE, "r3", ""),
    (OpClass.MOVE, "r0", ""),
    (OpClass.INT_MUL, "r2", "r0 r3"),
    (OpClass.INT, "r3", "r2"),
    (OpClass.INT, "r0", "r2"),
    (OpClass.LOAD, "r3", "r3"),
    (OpClass.LOAD, "r0", "r0"),
    (OpClass.INT, "r2", "r2"),
    (OpClass.FP32, "r3", "r3 r0"),
    (OpClass.STORE, "", "r2 r3"),
    (OpClass.BRANCH, "", ""),
]


def vector_add(*starts: int) -> Kernel:
    instructions = tuple(
        Instruction(
            i,
            "op",
            (),
            (),
            op_class,
            reads=tuple(Register(r, "b32") for r in reads.split()),
            writes=(Register(written, "b32"),) if written else (),
        )
        for i, (op_class, written, reads) in enumerate(LISTING_3_5)
    )
    bounds = (0, *starts, len(instructions))
    blocks = tuple(BasicBlock(i, a, b, ()) for i, (a, b) in enumerate(itertools.pairwise(bounds)))
    return Kernel("vadd", "sass", "sm_30", (), instructions, blocks)


def test_four_pairs_of_the_vector_addition():
    pairs = second_of_pairs(vector_add(), load_machine("gtx-680"), lambda i: True)
    assert pairs == {1: 0, 5: 4, 8: 7, 11: 10}


def test_pairs_stay_within_a_basic_block():
    pairs = second_of_pairs(vector_add(5), load_machine("gtx-680"), lambda i: True)
    assert pairs == {1: 0, 6: 5, 8: 7, 11: 10}


def test_what_vanishes_in_machine_code_parts_no_pair():
    issued = second_of_pairs(vector_add(), load_machine("gtx-680"), lambda i: i.index != 8)
    assert 8 not in issued
    assert 9 not in issued  # it needs what instruction 7 loads


def test_chips_that_issue_one_instruction_pair_none():
    assert second_of_pairs(vector_add(), load_machine("gtx-480"), lambda i: True) == {}


def test_pairs_take_one_issue_slot(make_case):
    """Two chains of additions side by side: half the issue slots of one after the other."""
    machine = load_machine("gtx-680")
    a, b = ({"op_class": OpClass.FP32, "writes": r, "reads": (r,)} for r in "xy")
    case = make_case(machine, [a, b])
    one_block = BasicBlock(0, 0, 2, ())
    paired = replace(case, kernel=replace(case.kernel, blocks=(one_block,)))
    apart, together = (
        {u.resource: u.cycles_per_warp for u in worksheet(c, Estimate.CENTRAL, "t").uses}
        for c in (case, paired)
    )
    assert apart[Bottleneck.ISSUE] == 2 * together[Bottleneck.ISSUE]
    assert apart[Bottleneck.FP32] == together[Bottleneck.FP32]
