"""Groups of warps that execute alike, and the warp of each that stands for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiling.synthetic_traces import enter, instruction, kernel, profile, warp

from kernelcast.ir import BasicBlock, Instruction, Kernel, OpClass
from kernelcast.profiling.representatives import groups_of_warps

LENGTHS = (10, 10, 50)


def blocks(classes=(OpClass.FP32, OpClass.FP32, OpClass.INT), chained=(False, False, False)):
    """Three basic blocks of 10, 10 and 50 instructions, each of one class, chained or not."""
    instructions: list[Instruction] = []
    for length, op_class, is_chain in zip(LENGTHS, classes, chained, strict=True):
        for _ in range(length):
            own = "x" if is_chain else f"r{len(instructions)}"
            reads = "x" if is_chain else ""
            instructions.append(instruction(len(instructions), op_class, reads=reads, writes=own))
    ends = np.cumsum(LENGTHS).tolist()
    starts = [0, *ends[:-1]]
    bounds = enumerate(zip(starts, ends, strict=True))
    return kernel(instructions, [BasicBlock(i, start, end, ()) for i, (start, end) in bounds])


def groups(entered, of: Kernel | None = None):
    return groups_of_warps(of or blocks(), np.array(entered, np.int64))


def test_warps_that_are_all_the_same_are_one_group():
    assert groups([[1, 2, 3]] * 5) == ((0, 1.0),)


def test_few_other_instructions_make_no_group():
    # 100 instructions a warp, and one warp that enters the second block once more often.
    assert len(groups([[10, 0, 0]] * 9 + [[10, 1, 0]])) == 1


def test_warps_that_take_another_path_are_a_group_of_their_own():
    assert set(groups([[1, 1, 0], [1, 0, 1], [1, 1, 0], [1, 1, 0]])) == {(0, 0.75), (1, 0.25)}


def test_the_length_of_a_loop_makes_groups():
    found = groups([[n, 0, 0] for n in (10, 10, 11, 30, 31, 30, 100)])
    assert sorted(share for _, share in found) == pytest.approx([1 / 7, 3 / 7, 3 / 7])
    assert {warp for warp, _ in found} <= {0, 1, 3, 5, 6}  # those nearest to the means


def test_other_classes_of_instructions_set_warps_apart_further():
    # Paths of equal length through one of two blocks: alike in class, or not.
    one_of_two = [[20, 1, 0], [20, 0, 1]]
    same = blocks((OpClass.FP32, OpClass.FP32, OpClass.FP32))
    assert len(groups([[40, 3, 0], [40, 0, 0]], same)) == 1
    assert len(groups(one_of_two)) == 2


def test_dependences_set_warps_apart_further():
    # 50 of 450 instructions lie in one block or in the other, of one class: too few to tell the
    # warps apart unless those of one block wait for each other.
    entered = [[40, 5, 0], [45, 0, 0]]
    alike = blocks((OpClass.FP32, OpClass.FP32, OpClass.INT))
    chained = blocks((OpClass.FP32, OpClass.FP32, OpClass.INT), (False, True, False))
    assert len(groups(entered, alike)) == 1
    assert len(groups(entered, chained)) == 2


@settings(deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 20)] * 3), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_groups_share_the_warps_out_whatever_their_order(entered, random):
    found = groups(entered)
    assert 1 <= len(found) <= 8
    assert sum(share for _, share in found) == pytest.approx(1)
    assert all(0 <= warp < len(entered) for warp, _ in found)
    shuffled = random.sample(entered, len(entered))
    again = groups(shuffled)
    assert sorted((entered[w], share) for w, share in found) == sorted(
        (shuffled[w], share) for w, share in again
    )


def test_a_profile_holds_the_paths_of_unlike_warps():
    def path(number, *entered):
        return [warp(0, number), *(enter(block) for block in entered)]

    paths = [path(0, 0, 1), path(1, 0, 1), path(2, 0, 2), path(3, 0, 1)]
    found = profile(blocks(), *[record for p in paths for record in p], threads=128)
    assert [(w.path.warp, w.share) for w in found.representatives] == [(0, 0.75), (2, 0.25)]
    assert [w.path.blocks.tolist() for w in found.representatives] == [[0, 1], [0, 2]]
    assert [w.path.instructions for w in found.representatives] == [20, 60]
    assert found.warp.instructions == 20


def test_a_profile_of_warps_that_are_alike_holds_the_median_warp_alone():
    records = [record for number in range(4) for record in (warp(0, number), enter(0), enter(1))]
    found = profile(blocks(), *records, threads=128)
    assert found.representatives == ()
    assert found.warp.blocks.tolist() == [0, 1]
