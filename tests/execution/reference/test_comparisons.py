"""Comparisons and selections against Python's own."""

from __future__ import annotations

import math
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execution.reference.one_instruction import compute, compute_all, f16, f32, f64

M32 = (1 << 32) - 1
u32 = st.integers(0, M32)
floats = st.floats(width=32)
ORDERED = {
    "eq": operator.eq,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def signed(bits: int) -> int:
    return bits - (bits >> 31 << 32)


@given(u32, u32 | st.just(0))
def test_integer_comparisons_follow_the_sign_of_the_type(a: int, b: int) -> None:
    for name, compare in {**ORDERED, "ne": operator.ne}.items():
        assert compute(f"setp.{name}.u32", a, b) == compare(a, b)
        assert compute(f"setp.{name}.s32", a, b) == compare(signed(a), signed(b))
    for name, same in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")):
        assert compute(f"setp.{name}.u32", a, b) == ORDERED[same](a, b)


@given(floats, floats)
def test_ordered_comparisons_with_nan_are_false_and_unordered_ones_true(x: float, y: float) -> None:
    a, b = f32(x), f32(y)
    unordered = math.isnan(x) or math.isnan(y)
    for name, compare in ORDERED.items():
        assert compute(f"setp.{name}.f32", a, b) == (compare(x, y) and not unordered)
        assert compute(f"setp.{name}u.f32", a, b) == (compare(x, y) or unordered)
    assert compute("setp.ne.f32", a, b) == (x != y and not unordered)
    assert compute("setp.neu.f32", a, b) == (x != y or unordered)
    assert compute("setp.num.f32", a, b) == (not unordered)
    assert compute("setp.nan.f32", a, b) == unordered


def test_zeros_of_both_signs_are_equal() -> None:
    assert compute("setp.eq.f64", f64(0.0), f64(-0.0)) == 1
    assert compute("setp.lt.f16", f16(-0.0), f16(0.0)) == 0


def test_ftz_compares_subnormal_numbers_as_zeros() -> None:
    assert compute("setp.eq.f32", 1, 2) == 0
    assert compute("setp.eq.ftz.f32", 1, 2) == 1


@pytest.mark.parametrize(
    ("name", "combine"), [("and", operator.and_), ("or", operator.or_), ("xor", operator.xor)]
)
def test_setp_combines_both_results_with_a_predicate(name, combine) -> None:
    for a, b in ((1, 2), (2, 1)):
        for c in (0, 1):
            p, q = compute_all(f"setp.lt.{name}.s32", a, b, c)
            assert (p[0], q[0]) == (combine(int(a < b), c), combine(int(a >= b), c))


def test_setp_of_packed_halves_gives_one_predicate_each() -> None:
    a, b = f16(1.0) << 16 | f16(5.0), f16(2.0) << 16 | f16(4.0)
    low, high = compute_all("setp.lt.f16x2", a, b)
    assert (low[0], high[0]) == (0, 1)


def test_set_writes_all_ones_or_one() -> None:
    assert compute("set.lt.u32.s32", M32, 0) == M32
    assert compute("set.lt.u32.u32", M32, 0) == 0
    assert compute("set.eq.f32.f32", f32(2.0), f32(2.0)) == f32(1.0)
    assert compute("set.lt.f16x2.f16x2", f16(1.0), f16(2.0)) == f16(1.0)
    assert compute("set.lt.u32.f16x2", f16(1.0) << 16, f16(2.0) << 16) == 0xFFFF_0000
    assert compute("set.gt.and.u32.u32", 2, 1, 0) == 0


def test_selp_keeps_the_bits_of_either_operand() -> None:
    signalling_nan = 0x7F80_0001
    assert compute("selp.f32", signalling_nan, 0, 1) == signalling_nan
    assert compute("selp.b64", 1, 1 << 63, 0) == 1 << 63


def test_slct_selects_by_sign_and_nan_selects_the_second() -> None:
    assert compute("slct.u32.s32", 1, 2, 0) == 1
    assert compute("slct.u32.s32", 1, 2, M32) == 2
    assert compute("slct.f32.f32", f32(1.0), f32(2.0), f32(-0.0)) == f32(1.0)
    assert compute("slct.f32.f32", f32(1.0), f32(2.0), f32(math.nan)) == f32(2.0)
    assert compute("slct.ftz.u32.f32", 1, 2, 0x8000_0001) == 1
