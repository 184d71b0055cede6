"""Logic, shifts and bit fields against strings of binary digits and plain Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execution.reference.one_instruction import compute

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1

u32 = st.integers(0, M32) | st.sampled_from((0, 1, 0x8000_0000, M32))
u64 = st.integers(0, M64) | st.sampled_from((0, 1 << 63, M64))
small = st.integers(0, 70) | st.sampled_from((255, 256, 300, M32))


def digits(value: int, width: int) -> str:
    """Binary digits, the lowest first."""
    return f"{value:0{width}b}"[::-1]


def number(text: str) -> int:
    return int(text[::-1], 2)


@given(u32, u32, u32, st.integers(0, 255))
def test_lop3_reads_the_table_at_the_three_bits(a: int, b: int, c: int, table: int) -> None:
    expected = 0
    for bit in range(32):
        row = (a >> bit & 1) * 4 + (b >> bit & 1) * 2 + (c >> bit & 1)
        expected |= (table >> row & 1) << bit
    assert compute("lop3.b32", a, b, c, table) == expected


@given(u64, u64)
def test_logic(a: int, b: int) -> None:
    assert compute("and.b64", a, b) == a & b
    assert compute("or.b32", a, b) == (a | b) & M32
    assert compute("xor.b64", a, b) == a ^ b
    assert compute("not.b64", a) == a ^ M64
    assert compute("cnot.b32", a) == int(a & M32 == 0)


def test_logic_on_predicates() -> None:
    assert compute("xor.pred", 1, 1) == 0
    assert compute("not.pred", 0) == 1


@given(u64, small)
def test_shifts_clamp_their_amount_to_the_width(a: int, n: int) -> None:
    assert compute("shl.b64", a, n) == (a << min(n, 64)) & M64
    assert compute("shr.u64", a, n) == a >> min(n, 64)
    low, signed = a & M32, (a & M32) - ((a & M32) >> 31 << 32)
    assert compute("shl.b32", low, n) == (low << min(n, 32)) & M32
    assert compute("shr.b32", low, n) == low >> min(n, 32)
    assert compute("shr.s32", low, n) == (signed >> min(n, 32)) & M32


@given(u32, u32, small)
def test_funnel_shifts_take_one_half_of_the_shifted_pair(a: int, b: int, n: int) -> None:
    pair = b << 32 | a
    assert compute("shf.l.wrap.b32", a, b, n) == (pair << n % 32) >> 32 & M32
    assert compute("shf.r.wrap.b32", a, b, n) == pair >> n % 32 & M32
    assert compute("shf.l.clamp.b32", a, b, n) == (pair << min(n, 32)) >> 32 & M32
    assert compute("shf.r.clamp.b32", a, b, n) == pair >> min(n, 32) & M32


@given(u64)
def test_counting_bits(a: int) -> None:
    assert compute("popc.b64", a) == digits(a, 64).count("1")
    assert compute("clz.b64", a) == len(digits(a, 64)) - len(digits(a, 64).rstrip("0"))
    assert compute("brev.b64", a) == number(digits(a, 64)[::-1])
    assert compute("brev.b32", a) == number(digits(a & M32, 32)[::-1])


@pytest.mark.parametrize(
    ("name", "a", "expected"),
    [
        ("bfind.u32", 0x10, 4),
        ("bfind.u32", 0, M32),
        ("bfind.s32", M32, M32),
        ("bfind.s32", 0xFFFF_FFEF, 4),
        ("bfind.shiftamt.u32", 0x10, 27),
        ("bfind.shiftamt.u32", 0, M32),
        ("bfind.u64", 1 << 63, 63),
        ("bfind.s64", 1 << 63, 62),
    ],
)
def test_bfind_finds_the_highest_bit_that_is_no_sign(name: str, a: int, expected: int) -> None:
    assert compute(name, a) == expected


@given(u32, small, small)
def test_bfe_follows_the_loop_of_the_isa(a: int, position: int, length: int) -> None:
    source, position, length = digits(a, 32), position & 255, length & 255
    for name, signed in (("bfe.u32", False), ("bfe.s32", True)):
        fill = source[min(position + length - 1, 31)] if signed and length else "0"
        expected = "".join(
            source[position + i] if i < length and position + i <= 31 else fill for i in range(32)
        )
        assert compute(name, a, position, length) == number(expected)


@given(u32, u32, small, small)
def test_bfi_follows_the_loop_of_the_isa(a: int, b: int, position: int, length: int) -> None:
    result = list(digits(b, 32))
    for i in range(length & 255):
        if (position & 255) + i <= 31 and i < 32:
            result[(position & 255) + i] = digits(a, 32)[i]
    assert compute("bfi.b32", a, b, position, length) == number("".join(result))


@pytest.mark.parametrize(
    ("name", "selector", "expected"),
    [
        ("prmt.b32", 0x3210, 0x4433_2281),
        ("prmt.b32", 0x7654, 0x8877_6685),
        ("prmt.b32", 0x0008, 0x8181_81FF),
        ("prmt.b32", 0x9990, 0x0000_0081),
        ("prmt.b32.f4e", 1, 0x8544_3322),
        ("prmt.b32.b4e", 1, 0x7788_8122),
        ("prmt.b32.rc8", 2, 0x3333_3333),
        ("prmt.b32.ecl", 1, 0x4433_2222),
        ("prmt.b32.ecr", 2, 0x3333_2281),
        ("prmt.b32.rc16", 1, 0x4433_4433),
    ],
)
def test_prmt_picks_bytes_by_the_tables_of_the_isa(name: str, selector: int, expected: int) -> None:
    # Bytes 0 to 7: 81 22 33 44, 85 66 77 88.
    assert compute(name, 0x4433_2281, 0x8877_6685, selector) == expected


def test_extension_and_masks() -> None:
    assert compute("szext.wrap.s32", 0x80, 8) == 0xFFFF_FF80
    assert compute("szext.clamp.u32", 0x1FF, 8) == 0xFF
    assert compute("szext.wrap.u32", 0x1FF, 32) == 0
    assert compute("szext.clamp.u32", 0x1FF, 40) == 0x1FF
    assert compute("bmsk.clamp.b32", 4, 8) == 0xFF0
    assert compute("bmsk.clamp.b32", 40, 8) == 0
    assert compute("bmsk.wrap.b32", 33, 2) == 6
