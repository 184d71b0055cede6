"""Means of largest numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.analysis.order_statistics import largest_beyond_mean


@pytest.mark.parametrize(
    ("count", "beyond"), [(0.5, 0), (1, 0), (2, 1 / 2), (3, 5 / 6), (4, 13 / 12), (32, 3.0584952)]
)
def test_sums_of_reciprocals(count, beyond):
    assert largest_beyond_mean(count) == pytest.approx(beyond, abs=1e-5)


@given(k=st.floats(1, 1e4))
def test_between_whole_numbers_it_goes_on_as_there(k):
    """H(k + 1) = H(k) + 1 / (k + 1)."""
    step = largest_beyond_mean(k + 1) - largest_beyond_mean(k)
    assert step == pytest.approx(1 / (k + 1), abs=1e-5)


def test_the_largest_of_five_drawn_numbers():
    drawn = np.random.default_rng(3).exponential(size=(200_000, 5)).max(axis=1)
    assert drawn.mean() - 1 == pytest.approx(largest_beyond_mean(5), abs=0.02)
