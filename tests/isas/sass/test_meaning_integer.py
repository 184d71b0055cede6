"""Integer arithmetic as machine code: the oracle is the PTX of the same source."""

from __future__ import annotations

import pytest
from tests.execution.machine_code import ARCHITECTURES, disagreements, kernels
from tests.isas.sass.integer_kernels import (
    executors_on,
    fill,
    launch,
    source,
    uniform_launch,
    uniform_source,
)
from tests.isas.sass.integer_statements import (
    EXTREMES,
    PRODUCTS,
    SUMS,
    UNIFORM,
    WIDE_EXTREMES,
    WIDE_PRODUCTS,
    WIDE_SUMS,
    WIDE_UNIFORM,
)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        pytest.param(SUMS, WIDE_SUMS, id="sums"),
        pytest.param(PRODUCTS, WIDE_PRODUCTS, id="products"),
        pytest.param(EXTREMES, WIDE_EXTREMES, id="extremes"),
    ],
)
def test_integer_arithmetic_is_that_of_ptx(architecture, narrow, wide):
    assert not disagreements(
        source(narrow, wide),
        launch(narrow, wide),
        architectures=[architecture],
        executors=executors_on(architecture),
        prepare=fill,
    )


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_uniform_data_path_computes_the_same(architecture):
    assert not disagreements(
        uniform_source(UNIFORM, WIDE_UNIFORM),
        uniform_launch(UNIFORM, WIDE_UNIFORM),
        architectures=[architecture],
        executors=executors_on(architecture),
    )


def test_the_uniform_kernel_is_made_of_uniform_instructions():
    """Else the test above would test nothing."""
    _, machine = kernels(uniform_source(UNIFORM, WIDE_UNIFORM), "sm_120")
    used = {i.opcode for i in machine.instructions}
    assert used >= {
        *("UIADD3", "UIMAD", "ULEA", "ULOP3", "USHF", "UISETP", "USEL", "UPRMT"),
        *("UFLO", "UPOPC", "UBREV", "USGXT", "UBMSK", "UVIMNMX", "UIMNMX"),
    }
