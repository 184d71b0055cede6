"""How often the instructions of a machine-code kernel were executed, by their address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernelcast.ir import Space
from kernelcast.profiling.profile import Profile

_SECTORED = (Space.GLOBAL, Space.LOCAL)


@dataclass(frozen=True, slots=True)
class Executed:
    """Executions of one instruction in some launches.

    `warps` counts warps, `threads` their active lanes. `sectors` are those of its accesses to
    global and local memory, `passes` the cycles of shared memory beside the `ideal_passes` of an
    access without bank conflicts; 0 where it makes none.
    """

    warps: float = 0.0
    threads: float = 0.0
    sectors: float = 0.0
    passes: float = 0.0
    ideal_passes: float = 0.0


def executed_by_address(profiles: Iterable[Profile]) -> Mapping[int, Executed]:
    """The executions of all launches that the profiles are of, added up.

    A copy is a load and a store in a kernel and one instruction of the machine: it counts once.
    """
    total: dict[int, Executed] = {}
    for profile in profiles:
        for address, found in _of_one(profile).items():
            total[address] = _sum(total.get(address, Executed()), found)
    return total


def _of_one(profile: Profile) -> dict[int, Executed]:
    found: dict[int, Executed] = {}
    instructions = profile.kernel.instructions
    for i in instructions:
        if i.code_offset is not None:
            known = found.get(i.code_offset, Executed())
            found[i.code_offset] = Executed(
                warps=max(known.warps, float(profile.instruction_warps[i.index])),
                threads=max(known.threads, float(profile.instruction_threads[i.index])),
            )
    for access in profile.accesses:
        address = instructions[access.instruction].code_offset
        if address is not None:
            is_sectored = access.space in _SECTORED
            used = Executed(
                sectors=access.sectors if is_sectored else 0.0,
                passes=access.passes if access.space is Space.SHARED else 0.0,
                ideal_passes=access.ideal_passes if access.space is Space.SHARED else 0.0,
            )
            found[address] = _sum(found[address], used)
    return found


def _sum(a: Executed, b: Executed) -> Executed:
    return Executed(
        a.warps + b.warps,
        a.threads + b.threads,
        a.sectors + b.sectors,
        a.passes + b.passes,
        a.ideal_passes + b.ideal_passes,
    )
