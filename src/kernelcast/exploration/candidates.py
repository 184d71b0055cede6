"""Launches of a kernel that may be faster: blocks of other sizes and shapes, caps on registers.

A block may change along the axes whose extent the kernel asks for; the grid follows, so that there
are as many threads. The three strategies of Resios 2011, section 5.2.1, are a candidate like
others. Caps on registers are those at which another block fits an SM.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from kernelcast.analysis.block_size import axes_of_block_size
from kernelcast.analysis.slicing import needed_for_trace, reads_arrays
from kernelcast.ir import Dim3, Launch, Space
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.models.terms.base import Bottleneck, Case
from kernelcast.models.terms.launch_size import LaunchSize

_WIDTHS = (32, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024)
_EXTENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_LEAST_WIDTH, _LEAST_SHAPE = 8, 64
_ALONE = 1.01
"""Reads, and writes, of every sector of an array up to which nothing is shared."""
_ROUNDING = 1e-6
_CAPS = (24, 32, 40, 48, 56, 64, 72, 80, 96, 128, 168)


class CodeVerdict(StrEnum):
    """What became of the results of a candidate."""

    SAME = "leaves the same in memory"
    OTHER = "leaves something else in memory"
    UNKNOWN = "too large to compare what it leaves in memory"


@dataclass(frozen=True)
class Candidate:
    """A launch that might be faster.

    `cap` are the registers that a thread may have, None for the compiler's own choice. `by` says
    who proposes it, where that is a rule. `case` is what the model was asked about, and `time_s`
    infinite where it is `refused`, for the reason that this gives.
    """

    grid: Dim3
    block: Dim3
    cap: int | None = None
    by: str = ""
    case: Case | None = field(default=None, repr=False)
    time_s: float = math.inf
    bottleneck: Bottleneck | None = None
    refused: str = ""
    verdict: CodeVerdict | None = None

    @property
    def is_bound(self) -> bool:
        """Whether its time is the least that it may take, as its warps share an SM at best."""
        return self.case is not None and self.case.at_best

    @property
    def is_executed(self) -> bool:
        """Whether it was executed, or there is nothing to be said of it at all."""
        return self.case is None or self.case.like is None

    def of(self, launch: Launch) -> Launch:
        """The launch with this grid and block."""
        return replace(launch, grid=self.grid, block=self.block)


def proposed(case: Case, rules: LaunchSize | None, fixed: str) -> tuple[Candidate, ...]:
    """All candidates for a launch; of other blocks none where a reason `fixed` them."""
    blocks = () if fixed else _blocks(case, rules)
    return tuple(dict.fromkeys((*blocks, *_caps(case))))


def why_fixed(case: Case) -> str:
    """Why the block cannot be another one, empty where it can."""
    if case.launch.smem_bytes:
        return "its dynamic shared memory may depend on the size of a block"
    if not axes_of_block_size(case.kernel):
        return "the kernel does not ask how large its blocks are"
    return ""


def same_warps(one: Dim3, other: Dim3) -> bool:
    """Whether blocks are made of the same warps: rows of 32 threads, or rows as long."""
    if one[0] % WARP_LANES == 0 and other[0] % WARP_LANES == 0:
        return True
    holds = math.prod(one) % WARP_LANES == 0 and math.prod(other) % WARP_LANES == 0
    return holds and one[0] == other[0] and WARP_LANES % one[0] == 0


class Likeness(StrEnum):
    """What is known of launches of the same warps in other blocks from one that was executed."""

    SAME = "they take as long"
    """Warps lie next to each other as before, or share nothing: caches hold the same."""
    AT_BEST = "no less time than this"
    """Other warps share an SM: caches hold what they want more than once, or less of it."""
    NONE = "nothing"
    """What a warp does may depend on the others of its block."""


def likeness(case: Case) -> Likeness:
    """What follows from a launch for others.

    Nothing where blocks use shared memory. In a grid of several rows another shape puts other warps
    next to each other, in a block and in time; that is all the same where no two requests want the
    same sector.
    """
    if any(access.space is Space.SHARED for access in case.profile.accesses):
        return Likeness.NONE
    alone = all(
        array.requested_sectors <= _ALONE * array.distinct_sectors * (array.read + array.written)
        for array in case.profile.footprints
    )
    if alone or _is_flat(case.launch):
        return Likeness.SAME
    return Likeness.NONE if case.cache_counts is None else Likeness.AT_BEST


def has_loops(case: Case) -> bool:
    """Whether warps come to an instruction more than once."""
    return float(case.profile.instruction_warps.max()) > case.profile.warps


def is_even(case: Case) -> bool:
    """Whether all warps do as much with all lanes, whatever lies in memory: few tell of all."""
    profile = case.profile
    rounds = profile.instruction_warps / profile.warps
    if not np.allclose(rounds, np.rint(rounds), rtol=0, atol=_ROUNDING):
        return False
    if any(a.lanes < (1 - _ROUNDING) * WARP_LANES * a.requests for a in profile.accesses):
        return False
    return not reads_arrays(case.kernel, needed_for_trace(case.kernel))


def _is_flat(launch: Launch) -> bool:
    return launch.threads == launch.grid[0] * launch.block[0]


def _blocks(case: Case, rules: LaunchSize | None) -> Iterator[Candidate]:
    """Blocks of other extents along the axes that the kernel asks for."""
    launch = case.launch
    most = case.kernel.resources.max_threads_per_block or int(
        case.machine.number("occupancy.threads_per_block", "advice")
    )
    free = [axis for axis in axes_of_block_size(case.kernel) if launch.grid[axis] > 1] or [0]
    is_flat = _is_flat(launch)
    rows = _flat(launch) if is_flat else _shapes(launch, free)
    blocks = [block for block in rows if WARP_LANES <= math.prod(block) <= most]
    named: dict[Dim3, str] = {}
    if rules is not None:
        x, y = rules.block(1 if is_flat else 2)
        found = (x, y, launch.block[2])
        kept = (axis in free or found[axis] == launch.block[axis] for axis in range(3))
        if math.prod(found) <= most and all(kept):
            named[found] = "three strategies"
            blocks.append(found)
    for block in dict.fromkeys(blocks):
        if block != launch.block:
            yield Candidate(_grid(launch, block), block, by=named.get(block, ""))


def _flat(launch: Launch) -> Iterator[Dim3]:
    _, y, z = launch.block
    return ((width, y, z) for width in _WIDTHS)


def _shapes(launch: Launch, free: Sequence[int]) -> Iterator[Dim3]:
    """Powers of two along the first two axes that may change."""
    x, y, z = launch.block
    for width in _EXTENTS if 0 in free else (x,):
        for height in _EXTENTS if 1 in free else (y,):
            is_wide = width >= _LEAST_WIDTH or 0 not in free
            if is_wide and _LEAST_SHAPE <= width * height * z <= _EXTENTS[-1]:
                yield width, height, z


def _grid(launch: Launch, block: Dim3) -> Dim3:
    """As many threads along every axis, rounded up to whole blocks."""
    x, y, z = (
        -(-blocks * old // new)
        for blocks, old, new in zip(launch.grid, launch.block, block, strict=True)
    )
    return x, y, z


def _caps(case: Case) -> Iterator[Candidate]:
    """Caps on registers with which more blocks fit an SM."""
    registers, launch = case.kernel.resources.registers, case.launch
    if registers is None or "registers" not in case.occupancy.co_limiters:
        return
    slack = next(s for s in case.occupancy.slacks if s.resource == "registers per thread")
    if slack.for_one_more is None:
        return
    for cap in _CAPS:
        if cap <= slack.for_one_more:
            yield Candidate(launch.grid, launch.block, cap)
