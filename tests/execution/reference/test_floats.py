"""Floating-point instructions against exact fractions, rounded by definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.execution.reference.exact_rounding import rounded, value_of, width
from tests.execution.reference.one_instruction import compute, f16, f32, f64, from_f32

NAN, INF = 0x7FC0_0000, 0x7F80_0000
FORMATS = ("f16", "bf16", "f32", "f64")


@st.composite
def numbers(draw: st.DrawFn, count: int) -> tuple[str, list[int], list[Fraction]]:
    """A format with bits of finite numbers, often of like size, and their exact values."""
    name = draw(st.sampled_from(FORMATS))
    bits = [draw(st.integers(0, (1 << width(name)) - 1)) for _ in range(count)]
    if draw(st.booleans()):
        bits = [bits[0], *(bits[0] ^ (b & 0x8000_0000_0000_01FF) for b in bits[1:])]
        bits = [b % (1 << width(name)) for b in bits]
    values = [value_of(name, b) for b in bits]
    assume(all(math.isfinite(v) for v in values))
    return name, bits, [Fraction(v) for v in values]


@given(numbers(2))
def test_sums_products_and_quotients_are_correctly_rounded(
    case: tuple[str, list[int], list[Fraction]],
) -> None:
    name, (a, b), (x, y) = case
    if x + y:
        assert compute(f"add.{name}", a, b) == rounded(name, x + y)
    if x - y:
        assert compute(f"sub.rn.{name}", a, b) == rounded(name, x - y)
    negative = value_of(name, a) * value_of(name, b) < 0 or (x < 0) != (y < 0)
    if x * y:
        assert compute(f"mul.rn.{name}", a, b) == rounded(name, x * y, negative_zero=negative)
    if x and y and name in ("f32", "f64"):
        assert compute(f"div.rn.{name}", a, b) == rounded(name, x / y)


@given(numbers(3))
def test_fma_rounds_once(case: tuple[str, list[int], list[Fraction]]) -> None:
    name, (a, b, c), (x, y, z) = case
    assume(x * y + z != 0)
    got = compute(f"fma.rn.{name}", a, b, c)
    if name in ("f32", "f64"):
        assert got == rounded(name, x * y + z)
    else:
        # Half precision passes through f64, exactly or rounded once there.
        assert got == rounded(name, Fraction(float(x) * float(y) + float(z)))


def test_fma_differs_from_multiply_and_add_where_the_product_is_inexact() -> None:
    a, c = f32(1 + 2.0**-12), f32(-(1 + 2.0**-11))
    assert from_f32(compute("fma.rn.f32", a, a, c)) == 2.0**-24
    assert from_f32(compute("add.f32", compute("mul.f32", a, a), c)) == 0.0
    near = f64(1 + 2.0**-30)
    assert compute("fma.rn.f64", near, near, f64(-(1 + 2.0**-29))) == f64(2.0**-60)


def test_fma_of_f32_is_not_rounded_twice() -> None:
    # 1 + 2**-24 lies half way; what tips it is 2**-75 below, beyond the 53 bits of f64.
    tiny = f32(2.0**-75)
    one_and_half_ulp = compute("fma.rn.f32", f32(1 + 2.0**-23), f32(1.0), f32(2.0**-24))
    assert from_f32(one_and_half_ulp) == 1 + 2.0**-22
    assert from_f32(compute("fma.rn.f32", f32(-(2.0**-37)), f32(2.0**-38), f32(1 + 2.0**-23))) == (
        1 + 2.0**-23
    )
    x, y = f32(1 + 2.0**-12), f32(1 + 2.0**-12)  # product 1 + 2**-11 + 2**-24: half way
    assert from_f32(compute("fma.rn.f32", x, y, tiny)) == 1 + 2.0**-11 + 2.0**-23
    assert from_f32(compute("fma.rn.f32", x, y, f32(-(2.0**-75)))) == 1 + 2.0**-11


@pytest.mark.parametrize("name", ("f32", "f64"))
def test_sums_of_zeros_keep_their_sign(name: str) -> None:
    minus = 1 << (width(name) - 1)
    assert compute(f"add.{name}", minus, minus) == minus
    assert compute(f"add.{name}", minus, 0) == 0
    assert compute(f"fma.rn.{name}", minus, 0, minus) == minus
    assert compute(f"fma.rn.{name}", 0, 0, minus) == 0


def test_fma_f64_overflows_and_passes_specials_on() -> None:
    big = f64(1.7e308)
    assert compute("fma.rn.f64", big, f64(2.0), f64(0.0)) == f64(math.inf)
    assert compute("fma.rn.f64", big, f64(-2.0), f64(0.0)) == f64(-math.inf)
    assert math.isnan(value_of("f64", compute("fma.rn.f64", f64(math.inf), 0, f64(1.0))))
    assert compute("fma.rn.f64", f64(2.0), f64(3.0), f64(math.inf)) == f64(math.inf)


@given(st.floats(width=32, min_value=0, allow_infinity=False))
def test_square_root_and_reciprocal_are_correctly_rounded(x: float) -> None:
    assert compute("sqrt.rn.f32", f32(x)) == f32(math.sqrt(x))
    if x:
        assert compute("rcp.rn.f32", f32(x)) == rounded("f32", 1 / Fraction(x))


def test_ftz_flushes_inputs_and_results_with_their_sign() -> None:
    subnormal, least_normal = 0x0000_0001, 0x0080_0000
    assert compute("add.f32", subnormal, subnormal) == 2
    assert compute("add.ftz.f32", subnormal, subnormal) == 0
    assert compute("add.ftz.f32", 0x8000_0001, 0x8000_0000) == 0x8000_0000
    assert compute("mul.ftz.f32", least_normal, f32(-0.5)) == 0x8000_0000
    assert compute("mul.f32", least_normal, f32(-0.5)) == 0x8040_0000
    assert compute("abs.ftz.f32", 0x8000_0001) == 0


def test_saturation_clamps_to_zero_and_one_and_makes_nan_zero() -> None:
    assert compute("add.sat.f32", f32(0.75), f32(0.75)) == f32(1.0)
    assert compute("add.sat.f32", f32(-0.75), f32(0.5)) == 0
    assert compute("add.sat.f32", f32(0.25), f32(0.5)) == f32(0.75)
    assert compute("mul.sat.f32", INF, 0) == 0
    assert compute("fma.rn.sat.f16", f16(2.0), f16(3.0), f16(0.0)) == f16(1.0)


def test_minimum_prefers_numbers_and_orders_zeros() -> None:
    minus = 0x8000_0000
    assert compute("min.f32", 0, minus) == compute("min.f32", minus, 0) == minus
    assert compute("max.f32", 0, minus) == compute("max.f32", minus, 0) == 0
    assert compute("min.f32", NAN, f32(3.0)) == compute("max.f32", f32(3.0), NAN) == f32(3.0)
    assert math.isnan(from_f32(compute("min.f32", NAN, NAN)))
    assert math.isnan(from_f32(compute("min.NaN.f32", NAN, f32(3.0))))
    assert compute("max.xorsign.abs.f32", f32(-5.0), f32(2.0)) == f32(-5.0)
    assert compute("min.xorsign.abs.f32", f32(-5.0), f32(-2.0)) == f32(2.0)


def test_packed_halves_are_two_separate_numbers() -> None:
    a = f16(1.5) << 16 | f16(2.0)
    b = f16(0.25) << 16 | f16(-4.0)
    assert compute("add.f16x2", a, b) == f16(1.75) << 16 | f16(-2.0)
    assert compute("neg.f16x2", a) == f16(-1.5) << 16 | f16(-2.0)
    assert compute("fma.rn.bf16x2", 0x3F80_4000, 0x3F80_4000, 0) == 0x3F80_4080


def test_packed_singles_are_two_separate_numbers() -> None:
    a, b, c = (f32(x) << 32 | f32(y) for x, y in ((1.5, 2.0), (3.0, -1.0), (0.5, 8.0)))
    assert compute("fma.rn.f32x2", a, b, c) == f32(5.0) << 32 | f32(6.0)
    assert compute("mul.rn.f32x2", a, b) == f32(4.5) << 32 | f32(-2.0)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("ex2.approx.f32", 0.5, math.sqrt(2)),
        ("lg2.approx.f32", 10.0, math.log2(10)),
        ("sin.approx.f32", 1.0, math.sin(1)),
        ("cos.approx.f32", 1.0, math.cos(1)),
        ("tanh.approx.f32", 0.3, math.tanh(0.3)),
        ("rsqrt.approx.f32", 2.0, 1 / math.sqrt(2)),
        ("rcp.approx.ftz.f32", 3.0, 1 / 3),
        ("sqrt.approx.f32", 2.0, math.sqrt(2)),
    ],
)
def test_approximate_functions_are_close_to_the_true_ones(
    name: str, x: float, expected: float
) -> None:
    assert from_f32(compute(name, f32(x))) == pytest.approx(expected, rel=2**-23)


def test_approximate_functions_at_their_poles() -> None:
    assert compute("rcp.approx.f32", 0x8000_0000) == f32(-math.inf)
    assert compute("lg2.approx.f32", 0) == f32(-math.inf)
    assert math.isnan(from_f32(compute("rsqrt.approx.f32", f32(-1.0))))
    assert compute("ex2.approx.ftz.f32", f32(-130.0)) == 0
    assert compute("div.approx.f32", f32(1.0), f32(-math.inf)) == 0x8000_0000


@pytest.mark.parametrize(
    ("bits", "true"),
    [
        (f32(1.0), {"finite", "number", "normal"}),
        (1, {"finite", "number", "subnormal"}),
        (0, {"finite", "number", "normal"}),
        (INF, {"infinite", "number"}),
        (NAN, {"notanumber"}),
    ],
)
def test_testp_tells_the_kinds_of_numbers_apart(bits: int, true: set[str]) -> None:
    kinds = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    assert {k for k in kinds if compute(f"testp.{k}.f32", bits)} == true


def test_copysign_takes_the_sign_of_the_first_operand() -> None:
    assert compute("copysign.f32", f32(-0.0), f32(3.0)) == f32(-3.0)


@pytest.mark.parametrize("name", ("add.rz.f16", "fma.rm.bf16", "add.f32.f16", "mul.rn.relu.f16"))
def test_forms_without_a_definition_are_refused(name: str) -> None:
    with pytest.raises(LookupError):
        compute(name, *[0] * (3 if name.startswith("fma") else 2))


@pytest.mark.parametrize(
    ("mode", "a", "b", "expected"),
    [
        ("rm", 1.0, 2.0**-40, 1.0),
        ("rp", 1.0, 2.0**-40, 1.0 + 2.0**-23),
        ("rz", -1.0, -(2.0**-40), -1.0),
        ("rm", -1.0, -(2.0**-40), -1.0 - 2.0**-23),
        ("rz", 3.4028235e38, 3.4028235e38, 3.4028235e38),
        ("rp", 3.4028235e38, 3.4028235e38, float("inf")),
        ("rm", 1.0, -1.0, -0.0),
        ("rp", 1.0, -1.0, 0.0),
        ("rm", 0.0, 0.0, 0.0),
    ],
)
def test_directed_sums_by_hand(mode: str, a: float, b: float, expected: float) -> None:
    with np.errstate(over="ignore"):
        result, wanted = compute(f"add.{mode}.f32", f32(a), f32(b)), f32(expected)
    assert result == wanted


@given(numbers(3), st.sampled_from(("rz", "rm", "rp")))
def test_directed_modes_round_to_their_side(
    case: tuple[str, list[int], list[Fraction]], mode: str
) -> None:
    name, (a, b, c), (x, y, z) = case
    assume(name in ("f32", "f64"))
    negative = (value_of(name, a) * math.copysign(1, value_of(name, b))) < 0
    with np.errstate(all="ignore"):
        if x + y:
            assert compute(f"add.{mode}.{name}", a, b) == rounded(name, x + y, mode)
        if x * y:
            product = rounded(name, x * y, mode, negative_zero=negative)
            assert compute(f"mul.{mode}.{name}", a, b) == product
        if x and y:
            assert compute(f"div.{mode}.{name}", a, b) == rounded(name, x / y, mode)
            assert compute(f"rcp.{mode}.{name}", b) == rounded(name, 1 / y, mode)
        if x * y + z:
            assert compute(f"fma.{mode}.{name}", a, b, c) == rounded(name, x * y + z, mode)


@pytest.mark.parametrize("name", ("f32", "f64"))
def test_directed_square_roots_enclose_the_exact_one(name: str) -> None:
    bits = f32(2.0) if name == "f32" else f64(2.0)
    below, above = (compute(f"sqrt.{mode}.{name}", bits) for mode in ("rm", "rp"))
    assert above == below + 1 and compute(f"sqrt.rz.{name}", bits) == below
    assert Fraction(value_of(name, below)) ** 2 < 2 < Fraction(value_of(name, above)) ** 2
    four = f32(4.0) if name == "f32" else f64(4.0)
    assert {compute(f"sqrt.{mode}.{name}", four) for mode in ("rz", "rm", "rp")} == {
        f32(2.0) if name == "f32" else f64(2.0)
    }


def test_quotients_by_zero_are_infinite_in_every_mode() -> None:
    for mode in ("rz", "rm", "rp"):
        assert compute(f"div.{mode}.f32", f32(1.0), 0) == INF


def test_relu_makes_negative_numbers_zero_and_keeps_nan() -> None:
    assert compute("fma.rn.relu.f16", f16(2.0), f16(-3.0), f16(1.0)) == 0
    assert compute("fma.rn.relu.f16", f16(2.0), f16(3.0), f16(1.0)) == f16(7.0)
    assert math.isnan(value_of("f16", compute("fma.rn.relu.f16", 0x7E00, 0, 0)))


def test_subnormal_numbers_pass_approximate_functions_unless_flushed() -> None:
    least = 0x0000_0001  # 2**-149
    assert compute("lg2.approx.f32", least) == f32(-149.0)
    assert compute("lg2.approx.ftz.f32", least) == f32(-math.inf)
    assert compute("sqrt.approx.f32", 0x0000_0004) == f32(math.sqrt(2.0**-147))
    assert compute("rsqrt.approx.f32", 0x0000_0002) == f32(2.0**74)
    assert compute("ex2.approx.f32", f32(-130.0)) == f32(2.0**-130)
    assert compute("rcp.approx.f32", f32(2.0**127)) == f32(2.0**-127)
    assert compute("rcp.approx.ftz.f32", f32(2.0**127)) == 0
    assert compute("div.approx.f32", f32(2.0**-130), f32(2.0**-131)) == f32(2.0)
    # Greater divisors have a reciprocal that the unit takes for zero; only `.full` scales them.
    assert compute("div.approx.f32", f32(2.0**127), f32(2.0**127)) == 0
    assert compute("div.full.f32", f32(2.0**127), f32(2.0**127)) == f32(1.0)


def test_an_angle_may_be_given_in_turns() -> None:
    assert compute("sin.turns.f32", f32(0.25)) == f32(1.0)
    assert compute("cos.turns.f32", f32(1e9 + 0.5)) == f32(1.0)
    assert compute("sin.turns.f32", f32(-0.25)) == compute("cos.turns.f32", f32(0.5)) == f32(-1.0)


def test_reciprocals_of_high_words_know_no_low_words() -> None:
    three, almost = f64(3.0), f64(3.0) | 0xFFFF_FFFF
    third = compute("rcp.approx.ftz.f64", three)
    assert third == compute("rcp.approx.ftz.f64", almost) and third & 0xFFFF_FFFF == 0
    assert value_of("f64", third) == pytest.approx(1 / 3, rel=2**-20)
    root = value_of("f64", compute("rsqrt.approx.ftz.f64", f64(2.0)))
    assert root == pytest.approx(math.sqrt(0.5), rel=2**-20)
    assert compute("rcp.approx.ftz.f64", 1 << 32) == f64(math.inf)
