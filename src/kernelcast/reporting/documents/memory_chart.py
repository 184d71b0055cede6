"""What moves between the levels of memory: requests, bytes, and what the caches hold."""

from __future__ import annotations

from msgspec import Struct

from kernelcast.ir import OpClass, Space
from kernelcast.models.terms.base import Case
from kernelcast.profiling.profile import Profile
from kernelcast.reporting.documents.base import NotNegative

_SHOWN = (Space.GLOBAL, Space.LOCAL, Space.SHARED)


class SpacePart(Struct, frozen=True):
    """What warps ask of one state space: requests by kind, and bytes that their lanes ask for.

    `sectors` are those of global and local memory; `passes` the cycles of shared memory beside
    `ideal_passes`, those without bank conflicts.
    """

    space: str
    loads: NotNegative
    stores: NotNegative
    atomics: NotNegative
    requested_bytes: NotNegative
    sectors: NotNegative
    passes: NotNegative
    ideal_passes: NotNegative


def spaces(case: Case) -> list[SpacePart]:
    """The state spaces that a launch accesses."""
    found = [_space(case.profile, space) for space in _SHOWN]
    return [part for part in found if part.loads or part.stores or part.atomics]


def _space(profile: Profile, space: Space) -> SpacePart:
    mine = [a for a in profile.accesses if a.space is space]

    def requests(*classes: OpClass) -> float:
        return sum(a.requests for a in mine if a.op_class in classes)

    all_requests = sum(a.requests for a in mine)
    loads, atomics = requests(OpClass.LOAD), requests(OpClass.ATOMIC)
    return SpacePart(
        space=str(space),
        loads=loads,
        stores=all_requests - loads - atomics,
        atomics=atomics,
        requested_bytes=profile.requested_bytes(space),
        sectors=sum(a.sectors for a in mine),
        passes=sum(a.passes for a in mine) if space is Space.SHARED else 0.0,
        ideal_passes=sum(a.ideal_passes for a in mine) if space is Space.SHARED else 0.0,
    )
