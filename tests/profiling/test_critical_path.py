"""One warp alone: known answers, and the walk against a plain search of the same graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiling.synthetic_traces import instruction, kernel

from kernelcast.ir import BasicBlock, OpClass, Space
from kernelcast.profiling import critical_path
from kernelcast.profiling.critical_path import dependence_chain, walk_warp
from kernelcast.profiling.profile import WarpPath


def path_of(of, blocks):
    length = sum(of.blocks[b].end - of.blocks[b].start for b in blocks)
    return WarpPath(
        block=0,
        warp=0,
        blocks=np.array(blocks, np.int32),
        lanes=np.full(len(blocks), 32, np.int32),
        instructions=length,
    )


def vector_add():
    """Volkov 2016, Listing 3.5: c[i] = a[i] + b[i] on Kepler."""
    load: dict[str, Any] = {
        "op_class": OpClass.LOAD,
        "opcode": "LD",
        "space": Space.GLOBAL,
        "access_bytes": 4,
    }
    return kernel(
        [
            instruction(0, OpClass.MOVE, "MOV", writes="R1"),
            instruction(1, OpClass.MOVE, "S2R", writes="R3"),
            instruction(2, OpClass.MOVE, "S2R", writes="R0"),
            instruction(3, OpClass.INT_MUL, "IMAD", reads="R0 R3", writes="R2"),
            instruction(4, OpClass.INT, "ISCADD", reads="R2", writes="R3"),
            instruction(5, OpClass.INT, "ISCADD", reads="R2", writes="R0"),
            instruction(6, **load, reads="R3", writes="R3"),
            instruction(7, **load, reads="R0", writes="R0"),
            instruction(8, OpClass.INT, "ISCADD", reads="R2", writes="R2"),
            instruction(9, OpClass.FP32, "FADD", reads="R3 R0", writes="R3"),
            instruction(10, OpClass.STORE, "ST", reads="R2 R3", space=Space.GLOBAL, access_bytes=4),
            instruction(11, OpClass.BRANCH, "EXIT"),
        ]
    )


def test_vector_add_issues_as_volkov_worked_out():
    # Section 3.8: 301 cycles for a load, 9 for the rest, 3 between issues, none within the pairs
    # that issue together; the thread block is replaced after 201 more: 544 cycles.
    add = vector_add()
    first_of_a_pair = {0, 4, 7, 10}
    issue_times = []
    for length in range(1, 13):
        part = kernel(add.instructions[:length])
        time = walk_warp(
            part,
            path_of(part, [0]),
            latency=lambda i: 301.0 if i.op_class is OpClass.LOAD else 9.0,
            issue=lambda i: 0.0 if i.index in first_of_a_pair else 3.0,
        )
        issue_times.append(time.cycles)
    assert issue_times == [0, 0, 3, 12, 21, 21, 30, 33, 33, 334, 343, 343]
    assert time.cycles + 201 == 544
    assert time.waits[7] == 298  # after the second load and the ISCADD beside it, 3 cycles on
    assert time.critical[OpClass.LOAD, Space.GLOBAL] == 1
    assert time.cycles == time.issue_cycles + time.waits.sum()


def test_a_dependent_loop_takes_its_latency_in_every_iteration():
    looped = kernel(
        [
            instruction(0, writes="a"),
            instruction(1, reads="a b", writes="a"),
            instruction(2, OpClass.BRANCH, "bra"),
        ],
        [BasicBlock(0, 0, 1, (1,)), BasicBlock(1, 1, 3, (1,))],
    )
    path = path_of(looped, [0] + [1] * 1000)
    time = walk_warp(looped, path, latency=lambda i: 24.0, issue=lambda i: 4.0)
    assert time.cycles == 1000 * 24 + 4
    assert time.critical == {(OpClass.INT, None): 1000}
    chain = dependence_chain(looped, path)
    assert (chain.instructions, chain.by_class) == (1001, {OpClass.INT: 1001})


def test_under_a_guard_the_old_value_is_waited_for():
    guarded = kernel(
        [
            instruction(0, OpClass.LOAD, "ld", writes="a", space=Space.GLOBAL, access_bytes=4),
            instruction(1, reads="b", writes="a", guard="p"),
            instruction(2, reads="a", writes="c"),
        ]
    )
    path = path_of(guarded, [0])
    latency = {0: 100.0, 1: 5.0, 2: 5.0}
    time = walk_warp(guarded, path, lambda i: latency[i.index], lambda i: 1.0)
    assert time.cycles == 105
    assert dependence_chain(guarded, path).instructions == 3


def test_a_path_cut_short_is_scaled_to_the_whole_warp(monkeypatch):
    monkeypatch.setattr(critical_path, "_WALKED_INSTRUCTIONS", 1000)
    looped = kernel([instruction(0, reads="a", writes="a")])
    time = walk_warp(looped, path_of(looped, [0] * 4000), lambda i: 10.0, lambda i: 1.0)
    assert time.cycles == 4 * 999 * 10
    assert dependence_chain(looped, path_of(looped, [0] * 4000)).instructions == 4000


def test_an_empty_path_takes_no_time():
    nothing = kernel([instruction(0)])
    time = walk_warp(nothing, path_of(nothing, []), lambda i: 1.0, lambda i: 1.0)
    assert (time.cycles, time.critical) == (0.0, {})
    assert dependence_chain(nothing, path_of(nothing, [])).instructions == 0


@st.composite
def programs(draw):
    names = st.lists(st.sampled_from("abcdef"), max_size=3)
    instructions = []
    for index in range(draw(st.integers(1, 12))):
        instructions.append(
            instruction(
                index,
                draw(st.sampled_from([OpClass.INT, OpClass.FP32])),
                reads=" ".join(draw(names)),
                writes=" ".join(draw(names)),
                guard=draw(st.sampled_from(["", "a"])),
            )
        )
    cut = draw(st.integers(0, len(instructions)))
    of = kernel(
        instructions,
        [BasicBlock(0, 0, cut, ()), BasicBlock(1, cut, len(instructions), ())],
    )
    blocks = draw(st.lists(st.integers(0, 1), min_size=1, max_size=6))
    times = st.lists(st.integers(0, 50), min_size=len(instructions), max_size=len(instructions))
    return of, blocks, draw(times), draw(times)


@given(programs())
def test_the_walk_is_the_longest_path_through_order_and_registers(program):
    of, blocks, latency, interval = program
    executed = [i for b in blocks for i in of.instructions[of.blocks[b].start : of.blocks[b].end]]
    issued: list[float] = []
    depth: list[int] = []
    for at, i in enumerate(executed):
        read = set(i.reads) | (set(i.writes) if i.guard else set())
        producers = []
        for name in read:
            writers = [k for k in range(at) if name in executed[k].writes]
            producers += writers[-1:]
        in_order = [issued[-1] + interval[executed[at - 1].index]] if at else [0]
        ready = [issued[p] + latency[executed[p].index] for p in producers]
        issued.append(max(in_order + ready))
        depth.append(1 + max((depth[p] for p in producers), default=0))
    path = path_of(of, blocks)
    time = walk_warp(of, path, lambda i: latency[i.index], lambda i: interval[i.index])
    assert time.cycles == (issued[-1] if issued else 0)
    assert time.issue_cycles + time.waits.sum() == pytest.approx(time.cycles)
    assert dependence_chain(of, path).instructions == max(depth, default=0)
