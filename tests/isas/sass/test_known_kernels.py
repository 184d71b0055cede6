"""Machine code of the kernels with known results computes what it should, on every architecture.

The oracle is NumPy, in `suite/expected`. A failure says that the meaning of an
opcode, the launch state or the order of the blocks is wrong.
"""

from __future__ import annotations

from functools import cache

import pytest
from tests.compiled_families import load_family
from tests.kept import CACHE

from kernelcast.errors import CompileError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends import LoadedModule, check_launch
from kernelcast.ir import Kernel
from kernelcast.isas.sass.kernel import UNKNOWN
from kernelcast.suite.expected import expected_result
from kernelcast.suite.registry import families
from kernelcast.suite.table import NVIDIA_HEADERS, Scale

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
EVERY_FAMILY = ("sm_75", "sm_90", "sm_120")
"""Architectures on which all kernels are executed; on the others every third family, in turn."""


def chosen() -> list[tuple[str, str]]:
    names = sorted(families())
    return [
        (architecture, family)
        for number, architecture in enumerate(ARCHITECTURES)
        for at, family in enumerate(names)
        if architecture in EVERY_FAMILY or at % 3 == number % 3
    ]


@cache
def compiled(architecture: str, family: str) -> LoadedModule:
    try:
        return load_family(family, architecture, CACHE)
    except CompileError as error:
        needs_headers = any(NVIDIA_HEADERS in k.needs for k in families()[family])
        if needs_headers and "open source file" in error.what:
            pytest.skip("NVIDIA's headers are not installed")
        raise


@pytest.mark.parametrize(("architecture", "family"), chosen())
def test_machine_code_computes_what_it_should(architecture: str, family: str) -> None:
    for known in families()[family]:
        launch = known.launches(Scale.SMALL)[0]
        kernel = compiled(architecture, family).machine_kernel(launch.kernel)
        check_meanings(kernel)
        launch = check_launch(kernel, launch)
        memory = Memory.build(kernel, launch)
        expected = expected_result(known, launch)
        execute(kernel, launch, memory, executor="engine", cache=CACHE)
        assert not (difference := expected.difference(memory)), f"{known.name}: {difference}"


@pytest.mark.only_with_all
@pytest.mark.parametrize("architecture", sorted({*ARCHITECTURES} - {*EVERY_FAMILY}))
def test_every_instruction_of_the_other_kernels_has_a_meaning(architecture: str) -> None:
    for family in families():
        if (architecture, family) not in chosen():
            for known in families()[family]:
                launch = known.launches(Scale.SMALL)[0]
                check_meanings(compiled(architecture, family).machine_kernel(launch.kernel))


def check_meanings(kernel: Kernel) -> None:
    """AssertionError where it is not known what an instruction does."""
    unknown = [
        str(i)
        for i in kernel.instructions
        if any(step.opcode == UNKNOWN for step in kernel.steps(i.index))
    ]
    assert not unknown, kernel.label
