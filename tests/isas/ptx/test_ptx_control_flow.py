"""Blocks, branches, labels and scopes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernelcast.errors import ParseError
from kernelcast.ir import BlockRef, Kernel, Register
from kernelcast.isas.ptx import PtxModule

Build = Callable[..., Kernel]


def shape(kernel: Kernel) -> list[tuple[list[str], tuple[int, ...]]]:
    """The opcodes and successors of every block."""
    return [
        ([i.opcode for i in kernel.instructions[b.start : b.end]], b.successors)
        for b in kernel.blocks
    ]


def assert_well_formed(kernel: Kernel) -> None:
    """Blocks tile the instructions, and branches name the successors they jump to."""
    assert [i.index for i in kernel.instructions] == list(range(len(kernel.instructions)))
    assert [b.index for b in kernel.blocks] == list(range(len(kernel.blocks)))
    end = 0
    for block in kernel.blocks:
        assert block.start == end < block.end
        end = block.end
        for inner in kernel.instructions[block.start : block.end - 1]:
            assert inner.opcode not in ("bra", "brx", "ret", "exit", "trap")
        last = kernel.instructions[block.end - 1]
        targets = {o.index for o in last.operands if isinstance(o, BlockRef)}
        assert targets <= set(block.successors)
    assert end == len(kernel.instructions)


def test_branch_falls_through_first_then_jumps(build: Build) -> None:
    kernel = build("@%p1 bra L; mov.u32 %r1, 1; L: ret;")
    assert shape(kernel) == [(["bra"], (1, 2)), (["mov"], (2,)), (["ret"], ())]
    assert kernel.instructions[0].operands == (BlockRef(2),)


def test_unguarded_branch_has_one_successor(build: Build) -> None:
    kernel = build("bra.uni L; mov.u32 %r1, 1; L: ret;")
    assert shape(kernel) == [(["bra"], (1,)), (["ret"], ())]


def test_unreachable_blocks_are_dropped(build: Build) -> None:
    kernel = build("ret; dead: mov.u32 %r1, 1; bra dead;")
    assert shape(kernel) == [(["ret"], ())]


def test_guarded_return_goes_on(build: Build) -> None:
    kernel = build("@%p1 ret; @!%p1 exit; mov.u32 %r1, 1; trap; ret;")
    assert shape(kernel) == [
        (["ret"], (1,)),
        (["exit"], (2,)),
        (["mov", "trap"], ()),
    ]


def test_falling_off_the_end_returns(build: Build) -> None:
    assert shape(build("mov.u32 %r1, 1;")) == [(["mov", "ret"], ())]
    assert shape(build("@%p1 bra end; ret; end:")) == [
        (["bra"], (1, 2)),
        (["ret"], ()),
        (["ret"], ()),
    ]
    assert shape(build("")) == [(["ret"], ())]
    assert shape(build("@%p1 ret;")) == [(["ret"], (1,)), (["ret"], ())]
    assert shape(build("bar.sync 0;")) == [(["bar"], (1,)), (["ret"], ())]


def test_labels_that_no_branch_names_cut_nothing(build: Build) -> None:
    kernel = build("func_begin: mov.u32 %r1, 1; tmp0: mov.u32 %r2, 1; ret; func_end:")
    assert shape(kernel) == [(["mov", "mov", "ret"], ())]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("bar.sync 0", True),
        ("bar.sync 1, 64", True),
        ("barrier.sync.aligned 0", True),
        ("barrier.cta.sync %r1", True),
        ("bar.red.popc.u32 %r1, 0, %p1", True),
        ("barrier.cta.red.and.aligned.pred %p2, 0, %p1", True),
        ("bar.arrive 1, 64", False),
        ("barrier.cta.arrive.aligned 1, 64", False),
        ("bar.warp.sync -1", False),
        ("membar.cta", False),
    ],
)
def test_waiting_at_a_barrier_ends_a_block(build: Build, text: str, ends: bool) -> None:
    kernel = build(f"{text}; mov.u32 %r1, 1; ret;")
    assert len(kernel.blocks) == (2 if ends else 1)
    assert kernel.blocks[0].successors == ((1,) if ends else ())


def test_table_of_targets(build: Build) -> None:
    kernel = build(
        "ts: .branchtargets A, B, A; brx.idx.uni %r1, ts; A: mov.u32 %r1, 1; ret; B: exit;"
    )
    assert shape(kernel) == [(["brx"], (1, 2)), (["mov", "ret"], ()), (["exit"], ())]
    assert kernel.instructions[0].operands == (
        Register("r1", "b32"),
        BlockRef(1),
        BlockRef(2),
        BlockRef(1),
    )


def test_loop_body_stands_before_the_exit_even_if_written_behind_it(build: Build) -> None:
    kernel = build(
        "head: setp.eq.s32 %p1, %r1, 0; @!%p1 bra body; ret; body: add.s32 %r1, %r1, -1; bra head;"
    )
    assert shape(kernel) == [
        (["setp", "bra"], (2, 1)),
        (["add", "bra"], (0,)),
        (["ret"], ()),
    ]


def test_nested_scope_hides_registers(build: Build) -> None:
    kernel = build(
        "mov.u32 %r1, 1;\n"
        "{ .reg .pred %p1; .reg .b64 %r<3>; setp.eq.s32 %p1, %r4, 0; mov.u64 %r1, 5; }\n"
        "{ .reg .f32 t; mov.f32 t, 0f00000000; }\n"
        "{ .reg .u32 t; mov.u32 t, %r1; { .reg .u32 t; mov.u32 t, 7; } mov.u32 %r2, t; }\n"
        "@%p1 mov.u32 %r1, 2;"
    )
    setp, inner = kernel.instructions[1:3]
    assert setp.reads == (Register("r4", "b32"),)  # out of the inner range, so the outer one
    assert setp.writes[0].type == "pred"
    assert inner.writes[0].type == "b64"
    written = [i.writes[0] for i in kernel.instructions[:7]]
    assert len({r.name for r in written}) == len(written)
    assert kernel.instructions[6].reads == kernel.instructions[4].writes
    last = kernel.instructions[7]
    assert last.reads == (Register("p1", "pred"),)
    assert last.writes == (Register("r1", "b32"),)


def test_names_with_and_without_percent_sign_are_two_registers(build: Build) -> None:
    kernel = build(".reg .u32 t, %t; mov.u32 t, 1; mov.u32 %t, 2;")
    first, second = (i.writes[0].name for i in kernel.instructions[:2])
    assert first != second
    assert "%" not in first + second


def test_labels_belong_to_their_scope(build: Build) -> None:
    kernel = build(
        "{ L: add.s32 %r1, %r1, 1; @%p1 bra L; }\n"
        "{ L: add.s32 %r2, %r2, 1; @%p2 bra L; @%p3 bra out; }\n"
        "out: ret;"
    )
    assert_well_formed(kernel)
    assert [b.successors for b in kernel.blocks] == [(1, 0), (2, 1), (3,), ()]


def test_label_twice_in_one_scope(build: Build) -> None:
    with pytest.raises(ParseError, match="label 'L' is defined twice"):
        build("L: mov.u32 %r1, 1;\nL: ret;")


def test_compiled_kernels_are_well_formed(sample: PtxModule) -> None:
    for name in sample.kernel_names:
        assert_well_formed(sample.kernel(name))


def test_every_register_has_one_type(sample: PtxModule) -> None:
    kernel = sample.kernel("calls")
    registers = {r for i in kernel.instructions for r in (*i.reads, *i.writes)}
    assert len({r.name for r in registers}) == len(registers)


def test_every_read_register_is_written(sample: PtxModule) -> None:
    for name in sample.kernel_names:
        kernel = sample.kernel(name)
        read = {r for i in kernel.instructions for r in i.reads}
        assert read <= {r for i in kernel.instructions for r in i.writes}
