"""Addresses in Accel-Sim's three forms: what is written is read, and what is no address is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.traces.accel_sim.addresses import Pattern, read_addresses, write_addresses

FULL = 0xFFFF_FFFF
ADDRESS = st.integers(0, (1 << 62) - 1)


def lanes_of(mask: int, base: int, pattern: Pattern) -> dict[int, int]:
    """The address of every active lane."""
    addresses = {lane: base + pattern.offsets[lane] for lane in range(32) if mask >> lane & 1}
    if pattern.stride is not None:
        first = base - pattern.first * pattern.stride
        assert addresses == {lane: first + lane * pattern.stride for lane in addresses}
    return addresses


@given(
    st.integers(1, FULL),
    st.one_of(
        st.lists(ADDRESS, min_size=32, max_size=32),
        st.builds(
            lambda base, stride: [base + lane * stride for lane in range(32)],
            st.integers(1 << 40, 1 << 60),
            st.integers(-(1 << 34), 1 << 34),
        ),
    ),
)
def test_written_addresses_are_read_back(mask, addresses):
    base, pattern = read_addresses(mask, [*write_addresses(mask, addresses).split(), "0"])
    wanted = {lane: addresses[lane] for lane in range(32) if mask >> lane & 1}
    assert lanes_of(mask, base, pattern) == wanted
    assert base + pattern.low == min(wanted.values())
    assert base + pattern.high == max(wanted.values())


@pytest.mark.parametrize(
    ("mask", "addresses", "text"),
    [
        (FULL, [0x100 + 4 * lane for lane in range(32)], "1 0x100 4"),
        (0b1100, [0, 0, 64, 32] + [0] * 28, "1 0x40 -32"),
        (0b0101, [8, 0, 16] + [0] * 29, "2 0x8 8"),  # a gap between the lanes
        (0b0111, [8, 16, 25] + [0] * 29, "2 0x8 8 9"),
        (0b0100, [0, 0, 7] + [0] * 29, "2 0x7"),  # one lane has no stride
        (0b0011, [0, 1 << 31] + [0] * 30, "2 0x0 2147483648"),  # a stride is 32 bits
        (0, [0] * 32, "1 0x0 0"),
    ],
)
def test_the_form_of_addresses_is_the_tracers(mask, addresses, text):
    assert write_addresses(mask, addresses) == text


def test_a_list_of_addresses_is_read():
    base, pattern = read_addresses(0b1010, ["0", "0x30", "0x10", "0"])
    assert lanes_of(0b1010, base, pattern) == {1: 0x30, 3: 0x10}
    assert (base + pattern.low, base + pattern.high) == (0x10, 0x30)


@pytest.mark.parametrize(
    "line",
    [
        "0 0x10 0x20",
        "1 0x10",
        "2 0x10 4",
        "3 0x10 4 4",
        "1 0xffffffffffffff00 4",
        "1 0x4 -4",
        "1 x 4",
    ],
)
def test_what_is_no_address_is_told(line):
    with pytest.raises((ValueError, IndexError)):
        read_addresses(0b111, line.split())
