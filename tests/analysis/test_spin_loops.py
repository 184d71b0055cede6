"""Which loops wait for what others write, and where blocks are cut for lanes to reconverge.

A loop missed may never end; one found in vain costs time, and may let lanes diverge that belong
together.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.tracing import Trace, traced

from kernelcast.analysis.spin_loops import SPIN_BUDGET, spin_loops, waits_of
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import RecordKind
from kernelcast.ir import Array, Kernel, Launch
from kernelcast.isas.ptx.reader import parse_ptx

HEAD = """
.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<16>;
    .reg .b64 %d<4>;
    .reg .pred %p<4>;
    ld.param.u64 %d0, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d1, %d0, %d1;
    mov.u32 %r1, 0;
"""

SPIN = "L: atom.global.cas.b32 %r2, [%d0], 0, 1; setp.ne.u32 %p0, %r2, 0; @%p0 bra L;"

WAITS = {
    "a lock": SPIN,
    "a flag": "L: ld.volatile.global.u32 %r2, [%d0]; setp.eq.u32 %p0, %r2, 0; @%p0 bra L;",
    "an acquired flag, by way of a sum": """
        L: ld.acquire.gpu.global.u32 %r2, [%d0];
        add.u32 %r3, %r2, %r0; setp.eq.u32 %p0, %r3, 5; @%p0 bra L;""",
    "a lock released inside": """
        L: atom.global.cas.b32 %r2, [%d0], 0, 1;
        setp.ne.u32 %p0, %r2, 0;
        @%p0 bra L;
        atom.global.exch.b32 %r3, [%d0], 0;
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, 4;
        @%p1 bra L;""",
}

DOES_NOT_WAIT = {
    "atomics in a counted loop": """
        L: atom.global.add.u32 %r2, [%d0], 1; st.global.u32 [%d1], %r2;
        add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r0; @%p0 bra L;""",
    "an atomic that decides within a round": """
        L: atom.global.add.u32 %r2, [%d0], 1;
        setp.gt.u32 %p1, %r2, 7;
        @%p1 bra FULL;
        st.global.u32 [%d1], %r2;
        FULL: add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r0; @%p0 bra L;""",
    "a volatile sum": """
        L: ld.volatile.global.u32 %r2, [%d1]; add.u32 %r3, %r3, %r2;
        add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r0; @%p0 bra L;""",
    "a register that held an atomic before": """
        L: atom.global.add.u32 %r2, [%d0], 1; st.global.u32 [%d1], %r2;
        add.u32 %r1, %r1, 1; mov.u32 %r2, %r1; setp.lt.u32 %p0, %r2, %r0; @%p0 bra L;""",
    "a list in memory that nobody changes": """
        L: ld.global.u32 %r2, [%d1]; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1;
        setp.ne.u32 %p0, %r2, 0; @%p0 bra L;""",
    "an atomic before the loop": """
        atom.global.add.u32 %r2, [%d0], 1;
        L: add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r2; @%p0 bra L;""",
}


def kernel_of(body: str) -> Kernel:
    return parse_ptx(f"{HEAD}{body}\nst.global.u32 [%d1+128], %r1;\nret;\n}}").kernel()


@pytest.mark.parametrize("body", WAITS.values(), ids=WAITS)
def test_a_loop_left_by_what_others_write_waits(body: str) -> None:
    assert len(spin_loops(kernel_of(body))) == 1


@pytest.mark.parametrize("body", DOES_NOT_WAIT.values(), ids=DOES_NOT_WAIT)
def test_other_loops_do_not_wait(body: str) -> None:
    assert not spin_loops(kernel_of(body))


def test_lanes_reconverge_where_blocks_begin_and_branches_still_lead_where_they_did() -> None:
    meet = """
        bar.warp.sync 255;
        shfl.sync.idx.b32 %r4, %r0, 0, 31, %r3;
        @%p1 bra END;
        add.u32 %r1, %r1, 1;
        END:
    """
    kernel = kernel_of(SPIN + meet)
    waits = waits_of(kernel)
    assert [str(mask) for mask in waits.reconvergence.values()] == ["255", "r3"]
    for block in waits.reconvergence:
        opcode = kernel.instructions[kernel.blocks[block].start].opcode
        assert opcode in ("bar", "shfl")
        assert block in kernel.blocks[block - 1].successors
    branch = next(i for i in kernel.instructions if i.opcode == "bra" and i.index > 9)
    target = kernel.blocks[branch.operands[0].index]  # type: ignore[union-attr]
    assert kernel.instructions[target.start].opcode == "st"


def test_without_a_loop_that_waits_no_block_is_cut() -> None:
    kernel = kernel_of("bar.warp.sync 255; shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;")
    assert len(kernel.blocks) == 1
    assert not waits_of(kernel).reconvergence


def masks_of(kernel: Kernel, executor: str) -> tuple[list[tuple[int, int]], Trace]:
    """The blocks that the warp enters, with their masks."""
    launch = Launch((1, 1, 1), (32, 1, 1), {"out": Array("u32", (64,))})
    memory = Memory.build(kernel, launch)
    trace = traced(kernel, launch, memory, executor=executor, budget=100_000)
    np.testing.assert_array_equal(memory.array("out")[32:], 1)
    return [(r.id, r.mask) for r in trace.records() if r.kind is RecordKind.BLOCK], trace


@pytest.mark.parametrize("executor", ["engine", "reference"])
def test_lanes_that_swap_one_after_the_other_go_on_together(executor: str) -> None:
    """Each round lets one lane go, and they wait for the last: no spin budget is spent
    meanwhile."""
    kernel = kernel_of("""
        ld.global.u32 %r2, [%d0];
    L:  add.u32 %r3, %r2, 1;
        mov.u32 %r4, %r2;
        atom.global.cas.b32 %r2, [%d0], %r4, %r3;
        setp.ne.u32 %p0, %r2, %r4;
        @%p0 bra L;
        mov.u32 %r1, 1;
    """)
    entered, _ = masks_of(kernel, executor)
    (header,) = spin_loops(kernel)
    assert [m.bit_count() for b, m in entered if b == header] == list(range(32, 0, -1))
    assert entered[-1][1] == 0xFFFF_FFFF


@pytest.mark.parametrize("executor", ["engine", "reference"])
def test_the_lane_that_holds_a_lock_moves_when_the_spin_budget_is_spent(executor: str) -> None:
    kernel = kernel_of(SPIN + "atom.global.exch.b32 %r3, [%d0], 0; mov.u32 %r1, 1;")
    entered, _ = masks_of(kernel, executor)
    (header,) = spin_loops(kernel)
    after = [at for at, (block, _) in enumerate(entered) if block != header and at > 0]
    rounds = [m.bit_count() for b, m in entered[: after[0]] if b == header]
    # All lanes try, the losers go round in vain, and then the winner moves by one block.
    assert rounds == [32, *[31] * SPIN_BUDGET]
    assert [entered[at][1].bit_count() for at in after] == [1] * 32
