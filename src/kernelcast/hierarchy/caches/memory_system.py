"""The caches of a machine as a launch finds them."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from typing import cast

from kernelcast.errors import InputError
from kernelcast.hierarchy.caches.layout import MOST_ENTRIES
from kernelcast.hierarchy.rules import (
    caches_loads_in_l1,
    caches_local_in_l1,
    places_of_line,
    writes_through_l1,
)
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.machines.machine import Machine, Quantity

_LINE_BYTES = 128
"""Line of every cache that is simulated."""

CAPACITIES = ("l1.size", "l1.reach", "l1.ways", "l2.size", "l2.ways")
"""Numbers by which caches differ in nothing but how much they hold, and in how large sets."""


@dataclass(frozen=True, slots=True)
class CacheShape:
    """Sets and ways of lines of 128 B.

    Lines in a row lie in sets in a row; where the cache `hashes_sets`, every such round of the sets
    starts at another one, so that lines a power of two apart do not meet.
    """

    sets: int
    ways: int
    hashes_sets: bool = False

    @property
    def lines(self) -> int:
        """How many lines it holds."""
        return self.sets * self.ways


@dataclass(frozen=True, slots=True)
class MemorySystem:
    """What lies between the SMs and the DRAM, for one launch.

    Attributes
    ----------
    sms:
        SMs, each with an L1 cache of its own.
    blocks_per_sm:
        Blocks that are resident on one.
    l1:
        The L1 cache; None where there is none.
    l2:
        One partition of the L2 cache.
    partitions:
        1, or 2 where an SM is nearer to one half, which keeps copies of what it reads of the other.
    fetched_sectors:
        Sectors that the DRAM delivers together, 1 or 2.
    chunk_lines:
        Lines that lie together in one channel of the DRAM; a power of two.
    waiting_sectors:
        Sectors that wait for the DRAM at once, of which those of one chunk are served together.
    writes_through:
        Whether stores to local memory go on to the L2 cache at once.
    fills_partial_sectors:
        Whether a sector that was written in parts only is read before it is written to the DRAM.
    most_dirty_sectors:
        Sectors that the L2 cache at most has not yet written to the DRAM when a launch ends.
    caches_global, caches_read_only, caches_local:
        Whether the L1 cache takes loads from global memory, those of what nobody writes, and local
        memory.
    """

    sms: int
    blocks_per_sm: int
    l1: CacheShape | None
    l2: CacheShape
    partitions: int = 1
    fetched_sectors: int = 1
    chunk_lines: int = 8
    waiting_sectors: int = 0
    writes_through: bool = True
    fills_partial_sectors: bool = True
    most_dirty_sectors: float = math.inf
    caches_global: bool = True
    caches_read_only: bool = True
    caches_local: bool = True

    @property
    def l2_sectors(self) -> int:
        """What the L2 cache holds, in sectors of 32 B."""
        return self.partitions * self.l2.lines * (_LINE_BYTES // SECTOR_BYTES)

    @property
    def held_sectors(self) -> float:
        """Different sectors that the L2 cache holds."""
        return self.l2_sectors / places_of_line(self.partitions)

    def part_for(self, blocks: int, of: int) -> MemorySystem:
        """As many SMs as so many blocks fill, with their share of the L2 cache among those that a
        grid of `of` blocks keeps busy."""
        sms = min(self.sms, max(1, blocks // self.blocks_per_sm))
        busy = max(sms, min(self.sms, of // self.blocks_per_sm))
        sets = max(1, round(self.l2.sets * sms / busy))
        waiting = round(self.waiting_sectors * sms / busy)
        return replace(self, sms=sms, l2=replace(self.l2, sets=sets), waiting_sectors=waiting)


_NEEDED = ("sm.count", "l2.size", "l2.ways", "l2.partitions")
_NEEDED_BY_L1 = ("l1.size", "l1.ways")


def missing_numbers(machine: Machine) -> tuple[str, ...]:
    """Numbers without which the caches of a machine cannot be simulated, of those it lacks."""
    wanted = _NEEDED + (_NEEDED_BY_L1 if _caches_anything(machine) else ())
    return tuple(path for path in wanted if machine.get(path) is None)


def with_capacities(machine: Machine, other: Machine) -> Machine:
    """A machine with caches of the capacities of another one of its name."""
    # Numbers stay where they are, so that nothing depends on those that nobody looks up.
    others = cast("MutableMapping[str, Quantity]", machine.quantities)  # nobody writes there
    own = {path: other.quantities[path] for path in CAPACITIES if path in other.quantities}
    return replace(machine, quantities=ChainMap(own, others), overrides=other.overrides)


def memory_system(
    machine: Machine, shared_bytes: int, blocks_per_sm: int, carveout: int | None = None
) -> MemorySystem:
    """The caches of a machine for a launch; it must lack none of `missing_numbers`.

    Raises InputError where an L1 cache is larger than can be simulated.

    The L1 cache is what the SM's shared memory leaves, which is set to the smallest size that holds
    that of `blocks_per_sm` blocks with `shared_bytes` each, and `carveout` percent of the largest;
    of that, the share that a chase through memory found (`l1.reach`) of the least that holds so
    much. A carve-out takes ways, not sets.
    """
    with_l1 = _caches_anything(machine)
    reserved = machine.get("occupancy.shared_reserved") or 0.0
    held = blocks_per_sm * (shared_bytes + reserved)
    preferred = (carveout or 0) / 100 * (machine.get("occupancy.shared_per_sm") or 0.0)
    partitions = min(2, int(machine.number("l2.partitions")))
    lines = machine.number("l2.size") / _LINE_BYTES / partitions
    ways = int(machine.number("l2.ways"))
    shape = CacheShape(max(1, round(lines / ways)), ways, machine.get("l2.hashes_sets") == 1)
    return MemorySystem(
        sms=int(machine.number("sm.count")),
        blocks_per_sm=blocks_per_sm,
        l1=_l1(machine, max(held, preferred)) if with_l1 else None,
        l2=shape,
        partitions=partitions,
        fetched_sectors=2 if (machine.get("dram.access") or 0) > SECTOR_BYTES else 1,
        chunk_lines=_chunk_lines(machine),
        waiting_sectors=_waiting_sectors(machine),
        writes_through=writes_through_l1(machine),
        fills_partial_sectors=machine.get("l2.fills_partial_sectors") == 1,
        most_dirty_sectors=_most_dirty_sectors(machine),
        caches_global=caches_loads_in_l1(machine),
        caches_read_only=machine.get("l1.caches_read_only") == 1,
        caches_local=caches_local_in_l1(machine),
    )


def _most_dirty_sectors(machine: Machine) -> float:
    share = machine.get("l2.dirty_share")
    return math.inf if share is None else share * machine.number("l2.size") / SECTOR_BYTES


def _chunk_lines(machine: Machine) -> int:
    """Rounded down to a power of two; a line where nothing is known."""
    lines = int((machine.get("dram.interleave") or 0) / _LINE_BYTES)
    return 1 << max(0, lines.bit_length() - 1)


def _waiting_sectors(machine: Machine) -> int:
    """What the queues of all channels hold; none where nothing is known of them."""
    return int((machine.get("dram.channels") or 0) * (machine.get("dram.queue") or 0))


def _caches_anything(machine: Machine) -> bool:
    flags = ("l1.caches_global", "l1.caches_read_only", "l1.caches_local")
    return any(machine.get(flag) == 1 for flag in flags)


def _l1(machine: Machine, shared_bytes: float) -> CacheShape | None:
    size = machine.number("l1.size")
    carveouts = sorted(machine.numbers("occupancy.shared_carveouts"))
    reach = machine.get("l1.reach") or size
    left = chased = size
    if carveouts and carveouts[-1] < size:
        left = size - next((c for c in carveouts if c >= shared_bytes), carveouts[-1])
        # A chase by small blocks leaves room for what the driver takes for many of them.
        chased = min((size - c for c in carveouts if size - c >= reach), default=size)
    left *= min(1.0, reach / chased)
    sets = max(1, round(size / _LINE_BYTES / machine.number("l1.ways")))
    ways = int(left / _LINE_BYTES / sets)
    if sets * ways > MOST_ENTRIES:
        raise InputError(
            f"l1.size of {machine.name} is {size:g} B",
            hint=f"caches are simulated up to {MOST_ENTRIES * _LINE_BYTES} B for each SM",
        )
    return CacheShape(sets, ways, machine.get("l1.hashes_sets") == 1) if ways else None
