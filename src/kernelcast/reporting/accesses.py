"""Memory accesses that waste bandwidth: uncoalesced ones and bank conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rich.console import RenderableType

from kernelcast.ir import Kernel, Space
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.profiling.profile import AccessProfile, Profile
from kernelcast.reporting.figures import digits, percent
from kernelcast.reporting.layout import bullets, section

_BAD_RATIO = 1.5
"""Sectors or passes over the fewest possible, from which an access is worth a line."""

_WORTH_SHARE = 0.01
"""Share of all sectors or passes below which accesses are not worth a line."""


def render_accesses(profile: Profile) -> RenderableType | None:
    """One line per kind of wasteful access of a source line; None where there is none."""
    found = list(wasteful_accesses(profile))
    return section("Accesses that waste bandwidth", bullets(found)) if found else None


def wasteful_accesses(profile: Profile) -> Iterator[str]:
    """In words, the accesses whose pattern costs more than the bytes they ask for, dearest first.

    Instructions of one kind in one source line are told together.
    """
    for space, used, told in (
        ((Space.GLOBAL, Space.LOCAL), _sectors, _uncoalesced),
        ((Space.SHARED,), _passes, _conflicting),
    ):
        accesses = [used(a) for a in profile.accesses if a.space in space]
        whole = sum(use.taken for use in accesses)
        wasteful = [use for use in accesses if use.taken > _BAD_RATIO * use.fewest]
        rows = _by_source(profile.kernel, wasteful)
        for name, use in sorted(rows, key=lambda row: -row[1].taken):
            if use.taken > _WORTH_SHARE * whole:
                yield f"{name}: {told(use)}; {percent(use.taken / whole)} of all {use.unit}"


@dataclass(frozen=True, slots=True)
class _Use:
    """What some accesses take of a resource, and the fewest that their bytes would take."""

    access: AccessProfile
    requests: float
    taken: float
    fewest: float
    unit: str


def _sectors(access: AccessProfile) -> _Use:
    fewest = least_sectors(access)
    return _Use(access, access.requests, access.sectors, fewest, "sectors")


def _passes(access: AccessProfile) -> _Use:
    unit = "shared-memory cycles"
    return _Use(access, access.requests, access.passes, access.ideal_passes, unit)


def _uncoalesced(use: _Use) -> str:
    return (
        f"{digits(use.taken / use.requests)} sectors per request where "
        f"{digits(use.fewest / use.requests)} would do"
    )


def _conflicting(use: _Use) -> str:
    return f"{digits(use.taken / use.fewest)}-fold bank conflict"


def least_sectors(access: AccessProfile) -> float:
    """Sectors that the same bytes would take if they lay side by side, one at the least."""
    return max(access.requests, access.bytes / SECTOR_BYTES)


def _by_source(kernel: Kernel, uses: list[_Use]) -> Iterator[tuple[str, _Use]]:
    """Uses added up by source line and instruction name."""

    def name_of(use: _Use) -> str:
        return _name(kernel, use.access)

    for name, group in groupby(sorted(uses, key=name_of), key=name_of):
        same = list(group)
        times = f" ({len(same)} of them)" if len(same) > 1 else ""
        yield (
            name + times,
            _Use(
                same[0].access,
                sum(u.requests for u in same),
                sum(u.taken for u in same),
                sum(u.fewest for u in same),
                same[0].unit,
            ),
        )


def _name(kernel: Kernel, access: AccessProfile) -> str:
    instruction = kernel.instructions[access.instruction]
    if access.location is None:
        return str(instruction)
    return f"{Path(access.location.file).name}:{access.location.line}: {instruction.name}"
