"""Several threads execute blocks: results, counts and errors are those of one."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import llvmlite.binding
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelcast.analysis.global_writes import depends_on_order
from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import BudgetError, ExecutionError, InputError, MemoryFaultError
from kernelcast.execution.consumers import Keep
from kernelcast.execution.engine import run as engine_run
from kernelcast.execution.engine import worker as engine_worker
from kernelcast.execution.execute import Execution, execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import RecordKind, Words, decode
from kernelcast.ir import Array, Fill, Kernel, Launch
from kernelcast.isas.ptx import parse_ptx
from tests.tracing import traced

REGISTERS = ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<8>; .reg .pred %p<8>; .reg .b16 %h;"
THREAD = """
mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
mad.lo.u32 %r3, %r1, %r2, %r0; mul.wide.u32 %rd1, %r3, 4;
ld.param.u64 %rd0, [out]; ld.param.u64 %rd2, [data]; add.s64 %rd3, %rd2, %rd1;
"""
"""%r0 = tid, %r1 = ctaid, %r3 = the thread in the grid, %rd0 = out, %rd3 = &data[%r3]."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All threads begin with the first."""
    monkeypatch.setattr(engine_run, "_ALONE_SECONDS", 0)
    yield
    assert not [t for t in threading.enumerate() if t.name == "kernelcast engine" and t.is_alive()]


def kernel_of(body: str) -> Kernel:
    text = f""".version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 data) {{
{REGISTERS}{THREAD}{body}
ret;
}}"""
    return parse_ptx(text).kernel("k")


def launch_of(blocks: int, *, threads: int = 32, fill: str = "arange") -> Launch:
    arrays = {"out": Array("u32", (64,)), "data": Array("u32", (blocks * threads,), Fill(fill))}
    return Launch((blocks, 1, 1), (threads, 1, 1), arrays)


def left(kernel: Kernel, launch: Launch, **options: Any) -> tuple[Memory, Execution]:
    memory = Memory.build(kernel, launch)
    return memory, execute(kernel, launch, memory, executor="engine", **options)


class Tally:
    """Counts records, and keeps which threads' parts held each block."""

    def __init__(self) -> None:
        self.records: Counter[tuple[int, int, int]] = Counter()
        self.parts: Counter[int] = Counter()
        self.merged = 0
        self._blocks: list[int] = []

    def consume(self, words: Words) -> None:
        for record in decode(words):
            self.records[record.kind, record.id, record.mask] += 1
            if record.kind is RecordKind.BLOCK:
                self._blocks.append(record.block)

    def split(self) -> Tally:
        return Tally()

    def merge(self, other: Tally) -> None:
        self.records += other.records
        self.merged += 1 + other.merged
        self._blocks += other._blocks

    @property
    def blocks(self) -> list[int]:
        return self._blocks


class Ignore:
    """Follows a run on any thread, and looks at nothing."""

    def consume(self, words: Words) -> None:
        pass

    def split(self) -> Ignore:
        return Ignore()

    def merge(self, other: Ignore) -> None:
        pass


ADDED = """ld.global.u32 %r4, [%rd3]; and.b32 %r5, %r4, 63; mul.wide.u32 %rd4, %r5, 4;
add.s64 %rd5, %rd0, %rd4; """
LOOP = "mov.u32 %r9, 0; AGAIN: add.u32 %r9, %r9, 1; {} setp.lt.u32 %p1, %r9, 9; @%p1 bra AGAIN;"
"""Enough to do for several threads."""

