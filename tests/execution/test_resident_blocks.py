"""Blocks that run at the same time see each other's work, as those of a GPU do.

Both executors must run the same rounds in the same order, whatever the number of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelcast.analysis.meetings import meetings_of
from kernelcast.errors import BudgetError
from kernelcast.execution.engine import held_traces
from kernelcast.execution.engine.held_traces import HeldTraces
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cuda import CompiledSource, compile_source
from kernelcast.ir import Array, Kernel, Launch
from tests.kept import CACHE
from tests.tracing import Trace, by_warp, traced

SOURCE = r"""
// Every block waits for all others.
extern "C" __global__ void grid_barrier(int* count, int* out) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1);
    while (*(volatile int*)count < gridDim.x) {}
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile int*)count;
}

// List ranking by pointers that double their reach (Wyllie 1979): out holds who comes next.
extern "C" __global__ void double_reach(int* count, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int next; (next = out[i]) >= 0; ) {
    int after = out[next];
    if (after == next) break;
    __syncthreads();
    out[i] = after;
    count[i] += 1;
  }
}

// The same without a barrier.
extern "C" __global__ void double_reach_freely(int* count, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  #pragma unroll 1
  for (int turn = 0; turn < 1000; turn++) {
    int next = out[i], after = out[next];
    if (after == next) break;
    out[i] = after;
    count[i] += 1;
  }
}

// The first block goes over what all others change meanwhile.
extern "C" __global__ void one_goes_over_all(int* count, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  out[i] = 1;
  __syncthreads();
  if (i == 0)
    #pragma unroll 1
    for (int k = 0; k < gridDim.x * blockDim.x; k++) count[0] += out[k];
}

