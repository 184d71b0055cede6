"""Lanes, warps and blocks that wait for each other get to run: the code ends, with known results.

Since Volta every lane of a warp makes progress (CUDA C++ Programming Guide, "Independent Thread
Scheduling"). Were one starved, the budget would stop the run; were a lane to run ahead of a
reconvergence point point, sums and exchanges would be wrong. Both executors must run the same
blocks in the same order.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cuda import CompiledSource, compile_source
from kernelcast.ir import Array, Launch
from tests.kept import CACHE
from tests.tracing import by_warp, traced

BUDGET = 1_000_000

SOURCE = r"""
__device__ void add_one(int* count) {
  *(volatile int*)count = *(volatile int*)count + 1;
  __threadfence();
}

// The loser goes round with the winner's release inside the loop.
extern "C" __global__ void release_inside(int* lock, int* count, int* out) {
  for (int i = 0; i < 2; i++) {
    bool done = false;
    while (!done) {
      if (atomicCAS(lock, 0, 1) == 0) {
        add_one(count);
        atomicExch(lock, 0);
        done = true;
      }
    }
  }
  out[threadIdx.x] = 1;
}

// The winner must leave the loop to release.
extern "C" __global__ void release_after(int* lock, int* count, int* out) {
  while (atomicCAS(lock, 0, 1)) {}
  add_one(count);
  atomicExch(lock, 0);
  out[threadIdx.x] = 1;
}

extern "C" __global__ void test_and_test_and_set(int* lock, int* count, int* out) {
  for (;;) {
    while (*(volatile int*)lock) {}
    if (atomicExch(lock, 1) == 0) break;
  }
  add_one(count);
  atomicExch(lock, 0);
  out[threadIdx.x] = 1;
}

extern "C" __global__ void with_backoff(int* lock, int* count, int* out) {
  unsigned ns = 8;
  while (atomicCAS(lock, 0, 1)) {
    __nanosleep(ns);
    if (ns < 256) ns *= 2;
  }
  add_one(count);
  atomicExch(lock, 0);
  out[threadIdx.x] = 1;
}

// Tickets: lock is the next one, count the one that is served.
extern "C" __global__ void tickets(int* lock, int* count, int* out) {
  int mine = atomicAdd(lock, 1);
  while (atomicAdd(count, 0) != mine) {}
  out[threadIdx.x] = 1;
  __threadfence();
  atomicAdd(count, 1);
}

// A lane waits for the one before it, in the opposite order of their addresses in the code.
extern "C" __global__ void hand_on(int* lock, int* count, int* out) {
  volatile int* flag = lock;
  int t = threadIdx.x;
  if (t == blockDim.x - 1) {
    out[t] = 1;
  } else {
    while (flag[t + 1] == 0) {}
    out[t] = ((volatile int*)out)[t + 1] + 1;
  }
  __threadfence();
  flag[t] = 1;
}

// All lanes reconverge after the lock: who was first must not read the count before the last has
// written.
extern "C" __global__ void meet_after(int* lock, int* count, int* out) {
  while (atomicCAS(lock + threadIdx.x / 32, 0, 1)) {}
  add_one(count + threadIdx.x / 32);
  atomicExch(lock + threadIdx.x / 32, 0);
  __syncwarp();
  int seen = *(volatile int*)(count + threadIdx.x / 32);
  out[threadIdx.x] = seen + __shfl_xor_sync(0xffffffff, seen, 31);
}

// Half a warp takes the lock, the whole warp exchanges.
extern "C" __global__ void half_of_them(int* lock, int* count, int* out) {
  if (threadIdx.x % 32 >= 16) {
    while (atomicCAS(lock, 0, 1)) {}
    add_one(count + threadIdx.x / 32);
    atomicExch(lock, 0);
  }
  __syncwarp();
  int seen = *(volatile int*)(count + threadIdx.x / 32);
  out[threadIdx.x] = seen + __shfl_xor_sync(0xffffffff, seen, 16);
}

