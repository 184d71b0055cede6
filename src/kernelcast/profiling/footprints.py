"""From the sectors that a sample of blocks touched to those of the whole grid."""

from __future__ import annotations

import math

_BISECTIONS = 100


def expected_distinct(pool: float, per_block: float, blocks: float) -> float:
    """Sectors touched at least once by `blocks` blocks that each touch `per_block` of `pool`.

    Where every block picks its d sectors at random among P, a sector is missed by one block with
    probability 1 - d/P, hence after k blocks

        D(k) = P (1 - (1 - d/P)^k)

    The limits are D = P for d = P (all blocks share the pool) and D = k d for P = infinity (no
    two blocks share).
    """
    if math.isinf(pool):
        return blocks * per_block
    if per_block >= pool:
        return pool
    return -pool * math.expm1(blocks * math.log1p(-per_block / pool))


def pool_size(per_block: float, distinct: float, blocks: int) -> float:
    """The pool P for which `expected_distinct(P, per_block, blocks)` is `distinct`.

    D(k) grows with P from d at P = d towards k d, so 1/P is found by bisection in (0, 1/d).
    Infinite where no two blocks shared a sector, which includes a sample of one block.
    """
    if distinct >= blocks * per_block * (1 - 1e-12):
        return math.inf
    if distinct <= per_block:
        return per_block
    low, high = 0.0, 1 / per_block
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if expected_distinct(1 / middle, per_block, blocks) > distinct:
            low = middle
        else:
            high = middle
    return 1 / high


def extrapolate_distinct(
    block_sectors: float, distinct: float, sampled: int, blocks: int, array_sectors: int
) -> float:
    """Distinct sectors of an array after the whole grid.

    Parameters
    ----------
    block_sectors:
        Sum over the sampled blocks of the sectors distinct within the block.
    distinct:
        Sectors distinct within the sample.
    sampled, blocks:
        Blocks executed, and blocks in the grid.
    array_sectors:
        Sectors of the array: no more can be touched.

    The pool of `pool_size`, evaluated at the whole grid. Exact where all blocks were executed,
    where blocks share nothing, and where all touch the same. Between, it supposes blocks drawn at
    random. A stratified sample holds fewer neighbours than that: where only neighbours share, the
    estimate is too high, and the size of the array is what bounds it.
    """
    if sampled >= blocks:
        return float(distinct)
    per_block = block_sectors / sampled
    pool = pool_size(per_block, distinct, sampled)
    estimate = expected_distinct(pool, per_block, blocks)
    return min(max(estimate, float(distinct)), float(array_sectors))
