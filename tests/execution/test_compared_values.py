"""How many different values lanes compare: both executors tell who follows, in PTX and SASS."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import UnsupportedError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import RecordKind, TraceRecord
from kernelcast.frontends.launches import launch_from_flags
from kernelcast.ir import Kernel, OpClass
from kernelcast.isas.ptx import parse_ptx
from tests.execution.machine_code import compile_together, kernel_in
from tests.tracing import Trace, traced

ISAS = ("ptx of sm_90", "sass of sm_80", "sass of sm_90")
EXECUTORS = ("engine", "reference")

WORDS = """
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  out[threadIdx.x] = __match_any_sync(0xffffffffu, in[threadIdx.x]);
}
"""
PAIRS = """
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  unsigned long long value = (unsigned long long)in[threadIdx.x] << 40 | 7;
  out[threadIdx.x] = __match_any_sync(0xffffffffu, value);
}
"""
ALL_ALIKE = """
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  int alike;
  out[threadIdx.x] = __match_all_sync(0xffffffffu, in[threadIdx.x], &alike);
}
"""
SOME_LANES = """
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  if (threadIdx.x < 20) out[threadIdx.x] = __match_any_sync(0xfffff, in[threadIdx.x]);
}
"""
GROUPS = """
extern "C" __global__ void k(const unsigned* in, unsigned* out) {
  unsigned mine = threadIdx.x < 12 ? 0xfffu : 0xfffff000u;
  out[threadIdx.x] = __match_any_sync(mine, in[threadIdx.x]);
}
"""
compile_together((WORDS, PAIRS, ALL_ALIKE, SOME_LANES, GROUPS), *(isa.split()[-1] for isa in ISAS))

PTX = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .f32 %f<3>;
mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4;
ld.param.u64 %d1, [in]; add.s64 %d1, %d1, %d0; ld.global.u32 %r1, [%d1];
BODY
ret;
}
"""


def ptx(body: str) -> Kernel:
    """A kernel whose lanes have number %r0, and hold %r1."""
    return parse_ptx(PTX.replace("BODY", body)).kernel()


def followed(kernel: Kernel, held: list[int], executor: str) -> Trace:
    """A warp whose lanes hold some words, executed as far as its trace needs."""
    launch = launch_from_flags("1", "32", 0, ["in=u32[32]", "out=u32[32]"])
    memory = Memory.build(kernel, launch)
    memory.array("in")[:] = held
    return traced(kernel, launch, memory, executor=executor, needed=needed_for_trace(kernel))


def compared(trace: Trace) -> list[TraceRecord]:
    return [r for r in trace.records() if r.kind is RecordKind.VALUES]


def count(source: str, isa: str, held: list[int], executor: str) -> list[tuple[int, int]]:
    """The lanes that are compared, and how many different values they hold."""
    kernel = kernel_in(source, isa)
    found = compared(followed(kernel, held, executor))
    assert all(kernel.instructions[r.id].op_class is OpClass.MATCH for r in found)
    return [(r.mask, r.values) for r in found]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("source", [WORDS, PAIRS])
@pytest.mark.parametrize("different", [1, 2, 5, 32])
def test_every_different_value_counts(isa, executor, source, different):
    """Wrong if an executor counts lanes, or the low halves of pairs alone."""
    mixed = np.random.default_rng(different).permutation(np.arange(32) % different)
    assert count(source, isa, mixed.tolist(), executor) == [(0xFFFF_FFFF, different)]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_lanes_that_take_no_part_do_not_count(isa, executor):
    held = [lane // 4 for lane in range(20)] + [100 + lane for lane in range(12)]
    assert count(SOME_LANES, isa, held, executor) == [(0xF_FFFF, 5)]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_groups_count_each_for_itself(isa, executor):
    """Lanes of both groups hold 0 to 3, together or group by group, as the code has it."""
    found = count(GROUPS, isa, [lane % 4 for lane in range(32)], executor)
    assert sum(values for _, values in found) == 8
    assert sum(mask for mask, _ in found) == 0xFFFF_FFFF


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_whether_all_hold_the_same_counts_nothing(isa, executor):
    assert count(ALL_ALIKE, isa, list(range(32)), executor) == []


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_guard_that_never_holds_leaves_no_record(executor):
    match = "match.any.sync.b32 %r2, %r1, 0xffffffff;"
    body = f"setp.gt.u32 %p1, %r0, 99; @%p1 {match} setp.gt.u32 %p2, %r0, 29; @%p2 {match}"
    found = compared(followed(ptx(body), list(range(32)), executor))
    assert [(r.mask, r.values) for r in found] == [(0xC000_0000, 2)]


def test_only_who_follows_makes_a_record():
    """A run without consumers writes no trace; what it computes stays."""
    kernel = ptx(
        "match.any.sync.b32 %r2, %r1, 0xffffffff; "
        "ld.param.u64 %d2, [out]; add.s64 %d2, %d2, %d0; st.global.u32 [%d2], %r2;"
    )
    launch = launch_from_flags("1", "32", 0, ["in=u32[32]", "out=u32[32]"])
    memory = Memory.build(kernel, launch)
    memory.array("in")[:] = 9
    execute(kernel, launch, memory, executor="engine")
    assert (memory.array("out") == 0xFFFF_FFFF).all()


def test_what_cannot_be_computed_is_named_with_what_compares_it():
    body = "add.f32 %f1, %f1, 0f00000000; LOST match.any.sync.b32 %r2, %r3, 0xffffffff;"
    kernel = ptx(
        body.replace(
            "LOST",
            "wmma.load.a.sync.aligned.row.m16n16k16.global.f16"
            " {%r3,%r3,%r3,%r3,%r3,%r3,%r3,%r3}, [%d1];",
        )
    )
    with pytest.raises(
        UnsupportedError, match=r"wmma.*match\.any\.sync\.b32.*depends on its result"
    ):
        followed(kernel, [0] * 32, "engine")
