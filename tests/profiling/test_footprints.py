"""From a sample's distinct sectors to the grid's."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernelcast.execution.sampling import sample_blocks
from kernelcast.profiling.footprints import expected_distinct, extrapolate_distinct, pool_size


def extrapolated(touched: list[set[int]], sampled: list[int], array_sectors: int) -> float:
    """The estimate from some of the blocks whose sectors are all known."""
    return extrapolate_distinct(
        sum(len(touched[b]) for b in sampled),
        len(set().union(*(touched[b] for b in sampled))),
        len(sampled),
        len(touched),
        array_sectors,
    )


def test_streaming_blocks_scale_linearly():
    touched = [set(range(64 * b, 64 * b + 64)) for b in range(1000)]
    assert extrapolated(touched, list(range(0, 1000, 50)), 64_000) == 64_000


def test_one_streaming_block_stands_for_all():
    assert extrapolate_distinct(64, 64, 1, 1000, 10**6) == 64_000


def test_a_vector_shared_by_all_blocks_does_not_grow():
    touched = [set(range(500))] * 1000
    assert extrapolated(touched, list(range(0, 1000, 50)), 500) == 500
    assert extrapolated(touched, list(range(0, 1000, 50)), 10**6) == 500


def test_all_blocks_executed_is_exact():
    assert extrapolate_distinct(1234, 777, 100, 100, 900) == 777


def test_an_array_cannot_be_outgrown():
    assert extrapolate_distinct(1000, 1000, 10, 1000, 5000) == 5000


def strips(columns: int) -> dict[str, list[set[int]]]:
    """Sectors of A and B that each block of a tiled matrix multiplication reads.

    A block reads a row of tiles of A and a column of tiles of B; all blocks together read all.
    """
    blocks = range(columns * columns)
    return {
        "A": [set(range(b // columns * 32, b // columns * 32 + 32)) for b in blocks],
        "B": [set(range(b % columns * 32, b % columns * 32 + 32)) for b in blocks],
    }


@pytest.mark.parametrize(("columns", "wanted"), [(16, 64), (64, 256), (128, 512)])
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_tiled_matrix_multiplication_is_found_from_random_blocks(columns, wanted, matrix):
    # Nothing but the sharing seen in the sample tells that the array does not go on.
    touched = strips(columns)[matrix]
    sampled = random.Random(7).sample(range(len(touched)), wanted)
    estimate = extrapolated(touched, sampled, 10**9)
    assert estimate == pytest.approx(columns * 32, rel=0.15)


@pytest.mark.parametrize(("columns", "wanted"), [(16, 64), (64, 64), (128, 64), (128, 512)])
@pytest.mark.parametrize("matrix", ["A", "B"])
def test_tiled_matrix_multiplication_is_found_from_the_blocks_that_are_sampled(
    columns, wanted, matrix
):
    touched = strips(columns)[matrix]
    sampled = list(sample_blocks(len(touched), wanted))
    estimate = extrapolated(touched, sampled, columns * 32)
    assert estimate == pytest.approx(columns * 32, rel=0.15)


def test_random_gathers_from_a_known_pool_are_recovered():
    generator = random.Random(1)
    touched = [set(generator.sample(range(20_000), 300)) for _ in range(2000)]
    truth = len(set().union(*touched))
    assert extrapolated(touched, list(range(0, 2000, 20)), 10**9) == pytest.approx(truth, rel=0.03)


counts = st.tuples(st.integers(1, 500), st.integers(1, 64), st.integers(1, 10_000))


@given(counts, st.floats(0, 1))
def test_the_pool_reproduces_the_sample_it_was_found_from(drawn, sharing):
    per_block, blocks, _ = drawn
    distinct = per_block + sharing * (blocks * per_block - per_block)
    pool = pool_size(per_block, distinct, blocks)
    assert expected_distinct(pool, per_block, blocks) == pytest.approx(distinct, rel=1e-6)


@given(counts, st.floats(0, 1), st.integers(1, 10**6))
def test_the_estimate_lies_between_the_sample_and_what_is_possible(drawn, sharing, spare):
    per_block, sampled, more = drawn
    blocks = sampled + more
    distinct = per_block + int(sharing * (sampled - 1) * per_block)
    array = distinct + spare
    estimate = extrapolate_distinct(per_block * sampled, distinct, sampled, blocks, array)
    assert distinct <= estimate <= min(array, blocks * per_block) * (1 + 1e-9)


@given(counts, st.floats(0, 1), st.floats(0, 1))
def test_the_estimate_grows_with_the_grid_and_with_what_the_sample_found(drawn, low, high):
    per_block, sampled, more = drawn
    assume(low <= high and sampled > 1)
    fewer, most = (per_block + int(share * (sampled - 1) * per_block) for share in (low, high))
    total = per_block * sampled

    def estimate(distinct: int, blocks: int) -> float:
        return extrapolate_distinct(total, distinct, sampled, blocks, 10**12)

    slack = 1 + 1e-9
    assert estimate(fewer, sampled + more) <= estimate(most, sampled + more) * slack
    assert estimate(fewer, sampled + more) <= estimate(fewer, sampled + more + 1) * slack


def test_no_shared_sector_means_an_endless_pool():
    assert pool_size(10, 100, 10) == math.inf
    assert expected_distinct(math.inf, 10, 7) == 70
