"""From the tables of the counting loop to the parts of a profile."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.memory import Memory
from kernelcast.ir import Kernel, Location, OpClass, Space
from kernelcast.isas.ptx.flops import flops as flops_of_step
from kernelcast.profiling import counting as c
from kernelcast.profiling.footprints import extrapolate_distinct
from kernelcast.profiling.profile import AccessProfile, Count, Footprint, LineProfile, Sample
from kernelcast.profiling.tables import AccessRow, Table, array_sectors

Floats = NDArray[np.float64]


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
    mean = float(per_block.mean())
    if mean == 0.0:
        return 0.0
    error = float(per_block.std(ddof=1)) * math.sqrt((1 - sampled / grid_blocks) / sampled)
    return error / mean


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


def access_profiles(rows: Sequence[AccessRow], table: Floats) -> tuple[AccessProfile, ...]:
    """The rows that have requests."""
    return tuple(
        AccessProfile(
            instruction=row.instruction.index,
            op_class=row.instruction.op_class,
            space=row.space,
            access_bytes=row.instruction.access_bytes,
            location=row.instruction.location,
            requests=numbers[c.REQUESTS],
            lanes=numbers[c.LANES],
            sectors=numbers[c.SECTORS],
            lines=numbers[c.LINES],
            transactions_cc10=numbers[c.TRANSACTIONS_CC10],
            coalesced_cc10=numbers[c.COALESCED_CC10],
            transactions_cc12=numbers[c.TRANSACTIONS_CC12],
            coalesced_cc12=numbers[c.COALESCED_CC12],
            bytes_cc12=numbers[c.BYTES_CC12],
            passes=numbers[c.PASSES],
            passes_half_warp=numbers[c.PASSES_HALF_WARP],
            ideal_passes=numbers[c.IDEAL_PASSES],
            tag_passes=numbers[c.TAG_PASSES],
        )
        for row, numbers in zip(rows, table.tolist(), strict=True)
        if numbers[c.REQUESTS]
    )


def footprints(memory: Memory, regions: Table, sample: Sample) -> tuple[Footprint, ...]:
    """The arrays that were touched, scaled or extrapolated to the grid."""
    return tuple(
        _footprint(region.label, region.size_bytes, [int(n) for n in row], sample)
        for region, row in zip(memory.regions, regions, strict=True)
        if row[c.REQUESTED]
    )


def _footprint(label: str, size_bytes: int, row: Sequence[int], sample: Sample) -> Footprint:
    def grid_distinct(block_sectors: int, distinct: int) -> float:
        return extrapolate_distinct(
            block_sectors, distinct, sample.blocks, sample.of, array_sectors(size_bytes)
        )

    distinct_sectors = grid_distinct(row[c.BLOCK_DISTINCT], row[c.DISTINCT])
    return Footprint(
        label=label,
        size_bytes=size_bytes,
        read=bool(row[c.IS_READ]),
        written=bool(row[c.IS_WRITTEN]),
        distinct_sectors=distinct_sectors,
        block_sectors=row[c.BLOCK_DISTINCT] * sample.scale,
        requested_sectors=row[c.REQUESTED] * sample.scale,
        distinct_written_sectors=min(
            grid_distinct(row[c.BLOCK_WRITTEN], row[c.WRITTEN]), distinct_sectors
        ),
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
