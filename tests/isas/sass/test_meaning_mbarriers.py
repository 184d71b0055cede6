"""Waiting for other warps: mbarriers in PTX and machine code, and spin loops; against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.execution.machine_code import compile_together, kernel_in
from tests.tracing import Trace, by_warp, traced

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import BudgetError, UnsupportedError
from kernelcast.execution.memory import Memory
from kernelcast.ir import Array, Kernel, Launch

WITH_MBARRIERS = ("sm_90", "sm_100", "sm_120")
ISAS = ("ptx of sm_90", *(f"sass of {a}" for a in WITH_MBARRIERS))
EXECUTORS = ("engine", "reference")
ROUNDS, THREADS = 5, 96

HEAD = """
typedef unsigned long long u64;
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void begin(u64* b, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(place(b)), "r"(arrivals) : "memory");
}
__device__ u64 arrive(u64* b) {
  u64 token;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(place(b)) : "memory");
  return token;
}
__device__ void wait(u64* b, unsigned parity) {
  asm volatile("{.reg .pred p; W%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;"
    "@!p bra W%=;}" :: "r"(place(b)), "r"(parity) : "memory");
}
"""

PIPELINE = (
    HEAD
    + """
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  __shared__ unsigned s[256];
  __shared__ u64 full, empty;
  int t = threadIdx.x;
  if (t == 0) { begin(&full, 32); begin(&empty, blockDim.x - 32); }
  __syncthreads();
  if (t < 32) {
    for (int i = 0; i < n; i++) {
      if (i) wait(&empty, (i - 1) & 1);
      for (int j = t; j < 256; j += 32) s[j] = in[i * 256 + j];
      arrive(&full);
    }
  } else {
    for (int i = 0; i < n; i++) {
      wait(&full, i & 1);
      for (int j = t - 32; j < 256; j += blockDim.x - 32) out[i * 256 + j] = 3 * s[j];
      arrive(&empty);
    }
  }
}
"""
)

BYTES = (
    HEAD
    + """
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  __shared__ u64 b;
  __shared__ volatile unsigned s;
  int t = threadIdx.x;
  if (t == 0) begin(&b, 1);
  __syncthreads();
  if (t == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 64;" :: "r"(place(&b)) : "memory");
  if (t == 64) {
    s = 7;
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared.b64 [%0], 24;" :: "r"(place(&b)));
    s = in[3];
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared.b64 [%0], 40;" :: "r"(place(&b)));
  }
  wait(&b, 0);
  out[t] = s + t;
}
"""
)

TOKENS = (
    HEAD
    + """
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  __shared__ u64 b;
  __shared__ unsigned s[96];
  int t = threadIdx.x, left;
  if (t == 0) begin(&b, 96);
  __syncthreads();
  unsigned sum = 0;
  for (int i = 0; i < n; i++) {
    s[t] = in[i * 256 + t];
    u64 token = arrive(&b);
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(left) : "l"(token));
    asm volatile("{.reg .pred p; W%=: mbarrier.test_wait.shared.b64 p, [%0], %1; @!p bra W%=;}"
      :: "r"(place(&b)), "l"(token) : "memory");
    sum += s[(t + 50) % 96] + left;
    __syncthreads();
  }
  out[t] = sum;
}
"""
)

FLAGS = """
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  __shared__ volatile unsigned flag[3];
  __shared__ unsigned s[8][96];
  int t = threadIdx.x, w = t / 32, lane = t % 32;
  if (t < 3) flag[t] = 0;
  __syncthreads();
  unsigned sum = in[t];
  for (int i = 1; i <= n; i++) {
    if (w < 2) {
      while (flag[w + 1] < (unsigned)i) __nanosleep(20);
      sum += s[i][t + 32];
    }
    if (lane < 20) sum = 3 * sum + lane;
    s[i][t] = sum;
    __threadfence_block();
    __syncwarp();
    if (lane == 0) flag[w] = i;
    __syncwarp();
  }
  __syncthreads();
  out[t] = sum + s[n][(t + 40) % 96];
}
"""


DROPS = (
    HEAD
    + """
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  __shared__ u64 b;
  __shared__ volatile unsigned s[2][3];
  int t = threadIdx.x;
  if (t == 0) begin(&b, 3);
  __syncthreads();
  unsigned sum = 0;
  if (t % 32 == 0) {
    for (int i = 0; i < n; i++) {
      if (t == 64 && i == 1) {
        s[1][2] = in[99];
        asm volatile("mbarrier.arrive_drop.shared.b64 _, [%0];" :: "r"(place(&b)) : "memory");
        break;
      }
      s[i & 1][t / 32] = in[i * 256 + t];
      arrive(&b);
      wait(&b, i & 1);
      sum += s[i & 1][0] + s[i & 1][1] + s[i & 1][2];
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], 16;" :: "r"(place(&b)));
      asm volatile("mbarrier.complete_tx.relaxed.cta.shared.b64 [%0], 16;" :: "r"(place(&b)));
    }
  }
  out[t] = sum;
}
"""
)

APART = """
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  __shared__ volatile unsigned flag;
  __shared__ unsigned s[96];
  int t = threadIdx.x;
  unsigned early = 0;
  if (t == 0) flag = 0;
  s[t] = in[t];
  __syncthreads();
  if (t < 32 && CONDITION) {
    while (flag == 0) __nanosleep(20);
    early = s[95];
    s[t] = early + 1;
    asm volatile("barrier.sync 1, 96;" ::: "memory");
  } else {
    if (t == 95) { s[95] = 7; __threadfence_block(); flag = 1; }
    asm volatile("barrier.sync 1, 96;" ::: "memory");
    early = s[1 + t % 16];
  }
  out[t] = early;
}
"""

ENDLESS = """
extern "C" __global__ void k(const unsigned* in, unsigned* out, int n) {
  while (((volatile unsigned*)out)[0] == 0) __nanosleep(20);
}
"""


def run(
    kernel: Kernel, executor: str = "engine", *, sliced: bool = False, budget: int = 100_000
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], Trace]:
    """What goes in, what comes out, and the trace of one block."""
    arrays = {name: Array("u32", (256 * ROUNDS,)) for name in ("in", "out")}
    launch = Launch((1, 1, 1), (THREADS, 1, 1), {**arrays, "n": ROUNDS})
    memory = Memory.build(kernel, launch)
    memory.array("in")[:] = np.random.default_rng(1).integers(0, 1 << 32, 256 * ROUNDS)
    needed = needed_for_trace(kernel) if sliced else None
    trace = traced(kernel, launch, memory, executor=executor, needed=needed, budget=budget)
    return memory.array("in").copy(), memory.array("out").copy(), trace


def apart(odd: bool) -> str:
    return APART.replace("CONDITION", "(t & 1)" if odd else "!(t & 1)")


compile_together(
    (PIPELINE, BYTES, DROPS, TOKENS, FLAGS, apart(True), apart(False), ENDLESS), *WITH_MBARRIERS
)
compile_together((FLAGS, apart(True), apart(False)), "sm_75")


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_pipeline_of_warps_keeps_its_order(isa: str, executor: str) -> None:
    """Wrong if a wait ends early, or a phase is never over: then the budget is."""
    given, out, trace = run(kernel_in(PIPELINE, isa), executor)
    assert np.array_equal(out, given * np.uint32(3))
    _, _, sliced = run(trace.kernel, sliced=True)
    assert by_warp(sliced.records()) == by_warp(trace.records())


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_phase_is_not_over_before_all_bytes_have_come(isa: str, executor: str) -> None:
    """Wrong if arrivals alone end a phase for which bytes are expected."""
    given, out, _ = run(kernel_in(BYTES, isa), executor)
    expected = given[3] + np.arange(THREADS, dtype=np.uint32)
    assert np.array_equal(out[:THREADS], expected)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_later_phases_do_without_arrivals_that_were_dropped(isa: str, executor: str) -> None:
    """Wrong if a dropped arrival is missed in its own phase, or waited for in a later one."""
    given, out, _ = run(kernel_in(DROPS, isa), executor)
    rows = given.reshape(ROUNDS, 256)
    third = np.where(np.arange(ROUNDS) % 2 == 0, given[64], given[99])
    total = (rows[:, 0] + rows[:, 32] + third).sum(dtype=np.uint32)
    first = rows[0, [0, 32, 64]].sum(dtype=np.uint32)
    assert out[[0, 32, 64]].tolist() == [total, total, first]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_arrival_tells_how_many_were_missing(isa: str, executor: str) -> None:
    """Wrong if the word of a barrier is laid out in another way than the compiler knows."""
    given, out, _ = run(kernel_in(TOKENS, isa), executor)
    lanes = np.arange(THREADS)
    sums = given.reshape(ROUNDS, 256)[:, (lanes + 50) % THREADS].sum(axis=0, dtype=np.uint32)
    missing = out[:THREADS] - sums
    # Every round each of the arrivals finds another number of them missing, 96 down to 1.
    assert missing.sum() == ROUNDS * sum(range(1, THREADS + 1))


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", *WITH_MBARRIERS])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_warps_that_wait_for_flags_go_on(architecture: str, executor: str) -> None:
    """Wrong if a warp that spins never lets the others run."""
    given, out, trace = run(kernel_in(FLAGS, f"sass of {architecture}"), executor)
    lanes = np.arange(THREADS, dtype=np.uint32) % 32
    sums = given[:THREADS].copy()
    for _ in range(ROUNDS):
        for warp in (2, 1, 0):
            own = slice(32 * warp, 32 * warp + 32)
            if warp < 2:
                sums[own] += sums[32 * warp + 32 : 32 * warp + 64]
            sums[own] = np.where(lanes[own] < 20, 3 * sums[own] + lanes[own], sums[own])
    others = sums[(np.arange(THREADS) + 40) % THREADS]
    assert np.array_equal(out[:THREADS], sums + others)
    _, _, sliced = run(trace.kernel, sliced=True)
    assert by_warp(sliced.records()) == by_warp(trace.records())


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("odd", [True, False])
def test_lanes_at_a_barrier_stay_while_others_of_their_warp_pause(
    architecture: str, executor: str, odd: bool
) -> None:
    """Wrong if a pause lets lanes go on from a barrier, or a warp arrives before all its lanes."""
    given, out, _ = run(kernel_in(apart(odd), f"sass of {architecture}"), executor)
    lanes = np.arange(THREADS)
    pausing = (lanes < 32) & (lanes % 2 == int(odd))
    after = np.where(pausing, 8, given[:THREADS])
    assert np.array_equal(out[:THREADS], np.where(pausing, 7, after[1 + lanes % 16]))


def test_a_loop_that_nobody_ends_runs_out_of_its_budget() -> None:
    """Wrong if warps that let each other run do so for ever."""
    kernel = kernel_in(ENDLESS, "sass of sm_90")
    for executor in EXECUTORS:
        with pytest.raises(BudgetError):
            run(kernel, executor, budget=2000)


def test_what_is_not_known_is_refused() -> None:
    """Wrong if arrivals are counted under another mask than the code asks for."""
    source = HEAD + (
        'extern "C" __global__ void k(unsigned* in, unsigned* out, int n) {'
        "__shared__ u64 b; begin(&b, 99); u64 token;"
        'asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], %2;"'
        ' : "=l"(token) : "r"(place(&b)), "r"(n) : "memory");'
        "out[threadIdx.x] = token; }"
    )
    with pytest.raises(UnsupportedError, match="SYNCS"):
        run(kernel_in(source, "sass of sm_90"))
