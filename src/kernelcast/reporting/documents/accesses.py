"""Memory accesses that waste bandwidth: uncoalesced ones and bank conflicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Literal

from msgspec import Struct

from kernelcast.ir import Kernel, Space
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.profiling.profile import AccessProfile, Profile
from kernelcast.reporting.documents.base import NotNegative, Positive, Share

_BAD_RATIO = 1.5
"""Sectors or passes over the fewest possible, from which an access is worth a line."""

_WORTH_SHARE = 0.01
"""Share of all sectors or passes below which accesses are not worth a line."""


class WastefulAccess(Struct, frozen=True):
    """Accesses of one kind in one source line, which cost more than the bytes they ask for.

    `taken` are sectors of global and local memory, or passes (cycles) of shared memory; `fewest`
    what the same bytes take side by side or without bank conflicts; `share` that of `taken` in
    the whole launch. `file` and `line` are null where the code does not say them.
    """

    instruction: str
    file: str | None
    line: Positive | None
    instructions: Positive
    unit: Literal["sectors", "passes"]
    requests: NotNegative
    taken: NotNegative
    fewest: NotNegative
    per_request: NotNegative
    fewest_per_request: NotNegative
    times_fewest: NotNegative
    share: Share


def wasteful_accesses(profile: Profile) -> list[WastefulAccess]:
    """The accesses whose pattern costs more than the bytes they ask for, dearest first."""
    accesses = profile.accesses
    beyond_sm = [a for a in accesses if a.space in (Space.GLOBAL, Space.LOCAL)]
    shared = [a for a in accesses if a.space is Space.SHARED]
    kernel = profile.kernel
    return [
        *_wasteful(kernel, beyond_sm, "sectors", lambda a: a.sectors, _least_sectors),
        *_wasteful(kernel, shared, "passes", lambda a: a.passes, lambda a: a.ideal_passes),
    ]


def _least_sectors(access: AccessProfile) -> float:
    """Sectors that the same bytes would take if they lay side by side, one at the least."""
    return max(access.requests, access.bytes / SECTOR_BYTES)


def _wasteful(
    kernel: Kernel,
    accesses: list[AccessProfile],
    unit: Literal["sectors", "passes"],
    taken: Callable[[AccessProfile], float],
    fewest: Callable[[AccessProfile], float],
) -> list[WastefulAccess]:
    whole = sum(map(taken, accesses))
    bad = [a for a in accesses if taken(a) > _BAD_RATIO * fewest(a)]
    found = []
    for same in _by_source(kernel, bad):
        used = sum(map(taken, same))
        if used > _WORTH_SHARE * whole:
            requests, least = sum(a.requests for a in same), sum(map(fewest, same))
            place = same[0].location
            found.append(
                WastefulAccess(
                    instruction=_name(kernel, same[0]),
                    file=place.file if place else None,
                    line=place.line if place else None,
                    instructions=len(same),
                    unit=unit,
                    requests=requests,
                    taken=used,
                    fewest=least,
                    per_request=used / requests,
                    fewest_per_request=least / requests,
                    times_fewest=used / least,
                    share=used / whole,
                )
            )
    return sorted(found, key=lambda access: -access.taken)


def _by_source(kernel: Kernel, accesses: Iterable[AccessProfile]) -> Iterator[list[AccessProfile]]:
    """Accesses by source line and instruction name, in the order of their names."""

    def key(access: AccessProfile) -> str:
        place = access.location
        where = f"{Path(place.file).name}:{place.line}: " if place else ""
        return f"{where}{_name(kernel, access)}"

    for _, group in groupby(sorted(accesses, key=key), key=key):
        yield list(group)


def _name(kernel: Kernel, access: AccessProfile) -> str:
    """The name of an access's instruction; its whole text where nobody says a source line."""
    instruction = kernel.instructions[access.instruction]
    return str(instruction) if access.location is None else instruction.name
