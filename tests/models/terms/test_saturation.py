"""Bounds near each other: softer than the maximum, harder than the sum."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.models.terms.saturation import softened

TIMES = st.lists(st.floats(0, 1e12), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("times", "norm", "expected"),
    [
        ((3.0, 4.0), 2.0, 5.0),
        ((3.0, 4.0), 1.0, 7.0),
        ((3.0, 4.0), 0.0, 4.0),
        ((2.0, 2.0), 4.0, 2 * 2**0.25),
        ((0.0, 0.0), 3.0, 0.0),
        ((), 3.0, 0.0),
    ],
)
def test_known_answers(times: tuple[float, ...], norm: float, expected: float) -> None:
    assert softened(times, norm) == pytest.approx(expected)


@given(TIMES, st.floats(1, 40))
def test_it_lies_between_the_largest_and_the_sum(times: list[float], norm: float) -> None:
    found = softened(times, norm)
    assert max(times) <= found * (1 + 1e-12)
    assert found <= math.fsum(times) * (1 + 1e-9)


@given(TIMES, st.floats(1, 40), st.floats(0, 40))
def test_the_larger_the_norm_the_harder_it_is(times: list[float], norm: float, more: float) -> None:
    assert softened(times, norm + more) <= softened(times, norm) * (1 + 1e-12)