// The lanes of a partition act as one: its leader holds the lock while they meet and exchange.
extern "C" __global__ void partitions(int* lock, int* count, int* out) {
  int lane = threadIdx.x % 32;
  unsigned mask = __match_any_sync(0xffffffff, lane / 8 * 5);
  int leader = __ffs(mask) - 1;
  if (lane == leader) while (atomicCAS(lock, 0, 1)) {}
  __syncwarp(mask);
  int old = *(volatile int*)count;
  int sum = 0;
  for (int i = 0; i < 8; i++) sum += __shfl_sync(mask, lane, leader + i);
  __syncwarp(mask);
  if (lane == leader) {
    *(volatile int*)count = old + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
  __syncwarp(mask);
  out[threadIdx.x] = sum;
}

// Odd lanes write, even lanes read, in four rounds.
extern "C" __global__ void pairs(int* lock, int* count, int* out) {
  __shared__ volatile int full[64];
  __shared__ volatile int box[64];
  int t = threadIdx.x;
  full[t] = 0;
  __syncthreads();
  int sum = 0;
  for (int i = 1; i <= 4; i++) {
    if (t & 1) {
      while (full[t] == 1) {}
      box[t] = 10 * i + t;
      __threadfence_block();
      full[t] = 1;
    } else {
      while (full[t + 1] == 0) {}
      sum += box[t + 1];
      __threadfence_block();
      full[t + 1] = 0;
    }
  }
  out[t] = sum;
}

// Who sleeps lets other warps run.
extern "C" __global__ void sleep_once(int* lock, int* count, int* out) {
  __shared__ volatile int flag;
  if (threadIdx.x < 32) __nanosleep(20); else flag = 7;
  out[threadIdx.x] = flag;
}

// Two locks, taken in the same order by all.
extern "C" __global__ void two_locks(int* lock, int* count, int* out) {
  int one = threadIdx.x & 1, other = 2 + (threadIdx.x & 2) / 2;
  while (atomicCAS(lock + one, 0, 1)) {}
  while (atomicCAS(lock + other, 0, 1)) {}
  atomicAdd(count, 1);
  __threadfence();
  atomicExch(lock + other, 0);
  atomicExch(lock + one, 0);
  out[threadIdx.x] = 1;
}
"""

ONES = [1] * 40

EXPECTED: dict[str, tuple[int, int, list[int]]] = {
    "release_inside": (1, 2 * 40, ONES),
    "release_after": (2, 2 * 40, ONES),
    "test_and_test_and_set": (2, 2 * 40, ONES),
    "with_backoff": (1, 40, ONES),
    "tickets": (1, 40, ONES),
    "hand_on": (1, 0, [40 - t for t in range(40)]),
    "meet_after": (1, 32, [64] * 64),
    "half_of_them": (1, 16, [32] * 64),
    "partitions": (1, 8, [sum(range(t // 8 * 8, t // 8 * 8 + 8)) for t in range(32)] * 2),
    "pairs": (1, 0, [0 if t & 1 else 100 + 4 * (t + 1) for t in range(40)]),
    "sleep_once": (1, 0, [7] * 64),
    "two_locks": (1, 40, ONES),
}
"""Blocks, the first word of `count` after them, and `out`, a word for each thread of a block."""


@cache
def compiled(architecture: str) -> CompiledSource:
    return compile_source(SOURCE, name="locks.cu", architecture=architecture, cache=CACHE)


@pytest.fixture(autouse=True, scope="module")
def _quick_code(quick_code):
    """Compiling is nearly all the time these tests take."""


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize(
    ("architecture", "isa"),
    [("sm_90", "ptx"), ("sm_75", "sass"), ("sm_90", "sass"), ("sm_120", "sass")],
)
def test_who_waits_for_others_lets_them_run(
    name: str, architecture: str, isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = compiled(architecture)
    kernel = module.kernel(name) if isa == "ptx" else module.machine_kernel(name, CACHE)
    blocks, count, out = EXPECTED[name]
    words = Array("s32", (len(out),))
    arguments = {"lock": words, "count": words, "out": words}
    launch = Launch((blocks, 1, 1), (len(out), 1, 1), arguments)
    traces = []
    for executor in ("engine", "reference"):
        memory = Memory.build(kernel, launch)
        trace = traced(kernel, launch, memory, executor=executor, budget=BUDGET)
        assert memory.array("count")[0] == count, executor
        np.testing.assert_array_equal(memory.array("out"), out, executor)
        traces.append(by_warp(trace.records()))
    assert traces[0] == traces[1]
    if architecture == "sm_90":
        monkeypatch.setattr("kernelcast.execution.engine.worker._LOG_BYTES", 64)
        memory, needed = Memory.build(kernel, launch), needed_for_trace(kernel)
        trace = traced(kernel, launch, memory, budget=BUDGET, needed=needed)
        assert by_warp(trace.records()) == traces[1], "where only the trace counts, drained often"
