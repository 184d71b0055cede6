"""Memory accesses that waste bandwidth: uncoalesced ones and bank conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType

from kernelcast.ir import Kernel, Space
from kernelcast.profiling.profile import AccessProfile, Profile
from kernelcast.reporting.figures import digits, percent
from kernelcast.reporting.layout import bullets, section

SECTOR_BYTES = 32

_BAD_RATIO = 1.5
"""Sectors or passes over the fewest possible, from which an access is worth a line."""

_WORTH_SHARE = 0.01
"""Share of all sectors or passes below which an access is not worth a line."""


def render_accesses(profile: Profile) -> RenderableType | None:
    """One line per wasteful access; None where there is none."""
    found = list(wasteful_accesses(profile))
    return section("Accesses that waste bandwidth", bullets(found)) if found else None


def wasteful_accesses(profile: Profile) -> Iterator[str]:
    """In words, the accesses whose pattern costs more than the bytes they ask for."""
    sectors = sum(a.sectors for a in profile.accesses)
    passes = sum(a.passes for a in profile.accesses)
    for access in profile.accesses:
        name = _name(profile.kernel, access)
        fewest = least_sectors(access)
        if (
            access.space in (Space.GLOBAL, Space.LOCAL)
            and access.sectors > _BAD_RATIO * fewest
            and access.sectors > _WORTH_SHARE * sectors
        ):
            yield (
                f"{name}: {digits(access.sectors / access.requests)} sectors per request where "
                f"{digits(fewest / access.requests)} would do; "
                f"{percent(access.sectors / sectors)} of all sectors"
            )
        if (
            access.space is Space.SHARED
            and access.passes > _BAD_RATIO * access.ideal_passes
            and access.passes > _WORTH_SHARE * passes
        ):
            yield (
                f"{name}: {digits(access.passes / access.ideal_passes)}-fold bank conflict; "
                f"{percent(access.passes / passes)} of all shared-memory cycles"
            )


def least_sectors(access: AccessProfile) -> float:
    """Sectors that the same bytes would take if they lay side by side, one at the least."""
    return max(access.requests, access.bytes / SECTOR_BYTES)


def _name(kernel: Kernel, access: AccessProfile) -> str:
    instruction = kernel.instructions[access.instruction]
    if access.location is None:
        return str(instruction)
    return f"{Path(access.location.file).name}:{access.location.line}: {instruction.name}"
