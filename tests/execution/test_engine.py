"""What the engine does beyond arithmetic: control flow, barriers, spaces, checks and the log."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcast.errors import (
    BudgetError,
    DeadlockError,
    ExecutionError,
    MemoryFaultError,
    UnsupportedError,
)
from kernelcast.execution.engine import worker as engine_worker
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import RecordKind
from kernelcast.ir import Array, Fill, Kernel, Launch
from kernelcast.isas.ptx import parse_ptx
from tests.tracing import Trace, by_warp, traced

HEAD = """.version 8.5
.target sm_90
.address_size 64
"""
THREAD = "mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; ld.param.u64 %rd0, [out];\n"
THREAD += "add.s64 %rd2, %rd0, %rd1;\n"
REGISTERS = ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<8>; .reg .pred %p<8>;\n"


def kernel_of(body: str, *, module: str = "", parameters: str = "") -> Kernel:
    """A kernel with parameter `out`, %r0 = tid.x, %rd0 = out and %rd2 = &out[tid.x]."""
    entry = (
        f".visible .entry k(.param .u64 out{parameters}) {{\n{REGISTERS}{THREAD}{body}\nret;\n}}"
    )
    return parse_ptx(HEAD + module + entry).kernel("k")


def run(
    kernel: Kernel,
    *,
    threads: int = 32,
    elements: int = 256,
    blocks: int = 1,
    executor: str = "engine",
    budget: int | None = None,
    smem: int = 0,
) -> tuple[np.ndarray, Trace]:
    launch = Launch(
        (blocks, 1, 1), (threads, 1, 1), {"out": Array("u32", (elements,))}, smem_bytes=smem
    )
    memory = Memory.build(kernel, launch)
    trace = traced(kernel, launch, memory, executor=executor, budget=budget)
    return memory.array("out").copy(), trace


def masks(trace: Trace, warp: int = 0) -> list[tuple[int, int]]:
    """(basic block, mask) in the order a warp entered them."""
    return [
        (r.id, r.mask) for r in trace.records() if r.warp == warp and r.kind == RecordKind.BLOCK
    ]


def test_lanes_of_a_branch_rejoin_after_it() -> None:
    kernel = kernel_of(
        """and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0;
        @%p1 bra EVEN;
        mov.u32 %r2, 7; bra DONE;
        EVEN: mov.u32 %r2, 9;
        DONE: st.global.u32 [%rd2], %r2;"""
    )
    out, trace = run(kernel)
    assert list(out[:4]) == [9, 7, 9, 7]
    entered = masks(trace)
    assert sorted(m for _, m in entered[1:3]) == [0x55555555, 0xAAAAAAAA]
    assert entered[-1][1] == 0xFFFFFFFF
    assert len(entered) == 4


def test_lanes_leave_a_loop_one_by_one_and_rejoin() -> None:
    kernel = kernel_of(
        """mov.u32 %r1, 0;
        LOOP: add.u32 %r1, %r1, 1; setp.le.u32 %p1, %r1, %r0; @%p1 bra LOOP;
        st.global.u32 [%rd2], %r1;"""
    )
    out, trace = run(kernel)
    assert list(out[:32]) == list(range(1, 33))
    entered = masks(trace)
    assert [m.bit_count() for _, m in entered] == [32, *range(32, 0, -1), 32]


def test_partial_warp_and_guarded_exit() -> None:
    kernel = kernel_of("setp.gt.u32 %p1, %r0, 34; @%p1 exit; st.global.u32 [%rd2], 5;")
    out, trace = run(kernel, threads=40)
    assert out[:35].all() and not out[35:].any()
    assert masks(trace, warp=1) == [(0, 0xFF), (1, 0x7)]


def test_indexed_branch_takes_every_lane_to_its_target() -> None:
    kernel = kernel_of(
        """and.b32 %r1, %r0, 3;
        ts: .branchtargets A, B, C, D;
        brx.idx %r1, ts;
        A: mov.u32 %r2, 10; bra.uni END;
        B: mov.u32 %r2, 11; bra.uni END;
        C: mov.u32 %r2, 12; bra.uni END;
        D: mov.u32 %r2, 13;
        END: st.global.u32 [%rd2], %r2;"""
    )
    out, trace = run(kernel)
    assert list(out[:8]) == [10, 11, 12, 13] * 2
    assert masks(trace)[-1][1] == 0xFFFFFFFF


@pytest.mark.parametrize("executor", ["engine", "reference"])
def test_an_index_without_a_target_is_an_error(executor: str) -> None:
    kernel = kernel_of(
        "ts: .branchtargets A, B; brx.idx %r0, ts; A: mov.u32 %r2, 1; B: mov.u32 %r2, 2;"
    )
    with pytest.raises(ExecutionError, match=r"thread \(2,0,0\).*index"):
        run(kernel, executor=executor)


def test_barrier_makes_shared_memory_visible_to_other_warps() -> None:
    kernel = kernel_of(
        """mov.u32 %r3, buffer; shl.b32 %r1, %r0, 2; add.u32 %r4, %r3, %r1;
        st.shared.u32 [%r4], %r0;
        bar.sync 0;
        sub.u32 %r5, 124, %r1; sub.u32 %r5, 508, %r1; add.u32 %r5, %r5, %r3;
        ld.shared.u32 %r6, [%r5];
        st.global.u32 [%rd2], %r6;""",
        module=".extern .shared .align 16 .b8 buffer[];\n",
    )
    out, _ = run(kernel, threads=128, smem=512)
    assert list(out[:128]) == list(range(127, -1, -1))


@pytest.mark.parametrize(
    ("form", "result", "expected"),
    [
        ("bar.red.popc.u32 %r5, 0, %p1;", "mov.u32 %r6, %r5;", 25),
        ("bar.red.and.pred %p2, 0, %p1;", "selp.u32 %r6, 1, 0, %p2;", 0),
        ("bar.red.or.pred %p2, 0, !%p1;", "selp.u32 %r6, 1, 0, %p2;", 1),
    ],
)
def test_barrier_reductions_are_over_all_warps(form: str, result: str, expected: int) -> None:
    kernel = kernel_of(
        f"""setp.lt.u32 %p1, %r0, 25; {form} {result}
        bar.red.popc.u32 %r7, 0, %p1;
        st.global.u32 [%rd2], %r6;"""
    )
    out, _ = run(kernel, threads=96)
    assert set(out[:96]) == {expected}


def test_a_warp_arrives_where_some_guard_holds() -> None:
    """Wrong if a guarded arrival counts in warps of which no lane takes part."""
    kernel = kernel_of(
        """setp.ge.u32 %p1, %r0, 32; setp.eq.u32 %p2, %r0, 5; @%p1 bra CONSUMER;
        @%p2 bar.arrive 1, 64;
        @%p1 bar.arrive 1, 64;
        bra END;
        CONSUMER: bar.sync 1, 64;
        st.global.u32 [%rd2], 77;
        END:"""
    )
    out, _ = run(kernel, threads=64)
    assert set(out[32:64]) == {77}
    stuck = kernel_of(
        """setp.ge.u32 %p1, %r0, 32; setp.eq.u32 %p2, %r0, 99; @%p1 bra CONSUMER;
        @%p2 bar.arrive 1, 64;
        bra END;
        CONSUMER: bar.sync 1, 64;
        END:"""
    )
    with pytest.raises(DeadlockError):
        run(stuck, threads=64)


def test_named_barriers_let_a_producer_run_ahead() -> None:
    kernel = kernel_of(
        """setp.ge.u32 %p1, %r0, 32; @%p1 bra CONSUMER;
        st.shared.u32 [cell], 77;
        bar.arrive 1, 64;
        bra END;
        CONSUMER: bar.sync 1, 64;
        ld.shared.u32 %r4, [cell];
        st.global.u32 [%rd2], %r4;
        END:""",
        module=".shared .align 4 .b8 cell[4];\n",
    )
    out, _ = run(kernel, threads=64)
    assert not out[:32].any()
    assert set(out[32:64]) == {77}


def test_exited_warps_do_not_hold_up_a_barrier() -> None:
    kernel = kernel_of("setp.ge.u32 %p1, %r0, 32; @%p1 exit; bar.sync 0; st.global.u32 [%rd2], 1;")
    out, _ = run(kernel, threads=96)
    assert out[:32].all() and not out[32:].any()


def test_barrier_that_some_never_reach_is_a_deadlock() -> None:
    kernel = kernel_of("setp.ge.u32 %p1, %r0, 32; @%p1 bra W; bar.sync 1; W: bar.sync 2, 96;")
    with pytest.raises(DeadlockError, match="barriers"):
        run(kernel, threads=64)


def test_lanes_at_different_barriers_are_named() -> None:
    kernel = kernel_of(
        """and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN;
        bar.sync 1; bra END; EVEN: bar.sync 2; END: st.global.u32 [%rd2], 1;"""
    )
    with pytest.raises(ExecutionError, match="different barriers"):
        run(kernel)


def test_generic_addresses_reach_every_space() -> None:
    kernel = kernel_of(
        """.local .align 4 .b8 mine[8];
        mov.u32 %r3, cell; cvt.u64.u32 %rd3, %r3; cvta.shared.u64 %rd4, %rd3;
        st.u32 [%rd4], 40;
        mov.u64 %rd5, mine; cvta.local.u64 %rd6, %rd5; st.u32 [%rd6+4], %r0;
        ld.u32 %r4, [%rd4]; ld.local.u32 %r5, [%rd5+4]; ld.shared.u32 %r7, [cell];
        add.u32 %r6, %r4, %r5; add.u32 %r6, %r6, %r7;
        mov.u64 %rd7, table; cvta.const.u64 %rd8, %rd7; ld.u32 %r8, [%rd8+4];
        add.u32 %r6, %r6, %r8;
        st.u32 [%rd2], %r6;""",
        module=".shared .align 4 .b8 cell[4];\n.const .align 4 .u32 table[2] = {5, 1000};\n",
    )
    out, trace = run(kernel)
    assert list(out[:32]) == [1080 + t for t in range(32)]
    other, reference = run(kernel, executor="reference")
    assert (other == out).all()
    assert by_warp(trace.records()) == by_warp(reference.records())


def test_a_parameter_read_by_index_leaves_no_record() -> None:
    kernel = kernel_of(
        """mov.b64 %rd3, list; and.b32 %r3, %r0, 3; mul.wide.u32 %rd4, %r3, 4;
        add.s64 %rd3, %rd3, %rd4; ld.param.u32 %r4, [%rd3+4]; st.global.u32 [%rd2], %r4;""",
        parameters=", .param .align 4 .b8 list[20]",
    )
    args = {"out": Array("u32", (32,)), "list": Array("u32", (5,), Fill("arange"))}
    launch = Launch((1, 1, 1), (32, 1, 1), args)
    seen = []
    for executor in ("engine", "reference"):
        memory = Memory.build(kernel, launch)
        trace = traced(kernel, launch, memory, executor=executor)
        assert list(memory.array("out")) == [1, 2, 3, 4] * 8
        seen.append([r.kind for r in trace.records()])
    assert seen[0] == seen[1]
    assert seen[0].count(RecordKind.AFFINE) == 1


@pytest.mark.parametrize(
    "body",
    ["ld.global.b128 %x, [%rd2];", "add.f32.f16 %f0, %h, %f0;", "rsqrt.rz.f64 %d, %d;"],
)
def test_a_form_without_a_definition_is_refused_before_anything_runs(body: str) -> None:
    kernel = kernel_of(
        f".reg .b128 %x; .reg .b16 %h; .reg .f64 %d; st.global.u32 [%rd2], 1; {body}"
    )
    launch = Launch((1, 1, 1), (32, 1, 1), {"out": Array("u32", (32,))})
    memory = Memory.build(kernel, launch)
    for executor in ("engine", "auto", "reference"):
        with pytest.raises(UnsupportedError, match="not supported"):
            execute(kernel, launch, memory, executor=executor)
    assert not memory.array("out").any()


def test_every_warp_keeps_its_local_memory_across_a_barrier() -> None:
    kernel = kernel_of(
        """.local .align 4 .b8 mine[4];
        st.local.u32 [mine], %r0; bar.sync 0; ld.local.u32 %r3, [mine];
        st.global.u32 [%rd2], %r3;"""
    )
    out, _ = run(kernel, threads=96)
    assert list(out[:96]) == list(range(96))


def test_atomics_run_lane_by_lane_and_give_the_old_value() -> None:
    kernel = kernel_of("atom.global.add.u32 %r3, [%rd0], 2; st.global.u32 [%rd2+128], %r3;")
    out, _ = run(kernel)
    assert out[0] == 64
    assert list(out[32:64]) == list(range(0, 64, 2))


@pytest.mark.parametrize("executor", ["engine", "reference"])
def test_access_past_an_array_names_everything_about_it(executor: str) -> None:
    kernel = kernel_of("st.global.u32 [%rd2], %r0;")
    with pytest.raises(MemoryFaultError) as raised:
        run(kernel, elements=37, threads=64, executor=executor)
    message = str(raised.value)
    for part in ("kernel k", "st.global.u32", "block 0", "thread (37,0,0)", "0x1000000094", "out"):
        assert part in message


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("st.global.u32 [%rd2+2], %r0;", "aligned"),
        ("ld.shared.u32 %r3, [cell+4]; st.global.u32 [%rd2], %r3;", "shared memory"),
        ("ld.local.u32 %r3, [mine+8]; st.global.u32 [%rd2], %r3;", "local memory"),
        ("mov.u64 %rd3, table; st.global.u32 [%rd3], 1;", "constant"),
        ("mov.u64 %rd3, 16; ld.u32 %r3, [%rd3]; st.global.u32 [%rd2], %r3;", "outside"),
        ("ld.global.v2.u32 {%r3, %r4}, [%rd2]; st.global.u32 [%rd2], %r3;", "aligned"),
    ],
)
def test_bad_accesses_are_refused(body: str, reason: str) -> None:
    module = ".shared .align 4 .b8 cell[4];\n.const .align 4 .u32 table[2] = {5, 1000};\n"
    uses = ".local .align 4 .b8 mine[8]; st.shared.u32 [cell], 1; st.local.u32 [mine], 1;\n"
    uses += "mov.u64 %rd9, table;\n"
    with pytest.raises(MemoryFaultError, match=reason):
        run(kernel_of(uses + body, module=module))


def test_masked_lanes_may_hold_bad_addresses() -> None:
    kernel = kernel_of("setp.lt.u32 %p1, %r0, 8; @%p1 st.global.u32 [%rd2], 3;")
    out, trace = run(kernel, elements=8)
    assert list(out) == [3] * 8
    accesses = [r for r in trace.records() if r.kind != RecordKind.BLOCK]
    assert [a.mask for a in accesses] == [0xFF]


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        ("mov.b32 %r1, %r0;", RecordKind.AFFINE),
        ("and.b32 %r1, %r0, 15;", RecordKind.HALVES),  # both rows at one place
        ("shr.u32 %r1, %r0, 4;", RecordKind.HALVES),  # each at one
        ("xor.b32 %r1, %r0, 16;", RecordKind.HALVES),
        ("and.b32 %r1, %r0, 7;", RecordKind.ADDRESSES),
        ("xor.b32 %r1, %r0, 1;", RecordKind.ADDRESSES),
    ],
)
def test_an_access_is_written_as_short_as_its_lanes_allow(index, kind) -> None:
    body = index + "mul.wide.u32 %rd3, %r1, 4; add.s64 %rd3, %rd0, %rd3; ld.global.u32 %r2, [%rd3];"
    kernel = kernel_of(body + "setp.gt.u32 %p1, %r0, 20; @%p1 ld.global.u32 %r2, [%rd3];")
    (_, trace), (_, reference) = (run(kernel, executor=name) for name in ("engine", "reference"))
    assert by_warp(trace.records()) == by_warp(reference.records())
    accesses = [r for r in trace.records() if r.kind is not RecordKind.BLOCK]
    assert accesses[0].kind is kind
    assert [bin(r.mask).count("1") for r in accesses] == [32, 11]


def test_a_guard_that_never_holds_leaves_no_access() -> None:
    kernel = kernel_of("setp.gt.u32 %p1, %r0, 99; @%p1 ld.global.u32 %r3, [%rd2+99999];")
    _, trace = run(kernel)
    assert all(r.kind == RecordKind.BLOCK for r in trace.records())


def test_endless_loop_ends_with_its_budget() -> None:
    kernel = kernel_of("LOOP: add.u32 %r1, %r1, 1; bra LOOP;")
    with pytest.raises(BudgetError, match="--budget"):
        run(kernel, budget=100_000)


def test_trap_is_an_error_of_the_kernel() -> None:
    kernel = kernel_of("setp.eq.u32 %p1, %r0, 5; @%p1 trap;")
    with pytest.raises(ExecutionError, match=r"thread \(5,0,0\)"):
        run(kernel)


def test_tensor_instructions_are_named_with_their_line() -> None:
    kernel = kernel_of(
        "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%r0,%r1}, {%r2}, {%r3}, {%r0,%r1};"
    )
    with pytest.raises(UnsupportedError, match=r"line 8.*mma\.sync"):
        run(kernel, executor="auto")


def test_the_log_is_the_same_however_often_it_is_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of(
        """mov.u32 %r1, 0;
        LOOP: add.u32 %r1, %r1, 1; xor.b32 %r5, %r0, %r1; and.b32 %r5, %r5, 255;
        mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd0, %rd3; ld.global.u32 %r4, [%rd4];
        bar.sync 0;
        setp.le.u32 %p1, %r1, 40; @%p1 bra LOOP;
        st.global.u32 [%rd2], %r1;"""
    )
    _, whole = run(kernel, threads=64, blocks=3)
    monkeypatch.setattr(engine_worker, "_LOG_BYTES", 256)
    _, pieces = run(kernel, threads=64, blocks=3)
    assert whole.words.size > 1000
    assert np.array_equal(whole.words, pieces.words)


def test_progress_is_told_as_blocks_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_worker, "_UNLOGGED_INSTRUCTIONS", 64)
    kernel = kernel_of("st.global.u32 [%rd2], %r0;")
    launch = Launch((50, 1, 1), (32, 1, 1), {"out": Array("u32", (32,))})
    told: list[float] = []
    execute(kernel, launch, Memory.build(kernel, launch), progress=told.append)
    assert len(told) > 5
    assert told == sorted(told)
    assert 0 <= told[0] < 0.2 and 0.8 < told[-1] <= 1


def test_an_error_of_a_consumer_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_worker, "_LOG_BYTES", 64)
    kernel = kernel_of("LOOP: add.u32 %r1, %r1, 1; bra LOOP;")
    launch = Launch((1, 1, 1), (32, 1, 1), {"out": Array("u32", (32,))})

    class Refusing:
        def consume(self, _words: np.ndarray) -> None:
            raise KeyboardInterrupt

    memory = Memory.build(kernel, launch)
    with pytest.raises(KeyboardInterrupt):
        execute(kernel, launch, memory, executor="engine", consumers=[Refusing()])


def test_only_the_given_blocks_run_in_ascending_order() -> None:
    kernel = kernel_of("mov.u32 %r1, %ctaid.x; atom.global.exch.b32 %r3, [%rd0], %r1;")
    launch = Launch((8, 1, 1), (1, 1, 1), {"out": Array("u32", (8,))})
    memory = Memory.build(kernel, launch)
    trace = traced(kernel, launch, memory, blocks=(6, 1, 4), executor="engine")
    assert trace.blocks == (1, 4, 6)
    assert [r.block for r in trace.records() if r.kind == RecordKind.BLOCK] == [1, 4, 6]
    assert memory.array("out")[0] == 6


def test_thread_indices_of_a_block_with_three_dimensions() -> None:
    kernel = kernel_of(
        """mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y;
        mad.lo.u32 %r5, %r2, %r4, %r1; mad.lo.u32 %r5, %r5, %r3, %r0;
        mul.wide.u32 %rd3, %r5, 4; add.s64 %rd3, %rd0, %rd3;
        shl.b32 %r1, %r1, 8; shl.b32 %r2, %r2, 16; or.b32 %r6, %r1, %r2; or.b32 %r6, %r6, %r0;
        st.global.u32 [%rd3], %r6;"""
    )
    launch = Launch((1, 1, 1), (5, 3, 4), {"out": Array("u32", (60,))})
    memory = Memory.build(kernel, launch)
    execute(kernel, launch, memory, executor="engine")
    expected = [x | y << 8 | z << 16 for z in range(4) for y in range(3) for x in range(5)]
    assert list(memory.array("out")) == expected
