"""What a sample of blocks tells of a grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.execution.sampling import sample_blocks
from kernelcast.profiling.summaries import neighbours_alike, variation

GRID = 100_000


def sampled(of: int, wanted: int) -> np.ndarray:
    return np.array(sample_blocks(of, wanted), np.int64)


def test_of_a_grid_whose_first_blocks_work_those_around_a_block_do_as_it_does() -> None:
    """391 of 100 096 blocks have 440 000 instructions, of 1024 that are executed five."""
    of = 100_096
    blocks = sampled(of, 1024)
    work = np.where(blocks < 391, 440_000, 48)
    weight, less = neighbours_alike(blocks, work, of)
    true = 391 * 440_000 + (of - 391) * 48
    plain = of * work.mean()
    assert abs(plain / true - 1) > 0.2
    assert abs(weight * plain / true - 1) < 0.1
    assert less == pytest.approx(math.sqrt(1 / (2 * np.sum(blocks < 391))), rel=0.1)


@given(st.integers(1, GRID), st.integers(64, 2000))
def test_of_one_step_the_sum_is_as_sure_as_it_says(working: int, wanted: int) -> None:
    blocks = sampled(GRID, wanted)
    work = np.where(blocks < working, 1000, 10)
    weight, _ = neighbours_alike(blocks, work, GRID)
    if weight != 1.0:
        true = working * 1000 + (GRID - working) * 10
        gap = max(np.diff(blocks, prepend=0, append=GRID))
        assert abs(weight * work.mean() * GRID - true) <= gap * 990


@given(st.integers(0, 1 << 30), st.integers(64, 500))
def test_of_blocks_in_any_order_nothing_is_made_of_it(seed: int, wanted: int) -> None:
    blocks = sampled(GRID, wanted)
    work = np.random.default_rng(seed).exponential(1000, wanted).astype(np.int64)
    assert neighbours_alike(blocks, work, GRID) == (1.0, 1.0)


def test_blocks_that_are_alike_or_all_known_count_as_they_are() -> None:
    blocks = sampled(GRID, 100)
    assert neighbours_alike(blocks, np.full(100, 7), GRID) == (1.0, 1.0)
    assert neighbours_alike(np.arange(50), np.arange(50), 50) == (1.0, 1.0)
    assert neighbours_alike(np.array([3]), np.array([9]), GRID) == (1.0, 1.0)


def test_variation_is_the_standard_deviation_over_the_mean() -> None:
    assert variation(np.array([1, 3])) == pytest.approx(math.sqrt(2) / 2)
    assert variation(np.array([5])) == variation(np.zeros(3, np.int64)) == 0
