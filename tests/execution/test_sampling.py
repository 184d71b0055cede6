"""Samples of blocks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.execution.sampling import _mixed, sample_blocks


@given(st.integers(0, 10**7), st.integers(1, 300))
def test_distinct_blocks_in_order(total: int, wanted: int) -> None:
    chosen = sample_blocks(total, wanted)
    if wanted >= total:
        assert chosen == tuple(range(total))
        return
    assert len(chosen) == wanted
    assert list(chosen) == sorted(set(chosen))
    assert 0 <= chosen[0] <= chosen[-1] < total


@given(st.integers(1, 10**7), st.integers(1, 100), st.integers(1, 100))
def test_a_larger_sample_contains_the_smaller(total: int, few: int, more: int) -> None:
    assert set(sample_blocks(total, few)) <= set(sample_blocks(total, few + more))


def test_every_eighth_of_a_grid_has_its_share() -> None:
    # Of 29,184 blocks the first 16,384 have something to do, 56.1 % of them.
    for wanted in (8, 32, 50, 300):
        parts = Counter(8 * block // 29184 for block in sample_blocks(29184, wanted))
        assert max(parts.values()) - min(parts.values()) <= 2
    busy = sum(block < 16384 for block in sample_blocks(29184, 64))
    assert busy / 64 == pytest.approx(0.561, abs=0.04)


def test_the_place_in_an_eighth_is_the_known_stream_of_splitmix64() -> None:
    # The first number of the generator seeded with 0, from its authors' reference code.
    assert int(_mixed(np.zeros(1, np.uint64))[0]) == 0xE220_A839_7B1D_CDAF


@pytest.mark.parametrize("row", (2, 4, 8, 64, 256))
def test_no_column_and_no_row_of_a_grid_is_favoured(row: int) -> None:
    total = 1 << 16
    for place in (lambda b: b % row, lambda b: b // (total // row)):
        found = Counter(place(block) for block in sample_blocks(total, 256))
        expected = 256 / row
        assert len(found) > row / 2
        assert max(found.values()) <= 3 * expected + 5


def test_blocks_of_one_row_meet_in_a_sample_as_often_as_by_chance() -> None:
    # 64 of 128 x 128 blocks: by chance 64 * 63 / 2 / 128 = 15.75 pairs share a row; an evenly
    # spaced sample would have none and hide what the blocks of a row share.
    rows = Counter(block // 128 for block in sample_blocks(128 * 128, 64))
    pairs = sum(n * (n - 1) // 2 for n in rows.values())
    assert 6 <= pairs <= 30


def test_a_sample_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot sample 0 of 5 blocks"):
        sample_blocks(5, 0)
