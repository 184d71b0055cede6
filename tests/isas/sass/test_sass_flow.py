"""Control flow of SASS: blocks, where they lead, loops, and who waits for whom."""

from __future__ import annotations

import itertools

import pytest
from tests.isas.sass.listings import control, listing

from kernelcast.analysis.loops import natural_loops
from kernelcast.ir import Kernel
from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.flow import flow_graph
from kernelcast.isas.sass.kernel import sass_kernel
from kernelcast.isas.sass.scoreboards import waits


def function(*lines):
    return parse_sass(listing(*lines)).function("k")


def graph(*lines):
    return flow_graph(function(*lines))


def shape(*lines):
    return [(b.start, b.end, b.successors) for b in graph(*lines).blocks]


def test_a_guarded_branch_falls_through_first():
    assert shape("NOP", "@P0 BRA `(.L_x_1)", "NOP", ".L_x_1:", "EXIT") == [
        (0, 2, (1, 2)),
        (2, 3, (2,)),
        (3, 4, ()),
    ]


@pytest.mark.parametrize(
    ("branch", "goes_on"),
    [
        ("BRA `(.L_x_1)", False),
        ("BRA P0, `(.L_x_1)", True),
        ("BRA.U !UP0, `(.L_x_1)", True),
        ("BRA.DIV ~URZ, `(.L_x_1)", True),
        ("@!PT BRA `(.L_x_1)", True),
        ("BRA PT, `(.L_x_1)", False),
    ],
)
def test_which_branches_may_go_on(branch, goes_on):
    assert (1 in graph(branch, "NOP", ".L_x_1:", "EXIT").blocks[0].successors) is goes_on


@pytest.mark.parametrize(
    ("leave", "goes_on"),
    [("EXIT", False), ("@P0 EXIT", True), ("EXIT P0", True), ("RET.REL.NODEC R20 `(k)", False)],
)
def test_ends_of_a_thread_or_function(leave, goes_on):
    assert graph(leave, "NOP").blocks[0].successors == ((1,) if goes_on else ())


def test_labels_where_lanes_reconverge_begin_no_block():
    assert len(graph("BSSY B0, `(.L_x_1)", "NOP", "BSYNC B0", ".L_x_1:", "NOP").blocks) == 1


def test_an_indirect_branch_goes_to_the_targets_named():
    lines = [
        'BRX R6 -0x10 (*"BRANCH_TARGETS .L_x_1,.L_x_2,.L_x_1"*)',
        ".L_x_1:", "NOP", ".L_x_2:", "EXIT",
    ]  # fmt: skip
    assert graph(*lines).blocks[0].successors == (1, 2)
    assert graph(*lines).unresolved == ()
    assert graph("BRX R6 -0x10", "EXIT").unresolved == (0,)


def test_a_call_returns_and_its_target_is_an_entry():
    found = graph("CALL.REL.NOINC `(f)", "EXIT", "f:", "RET.REL.NODEC R20 `(k)")
    assert [b.successors for b in found.blocks] == [(1,), (), ()]
    assert found.entries == (0, 2)


def test_a_call_of_a_label_is_a_jump_from_which_nothing_returns():
    assert shape("@P4 CALL.REL.NOINC `(.L_x_1)", "NOP", "EXIT", ".L_x_1:", "EXIT") == [
        (0, 1, (1, 2)),
        (1, 3, ()),
        (3, 4, ()),
    ]
    assert graph("CALL.REL.NOINC `(.L_x_1)", "NOP", ".L_x_1:", "EXIT").blocks[0].successors == (2,)


