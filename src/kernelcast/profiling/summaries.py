"""From the tables of the counting loop to the parts of a profile."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.memory import Memory, Region
from kernelcast.ir import Kernel, Location, OpClass, Space
from kernelcast.isas.ptx.flops import flops as flops_of_step
from kernelcast.profiling import layout
from kernelcast.profiling.footprints import extrapolate_distinct
from kernelcast.profiling.profile import (
    AccessProfile,
    BlockSample,
    Count,
    Floats,
    Footprint,
    LineProfile,
)
from kernelcast.profiling.tables import AccessRow, IntegerTable, array_sectors


def spread(per_block: NDArray[np.int64], grid_blocks: int) -> float:
    """Relative standard error of the mean of `per_block` over a grid it is a sample of.

    With s of N values drawn without replacement, of standard deviation sd, the standard error of
    their mean is sd / sqrt(s) sqrt(1 - s/N) (Cochran, Sampling Techniques, 3rd ed., section 2.6).
    """
    sampled = len(per_block)
    if sampled >= grid_blocks:
        return 0.0
    if sampled < 2:
        return math.nan
    return variation(per_block) * math.sqrt((1 - sampled / grid_blocks) / sampled)


def variation(per_block: NDArray[np.int64]) -> float:
    """Standard deviation of what blocks execute over their mean; 0 of one block."""
    mean = float(per_block.mean())
    return float(per_block.std(ddof=1)) / mean if len(per_block) > 1 and mean else 0.0


def neighbours_alike(
    blocks: NDArray[np.int64], per_block: NDArray[np.int64], of: int
) -> tuple[float, float]:
    """How much more a grid of `of` blocks does than as many times the mean of those executed, and
    by what its standard error is to be multiplied, where blocks next to each other do alike.

    Of some grids the first blocks work and the others return at once. Then a block tells of all
    that are nearer to it than to others, and the differences from one to the next of how sure the
    sum is: half the mean of their squares stands for the variance (Wolter, Introduction to Variance
    Estimation, 2nd ed., section 8.2). Of blocks in any order this is the variance itself (von
    Neumann 1941); where it is more than half of that, nothing is made of their order.
    """
    squares = float(((per_block - per_block.mean()) ** 2).sum())
    if len(per_block) in (1, of) or not squares:
        return 1.0, 1.0
    left = float((np.diff(per_block).astype(np.float64) ** 2).sum()) / (2 * squares)
    if left > _ALIKE:
        return 1.0, 1.0
    between = (blocks[1:] + blocks[:-1] + 1) / 2
    nearest = np.diff(np.concatenate([[0.0], between, [float(of)]]))
    return float(nearest @ per_block) / of / float(per_block.mean()), math.sqrt(left)


_ALIKE = 0.5
"""Of the variance: differences between blocks next to each other, where these do alike."""


def counts(kernel: Kernel, warps: Floats, threads: Floats) -> dict[OpClass, Count]:
    """Executed instructions by op class, classes that were never executed left out."""
    totals: dict[OpClass, Count] = {}
    for instruction, warp, thread in zip(
        kernel.instructions, warps.tolist(), threads.tolist(), strict=True
    ):
        if warp:
            so_far = totals.get(instruction.op_class, Count())
            totals[instruction.op_class] = so_far + Count(warp, thread)
    return totals


def flops(kernel: Kernel, threads: Floats) -> dict[str, float]:
    """Floating-point operations of threads by precision."""
    totals: dict[str, float] = {}
    for index, thread in enumerate(threads.tolist()):
        for step in kernel.steps(index) if thread else ():
            if operations := flops_of_step(step):
                precision = step.op_class.value
                totals[precision] = totals.get(precision, 0.0) + thread * operations
    return totals


def different_values(table: IntegerTable) -> dict[int, float]:
    """By instruction that finds lanes of equal value, how many different ones there are on average,
    as far as that was recorded."""
    return {
        int(index): float(table["values"][index] / table["matches"][index])
        for index in np.flatnonzero(table["matches"])
    }


def access_profiles(
    rows: Sequence[AccessRow], table: IntegerTable, scale: float
) -> tuple[AccessProfile, ...]:
    """The rows that have requests, scaled."""
    scaled = {
        name: (table[name].astype(np.float64) * scale).tolist()
        for name in ("counts", "tag_passes", "rounds", "turns")
    }
    return tuple(
        AccessProfile(
            instruction=row.instruction.index,
            op_class=row.instruction.op_class,
            space=row.space,
            access_bytes=row.instruction.access_bytes,
            location=row.instruction.location,
            requests=numbers[layout.REQUESTS],
            lanes=numbers[layout.LANES],
            sectors=numbers[layout.SECTORS],
            lines=numbers[layout.LINES],
            divergent=numbers[layout.DIVERGENT],
            transactions_cc10=numbers[layout.TRANSACTIONS_CC10],
            coalesced_cc10=numbers[layout.COALESCED_CC10],
            transactions_cc12=numbers[layout.TRANSACTIONS_CC12],
            coalesced_cc12=numbers[layout.COALESCED_CC12],
            bytes_cc12=numbers[layout.BYTES_CC12],
            passes=numbers[layout.PASSES],
            passes_half_warp=numbers[layout.PASSES_HALF_WARP],
            ideal_passes=numbers[layout.IDEAL_PASSES],
            tag_passes=tags,
            rounds=rounds,
            turns=turns,
        )
        for row, numbers, tags, rounds, turns in zip(rows, *scaled.values(), strict=True)
        if numbers[layout.REQUESTS]
    )


def footprints(memory: Memory, regions: IntegerTable, sample: BlockSample) -> tuple[Footprint, ...]:
    """The arrays that were touched, scaled or extrapolated to the grid."""
    return tuple(
        _footprint(region, row, sample)
        for region, row in zip(memory.regions, regions, strict=True)
        if row["requested"]
    )


def _footprint(region: Region, row: np.void, sample: BlockSample) -> Footprint:
    def grid_distinct(in_blocks: str, in_sample: str) -> float:
        return extrapolate_distinct(
            int(row[in_blocks]),
            int(row[in_sample]),
            sample.blocks,
            sample.of,
            array_sectors(region.size_bytes),
        )

    distinct_sectors = grid_distinct("block_distinct", "distinct")
    return Footprint(
        label=region.label,
        size_bytes=region.size_bytes,
        read=bool(row["is_read"]),
        written=bool(row["is_written"]),
        distinct_sectors=distinct_sectors,
        block_sectors=int(row["block_distinct"]) * sample.scale,
        requested_sectors=int(row["requested"]) * sample.scale,
        distinct_written_sectors=min(grid_distinct("block_written", "written"), distinct_sectors),
        of_host=region.of_host,
    )


def lines(
    kernel: Kernel, warps: Floats, threads: Floats, accesses: Sequence[AccessProfile]
) -> tuple[LineProfile, ...]:
    """What every source line costs that was executed, sorted by place."""
    instructions: dict[Location, Count] = {}
    for instruction, warp, thread in zip(
        kernel.instructions, warps.tolist(), threads.tolist(), strict=True
    ):
        if instruction.location is not None and warp:
            so_far = instructions.get(instruction.location, Count())
            instructions[instruction.location] = so_far + Count(warp, thread)
    by_line: dict[Location, list[AccessProfile]] = {}
    for access in accesses:
        if access.location is not None:
            by_line.setdefault(access.location, []).append(access)
    return tuple(
        _line(location, instructions[location], by_line.get(location, []))
        for location in sorted(instructions, key=lambda at: (at.file, at.line))
    )


def _line(
    location: Location, instructions: Count, accesses: Sequence[AccessProfile]
) -> LineProfile:
    device = [a for a in accesses if a.space in (Space.GLOBAL, Space.LOCAL)]
    shared = [a for a in accesses if a.space is Space.SHARED]
    return LineProfile(
        location=location,
        instructions=instructions,
        sectors=sum(a.sectors for a in device),
        requests=sum(a.requests for a in device),
        shared_passes=sum(a.passes for a in shared),
        shared_ideal_passes=sum(a.ideal_passes for a in shared),
    )