COMMUTING = [
    "red.global.add.u32 [%rd5], %r4;",
    "red.global.min.s32 [%rd5], %r4;",
    "red.global.max.u32 [%rd5], %r4;",
    "red.global.and.b32 [%rd5], %r4;",
    "red.global.or.b32 [%rd5], %r4;",
    "red.global.xor.b32 [%rd5], %r4;",
    "red.global.inc.u32 [%rd5], 1000;",
    "red.global.dec.u32 [%rd5], 1000;",
    "red.add.u32 [%rd5], %r4;",
    "and.b64 %rd5, %rd5, -8; cvt.u64.u32 %rd6, %r4; red.global.add.u64 [%rd5], %rd6;",
    # Sums of small integers are exact, whatever their order.
    "and.b32 %r4, %r4, 7; cvt.rn.f32.u32 %f0, %r4; red.global.add.f32 [%rd5], %f0;",
    "mov.u32 %r4, 0x3c003c00; red.global.add.noftz.f16x2 [%rd5], %r4;",
    "mov.u32 %r4, 0x3f803f80; red.global.add.noftz.bf16x2 [%rd5], %r4;",
    """and.b64 %rd5, %rd5, -8; mov.b64 %rd6, 0x4008000000000000; mov.b64 %fd0, %rd6;
    red.global.add.f64 [%rd5], %fd0;""",
]


@pytest.mark.parametrize("atomic", COMMUTING)
def test_atomics_that_commute_leave_the_same_in_any_order(atomic: str) -> None:
    extra = ".reg .f64 %fd0;" if "%fd0" in atomic else ""
    kernel, launch = kernel_of(extra + LOOP.format(ADDED + atomic)), launch_of(6001)
    start = 0 if "f" in atomic else 4095
    images = []
    for threads in (1, 2, 3):
        memory = Memory.build(kernel, launch)
        memory.array("out")[:] = start
        execute(kernel, launch, memory, threads=threads)
        images.append(memory.image())
        assert (memory.array("out") != start).any()
    assert images[1] == images[0] == images[2]


def test_a_counter_of_compare_and_swap_loses_nothing() -> None:
    """Wrong if another thread may come between what an atomic reads and what it writes."""
    kernel = kernel_of(
        """mov.u32 %r9, 0;
        AGAIN: ld.volatile.global.u32 %r4, [%rd0];
        RETRY: add.u32 %r5, %r4, 1; mov.u32 %r6, %r4;
        atom.global.cas.b32 %r4, [%rd0], %r6, %r5;
        setp.ne.u32 %p1, %r4, %r6; @%p1 bra RETRY;
        add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 20; @%p2 bra AGAIN;"""
    )
    memory, _ = left(kernel, launch_of(100), threads=3)
    assert memory.array("out")[0] == 100 * 32 * 20


def test_every_ticket_is_given_out_once() -> None:
    kernel = kernel_of("atom.global.add.u32 %r4, [%rd0], 1; atom.global.exch.b32 %r5, [%rd3], %r4;")
    memory, _ = left(kernel, launch_of(500), threads=3)
    assert sorted(memory.array("data")) == list(range(500 * 32))


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.sampled_from(COMMUTING[:10]),
    st.integers(1, 30),
    st.sampled_from([1, 31, 64]),
    st.integers(2, 5),
    st.integers(0, 2**32 - 1),
)
def test_what_is_left_and_what_is_seen_does_not_depend_on_threads(
    atomic: str, blocks: int, threads_per_block: int, threads: int, seed: int
) -> None:
    kernel = kernel_of(LOOP.format(ADDED + atomic))
    launch = launch_of(blocks, threads=threads_per_block, fill="zeros")
    words = np.random.default_rng(seed).integers(0, 2**32, launch.grid[0] * threads_per_block)
    needed = needed_for_trace(kernel)
    found = []
    for count in (1, threads):
        memory, tally = Memory.build(kernel, launch), Tally()
        memory.array("data")[:] = words
        done = execute(kernel, launch, memory, threads=count)
        execute(kernel, launch, memory, consumers=[tally], threads=count, needed=needed)
        found.append(
            (
                memory.image(),
                tally.records,
                Counter(tally.blocks),
                done.warp_instructions,
                done.thread_instructions,
                done.blocks,
            )
        )
    assert found[0] == found[1]


