"""Whether the machine code of a small kernel does what it should."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np
from tests.execution.machine_code import compile_together, disagreements, kernels
from tests.isas.sass.integer_kernels import executors_on
from tests.isas.sass.rare_kernels import BEYOND_PTX, RARE
from tests.isas.sass.small_kernels import ALL, SMALL, WAITING, Small, fill, words

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.ir import Kernel

TABLES = (SMALL, WAITING, RARE, BEYOND_PTX)
for _architecture in ALL:
    _every = chain.from_iterable(table.values() for table in TABLES)
    compile_together((s.source for s in _every if _architecture in s.architectures), _architecture)


def cases(table: Mapping[str, Small]) -> list[tuple[str, str]]:
    """Names of kernels and their architectures: those of an architecture in a row, so that its
    listing is read once."""
    return [(name, a) for a in ALL for name, s in table.items() if a in s.architectures]


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
