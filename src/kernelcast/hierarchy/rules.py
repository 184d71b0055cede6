"""How a chip makes requests and transactions of accesses: what its machine file says.

Where a file does not say it, the rules are those of today's chips.
"""

from __future__ import annotations

from kernelcast.errors import InputError
from kernelcast.ir.sizes import HALF_WARP_LANES, SECTOR_BYTES
from kernelcast.machines.machine import Machine
from kernelcast.profiling.rules import MOST_TAG_BITS, AccessRules


def caches_memory(machine: Machine) -> bool:
    """Whether global and local memory are cached at all."""
    return machine.get("l2.caches_global") != 0


def serves_half_warps(machine: Machine) -> bool:
    """Whether a request to shared memory is one of a half-warp."""
    return machine.get("shared.lanes_per_request") == HALF_WARP_LANES


def merges_half_warps(machine: Machine) -> bool:
    """Whether accesses to global memory merge within a half-warp only."""
    return machine.get("coalescing.lanes") == HALF_WARP_LANES


def merges_in_order(machine: Machine) -> bool:
    """Whether they merge only if each lane takes its own word of a segment in turn."""
    return machine.get("coalescing.in_order") == 1


def transaction_bytes(machine: Machine) -> int:
    """The smallest transaction with global memory."""
    return int(machine.get("coalescing.transaction") or SECTOR_BYTES)


def caches_loads_in_l1(machine: Machine) -> bool:
    """Whether loads from global memory are cached by the SM unless the code asks otherwise."""
    return machine.get("l1.caches_global") == 1


def caches_local_in_l1(machine: Machine) -> bool:
    """Whether local memory is cached by the SM."""
    return machine.get("l1.caches_local") == 1


def writes_through_l1(machine: Machine) -> bool:
    """Whether stores to local memory go on to the L2 cache at once."""
    return machine.get("l1.writes_through") == 1


def access_rules(machine: Machine) -> AccessRules:
    """What a profile is to count for this machine beside what all machines share.

    InputError where the tags' banks are named by more parities than can be counted.
    """
    bits = machine.numbers("l1.tag_bank_bits") if machine.get("l1.tags") is not None else ()
    if len(bits) > MOST_TAG_BITS:
        raise InputError(
            f"l1.tag_bank_bits of {machine.name} has {len(bits)} masks",
            hint=f"give {MOST_TAG_BITS} at most",
        )
    half_warps = serves_half_warps(machine) or merges_half_warps(machine)
    return AccessRules(tuple(int(mask) for mask in bits), half_warps)


def places_of_line(partitions: float) -> float:
    """Places that a line takes in the mean in an L2 cache of one or two partitions: that where it
    does not belong keeps a copy for its own SMs, which every second one is."""
    return (1 + partitions) / 2
