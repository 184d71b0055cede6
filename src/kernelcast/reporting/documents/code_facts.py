"""What code alone tells of a launch, before anything is executed."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from kernelcast.analysis.coalescing import StaticAccess, static_accesses
from kernelcast.analysis.ilp import block_parallelism
from kernelcast.analysis.intensity import arithmetic_intensity
from kernelcast.analysis.regions import array_regions
from kernelcast.ir import Space
from kernelcast.profiling.profile import Profile
from kernelcast.reporting.documents.base import Natural, NotNegative


class CodeFacts(Struct, frozen=True):
    """What code alone tells, with the sizes of the launch.

    `reads` and `writes` are bytes of the arrays that accesses may lead into, `unknown_sizes` arrays
    whose size nobody gives, and `may_lead_anywhere` says that an access may lead into any array. Of
    `accesses` to global and shared memory the addresses of `evaluated` are known. `ilp` is the mean
    over basic blocks, by how often warps execute them, and `intensity` counts instructions that
    stay on the chip for each that leaves it, null where none does.
    """

    reads: dict[str, Natural]
    writes: dict[str, Natural]
    unknown_sizes: list[str]
    may_lead_anywhere: bool
    accesses: Natural
    evaluated: Natural
    ilp: NotNegative
    intensity: NotNegative | None


def accesses_by_code(profile: Profile) -> Mapping[int, StaticAccess]:
    """All accesses, by instruction; none of kernels of which there is no more than text."""
    if not profile.kernel.blocks:
        return {}
    return {a.instruction: a for a in static_accesses(profile.kernel, profile.launch)}


def requests_by_code(access: StaticAccess | None, space: Space) -> float | None:
    """Sectors, or passes of shared memory, that a whole warp asks for, None where not known."""
    if access is None or not access.is_evaluated or access.space is not space:
        return None
    return access.passes if space is Space.SHARED else access.sectors


def code_facts(profile: Profile, accesses: Mapping[int, StaticAccess]) -> CodeFacts:
    """The facts of a launch that was counted, and its accesses by code."""
    kernel = profile.kernel
    regions = array_regions(kernel, profile.launch, accesses.values())
    times = profile.instruction_warps.tolist()
    intensity = arithmetic_intensity(kernel, times)
    in_block = [sum(times[block.start : block.end]) for block in kernel.blocks]
    weighted = zip(in_block, block_parallelism(kernel), strict=True)
    # Instructions over the lengths of paths, as within a block (6.1).
    paths = sum(count / ilp for count, ilp in weighted)
    return CodeFacts(
        reads=dict(regions.read),
        writes=dict(regions.written),
        unknown_sizes=list(regions.left_out),
        may_lead_anywhere=regions.anywhere,
        accesses=len(accesses),
        evaluated=sum(access.is_evaluated for access in accesses.values()),
        ilp=sum(in_block) / paths if paths else 1.0,
        intensity=intensity.ratio if intensity.off_chip else None,
    )