def test_a_function_returns_behind_its_own_calls():
    """Of three calls two are of f, and g jumps to what is left of it."""
    lines = [
        "CALL.REL.NOINC `(f)", "NOP", "CALL.REL.NOINC `(g)", "NOP",
        "@P0 CALL.REL.NOINC `(.L_x_1)", "CALL.REL.NOINC `(f)", ".L_x_1:", "EXIT",
        "f:", "RET.REL.NODEC R20 `(k)", "g:", "BRA `(.L_x_2)", ".L_x_2:", "RET.REL.NODEC R20 `(k)",
    ]  # fmt: skip
    kernel = sass_kernel(function(*lines), Kernel("k", "sass", "sm_90", (), (), ()))
    after = {
        kernel.instructions[b.start].code_offset: {
            kernel.instructions[kernel.blocks[s].start].code_offset for s in b.successors
        }
        for b in kernel.blocks
        if kernel.instructions[b.end - 1].opcode == "RET"
    }
    assert after == {0x70: {0x10, 0x60}, 0x90: {0x30}}


def test_padding_is_not_reachable():
    found = graph("EXIT", ".L_x_0:", "BRA `(.L_x_0)", "NOP")
    assert found.reachable == {0}


def test_blocks_of_real_code_cover_it_without_overlap(code):
    for found in code.module.functions.values():
        blocks = flow_graph(found).blocks
        assert blocks[0].start == 0 and blocks[-1].end == len(found.instructions)
        assert all(a.end == b.start for a, b in itertools.pairwise(blocks))


def test_every_branch_of_real_code_is_resolved(code):
    for found in code.module.functions.values():
        cut = flow_graph(found)
        assert cut.unresolved == (), found.name
        for block in cut.blocks:
            last = found.instructions[block.end - 1]
            if last.opcode in ("BRA", "BRX"):
                assert block.successors, f"{found.name} {last}"


def test_real_loops_are_found(code):
    found = flow_graph(code.module.function("irregular_loops"))
    assert len(natural_loops(found.successors, found.entries)) >= 2
    straight = flow_graph(code.module.function("fp64_arithmetic"))
    padding = {b.index for b in straight.blocks} - straight.reachable
    inside = natural_loops(straight.successors, straight.entries)
    assert all(loop.header in padding for loop in inside)


def waited(*lines):
    code = function(*lines)
    return {
        index: [(w.barrier, w.outstanding, w.producers) for w in found]
        for index, found in waits(code, flow_graph(code)).items()
    }


def test_a_wait_names_all_who_hold_the_scoreboard():
    assert waited(
        ("S2R R0, SR_TID.X", control(write=0)),
        ("S2R R1, SR_CTAID.X", control(write=0)),
        ("STG.E [R4.64], R2", control(read=1)),
        ("IADD3 R0, R0, R1, RZ", control(waits=[0])),
        ("IADD3 R2, R0, R1, RZ", control(waits=[0, 1])),
    ) == {3: [(0, 0, (0, 1))], 4: [(0, 0, ()), (1, 0, (2,))]}


def test_a_wait_at_the_top_of_a_loop_sees_both_ways_in():
    assert waited(
        ("LDC.64 R2, c[0x0][0x160]", control(write=0)),
        ".L_x_0:",
        ("LDG.E R4, [R2.64]", control(write=0, waits=[0])),
        "@P0 BRA `(.L_x_0)",
        "EXIT",
    ) == {1: [(0, 0, (0, 1))]}


def test_depbar_leaves_some_outstanding():
    assert waited(
        ("LDGDEPBAR", control(write=0)),
        ("LDGDEPBAR", control(write=0)),
        ("DEPBAR.LE SB0, 0x1, {3}", control(4)),
        ("DEPBAR.LE SB0, 0x0", control(4)),
    ) == {2: [(0, 1, (0, 1)), (3, 0, ())], 3: [(0, 0, (0, 1))]}


def test_nearly_every_wait_of_real_code_has_someone_to_wait_for(code):
    total = empty = 0
    for found in code.module.functions.values():
        cut = flow_graph(found)
        reachable = {
            i for n in cut.reachable for i in range(cut.blocks[n].start, cut.blocks[n].end)
        }
        for index, several in waits(found, cut).items():
            if index in reachable:
                total += len(several)
                empty += sum(not w.producers for w in several)
    assert total > 400
    assert empty / total < 0.05
