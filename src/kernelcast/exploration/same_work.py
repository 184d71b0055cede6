"""Whether threads of a kernel do the same work in blocks of another shape: some do it in two.

They do not where a kernel loops in steps of `blockDim`, say. Tiles of threads that whole blocks of
both shapes cover are drawn at random and executed in the one and in the other: threads that do the
same work execute as many instructions, however unlike each other they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kernelcast.execution.blocks import Blocks, these_blocks
from kernelcast.execution.run import Run
from kernelcast.execution.sampling import sample_blocks
from kernelcast.execution.trace import Words
from kernelcast.ir import Dim3, Launch
from kernelcast.models.terms.base import Case

_THREAD_INSTRUCTIONS = 4_000_000
_FEWEST_TILES, _MOST_TILES = 4, 16
_AS_MANY = 0.02
"""Of instructions, how far both may differ where the order of blocks has a say."""


@dataclass(frozen=True)
class Tiles:
    """Boxes of threads that whole blocks of two launches cover, as many as fit along each axis."""

    threads: Dim3
    along: Dim3

    @property
    def count(self) -> int:
        """How many there are."""
        return math.prod(self.along)

    def blocks(self, launch: Launch, tiles: Iterable[int]) -> Blocks:
        """The blocks of one of the launches that cover some tiles, which are numbered x first."""
        (x, y, _), covers = launch.grid, self._blocks_of_tile(launch)
        found = []
        for tile in tiles:
            rest, at_x = divmod(tile, self.along[0])
            at_z, at_y = divmod(rest, self.along[1])
            axes = zip((at_x, at_y, at_z), covers, strict=True)
            bx, by, bz = (range(at * n, at * n + n) for at, n in axes)
            found += [(k * y + j) * x + i for k in bz for j in by for i in bx]
        return these_blocks(launch.blocks, found)

    def _blocks_of_tile(self, launch: Launch) -> list[int]:
        return [of // n for of, n in zip(self.threads, launch.block, strict=True)]


def common_tiles(one: Launch, other: Launch) -> Tiles:
    """The smallest tiles of two launches; there are none where one does not fit both."""
    axes = zip(one.block, other.block, one.grid, other.grid, strict=True)
    sizes = [(math.lcm(a, b), min(a * m, b * n)) for a, b, m, n in axes]
    (x, x_threads), (y, y_threads), (z, z_threads) = sizes
    return Tiles((x, y, z), (x_threads // x, y_threads // y, z_threads // z))


def most_unlike(own: Launch, launches: Iterable[Launch]) -> Launch | None:
    """Of some launches the one whose blocks differ from a launch's own in most respects: along
    every axis and in size; of several such, one whose tiles are small."""

    def rank(other: Launch) -> tuple[int, int]:
        pairs = zip(own.block, other.block, strict=True)
        respects = sum(a != b for a, b in pairs) + (
            own.threads_per_block != other.threads_per_block
        )
        return -respects, math.prod(common_tiles(own, other).threads)

    fitting = [other for other in launches if common_tiles(own, other).count]
    return min(fitting, key=rank, default=None)


def does_the_same(case: Case, other: Launch, run: Callable[[Launch, Blocks], Run]) -> bool:
    """Whether threads execute as many instructions in the blocks of another launch.

    `run` makes blocks of a launch ready. Raises as executing them does.
    """
    tiles = common_tiles(case.launch, other)
    each = case.profile.total.thread / case.launch.threads * math.prod(tiles.threads)
    wanted = int(_THREAD_INSTRUCTIONS / each) if each else _MOST_TILES
    drawn = sample_blocks(tiles.count, max(_FEWEST_TILES, min(_MOST_TILES, wanted)))
    counts = [
        run(launch, tiles.blocks(launch, drawn)).execute(_Nobody()).thread_instructions
        for launch in (case.launch, other)
    ]
    return math.isclose(*counts, rel_tol=_AS_MANY)


class _Nobody:
    """Follows a run for nothing: so what is executed is the code that is compiled for profiles."""

    def consume(self, words: Words) -> None:
        """Take the next words."""

    def split(self) -> _Nobody:
        """Another one."""
        return self

    def merge(self, other: _Nobody) -> None:
        """Take over nothing."""
