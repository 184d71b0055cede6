"""Conversions against exact numbers, rounded by definition."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.execution.reference.exact_rounding import FORMATS, rounded, value_of, width
from tests.execution.reference.one_instruction import compute, f16, f32, f64

INTEGERS = tuple(f"{kind}{bits}" for kind in "us" for bits in (8, 16, 32, 64))
ROUNDINGS = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def bounds(name: str) -> tuple[int, int]:
    bits = int(name[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name[0] == "s" else (0, (1 << bits) - 1)


def as_bits(value: int, name: str) -> int:
    return value % (1 << int(name[1:]))


@st.composite
def integers(draw: st.DrawFn) -> tuple[str, int]:
    name = draw(st.sampled_from(INTEGERS))
    low, high = bounds(name)
    shift = draw(st.integers(0, int(name[1:]) - 1))
    return name, draw(st.integers(low >> shift, high >> shift) | st.sampled_from((low, high)))


@st.composite
def floats(draw: st.DrawFn) -> tuple[str, int]:
    name = draw(st.sampled_from(tuple(FORMATS)))
    bits = draw(st.integers(0, (1 << width(name)) - 1))
    assume(math.isfinite(value_of(name, bits)))
    return name, bits


@given(integers(), st.sampled_from(INTEGERS))
def test_integers_wrap_or_saturate(source: tuple[str, int], result: str) -> None:
    name, value = source
    low, high = bounds(result)
    assert compute(f"cvt.{result}.{name}", as_bits(value, name)) == as_bits(value, result)
    saturated = compute(f"cvt.sat.{result}.{name}", as_bits(value, name))
    assert saturated == as_bits(min(max(value, low), high), result)


@given(integers(), st.sampled_from(tuple(FORMATS)), st.sampled_from(("rn", "rz", "rm", "rp")))
def test_integers_become_floats_rounded_once(
    source: tuple[str, int], result: str, mode: str
) -> None:
    name, value = source
    got = compute(f"cvt.{mode}.{result}.{name}", as_bits(value, name))
    assert got == rounded(result, Fraction(value), mode)


def test_large_integers_are_not_rounded_twice() -> None:
    # Half way between two f32 but for the last bit, which f64 would lose.
    value = (1 << 62) + (1 << 38) + 1
    assert compute("cvt.rn.f32.s64", value) == f32(float((1 << 62) + (1 << 39)))


@given(floats(), st.sampled_from(tuple(FORMATS)), st.sampled_from(("rn", "rz", "rm", "rp")))
def test_floats_are_rounded_once_in_the_given_direction(
    source: tuple[str, int], result: str, mode: str
) -> None:
    name, bits = source
    value = value_of(name, bits)
    negative = math.copysign(1.0, value) < 0
    expected = rounded(result, Fraction(value), mode, negative_zero=negative)
    assert compute(f"cvt.{mode}.{result}.{name}", bits) == expected


@given(floats(), st.sampled_from(INTEGERS), st.sampled_from(tuple(ROUNDINGS)))
def test_floats_become_integers_clamped_to_the_type(
    source: tuple[str, int], result: str, mode: str
) -> None:
    name, bits = source
    low, high = bounds(result)
    to_integer: Any = ROUNDINGS[mode]
    expected = min(max(to_integer(value_of(name, bits)), low), high)
    assert compute(f"cvt.{mode}.{result}.{name}", bits) == as_bits(expected, result)


@pytest.mark.parametrize("mode", ("rni", "rzi", "rmi", "rpi"))
def test_infinities_clamp(mode: str) -> None:
    assert compute(f"cvt.{mode}.s32.f32", f32(math.inf)) == 0x7FFF_FFFF
    assert compute(f"cvt.{mode}.s32.f32", f32(-math.inf)) == 0x8000_0000
    assert compute(f"cvt.{mode}.u8.f32", f32(-math.inf)) == 0


@pytest.mark.parametrize(
    ("name", "nan", "expected"),
    [
        ("cvt.rzi.s32.f32", f32(math.nan), 0),
        ("cvt.rzi.u16.f16", f16(math.nan), 0),
        ("cvt.rzi.s64.f32", f32(math.nan), 1 << 63),
        ("cvt.rzi.u64.f16", f16(math.nan), 1 << 63),
        ("cvt.rzi.s32.f64", f64(math.nan), 1 << 31),
        ("cvt.rzi.u32.f64", f64(math.nan), 1 << 31),
    ],
)
def test_nan_becomes_the_indefinite_integer(name: str, nan: int, expected: int) -> None:
    assert compute(name, nan) == expected


@pytest.mark.parametrize(
    ("mode", "expected"), [("rni", -2.0), ("rzi", -2.0), ("rmi", -3.0), ("rpi", -2.0)]
)
def test_rounding_to_an_integral_float(mode: str, expected: float) -> None:
    assert compute(f"cvt.{mode}.f32.f32", f32(-2.5)) == f32(expected)
    assert compute(f"cvt.{mode}.f64.f64", f64(-0.0)) == f64(-0.0)


def test_ftz_and_sat_act_on_single_precision() -> None:
    assert compute("cvt.ftz.f64.f32", 0x8000_0001) == f64(-0.0)
    assert compute("cvt.rn.ftz.f32.f64", f64(1e-40)) == 0
    assert compute("cvt.sat.f32.f32", f32(1.5)) == f32(1.0)
    assert compute("cvt.rn.sat.f32.f64", f64(math.nan)) == 0
    assert compute("cvt.rpi.ftz.s32.f32", 1) == 0
    assert compute("cvt.rpi.s32.f32", 1) == 1


def test_pairs_put_the_first_operand_high() -> None:
    assert compute("cvt.rn.f16x2.f32", f32(1.0), f32(2.0)) == f16(1.0) << 16 | f16(2.0)
    assert compute("cvt.rn.bf16x2.f32", f32(1.0), f32(2.0)) == 0x3F80_4000
    assert compute("cvt.rz.bf16x2.f32", 0x3F80_FFFF, 0xBF80_FFFF) == 0x3F80_BF80


def test_pack_saturates_each_part() -> None:
    assert compute("cvt.pack.sat.s16.s32", 100_000, 0xFFFF_FFFF) == 0x7FFF_FFFF
    assert compute("cvt.pack.sat.u8.s32.b32", 300, 0xFFFF_FFFF, 0xABCD) == 0xABCD_FF00


@pytest.mark.parametrize("name", ("cvt.s32.f32", "cvt.rn.s32.f32.f32", "cvt.rna.tf32.f32"))
def test_forms_without_a_definition_are_refused(name: str) -> None:
    with pytest.raises(LookupError):
        compute(name, 0)
