"""Double precision as machine code: the oracle is the PTX of the same source, bit for bit."""

from __future__ import annotations

import pytest
from tests.execution.machine_code import ARCHITECTURES
from tests.isas.sass.float_kernels import Work, differences
from tests.isas.sass.integer_kernels import executors_on

MODES = ("rn", "rz", "rm", "rp")
THREE = ("f64", "f64", "f64")

ARITHMETIC = Work(
    (
        *("x + y", "x - y", "x * y", "fma(x, y, z)", "-x + fabs(y)", "x * 1.7", "fma(x, 3., z)"),
        *("fma(-x, y, -0.75)", "fma(x, -y, fabs(z))"),
        *(f"{op}.{m}.f64 %0, %1, %2;" for op in ("add", "mul") for m in MODES),
        *(f"fma.{m}.f64 %0, %1, %2, %3;" for m in MODES),
        *("fmin(x, y)", "fmax(x, fmax(y, z))", "fmax(x, 2.)", "cvt.sat.f64.f64 %0, %1;"),
        *("x < y ? x : z", "x == y ? -y : fabs(z)"),
    ),
    THREE,
    "f64",
)
COMPARISONS = Work(
    (
        *("x < y", "x != y", "!(x >= y)", "isnan(x)", "x < y && y < z", "(x < y) != (y > z)"),
        *(
            ".reg .pred p, q, c; .reg .b32 a, b; setp.gt.f64 c, %2, %3;"
            f"setp.{relation}{join} p|q, %1, %2{other};"
            "selp.u32 a, 1, 0, p; selp.u32 b, 2, 0, q; or.b32 %0, a, b;"
            for relation in ("lt", "neu", "gtu", "num", "nan")
            for join, other in ((".and.f64", ", c"), (".xor.f64", ", !c"), (".f64", ""))
        ),
    ),
    THREE,
    "u32",
)
DIVISION = Work(
    (
        *("x / y", "3. / x", "1. / x", "sqrt(x)", "rsqrt(x)"),
        *(f"div.{m}.f64 %0, %1, %2;" for m in MODES),
        *(f"{op}.{m}.f64 %0, %1;" for op in ("rcp", "sqrt") for m in MODES),
        *("rcp.approx.ftz.f64 %0, %1;", "rsqrt.approx.ftz.f64 %0, %1;"),
    ),
    ("f64", "f64"),
    "f64",
)
FUNCTIONS = Work(
    ("exp(x)", "log(x)", "pow(x, y)", "sin(x)", "cbrt(x)", "tanh(x)"), ("f64", "f64"), "f64"
)
WORKS = {"arithmetic": ARITHMETIC, "comparisons": COMPARISONS}
SEQUENCES = {"division": DIVISION, "functions": FUNCTIONS}
"""What the compiler makes many instructions of, much the same on all chips."""


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_double_precision_is_that_of_ptx(architecture: str, name: str) -> None:
    executors = executors_on(architecture)
    assert not differences(WORKS, name, architecture, executors=executors)


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("architecture", ("sm_75", "sm_90", "sm_120"))
def test_functions_of_doubles_are_those_of_ptx(architecture: str, name: str) -> None:
    assert not differences(SEQUENCES, name, architecture)
