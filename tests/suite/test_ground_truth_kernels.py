"""The kernels with known results: each computes what it should, and can be launched as written."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from tests.compiled_families import load_family
from tests.kept import CACHE

from kernelcast.errors import CompileError, NotFoundError
from kernelcast.execution.arguments import match_arguments
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends import LoadedModule, check_launch
from kernelcast.frontends.declarations import declared_kernels
from kernelcast.frontends.source.tokens import TokenKind, tokens
from kernelcast.ir import Array, Kernel, Launch
from kernelcast.machines.launch_limits import check_launch as check_limits
from kernelcast.machines.loader import load_machine
from kernelcast.machines.occupancy import occupancy_of_launch
from kernelcast.suite.expected import expected_result
from kernelcast.suite.expected.monte_carlo import philox
from kernelcast.suite.registry import families, kernel_named, kernels
from kernelcast.suite.table import (
    MATRIX_CODE,
    NVIDIA_HEADERS,
    Scale,
    SuiteKernel,
)

TARGET = "sm_90"
CHIP = "h100-sxm"
MOST_BYTES = 256 << 20
MOST_SHARED_BYTES = 48 << 10
"""More must be asked for before a launch, which a plain runner does not do."""
LEAST_CONFIGURATIONS = 6

KERNELS = tuple(kernels().values())
TEMPLATES = tuple(k for k in KERNELS if "<" in k.expression)

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)


@pytest.fixture(autouse=True, scope="module")
def _quick_code(quick_code):
    """Compiling is nearly all the time these tests take."""


@cache
def compiled(family: str) -> LoadedModule:
    return load_family(family, TARGET, CACHE)


@cache
def read(family: str, name: str) -> Kernel:
    return compiled(family).kernel(name)


def code(kernel: SuiteKernel, launch: Launch) -> Kernel:
    try:
        return read(kernel.family, launch.kernel)
    except CompileError as error:
        if NVIDIA_HEADERS in kernel.needs and "open source file" in error.what:
            pytest.skip("NVIDIA's headers are not installed")
        raise


def check(kernel: SuiteKernel, launch: Launch) -> None:
    """Execute one launch and compare what it leaves behind."""
    made = code(kernel, launch)
    if MATRIX_CODE in kernel.needs:
        pytest.skip("wmma of PTX is not executed; as machine code it is, in test_known_kernels.py")
    launch = check_launch(made, launch)
    memory = Memory.build(made, launch)
    expected = expected_result(kernel, launch)
    before = memory.image()
    execute(made, launch, memory, executor="engine", cache=CACHE)
    assert not (difference := expected.difference(memory)), f"{launch}: {difference}"
    changed = {label for label, data in memory.image().items() if data != before[label]}
    assert changed <= set(expected.arrays), "an array changes that no result is given for"


@every_kernel
def test_a_kernel_computes_what_it_should(kernel: SuiteKernel) -> None:
    """At the first small configuration and all others that run the same code."""
    first, *others = kernel.launches(Scale.SMALL)
    for launch in (first, *(other for other in others if other.kernel == first.kernel)):
        check(kernel, launch)


@pytest.mark.parametrize("kernel", TEMPLATES, ids=lambda k: k.name)
def test_another_instance_of_a_template_computes_the_same(kernel: SuiteKernel) -> None:
    """The last one that differs from the first: all of them would take too long."""
    first, *others = kernel.launches(Scale.SMALL)
    check(kernel, [other for other in others if other.kernel != first.kernel][-1])


@every_kernel
def test_a_full_launch_fits_kernel_and_chip(kernel: SuiteKernel) -> None:
    chip = load_machine(CHIP)
    for launch in kernel.launches(Scale.FULL):
        made = code(kernel, launch)
        fitted = check_launch(made, launch)
        assert match_arguments(made, fitted)
        occupancy_of_launch(chip, made.resources, fitted)
        shared_bytes = made.resources.static_shared_bytes + fitted.smem_bytes
        assert shared_bytes <= MOST_SHARED_BYTES
        check_limits(chip, fitted)
        arrays = [value for value in fitted.args.values() if isinstance(value, Array)]
        assert sum(array.size_bytes for array in arrays) <= MOST_BYTES


@every_kernel
def test_configurations_differ_and_keep_their_code_at_both_scales(
    kernel: SuiteKernel,
) -> None:
    small, full = kernel.launches(Scale.SMALL), kernel.launches(Scale.FULL)
    for launches in (small, full):
        assert len({str((launch, launch.args)) for launch in launches}) >= LEAST_CONFIGURATIONS
    assert [launch.kernel for launch in small] == [launch.kernel for launch in full]


@pytest.mark.parametrize("family", families())
def test_a_file_holds_the_kernels_of_its_table_and_no_host_code(family: str) -> None:
    text = families()[family][0].source.read_text()
    assert {k.name for k in declared_kernels(text)} == {k.name for k in families()[family]}
    source = "".join(token.text for token in tokens(text) if token.kind is not TokenKind.COMMENT)
    assert set(re.findall(r"#include\s*(\S+)", source)) <= {"<cuda_fp16.h>", "<mma.h>"}
    assert not re.search(r"<<<|\bcuda[A-Z]\w+\(|\basm\b|\b__host__\b", source)


def test_the_suite_is_as_broad_as_it_is_meant_to_be() -> None:
    assert len(KERNELS) >= 60
    assert len(families()) >= 12
    assert len(KERNELS) == sum(map(len, families().values())), "two kernels share a name"


def test_the_random_numbers_that_results_are_compared_with_are_those_of_philox() -> None:
    """Salmon et al. 2011, the known answer for a counter and a key of zeros."""
    words = [int(word[0]) for word in philox(np.zeros(1, int), 0, 0)]
    assert words == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_an_unknown_kernel_is_answered_with_the_nearest() -> None:
    assert kernel_named("gemm_tiled").family == "gemm"
    with pytest.raises(NotFoundError, match="gemm_naive"):
        kernel_named("gemm_nave")
