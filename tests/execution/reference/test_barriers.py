"""Barriers: who waits for whom, what reductions give, and when nothing can go on."""

from __future__ import annotations

import pytest
from tests.execution.reference.ptx_kernels import run

from kernelcast.errors import DeadlockError
from kernelcast.execution.trace import RecordKind

TILE = ".shared .align 4 .b32 tile[64];"
STORE = "st.global.u32 [%l2], %r1;"

REVERSED = """
    shl.b32 %r2, %r0, 2;
    mov.u32 %r3, tile;
    add.u32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r0;
    {barrier}
    sub.u32 %r5, 252, %r2;
    add.u32 %r5, %r3, %r5;
    ld.shared.u32 %r1, [%r5];
"""


@pytest.mark.parametrize(
    "barrier",
    ["bar.sync 0;", "barrier.sync 3, 64;", "barrier.cta.sync.aligned 1;", "bar.sync %r9;"],
)
def test_a_barrier_makes_the_writes_of_other_warps_visible(barrier: str) -> None:
    result = run(REVERSED.format(barrier=barrier) + STORE, threads=64, declarations=TILE)
    assert result.words() == list(reversed(range(64)))


def test_without_a_barrier_the_first_warp_reads_zeros() -> None:
    result = run(REVERSED.format(barrier="") + STORE, threads=64, declarations=TILE)
    assert result.words()[:32] == [0] * 32


def test_reductions_count_the_lanes_of_all_warps() -> None:
    body = """
        setp.lt.u32 %p1, %r0, 40;
        bar.red.popc.u32 %r1, 0, %p1;
        bar.red.and.pred %p2, 0, %p1;
        bar.red.or.pred %p3, 0, !%p1;
        @%p2 add.u32 %r1, %r1, 1000;
        @%p3 add.u32 %r1, %r1, 2000;
    """
    assert run(body + STORE, threads=64).words() == [2040] * 64


def test_a_count_stands_before_the_vote() -> None:
    body = "setp.lt.u32 %p1, %r0, 40; bar.red.popc.u32 %r1, 0, 64, %p1;"
    assert run(body + STORE, threads=64).words() == [40] * 64


def test_arrive_counts_a_warp_that_does_not_wait() -> None:
    # Warp 0 produces and goes on; warp 1 waits for it.
    body = """
        mov.u32 %r3, tile;
        setp.lt.u32 %p1, %r0, 32;
        @!%p1 bra CONSUME;
        st.shared.u32 [%r3], 77;
        bar.arrive 1, 64;
        bra END;
    CONSUME:
        bar.sync 1, 64;
        ld.shared.u32 %r1, [%r3];
    END:
    """
    assert run(body + STORE, threads=64, declarations=TILE).words()[32:] == [77] * 32


def test_warps_that_have_exited_are_not_waited_for() -> None:
    body = "setp.ge.u32 %p1, %r0, 32; @%p1 exit; bar.sync 0; mov.u32 %r1, 1;"
    assert run(body + STORE, threads=64).words() == [1] * 32 + [0] * 32


def test_a_warp_continues_with_all_its_lanes_after_a_divergent_barrier() -> None:
    body = """
        setp.lt.u32 %p1, %r0, 8;
        @%p1 bra LOW;
        bar.sync 0;
        bra JOIN;
    LOW:
        bar.sync 0;
    JOIN:
        activemask.b32 %r1;
    """
    result = run(body + STORE)
    assert result.words()[:32] == [0xFFFF_FFFF] * 32


def test_a_warp_is_entered_once_before_and_once_after_a_barrier() -> None:
    result = run("bar.sync 0;", threads=64)
    entries = [(r.warp, r.mask) for r in result.records if r.kind is RecordKind.BLOCK]
    assert [warp for warp, _ in entries] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("bar.sync 2, 128;", "barrier 2 that can never complete: 64 of 128 threads"),
        (
            "setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1; bra B; A: bar.sync 0; B:",
            "barrier 0 that can never complete: 32 of 64 threads",
        ),
        (
            "setp.lt.u32 %p1, %r0, 8; @%p1 bra A; bar.sync 1; bra B; A: bar.sync 0; B:",
            "lanes of one warp wait at barriers 0 and 1",
        ),
    ],
)
def test_waiting_that_cannot_end_is_a_deadlock(body: str, message: str) -> None:
    with pytest.raises(DeadlockError) as caught:
        run(body, threads=64)
    assert message in str(caught.value)
    assert "thread (" in str(caught.value)
