"""Where a curve stays the same for a while, and how often."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.calibration.fits import UnfitError
from kernelcast.calibration.levels import levels

SIZES = [2048 * 1.1**i for i in range(100)]


def stairs(ends, values, noise=0.0):
    """The values up to the ends, each size for itself disturbed."""
    random = np.random.default_rng(11)
    found = [values[sum(size > end for end in ends)] for size in SIZES]
    return [v * float(1 + noise * random.standard_normal()) for v in found]


@given(
    ends=st.lists(st.floats(1e4, 1e7), min_size=1, max_size=3),
    ratio=st.floats(1.3, 8),
    noise=st.sampled_from([0.0, 0.01]),
)
def test_as_many_levels_are_found_as_there_are(ends, ratio, noise):
    ends = sorted(ends)
    if any(b < 1.8 * a for a, b in itertools.pairwise(ends)):
        return
    values = [30 * ratio**i for i in range(len(ends) + 1)]
    found = levels(SIZES, stairs(ends, values, noise))
    assert len(found) == len(values)
    for level, value in zip(found, values, strict=True):
        assert np.median(level.values) == pytest.approx(value, rel=0.02)
    assert sum(len(level.sizes) for level in found) == len(SIZES)


def test_what_rises_all_the_way_has_no_level():
    assert levels(SIZES, [s**0.5 for s in SIZES]) == ()


def test_a_rise_between_two_levels_is_of_neither():
    values = [30.0] * 40 + [30 * 1.2**i for i in range(1, 11)] + [30 * 1.2**10] * 50
    low, high = levels(SIZES, values)
    assert (low.place, low.end, high.place, high.end) == (0, 40, 49, 100)


def test_points_need_not_come_in_order():
    values = stairs([1e5], [30, 200])
    mixed = list(zip(SIZES, values, strict=True))[::-1]
    assert levels([s for s, _ in mixed], [v for _, v in mixed]) == levels(SIZES, values)


@pytest.mark.parametrize(("sizes", "values"), [([], []), ([1, 2], [1]), ([0, 1], [1, 1])])
def test_what_are_no_sizes_has_no_levels(sizes, values):
    with pytest.raises(UnfitError):
        levels(sizes, values)
