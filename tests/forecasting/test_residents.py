"""Blocks that see each other's work are executed as many at a time as a GPU holds, or alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kept import CACHE

from kernelcast.execution.blocks import all_blocks
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.forecasting import residents
from kernelcast.forecasting.residents import with_residents
from kernelcast.frontends.cuda import compile_source
from kernelcast.ir import Array, Launch
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.run import ENOUGH

SOURCE = r"""
extern "C" __global__ void follow(int* next) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (next[i] != next[next[i]]) next[i] = next[next[i]];
}

extern "C" __global__ void in_place(int* next) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 4; k++) next[i] = 3 * next[i] + k;
}
"""


def run_of(name: str, blocks: int) -> Run:
    module = compile_source(SOURCE, name="residents.cu", architecture="sm_80", cache=CACHE)
    kernel = module.machine_kernel(name, CACHE)
    launch = Launch((blocks, 1, 1), (64, 1, 1), {"next": Array("s32", (64 * blocks,))})
    memory = Memory.build(kernel, launch)
    memory.array("next")[:] = np.minimum(np.arange(64 * blocks) + 1, 64 * blocks - 1)
    return Run(kernel, launch, memory, all_blocks(blocks))


def test_as_many_run_as_the_gpu_holds() -> None:
    chip = load_machine("a100-sxm-80gb")
    run = run_of("follow", 40)
    before = run.memory.array("next").copy()
    together, sampling = with_residents(run, ENOUGH, [chip])
    assert together.resident == sampling.resident == 108 * 32
    assert sampling.blocks == 40
    np.testing.assert_array_equal(run.memory.array("next"), before, "memory is left as it was")


@pytest.mark.parametrize(("name", "blocks"), [("follow", 1), ("in_place", 40)])
def test_blocks_without_others_to_see_run_alone(name: str, blocks: int) -> None:
    run = run_of(name, blocks)
    assert with_residents(run, ENOUGH, [load_machine("a100-sxm-80gb")]) == (run, ENOUGH)


def test_few_blocks_are_profiled_where_each_costs_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residents, "_MOST_PROFILED", 1)
    _, sampling = with_residents(run_of("follow", 40), ENOUGH, [load_machine("a100-sxm-80gb")])
    assert sampling.blocks == 32


def test_a_launch_that_costs_too_much_is_sampled_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelcast.execution.engine.worker._UNLOGGED_INSTRUCTIONS", 400)
    monkeypatch.setattr(residents, "MOST_TOGETHER", 1000)
    run = run_of("follow", 40)
    assert with_residents(run, ENOUGH, [load_machine("a100-sxm-80gb")]) == (run, ENOUGH)
