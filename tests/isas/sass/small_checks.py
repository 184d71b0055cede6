"""Whether the machine code of a small kernel does what it should."""

from __future__ import annotations

import numpy as np
from tests.execution.machine_code import disagreements, kernels
from tests.isas.sass.integer_kernels import executors_on
from tests.isas.sass.small_kernels import Small, fill, words

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.ir import Kernel


def check_by_ptx(small: Small, architecture: str) -> None:
    """Its own PTX is the oracle."""
    _machine_code(small, architecture)
    assert not disagreements(
        small.source,
        small.launch,
        architectures=[architecture],
        executors=executors_on(architecture),
        prepare=fill,
    )


def check_by_numpy(small: Small, architecture: str, budget: int | None = None) -> None:
    """What the kernel is said to leave is the oracle."""
    kernel = _machine_code(small, architecture)
    assert small.expected is not None
    expected = small.expected(words())
    for executor in executors_on(architecture):
        memory = Memory.build(kernel, small.launch)
        fill(memory)
        execute(kernel, small.launch, memory, executor=executor, budget=budget)
        assert np.array_equal(memory.array("o")[: expected.size], expected), executor


def _machine_code(small: Small, architecture: str) -> Kernel:
    _, kernel = kernels(small.source, architecture)
    assert small.is_held_by(kernel), "the test tests nothing"
    return kernel