def test_each_thread_is_given_whole_blocks_in_ascending_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_worker, "_LOG_BYTES", 1024)
    parts: list[Part] = []
    all_begin = threading.Barrier(3, timeout=60)

    class Part(Keep):
        is_first = True

        def consume(self, words: Words) -> None:
            if self.is_first:
                all_begin.wait()
                self.is_first = False
            super().consume(words)

        def split(self) -> Part:
            parts.append(Part())
            return parts[-1]

        def merge(self, other: Part) -> None:
            assert other in parts

    kernel, launch, first = kernel_of(LOOP.format("")), launch_of(300, threads=64), Part()
    left(kernel, launch, consumers=[first], threads=3)
    assert len(parts) == 2
    seen: list[int] = []
    for part in (first, *parts):
        blocks = list(dict.fromkeys(r.block for r in decode(part.words)))
        assert blocks == sorted(blocks)
        seen += blocks
    assert sorted(seen) == list(range(300))
    expected = traced(kernel, launch, Memory.build(kernel, launch))
    assert sum(p.words.size for p in (first, *parts)) == expected.words.size


def test_all_consumers_are_given_the_same_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_worker, "_LOG_BYTES", 2048)
    kernel, launch = kernel_of(LOOP.format(ADDED)), launch_of(20)
    kept = [Keep(), Keep()]
    left(kernel, launch, consumers=kept, threads=4)
    expected = traced(kernel, launch, Memory.build(kernel, launch))
    for one in kept:
        assert np.array_equal(one.words, expected.words)


def test_a_consumer_that_cannot_be_split_is_fed_by_one_thread() -> None:
    tally, keep = Tally(), Keep()
    left(kernel_of(LOOP.format("")), launch_of(100), consumers=[tally, keep], threads=4)
    assert not tally.merged
    assert [r.block for r in decode(keep.words)] == sorted(tally.blocks)


NEXT = """add.u32 %r4, %r1, 1; setp.eq.u32 %p3, %r0, 0;
mul.wide.u32 %rd4, %r1, 4; add.s64 %rd4, %rd0, %rd4;"""
"""%rd4 = &out[ctaid]; %p3 holds in the first thread."""
WAIT = """{before} setp.ne.u32 %p4, %r1, {who}; @%p4 bra OTHERS;
SPIN: ld.volatile.global.u32 %r5, [%rd0+{flag}]; setp.eq.u32 %p5, %r5, 0; @%p5 bra SPIN;
bra DONE;
OTHERS: {others}
DONE: {after}"""


def test_a_block_may_wait_for_an_earlier_one_and_several_run_at_a_time() -> None:
    """Block 0 waits for a later one, which none does where one thread executes."""
    body = WAIT.format(
        before=NEXT,
        who=0,
        flag=4,
        others="membar.gl; st.volatile.global.u32 [%rd4], 7;",
        after="red.global.add.u32 [%rd0+252], 1;",
    )
    kernel, launch = kernel_of(body), launch_of(2, threads=1)
    memory, _ = left(kernel, launch, threads=2)
    assert memory.array("out")[63] == 2
    with pytest.raises(BudgetError, match="block 0"):
        left(kernel, launch, threads=1, budget=1_000_000)


@pytest.fixture
def yields() -> Iterator[list[int]]:
    """Every time that code which is loaded meanwhile gives way to other programs."""
    counted: list[int] = []

    def count() -> int:
        counted.append(1)
        return 0

    ours = ctypes.CFUNCTYPE(ctypes.c_int)(count)
    llvmlite.binding.add_symbol("sched_yield", ctypes.cast(ours, ctypes.c_void_p).value)
    yield counted
    own = ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value
    llvmlite.binding.add_symbol("sched_yield", own)


