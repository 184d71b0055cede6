"""Single precision as machine code: the oracle is the PTX of the same source, bit for bit."""

from __future__ import annotations

import pytest
from tests.execution.machine_code import ARCHITECTURES, disagreements, kernels
from tests.isas.sass.float_kernels import Work, differences
from tests.isas.sass.integer_kernels import executors_on

from kernelcast.ir import Array, Launch

MODES = ("rn", "rz", "rm", "rp")
RELATIONS = ("lt", "le", "eq", "neu", "gtu", "num", "nan")
THREE = ("f32", "f32", "f32")

ARITHMETIC = Work(
    (
        *("x + y", "x - y", "x * y", "fmaf(x, y, z)", "-x + fabsf(y)", "x * 1.7f", "-x"),
        *("fmaf(x, 3.f, z)", "fmaf(-x, y, -0.7f)", "fmaf(x, -y, fabsf(z))", "__saturatef(x)"),
        *(f"{op}.{m}.f32 %0, %1, %2;" for op in ("add", "sub", "mul") for m in MODES),
        *(f"fma.{m}.f32 %0, %1, %2, %3;" for m in MODES),
        *("add.rz.ftz.sat.f32 %0, %1, %2;", "mul.rn.ftz.f32 %0, %1, %2;"),
        *("fma.rp.ftz.f32 %0, %1, %2, %3;", "mul.rn.sat.f32 %0, %1, %2;"),
        *("neg.ftz.f32 %0, %1;", "abs.ftz.f32 %0, %1;", "copysign.f32 %0, %1, %2;"),
    ),
    THREE,
    "f32",
)
CHOICES = Work(
    (
        *("fminf(x, y)", "fmaxf(x, fmaxf(y, z))", "fminf(fmaxf(x, y), z)"),
        *("min.ftz.f32 %0, %1, %2;", "slct.f32.f32 %0, %1, %2, %3;"),
        *("x < y ? x : z", "x > y ? -y : fabsf(z)", "x == y ? 1.f : z", "!(x <= z) ? y : 0.f"),
        "set.geu.ftz.f32.f32 %0, %1, %2;",
        ".reg .pred c; setp.gt.f32 c, %1, %3; set.lt.or.f32.f32 %0, %1, %2, c;",
    ),
    THREE,
    "f32",
)
COMPARISONS = Work(
    (
        *("x < y", "x != y", "!(x >= y)", "isnan(x)", "x < y && y < z", "(x < y) != (y > z)"),
        *(
            ".reg .pred p, q, c; .reg .b32 a, b; setp.gt.f32 c, %2, %3;"
            f"setp.{relation}{join} p|q, %1, %2{other};"
            "selp.u32 a, 1, 0, p; selp.u32 b, 2, 0, q; or.b32 %0, a, b;"
            for relation in RELATIONS
            for join, other in ((".and.ftz.f32", ", c"), (".xor.f32", ", !c"), (".f32", ""))
        ),
        "set.lt.u32.f32 %0, %1, %2;",
        ".reg .pred p; testp.normal.f32 p, %1; selp.u32 %0, 1, 0, p;",
    ),
    THREE,
    "u32",
)
DIVISION = Work(
    (
        *("x / y", "3.f / x", "1.f / x", "sqrtf(x)", "div.rn.ftz.f32 %0, %1, %2;"),
        *(f"div.{m}.f32 %0, %1, %2;" for m in MODES),
        *(f"{op}.{m}.f32 %0, %1;" for op in ("rcp", "sqrt") for m in MODES),
        *("rcp.rn.ftz.f32 %0, %1;", "sqrt.rn.ftz.f32 %0, %1;"),
    ),
    ("f32", "f32"),
    "f32",
)
APPROXIMATE = Work(
    (
        *(
            f"{function}.approx{ftz}.f32 %0, %1;"
            for function in ("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos")
            for ftz in ("", ".ftz")
        ),
        "tanh.approx.f32 %0, %1;",
        *(
            f"div.{kind}{ftz}.f32 %0, %1, %2;"
            for kind in ("approx", "full")
            for ftz in ("", ".ftz")
        ),
        *("__expf(x)", "__logf(x)", "__powf(x, y)", "__fdividef(x, y)", "__tanf(x)"),
    ),
    ("f32", "f32"),
    "f32",
)
FUNCTIONS = Work(
    (
        *("expf(x)", "logf(x)", "sinf(x)", "cosf(x)", "powf(x, y)", "tanhf(x)", "erff(x)"),
        *("rsqrtf(x)", "log1pf(x)", "cbrtf(x)", "hypotf(x, y)", "fmodf(x, y)", "atan2f(x, y)"),
    ),
    ("f32", "f32"),
    "f32",
)
WORKS = {"arithmetic": ARITHMETIC, "choices": CHOICES, "comparisons": COMPARISONS}
SEQUENCES = {"division": DIVISION, "approximate": APPROXIMATE, "functions": FUNCTIONS}
"""What the compiler makes many instructions of, much the same on all chips."""


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_single_precision_is_that_of_ptx(architecture: str, name: str) -> None:
    executors = executors_on(architecture)
    assert not differences(WORKS, name, architecture, executors=executors)


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("architecture", ("sm_75", "sm_90", "sm_120"))
def test_mathematical_functions_are_those_of_ptx(architecture: str, name: str) -> None:
    assert not differences(SEQUENCES, name, architecture)


