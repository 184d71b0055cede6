"""Scheduling: divergence, order of warps and blocks, special registers, budgets."""

from __future__ import annotations

import pytest
from tests.execution.reference.ptx_kernels import kernel_of, run

from kernelcast.errors import BudgetError, ExecutionError, UnsupportedError
from kernelcast.execution.memory import Memory
from kernelcast.execution.reference import run_reference
from kernelcast.execution.trace import RecordKind
from kernelcast.ir import Array, Launch

STORE = "st.global.u32 [%l2], %r1;"


def entered(result, block: int = 0, warp: int = 0) -> list[tuple[int, int]]:
    """The basic blocks a warp entered, with the masks."""
    return [
        (r.id, r.mask)
        for r in result.records
        if r.kind is RecordKind.BLOCK and (r.block, r.warp) == (block, warp)
    ]


def test_both_sides_of_a_branch_run_once_and_rejoin() -> None:
    body = """
        and.b32 %r2, %r0, 1;
        setp.eq.u32 %p1, %r2, 0;
        @%p1 bra EVEN;
        mov.u32 %r1, 1;
        bra JOIN;
    EVEN:
        mov.u32 %r1, 2;
    JOIN:
    """
    result = run(body + STORE)
    assert result.words()[:4] == [2, 1, 2, 1]
    masks = [mask for _, mask in entered(result)]
    assert masks[0] == masks[-1] == 0xFFFF_FFFF
    assert sorted(masks[1:-1]) == [0x5555_5555, 0xAAAA_AAAA]


def test_a_loop_keeps_the_lanes_that_go_on_together() -> None:
    body = """
        mov.u32 %r1, 0;
        and.b32 %r2, %r0, 3;
    AGAIN:
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, %r2;
        @%p1 bra AGAIN;
    """
    result = run(body + STORE)
    assert result.words()[:8] == [1, 1, 2, 3, 1, 1, 2, 3]
    loop = entered(result)[1][0]
    rounds = [mask.bit_count() for index, mask in entered(result) if index == loop]
    assert rounds == [32, 16, 8]


def test_indexed_branches_take_the_target_of_each_lane() -> None:
    body = """
        rem.u32 %r2, %r0, 3;
    TARGETS: .branchtargets ZERO, ONE, TWO;
        brx.idx %r2, TARGETS;
    ZERO: mov.u32 %r1, 10; bra JOIN;
    ONE: mov.u32 %r1, 11; bra JOIN;
    TWO: mov.u32 %r1, 12;
    JOIN:
    """
    assert run(body + STORE).words()[:6] == [10, 11, 12, 10, 11, 12]


def test_lanes_that_exit_early_take_no_further_part() -> None:
    body = "setp.ge.u32 %p1, %r0, 2; @%p1 exit; activemask.b32 %r1;"
    assert run(body + STORE).words()[:3] == [3, 3, 0]


def test_guards_choose_lanes() -> None:
    body = "setp.lt.u32 %p1, %r0, 2; mov.u32 %r1, 5; @%p1 mov.u32 %r1, 6; @!%p1 mov.u32 %r1, 7;"
    assert run(body + STORE).words()[:4] == [6, 6, 7, 7]


def test_blocks_run_in_order_and_warps_lowest_first() -> None:
    result = run("", blocks=2, threads=64)
    assert [(r.block, r.warp) for r in result.records] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_partial_warp_has_fewer_lanes() -> None:
    result = run("", threads=40)
    assert entered(result, warp=1) == [(0, 0xFF)]


def test_instructions_are_counted_by_warp_and_by_thread() -> None:
    result = run("", threads=40)
    per_thread = len(result.kernel.instructions)
    assert result.warp_instructions == 2 * per_thread
    assert result.thread_instructions == 40 * per_thread


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tid.x", [0, 1, 2, 3, 0, 1, 2, 3]),
        ("tid.y", [0, 0, 0, 0, 1, 1, 1, 1]),
        ("ntid.y", [2] * 8),
        ("ctaid.y", [1] * 8),
        ("nctaid.x", [3] * 8),
        ("laneid", list(range(8))),
        ("lanemask_lt", [(1 << lane) - 1 for lane in range(8)]),
        ("lanemask_ge", [0xFFFF_FFFF & -(1 << lane) for lane in range(8)]),
        ("nwarpid", [1] * 8),
        ("smid", [0] * 8),
        ("dynamic_smem_size", [48] * 8),
    ],
)
def test_special_registers(name: str, expected: list[int]) -> None:
    body = f"""
        mov.u32 %r1, %laneid;
        mul.wide.u32 %l2, %r1, 4;
        add.s64 %l2, %l1, %l2;
        mov.u32 %r1, %{name};
    """
    result = run(body + STORE, blocks=(3, 2, 1), threads=(4, 2, 1), smem_bytes=48)
    assert result.words()[:8] == expected


def test_the_clock_counts_the_instructions_of_the_warp() -> None:
    body = """
        mov.u32 %r2, %clock;
        add.u32 %r3, %r3, 1;
        mov.u32 %r4, %clock;
        sub.u32 %r1, %r4, %r2;
    """
    assert run(body + STORE).words()[0] == 2


def test_a_carry_is_kept_for_each_lane() -> None:
    body = """
        setp.lt.u32 %p1, %r0, 2;
        mov.u32 %r3, 0;
        @%p1 mov.u32 %r3, 0xffffffff;
        add.cc.u32 %r4, %r3, 1;
        addc.u32 %r1, 0, 0;
    """
    assert run(body + STORE).words()[:4] == [1, 1, 0, 0]


def test_an_endless_loop_runs_out_of_budget() -> None:
    with pytest.raises(BudgetError, match="past its budget of 1000 warp"):
        run("AGAIN: add.u32 %r1, %r1, 1; bra AGAIN;", budget=1000)


def test_the_budget_is_spent_to_the_last_instruction() -> None:
    needed = run("").warp_instructions
    run("", budget=needed)
    with pytest.raises(BudgetError):
        run("", budget=needed - 1)


def test_trap_stops_the_kernel_where_it_stands() -> None:
    with pytest.raises(ExecutionError, match=r"thread \(5,0,0\): the kernel stopped itself"):
        run("setp.eq.u32 %p1, %r0, 5; @%p1 trap;")


def test_what_is_not_defined_is_named_before_anything_runs() -> None:
    kernel = kernel_of("st.global.u32 [%l2], 1; rsqrt.rz.f64 %d1, %d2;")
    launch = Launch(
        (1, 1, 1), (32, 1, 1), {"in": Array("u32", (1,)), "out": Array("u32", (64,)), "n": 0}
    )
    memory = Memory.build(kernel, launch)
    with pytest.raises(UnsupportedError, match=r"PTX line \d+: instruction rsqrt\.rz\.f64"):
        run_reference(kernel, launch, memory, [0], budget=1000)
    assert not memory.array("out").any()


def test_only_the_chosen_blocks_run() -> None:
    kernel = kernel_of("mov.u32 %r1, %ctaid.x; atom.global.add.u32 %r2, [%l1], %r1;")
    launch = Launch(
        (8, 1, 1), (1, 1, 1), {"in": Array("u32", (1,)), "out": Array("u32", (1,)), "n": 0}
    )
    memory = Memory.build(kernel, launch)
    run_reference(kernel, launch, memory, [2, 5], budget=1000)
    assert memory.array("out")[0] == 7