def test_a_block_that_waits_for_ever_gives_way_seldom(yields: list[int]) -> None:
    """Each time may take milliseconds where other programs run: the budget must be used up."""
    body = "W: atom.global.add.u32 %r4, [%rd0], 0; setp.eq.u32 %p0, %r4, 0; @%p0 bra W;"
    kernel, launch = kernel_of(body), launch_of(1, fill="zeros")
    memory = Memory.build(kernel, launch)
    with pytest.raises(BudgetError):
        execute(kernel, launch, memory, executor="engine", threads=1, budget=1_000_000)
    assert 0 < len(yields) < 1_000_000 / 1024


def test_a_fault_in_another_thread_is_the_error_of_the_run() -> None:
    body = WAIT.format(
        before=NEXT,
        who=0,
        flag=4,
        others="st.volatile.global.u32 [%rd4], 7; st.global.u32 [%rd0+4096], 1;",
        after="",
    )
    with pytest.raises(MemoryFaultError, match="block 1"):
        left(kernel_of(body), launch_of(2, threads=1), threads=2)


def test_a_fault_ends_the_later_blocks_that_other_threads_execute() -> None:
    """Block 1 waits for ever for block 0, which goes wrong."""
    body = WAIT.format(before=NEXT, who=1, flag=0, others="st.global.u32 [%rd0+4096], 1;", after="")
    with pytest.raises(MemoryFaultError, match="block 0"):
        left(kernel_of(body), launch_of(2, threads=1), threads=2, budget=10**12)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_lowest_block_that_goes_wrong_is_named(threads: int) -> None:
    """Later ones go wrong sooner."""
    body = """sub.u32 %r5, 300, %r1; mul.lo.u32 %r5, %r5, 50; mov.u32 %r9, 0;
    AGAIN: add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, %r5; @%p1 bra AGAIN;
    setp.ge.u32 %p2, %r1, 100; @%p2 trap;"""
    for consumers in ([], [Ignore()]):
        with pytest.raises(ExecutionError, match="block 100"):
            left(kernel_of(body), launch_of(300), threads=threads, consumers=consumers)


@pytest.mark.parametrize("consumers", [[], [Ignore()]])
def test_an_interrupt_ends_all_threads(consumers: Sequence[Ignore]) -> None:
    kernel = kernel_of("LOOP: add.u32 %r1, %r1, 1; bra LOOP;")
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        left(kernel, launch_of(4), threads=2, consumers=consumers, budget=10**15)
    timer.join()


def test_an_error_of_a_part_ends_the_run() -> None:
    class Refusing(Tally):
        def split(self) -> Refusing:
            return Refusing()

        def consume(self, words: Words) -> None:
            raise ValueError("not this")

    with pytest.raises(ValueError, match="not this"):
        left(kernel_of(LOOP.format("")), launch_of(100), consumers=[Refusing()], threads=2)


@pytest.mark.parametrize("threads", [0, -3])
def test_no_threads_at_all_are_refused(threads: int) -> None:
    with pytest.raises(InputError, match=f"{threads} threads.*1 or more"):
        left(kernel_of(""), launch_of(1), threads=threads)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("st.global.u32 [%rd3], %r0;", False),
        ("red.global.add.u32 [%rd0], 1;", False),
        ("atom.global.add.u32 %r4, [%rd0], 1;", False),
        ("red.global.add.f32 [%rd0], %f0;", True),
        ("atom.global.exch.b32 %r4, [%rd0], 1;", True),
        ("atom.global.add.u32 %r4, [%rd0], 1; st.global.u32 [%rd3], %r4;", True),
        ("ld.global.u32 %r4, [%rd0]; st.global.u32 [%rd3], %r4;", False),
        (
            "ld.global.u32 %r4, [%rd2]; setp.eq.u32 %p1, %r4, 0; @%p1 st.global.u32 [%rd3], 1;",
            True,
        ),
    ],
)
def test_what_depends_on_the_order_of_blocks(body: str, expected: bool) -> None:
    kernel = kernel_of(body)
    assert depends_on_order(kernel, None) == expected
    if expected:
        tally = Tally()
        left(kernel, launch_of(100), consumers=[tally], threads=4)
        assert not tally.merged, "one thread executes, so that all is as in every run"
