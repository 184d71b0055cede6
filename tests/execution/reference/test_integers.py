"""Integer instructions against Python's exact integers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execution.reference.one_instruction import compute, compute_all

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1

u32 = st.integers(0, M32) | st.sampled_from((0, 1, 0x7FFF_FFFF, 0x8000_0000, M32))
u64 = st.integers(0, M64) | st.sampled_from((0, 1, (1 << 63) - 1, 1 << 63, M64))


def signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) & 1 else bits


def truncated(a: int, b: int) -> int:
    """Quotient toward zero, exactly."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@given(u32, u32)
def test_sums_products_and_differences_of_32_bits_wrap(a: int, b: int) -> None:
    assert compute("add.u32", a, b) == (a + b) & M32
    assert compute("sub.s32", a, b) == (a - b) & M32
    assert compute("mul.lo.s32", a, b) == a * b & M32
    assert compute("mul.hi.u32", a, b) == a * b >> 32
    assert compute("mul.hi.s32", a, b) == signed(a, 32) * signed(b, 32) >> 32 & M32
    assert compute("mul.wide.u32", a, b) == a * b
    assert compute("mul.wide.s32", a, b) == signed(a, 32) * signed(b, 32) & M64


@given(u64, u64, u64)
def test_64_bit_arithmetic_is_exact_before_it_wraps(a: int, b: int, c: int) -> None:
    assert compute("add.s64", a, b) == (a + b) & M64
    assert compute("mul.hi.u64", a, b) == a * b >> 64
    assert compute("mul.hi.s64", a, b) == signed(a, 64) * signed(b, 64) >> 64 & M64
    assert compute("mad.lo.u64", a, b, c) == (a * b + c) & M64
    assert compute("mad.hi.u64", a, b, c) == ((a * b >> 64) + c) & M64
    assert compute("sad.u64", a, b, c) == (c + abs(a - b)) & M64


@given(u32, u32, u64)
def test_wide_multiply_add_takes_a_wide_addend(a: int, b: int, c: int) -> None:
    assert compute("mad.wide.u32", a, b, c) == (a * b + c) & M64
    assert compute("mad.wide.s32", a, b, c) == (signed(a, 32) * signed(b, 32) + c) & M64


def test_saturating_sums_stop_at_the_limits_of_s32() -> None:
    assert compute("add.sat.s32", 0x7FFF_FFFF, 1) == 0x7FFF_FFFF
    assert compute("sub.sat.s32", 0x8000_0000, 1) == 0x8000_0000
    assert compute("mad.hi.sat.s32", 0x7FFF_FFFF, 0x7FFF_FFFF, 0x7FFF_FFFF) == 0x7FFF_FFFF


@pytest.mark.parametrize("width", (16, 32, 64))
def test_division_is_defined_where_mathematics_is_not(width: int) -> None:
    ones, least = (1 << width) - 1, 1 << (width - 1)
    assert compute(f"div.u{width}", 7, 0) == ones
    assert compute(f"div.s{width}", 7, 0) == ones
    assert compute(f"rem.u{width}", 7, 0) == 7
    assert compute(f"rem.s{width}", least, 0) == least
    assert compute(f"div.s{width}", least, ones) == least
    assert compute(f"rem.s{width}", least, ones) == 0


@given(u32, u32.filter(bool))
def test_division_truncates_and_the_remainder_has_the_sign_of_the_dividend(a: int, b: int) -> None:
    x, y = signed(a, 32), signed(b, 32)
    assert compute("div.u32", a, b) == a // b
    assert compute("rem.u32", a, b) == a % b
    assert compute("div.s32", a, b) == truncated(x, y) & M32
    assert compute("rem.s32", a, b) == int(math.fmod(x, y)) & M32


