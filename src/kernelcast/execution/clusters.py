"""Clusters of blocks, which run together (PTX ISA 9.0, section 2.2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import LaunchError
from kernelcast.ir import Dim3

_ALONE: Dim3 = (1, 1, 1)


class Arrival(IntEnum):
    """Where a warp stands between its arrival at the barrier of the cluster and its wait."""

    NONE = 0
    ARRIVED = 1
    COMPLETE = 2


def in_clusters(blocks: Iterable[int], grid: Dim3, cluster: Dim3) -> tuple[int, ...]:
    """All blocks of the clusters to which some blocks belong, by linear index.

    They come cluster by cluster in ascending order of their first block, and by rank in each, x
    running fastest; blocks that are clusters of their own come as they are. LaunchError where the
    grid is not made of whole clusters.
    """
    if cluster == _ALONE:
        return tuple(blocks)
    if any(extent % blocks_of for extent, blocks_of in zip(grid, cluster, strict=True)):
        raise LaunchError(
            f"a grid of {'x'.join(map(str, grid))} blocks is no whole number of clusters of "
            f"{'x'.join(map(str, cluster))}",
            hint="make every extent of the grid a multiple of the cluster's",
        )
    chosen = np.fromiter(blocks, np.int64)
    axes = (chosen % grid[0], chosen // grid[0] % grid[1], chosen // (grid[0] * grid[1]))
    corners = [axis - axis % extent for axis, extent in zip(axes, cluster, strict=True)]
    firsts = np.unique(_linear(corners, grid))
    z, y, x = np.indices(cluster[::-1]).reshape(3, -1)
    return tuple((firsts[:, None] + _linear([x, y, z], grid)).ravel().tolist())


def with_those_before(blocks: Sequence[int], of: int, resident: int) -> Sequence[int]:
    """Blocks of a grid of `of`, given in ascending order, with all that begin before the last of
    them ends, where so many are `resident` at a time and all take as long."""
    return range(min(of, blocks[-1] + resident)) if blocks else ()


def _linear(axes: list[NDArray[np.int64]], grid: Dim3) -> NDArray[np.int64]:
    x, y, z = axes
    return np.asarray(x + grid[0] * (y + grid[1] * z), np.int64)
