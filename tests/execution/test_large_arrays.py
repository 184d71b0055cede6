"""Arrays that are filled where they are touched: what kernels find there is what a full array
holds, and what nobody touches stays untouched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelcast.errors import LaunchError
from kernelcast.execution.blocks import all_blocks
from kernelcast.execution.execute import execute
from kernelcast.execution.fills import ELEMENT_TYPES, PIECE_BYTES, fill_array
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.frontends.loading import load_bytes
from kernelcast.ir import Array, Fill, Kernel, Launch
from tests.kept import CACHE

SOURCE = b"""
extern "C" __global__ void k(const unsigned* x, unsigned* y, unsigned long long step) {
  unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i * step] += x[i * step] + 1;
}
"""
ELEMENTS = 1 << 24
BLOCKS, THREADS = 2, 64
X = Array("u32", (ELEMENTS,), Fill("random", (1,)))
Y = Array("u32", (ELEMENTS,), Fill("randint", (5, 90, 2)))


@pytest.fixture(scope="module", params=["ptx", "sass"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    module = load_bytes(SOURCE, name="k.cu", architecture="sm_90", cache=CACHE)
    return module.kernel() if request.param == "ptx" else module.machine_kernel()


def filled(memory: Memory, label: str) -> np.ndarray:
    region = next(r for r in memory.regions if r.label == label)
    pieces = memory.filled_pieces(region)
    assert pieces is not None
    return np.flatnonzero(pieces)


def expected(step: int, count: int) -> np.ndarray:
    x, y = (np.zeros(ELEMENTS, ELEMENT_TYPES["u32"]) for _ in range(2))
    fill_array(x, X)
    fill_array(y, Y)
    at = np.arange(count) * step
    y[at] += x[at] + 1
    return y


@pytest.mark.parametrize("step", [1, 1 << 9, (1 << 17) + 4])
def test_only_what_is_touched_is_filled(kernel, step):
    launch = Launch(BLOCKS, THREADS // BLOCKS, {"x": X, "y": Y, "step": step})
    memory = Memory.build(kernel, launch)
    execute(kernel, launch, memory, threads=2)
    touched = np.unique(np.arange(THREADS) * step * 4 // PIECE_BYTES)
    for label in ("x", "y"):
        assert np.array_equal(filled(memory, label), touched)
    assert np.array_equal(memory.array("y"), expected(step, THREADS))


def test_what_is_put_back_is_what_was_there(kernel):
    """Pieces that are filled while a run is followed stay filled."""
    launch = Launch(BLOCKS, THREADS // BLOCKS, {"x": X, "y": Y, "step": 1 << 18})
    memory = Memory.build(kernel, launch)
    run = Run(kernel, launch, memory, all_blocks(BLOCKS))
    run.follow()
    run.execute()
    assert np.array_equal(memory.array("y"), expected(1 << 18, THREADS))


def test_an_access_past_the_last_piece_is_a_fault(kernel):
    x = replace(X, shape=(ELEMENTS - 40,))
    step = ELEMENTS // (THREADS - 1)
    launch = Launch(BLOCKS, THREADS // BLOCKS, {"x": x, "y": Y, "step": step})
    memory = Memory.build(kernel, launch)
    with pytest.raises(Exception, match="outside every array"):
        execute(kernel, launch, memory)


def test_a_fill_that_does_not_fit_is_told_before_the_run(kernel):
    wrong = Array("u8", (1 << 26,), Fill("randint", (0, 300, 1)))
    launch = Launch(1, 32, {"x": wrong, "y": Y, "step": 1})
    with pytest.raises(LaunchError):
        Memory.build(kernel, launch)
