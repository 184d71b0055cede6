"""Half precision as machine code: the oracle is the PTX of the same source, bit for bit."""

from __future__ import annotations

import pytest
from tests.execution.machine_code import ARCHITECTURES
from tests.isas.sass.float_kernels import Work, differences
from tests.isas.sass.integer_kernels import executors_on

FROM_SM_80 = tuple(a for a in ARCHITECTURES if a != "sm_75")
FROM_SM_90 = ("sm_90", "sm_100", "sm_120")


def halves(type: str, *instructions: str) -> str:
    """Instructions on the halves a, b of x and c, d of y; the result is {a, b}."""
    return (
        ".reg .b16 a, b, c, d; mov.b32 {a, b}, %1; mov.b32 {c, d}, %2;"
        + "".join(i.replace("TYPE", type) for i in instructions)
        + "mov.b32 %0, {a, b};"
    )


def comparisons_of(type: str) -> tuple[str, ...]:
    """Comparisons of pairs, with and without a predicate to join."""
    return tuple(
        ".reg .pred p, q, c; .reg .b32 r, s; setp.gt.s32 c, %3, 0;"
        f"setp.{test}.{type}x2 p|q, %1, %2{other};"
        "selp.u32 r, 0x3c00, 0, p; selp.u32 s, 0x40000000, 0, q; or.b32 %0, r, s;"
        for test, other in (("lt", ""), ("geu", ""), ("nan", ""), ("ne.xor", ", c"))
    )


F16 = Work(
    (
        *(f"{op}.f16x2 %0, %1, %2;" for op in ("add", "sub", "mul", "sub.sat", "mul.sat")),
        *("fma.rn.f16x2 %0, %1, %2, %3;", "fma.rn.sat.f16x2 %0, %1, %2, %3;"),
        *("neg.f16x2 %0, %1;", "abs.f16x2 %0, %1;"),
        halves("f16", "add.TYPE a, a, d;", "mul.TYPE b, b, c;"),
        halves("f16", "fma.rn.TYPE a, a, d, b;", "fma.rn.TYPE b, c, a, b;"),
        halves("f16", "sub.TYPE a, d, b;", "neg.TYPE b, c;", "abs.TYPE b, b;"),
        halves("f16", ".reg .pred p;", "setp.lt.TYPE p, a, d;", "@p mov.b16 a, b;"),
        *(
            f".reg .b32 k; mov.b32 k, 0x3c00c200; {op}.f16x2 %0, {sources};"
            for op, sources in (
                *(("add", "%1, k"), ("mul", "%1, k")),
                *(("fma.rn", "%1, k, %2"), ("fma.rn", "%1, %2, k")),
            )
        ),
        *comparisons_of("f16"),
        *("set.lt.f16x2.f16x2 %0, %1, %2;", "set.gtu.u32.f16x2 %0, %1, %2;"),
        ".reg .b16 a, b; .reg .f32 f, g; mov.b32 {a, b}, %1; cvt.f32.f16 f, a; cvt.f32.f16 g, b;"
        "add.f32 f, f, g; cvt.rz.f16.f32 a, f; cvt.rn.f16.f32 b, g; mov.b32 %0, {b, a};",
    ),
    ("f16x2",) * 3,
    "f16x2",
)
F16_FROM_SM_80 = Work(
    (
        *(f"{op}.f16x2 %0, %1, %2;" for op in ("min", "max", "max.NaN")),
        "fma.rn.relu.f16x2 %0, %1, %2, %3;",
        halves("f16", "min.TYPE a, b, c;"),
        ".reg .b32 u; min.f16x2 u, %1, %2; min.f16x2 %0, u, %3;",
        *("tanh.approx.f16x2 %0, %1;", "ex2.approx.f16x2 %0, %1;"),
    ),
    ("f16x2",) * 3,
    "f16x2",
)
BF16 = Work(
    (
        *("fma.rn.bf16x2 %0, %1, %2, %3;", "fma.rn.relu.bf16x2 %0, %1, %2, %3;"),
        *("min.bf16x2 %0, %1, %2;", "max.NaN.bf16x2 %0, %1, %2;"),
        *("neg.bf16x2 %0, %1;", "abs.bf16x2 %0, %1;"),
        halves("bf16", "fma.rn.TYPE a, a, d, b;", "fma.rn.TYPE b, c, a, b;"),
        ".reg .b32 k; mov.b32 k, 0x3f80c300; fma.rn.bf16x2 %0, %1, k, %2;",
        ".reg .b32 u; max.NaN.bf16x2 u, %1, %2; max.NaN.bf16x2 %0, u, %3;",
    ),
    ("bf16x2",) * 3,
    "bf16x2",
)
BF16_FROM_SM_90 = Work(
    (
        *(f"{op}.bf16x2 %0, %1, %2;" for op in ("add", "sub", "mul")),
        halves("bf16", "add.TYPE a, a, d;", "mul.TYPE b, b, c;"),
        *comparisons_of("bf16"),
        *("set.geu.bf16x2.bf16x2 %0, %1, %2;", "set.lt.u32.bf16x2 %0, %1, %2;"),
        *("tanh.approx.bf16x2 %0, %1;", "ex2.approx.ftz.bf16x2 %0, %1;"),
    ),
    ("bf16x2",) * 3,
    "bf16x2",
)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_half_precision_is_that_of_ptx(architecture: str) -> None:
    assert not differences({"k": F16}, "k", architecture, executors=executors_on(architecture))


@pytest.mark.parametrize("name", ("f16", "bf16"))
@pytest.mark.parametrize("architecture", FROM_SM_80)
def test_minima_and_bfloat16_are_those_of_ptx(architecture: str, name: str) -> None:
    works = {"f16": F16_FROM_SM_80, "bf16": BF16}
    assert not differences(works, name, architecture, executors=executors_on(architecture))


@pytest.mark.parametrize("architecture", FROM_SM_90)
def test_sums_of_bfloat16_are_those_of_ptx(architecture: str) -> None:
    works = {"k": BF16_FROM_SM_90}
    assert not differences(works, "k", architecture, executors=executors_on(architecture))
