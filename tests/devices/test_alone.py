"""Sampled blocks of cooperative launches wait for no other."""

from __future__ import annotations

import pytest

from kernelcast import api
from kernelcast.errors import ExecutionError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.isas.ptx.alone import alone

BLOCKS, THREADS = 8, 64


@pytest.mark.parametrize("gpu", ["a100-sxm-80gb", "h100-sxm"])
def test_a_block_passes_a_barrier_of_the_grid_by_itself(built, gpu):
    """Three rounds of two barriers: with the values that the other blocks start with."""
    kernel = api.load(built("cooperative", (8, 0), (9, 0)), gpu=gpu)
    # The workspace stands behind the 512 numbers.
    launch = api.Launch(BLOCKS, THREADS, {"arg0": api.s32(1024), "arg1": 512})
    memory = Memory.build(kernel, launch)
    (array,) = (region for region in memory.regions if region.is_argument)
    workspace = array.address + 4 * 512
    assert kernel.constants is not None
    for word in kernel.constants.launch_words:
        if word.name.startswith("workspace"):
            half = workspace >> 32 if word.name.endswith("high") else workspace & 0xFFFF_FFFF
            memory.parameters[word.offset_bytes :][:4].view("u4")[0] = half
    held = memory.array(array.label)
    held[:512] = range(512)
    with pytest.raises(ExecutionError):
        execute(kernel, launch, memory, blocks=[3], threads=1, budget=20_000)
    held[:512] = range(512)
    held[512:] = 0
    execute(alone(kernel), launch, memory, blocks=[5, 3], threads=1, budget=20_000)
    # Each of three rounds takes what the next block held at first, and adds one.
    assert held[192:256].tolist() == [n + 65 for n in range(192, 256)]
    assert held[320:384].tolist() == [n + 65 for n in range(320, 384)]
    assert held[:192].tolist() == list(range(192))  # of blocks that did not run


def test_one_without_barriers_is_the_same(built):
    kernel = api.load(built("vector_add"), gpu="a100-sxm-80gb")
    assert alone(kernel).meanings == kernel.meanings