def test_the_reference_computes_the_functions_of_the_special_unit() -> None:
    assert not differences(SEQUENCES, "approximate", "sm_80", executors=("reference",))


def test_fast_mathematical_functions_are_those_of_ptx() -> None:
    works = {"functions": FUNCTIONS}
    assert not differences(works, "functions", "sm_86", extra=("-use_fast_math",))


def test_choices_that_older_chips_lack() -> None:
    """Minima that pass NaN on, from sm_80; of three numbers and of packed pairs, from sm_100."""
    with_nan = ("min.NaN.f32 %0, %1, %2;", "max.ftz.NaN.f32 %0, %1, %2;")
    of_three = ("min.f32 %0, %1, %2, %3;", "max.NaN.f32 %0, %1, %2, %3;")
    assert not differences({"k": Work(with_nan, THREE, "f32")}, "k", "sm_80")
    assert not differences({"k": Work((*with_nan, *of_three), THREE, "f32")}, "k", "sm_100")


@pytest.mark.parametrize("architecture", ("sm_100", "sm_120"))
def test_packed_pairs(architecture: str) -> None:
    exchanged = (
        ".reg .f32 p, q; mov.b64 {p, q}, %1; .reg .b64 r, u; mov.b64 r, {p, p};"
        "mov.b64 u, {q, p}; fma.rn.f32x2 %0, r, u, %3;"
    )
    negated = (
        ".reg .f32 p, q; mov.b64 {p, q}, %1; neg.f32 p, p; neg.f32 q, q; .reg .b64 r;"
        "mov.b64 r, {p, q}; add.rn.f32x2 %0, r, %2;"
    )
    statements = (
        *("add.rn.f32x2 %0, %1, %2;", "mul.rz.ftz.f32x2 %0, %1, %2;"),
        *("sub.rp.f32x2 %0, %1, %2;", "fma.rm.f32x2 %0, %1, %2, %3;"),
        *(
            exchanged,
            negated,
            ".reg .b64 r; mov.b64 r, 0x3f80000040000000; add.rn.f32x2 %0, %1, r;",
        ),
    )
    work = Work(statements, ("f32x2",) * 3, "f32x2")
    assert not differences({"k": work}, "k", architecture, executors=("engine", "reference"))


UNIFORM = """
extern "C" __global__ void k(float *o, const float *p, float x, float y, int n, unsigned m) {
  float f = blockIdx.x * x + y; int j = (int)f; unsigned w = (unsigned)(f * y);
  o += 64 * blockIdx.x;
  o[__float2int_rn(f * 3.f)] = threadIdx.x; o[w + threadIdx.x % 4] += f * y;
  for (int i = 0; i < j; i++) o[i] += 1;
  o[40] = n / (m + blockIdx.x) + f + y;
}
"""


@pytest.mark.parametrize("architecture", ("sm_75", "sm_120"))
def test_the_uniform_data_path_computes_the_same(architecture: str) -> None:
    arrays = {"o": Array("f32", (512,)), "p": Array("f32", (8,))}
    launch = Launch((7, 1, 1), (32, 1, 1), {**arrays, "x": 0.7, "y": 1.25, "n": 99, "m": 7})
    assert not disagreements(UNIFORM, launch, architectures=[architecture])


def test_the_uniform_kernel_is_made_of_uniform_instructions() -> None:
    """Else the test above would test nothing."""
    _, machine = kernels(UNIFORM, "sm_120")
    assert {i.opcode for i in machine.instructions} >= {"UFMUL", "UF2I", "UI2FP"}
