"""Loads that diverge in memory: how many, and which source lines make them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kernelcast.profiling.profile import AccessProfile, Profile
from kernelcast.reporting.documents.base import NotNegative, Positive


class DivergentLine(Struct, frozen=True):
    """Loads of one source line of which some touch more than one line of 128 B.

    `dpki` is their share in that of the kernel, `lines_per_request` what a mean request of theirs
    touches. Where the code says no place, `file` and `line` are null and it is one instruction.
    """

    instruction: str
    file: str | None
    line: Positive | None
    dpki: NotNegative
    lines_per_request: NotNegative


class DivergencePart(Struct, frozen=True):
    """Divergent loads per kilo instructions, both of warps; the kernel is memory-divergent where
    they are more than 10 (Wang et al. 2020). `lines` are where they stand, most first."""

    dpki: NotNegative
    is_memory_divergent: bool
    lines: list[DivergentLine]


def divergence(profile: Profile) -> DivergencePart:
    """What a launch loads divergently, by source line."""
    groups: dict[object, list[AccessProfile]] = {}
    for load in profile.divergent_loads:
        groups.setdefault(load.location or load.instruction, []).append(load)
    lines = [_line(profile, loads) for loads in groups.values()]
    return DivergencePart(
        dpki=profile.dpki,
        is_memory_divergent=profile.is_memory_divergent,
        lines=sorted(lines, key=lambda line: -line.dpki),
    )


def _line(profile: Profile, loads: Sequence[AccessProfile]) -> DivergentLine:
    place = loads[0].location
    instruction = profile.kernel.instructions[loads[0].instruction]
    return DivergentLine(
        instruction=instruction.name if place else str(instruction),
        file=place.file if place else None,
        line=place.line if place else None,
        dpki=1000 * sum(load.divergent for load in loads) / profile.total.warp,
        lines_per_request=sum(load.lines for load in loads) / sum(load.requests for load in loads),
    )