@given(u64, u64.filter(bool))
def test_64_bit_division_is_exact(a: int, b: int) -> None:
    x, y = signed(a, 64), signed(b, 64)
    assert compute("div.u64", a, b) == a // b
    assert compute("div.s64", a, b) == truncated(x, y) & M64
    assert compute("rem.s64", a, b) == (x - truncated(x, y) * y) & M64


@given(u32, u32)
def test_minimum_and_maximum_follow_the_sign_of_the_type(a: int, b: int) -> None:
    assert compute("min.u32", a, b) == min(a, b)
    assert compute("max.s32", a, b) == max(signed(a, 32), signed(b, 32)) & M32
    assert compute("abs.s32", a) == abs(signed(a, 32)) & M32
    assert compute("neg.s32", a) == -a & M32


@given(u64, u64, u64, u64)
def test_carry_chains_add_and_subtract_128_bits(a0: int, a1: int, b0: int, b1: int) -> None:
    (low,), (carry,) = (r[:1] for r in compute_all("add.cc.u64", a0, b0))
    high = compute("addc.u64", a1, b1, carry=carry)
    assert high << 64 | low == ((a1 << 64 | a0) + (b1 << 64 | b0)) % (1 << 128)
    (low,), (borrow,) = (r[:1] for r in compute_all("sub.cc.u64", a0, b0))
    high = compute("subc.u64", a1, b1, carry=borrow)
    assert high << 64 | low == ((a1 << 64 | a0) - (b1 << 64 | b0)) % (1 << 128)


@given(u32, u32, u32, u32)
def test_multiply_add_with_carry_builds_a_wide_product(a: int, b: int, c0: int, c1: int) -> None:
    (low,), (carry,) = (r[:1] for r in compute_all("mad.lo.cc.u32", a, b, c0))
    high = compute("madc.hi.u32", a, b, c1, carry=carry)
    assert high << 32 | low == (a * b + (c1 << 32 | c0)) & M64


@given(u32, u32, u32)
def test_24_bit_products_use_the_low_24_bits(a: int, b: int, c: int) -> None:
    x, y = a & 0xFF_FFFF, b & 0xFF_FFFF
    assert compute("mul24.lo.u32", a, b) == x * y & M32
    assert compute("mul24.hi.u32", a, b) == x * y >> 16 & M32
    x, y = signed(x, 24), signed(y, 24)
    assert compute("mad24.lo.s32", a, b, c) == (x * y + c) & M32


def test_dot_products_take_bytes_with_their_own_signs() -> None:
    a, b = 0xFF02_0304, 0x0102_FF04
    assert compute("dp4a.u32.u32", a, b, 10) == 0xFF * 1 + 2 * 2 + 3 * 0xFF + 4 * 4 + 10
    assert compute("dp4a.s32.u32", a, b, 10) == -1 * 1 + 2 * 2 + 3 * 0xFF + 4 * 4 + 10
    assert compute("dp4a.s32.s32", a, b, 0) == (-1 * 1 + 2 * 2 + 3 * -1 + 4 * 4) & M32
    halves = 0xFFFF_0003
    assert compute("dp2a.lo.s32.s32", halves, b, 0) == (3 * 4 + -1 * -1) & M32
    assert compute("dp2a.hi.s32.u32", halves, b, 0) == (3 * 2 + -1 * 1) & M32


def test_packed_halves_do_not_carry_into_each_other() -> None:
    assert compute("add.u16x2", 0x0001_FFFF, 0x0001_0001) == 0x0002_0000
    assert compute("max.s16x2", 0xFFFF_0001, 0x0000_FFFF) == 0x0000_0001
    assert compute("min.u16x2", 0xFFFF_0001, 0x0000_FFFF) == 0x0000_0001


def test_narrow_types_wrap_at_their_own_width() -> None:
    assert compute("add.s16", 0x7FFF, 1) == 0x8000
    assert compute("mul.lo.u16", 0x100, 0x101) == 0x100
    assert compute("mul.wide.s16", 0xFFFF, 2) == M32 - 1