// Nothing to see: each block has its own, and nothing is read after it was written.
extern "C" __global__ void alone(int* count, int* out) {
  __shared__ int words[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  words[threadIdx.x] = count[i];
  __syncthreads();
  out[i] = words[31 - threadIdx.x];
}
"""
THREADS = 32
BUDGET = 200_000


@cache
def compiled(architecture: str) -> CompiledSource:
    return compile_source(SOURCE, name="resident.cu", architecture=architecture, cache=CACHE)


@pytest.fixture(autouse=True, scope="module")
def _quick_code(quick_code):
    """Compiling is nearly all the time these tests take."""


def kernel_of(name: str, isa: str = "sass") -> Kernel:
    module = compiled("sm_90")
    return module.kernel(name) if isa == "ptx" else module.machine_kernel(name, CACHE)


class Run:
    """What a kernel leaves where so many of its blocks run at a time."""

    def __init__(
        self,
        kernel: Kernel,
        blocks: int,
        resident: int,
        executor: str,
        *,
        is_list: bool = False,
        followed: Sequence[int] | None = None,
    ) -> None:
        words = Array("s32", (blocks * THREADS,))
        launch = Launch((blocks, 1, 1), (THREADS, 1, 1), {"count": words, "out": words})
        memory = Memory.build(kernel, launch)
        if is_list:
            memory.array("out")[:] = a_list(blocks * THREADS)
        self.trace: Trace = traced(
            kernel,
            launch,
            memory,
            blocks=followed,
            executor=executor,
            budget=BUDGET,
            resident=resident,
        )
        self.count: NDArray[np.int32] = memory.array("count")
        self.out: NDArray[np.int32] = memory.array("out")


def a_list(length: int) -> NDArray[np.int32]:
    """Who comes after each element, in an order that is chance; the last one comes after itself."""
    order = np.random.default_rng(1).permutation(length)
    after = np.empty(length, np.int32)
    after[order[:-1]] = order[1:]
    after[order[-1]] = order[-1]
    return after


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_a_block_may_wait_for_later_ones(isa: str) -> None:
    kernel = kernel_of("grid_barrier", isa)
    for executor in ("engine", "reference"):
        run = Run(kernel, 5, 5, executor)
        np.testing.assert_array_equal(run.out, 5, executor)
    with pytest.raises(BudgetError):
        Run(kernel, 5, 4, "engine")


@pytest.mark.parametrize("name", ["double_reach", "double_reach_freely"])
def test_pointers_of_all_blocks_double_their_reach(name: str) -> None:
    kernel = kernel_of(name)
    most = {resident: Run(kernel, 16, resident, "engine", is_list=True) for resident in (1, 16)}
    assert (most[1].out == most[16].out).all()
    # Alone, a block doubles the reach of a sixteenth of all pointers.
    assert most[1].count.max() > 2 * most[16].count.max()
    assert most[16].count.max() <= 13  # of 512 elements; 9 if all took turns one by one


def test_the_first_block_finds_what_others_have_changed() -> None:
    kernel = kernel_of("one_goes_over_all")
    assert Run(kernel, 40, 1, "engine").count[0] == THREADS
    assert Run(kernel, 40, 4, "engine").count[0] == 40 * THREADS


@pytest.mark.parametrize("resident", [1, 2, 3, 7, 50])
@pytest.mark.parametrize(
    "name", ["double_reach", "double_reach_freely", "one_goes_over_all", "alone"]
)
def test_executors_run_the_same_rounds(name: str, resident: int) -> None:
    kernel = kernel_of(name)
    is_list = name.startswith("double")
    runs = [Run(kernel, 7, resident, e, is_list=is_list) for e in ("engine", "reference")]
    for what in ("count", "out"):
        np.testing.assert_array_equal(getattr(runs[0], what), getattr(runs[1], what))
    assert by_warp(runs[0].trace.records()) == by_warp(runs[1].trace.records())


@pytest.mark.parametrize("executor", ["engine", "reference"])
def test_some_blocks_are_followed_among_all(executor: str) -> None:
    kernel = kernel_of("double_reach")
    whole = Run(kernel, 12, 4, executor, is_list=True)
    some = Run(kernel, 12, 4, executor, is_list=True, followed=[2, 9])
    records = by_warp(whole.trace.records())
    assert by_warp(some.trace.records()) == {k: v for k, v in records.items() if k[0] in (2, 9)}
    np.testing.assert_array_equal(some.out, whole.out)


def test_all_blocks_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelcast.execution.engine.worker._UNLOGGED_INSTRUCTIONS", 160)
    kernel = kernel_of("double_reach")
    words = Array("s32", (16 * THREADS,))
    launch = Launch((16, 1, 1), (THREADS, 1, 1), {"count": words, "out": words})
    memory = Memory.build(kernel, launch)
    memory.array("out")[:] = a_list(16 * THREADS)
    with pytest.raises(BudgetError, match="all blocks together may execute"):
        execute(kernel, launch, memory, resident=16, threads=1, most=2000)


def test_traces_come_in_order_and_no_more_are_held_than_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = HeldTraces(kernel_of("alone"), [3, 5, 8])
    words = {block: np.full(2, block, np.uint64) for block in (3, 5, 8)}
    for block in (5, 3, 8, 5):
        held.add(block, words[block])
    assert list(held.end(5)) == []
    assert [int(part[0]) for part in held.end(3)] == [3, 5, 5]
    assert [int(part[0]) for part in held.end(8)] == [8]
    monkeypatch.setattr(held_traces, "MOST_HELD_BYTES", 20)
    held.add(3, words[3])
    with pytest.raises(BudgetError, match="the trace of blocks that run at the same time"):
        held.add(5, words[5])


def test_where_blocks_meet() -> None:
    def of(name: str, pointers: dict[int, str]) -> tuple[bool, int]:
        meetings = meetings_of(kernel_of(name), pointers)
        return meetings.matter, len(meetings.loops)

    apart = {0: "count", 8: "out"}
    assert of("alone", apart) == (False, 0)
    assert of("double_reach", apart) == (True, 1)
    assert of("one_goes_over_all", apart)[0]
    assert of("grid_barrier", apart)[0]
