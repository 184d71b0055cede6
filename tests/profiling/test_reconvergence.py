"""Diverged lanes execute on their own until machine code lets them reconverge, and guards."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tests.profiling.synthetic_traces import FULL, affine, enter, instruction, kernel, profile, warp

from kernelcast.execution.address_map import GLOBAL_BASE
from kernelcast.ir import BasicBlock, Guard, Kernel, OpClass, Space
from kernelcast.ir.instruction import Instruction
from kernelcast.isas.traits import with_traits

LOW = 0xFFFF
HIGH = 0xFFFF0000


def branch(index: int, opcode: str) -> Instruction:
    return instruction(index, OpClass.BRANCH, opcode)


def of_isa(made: Kernel, isa: str) -> Kernel:
    instructions = tuple(with_traits(i, isa) for i in made.instructions)
    return replace(made, isa=isa, instructions=instructions)


def diamond(*behind: str, isa: str = "sass") -> Kernel:
    """if (p) { add }, and behind it instructions of these opcodes, then an end."""
    rest = [branch(3 + at, opcode) for at, opcode in enumerate(behind)]
    last = 3 + len(rest)
    listed = [
        branch(0, "BSSY"),
        instruction(1, OpClass.BRANCH, "BRA", guard="p"),
        instruction(2),
        *rest,
        branch(last, "EXIT"),
    ]
    blocks = [
        BasicBlock(0, 0, 2, (1, 2)),
        BasicBlock(1, 2, 3, (2,)),
        BasicBlock(2, 3, last, (3,)),
        BasicBlock(3, last, last + 1, ()),
    ]
    return of_isa(kernel(listed, blocks), isa)


DIVERGED = (warp(0, 0), enter(0), enter(1, LOW), enter(2), enter(3))


def test_each_group_of_lanes_reaches_a_reconvergence_point_on_its_own():
    found = profile(diamond("BSYNC", "IADD3"), *DIVERGED)
    # BSSY, BRA; the branch not taken; BSYNC by both halves, IADD3 by all; EXIT.
    assert found.instruction_warps.tolist() == [1, 1, 1, 2, 1, 1]
    assert found.instruction_threads.tolist() == [32, 32, 16, 32, 32, 32]
    assert found.total.warp == found.warp.instructions == 7


def test_what_stands_before_reconvergence_is_executed_by_each_group():
    found = profile(diamond("IADD3", "BSYNC"), *DIVERGED)
    assert found.instruction_warps.tolist() == [1, 1, 1, 2, 2, 1]


@pytest.mark.parametrize(("isa", "after"), [("sass", 2), ("ptx", 1)])
def test_without_reconvergence_lanes_stay_diverged_in_machine_code_alone(isa, after):
    found = profile(diamond("IADD3", isa=isa), *DIVERGED)
    assert found.instruction_warps.tolist() == [1, 1, 1, after, after]
    assert found.instruction_threads.tolist() == [32, 32, 16, 32, 32]


def test_lanes_that_take_one_path_arrive_together():
    for path in ([enter(0), enter(1), enter(2)], [enter(0), enter(2)]):
        found = profile(diamond("BSYNC"), warp(0, 0), *path)
        assert found.instruction_warps[3] == 1


def test_lanes_that_leave_a_loop_one_round_after_the_other_arrive_so():
    """8 lanes leave after each of 4 rounds: 4 groups reconverge behind the loop."""
    listed = [
        branch(0, "BSSY"),
        instruction(1, OpClass.BRANCH, "BRA", guard="p"),
        branch(2, "BSYNC"),
        branch(3, "EXIT"),
    ]
    blocks = [
        BasicBlock(0, 0, 1, (1,)),
        BasicBlock(1, 1, 2, (2, 1)),
        BasicBlock(2, 2, 4, ()),
    ]
    of = of_isa(kernel(listed, blocks), "sass")
    rounds = [enter(1, FULL << 8 * at & FULL) for at in range(4)]
    found = profile(of, warp(0, 0), enter(0), *rounds, enter(2))
    assert found.instruction_warps.tolist() == [1, 4, 4, 1]
    assert found.divergent_branches == 3
    # The loop's branch is taken by all lanes but those that leave: 24 + 16 + 8 of them.
    assert found.instruction_active[1] == 24 + 16 + 8


def test_warps_do_not_share_their_groups():
    of = diamond("BSYNC")
    records = [warp(0, 0), enter(0), enter(1, LOW), warp(0, 1), enter(0), enter(2)]
    records += [warp(0, 0), enter(2), warp(0, 1), enter(3), warp(0, 0), enter(3)]
    found = profile(of, *records, threads=64)
    assert found.instruction_warps[3] == 3


def guarded() -> Kernel:
    """@p ld; @!p mov; p = ...; @p add; @p bra past the last instruction."""
    listed = [
        instruction(0, OpClass.LOAD, "LDG", guard="p", space=Space.GLOBAL, access_bytes=4),
        replace(instruction(1, OpClass.MOVE, "MOV", guard="p")),
        instruction(2, OpClass.COMPARE, "ISETP", writes="p"),
        instruction(3, OpClass.INT, "IADD3", guard="q"),
        instruction(4, OpClass.BRANCH, "BRA", guard="p"),
        branch(5, "NOP"),
        branch(6, "EXIT"),
    ]
    guard = listed[1].guard
    assert guard is not None
    listed[1] = replace(listed[1], guard=Guard(guard.register, negated=True))
    blocks = [BasicBlock(0, 0, 5, (1, 2)), BasicBlock(1, 5, 6, (2,)), BasicBlock(2, 6, 7, ())]
    return of_isa(kernel(listed, blocks), "sass")


def test_guards_are_known_where_an_access_or_a_branch_tells():
    records = [warp(0, 0), enter(0), affine(0, GLOBAL_BASE, 4, 0xFF), enter(1, 0xFFF), enter(2)]
    active = profile(guarded(), *records).instruction_active.tolist()
    assert active[0] == 8  # the lanes of the access
    assert active[1] == 24  # the other lanes, under the same value of p
    assert active[2] == 32
    assert math.isnan(active[3])  # nothing tells of q
    assert active[4] == 20  # of 32 lanes 12 went on behind the branch
    assert active[5:] == [12, 32]
