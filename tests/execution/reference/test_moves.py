"""Moves, packs and generic addresses."""

from __future__ import annotations

import pytest
from tests.execution.reference.one_instruction import compute, compute_all

from kernelcast.execution.address_map import GLOBAL_BASE, LOCAL_WINDOW, SHARED_WINDOW


def test_packing_puts_the_first_element_lowest() -> None:
    (wide,) = compute_all("mov.b64", 0x1111_2222, 0x3333_4444, pack=True)
    assert wide[0] == 0x3333_4444_1111_2222
    (wide,) = compute_all("mov.b64", 1, 2, 3, 4, pack=True)
    assert wide[0] == 0x0004_0003_0002_0001


def test_unpacking_gives_the_lowest_element_first() -> None:
    low, high = compute_all("mov.b64", 0x3333_4444_1111_2222, unpack=2)
    assert (low[0], high[0]) == (0x1111_2222, 0x3333_4444)


def test_generic_addresses_are_windows() -> None:
    assert compute("cvta.shared.u64", 16) == SHARED_WINDOW + 16
    assert compute("cvta.to.local.u64", LOCAL_WINDOW + 8) == 8
    assert compute("cvta.to.global.u64", GLOBAL_BASE + 4) == GLOBAL_BASE + 4


@pytest.mark.parametrize(
    ("space", "address", "inside"),
    [
        ("shared", SHARED_WINDOW, True),
        ("shared", LOCAL_WINDOW, False),
        ("local", LOCAL_WINDOW + 100, True),
        ("global", GLOBAL_BASE, True),
        ("global", SHARED_WINDOW + 100, False),
    ],
)
def test_isspacep_tells_the_windows_apart(space: str, address: int, inside: bool) -> None:
    assert compute(f"isspacep.{space}", address) == inside
