"""What `occupancy` answers: blocks and warps per SM, and how far each resource may move."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kernelcast.machines.occupancy import Occupancy
from kernelcast.reporting.documents.base import Natural, NotNegative, Positive, Share


class SlackPart(Struct, frozen=True):
    """How far one resource may move: the greatest value below `current` with which one more block
    fits, null where none does, and the greatest at which no block is lost."""

    resource: str
    current: Natural
    for_one_more: Natural | None
    until_one_less: Natural


class OccupancyResult(Struct, frozen=True):
    """A block's occupancy on one GPU; see `kernelcast.machines.occupancy.Occupancy`.

    `limit_warps` are the most that an SM can hold of any blocks.
    """

    machine: str
    threads_per_block: Positive
    registers_per_thread: Natural | None
    shared_bytes_per_block: Natural
    blocks_per_sm: Natural
    warps_per_block: Positive
    warps_per_sm: Natural
    relative: Share
    limiter: str
    co_limiters: list[str]
    limits: dict[str, Natural]
    slacks: list[SlackPart]
    waves: NotNegative | None
    tail_blocks: Natural | None
    tail_share: Share | None
    assumptions: list[str]
    limit_warps: Positive


class OccupancyDocument(Struct, frozen=True):
    """All that `occupancy --json` prints."""

    results: list[OccupancyResult]


def occupancy_document(occupancies: Sequence[Occupancy]) -> OccupancyDocument:
    """The document of a block's occupancy on several GPUs."""
    return OccupancyDocument([_result(o) for o in occupancies])


def _result(o: Occupancy) -> OccupancyResult:
    return OccupancyResult(
        machine=o.machine,
        threads_per_block=o.threads_per_block,
        registers_per_thread=o.registers_per_thread,
        shared_bytes_per_block=o.shared_bytes_per_block,
        blocks_per_sm=o.blocks_per_sm,
        warps_per_block=o.warps_per_block,
        warps_per_sm=o.warps_per_sm,
        relative=o.relative,
        limiter=o.limiter,
        co_limiters=list(o.co_limiters),
        limits=dict(o.limits),
        slacks=[
            SlackPart(s.resource, s.current, s.for_one_more, s.until_one_less) for s in o.slacks
        ],
        waves=o.waves,
        tail_blocks=o.tail_blocks,
        tail_share=o.tail_share,
        assumptions=list(o.assumptions),
        limit_warps=round(o.warps_per_sm / o.relative),
    )
