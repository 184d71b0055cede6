"""Occupancy by NVIDIA's rules, compute capability 1.0 to 12.1.

Sources: `cuda_occupancy.h` (CUDA 12.9) from compute capability 3.0; the CUDA Occupancy Calculator
for 1.x and 2.x; Volkov 2016, section 5.7, for the shared memory that 1.x adds to a block. Left out:
partitioned global caching (an option of 5.2 and 6.1, off by default) and cluster launches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from kernelcast.errors import InputError, LaunchError
from kernelcast.ir import Launch, Resources
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.machines.machine import Machine


@dataclass(frozen=True, slots=True)
class Slack:
    """How far one resource may move, all else unchanged.

    `for_one_more` is the greatest value below `current` with which at least one more block fits on
    an SM, None where no value does; `until_one_less` the greatest value at which no block is lost.
    """

    resource: str
    current: int
    for_one_more: int | None
    until_one_less: int


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps that one SM holds at once, and why not more.

    `relative` is `warps_per_sm` over the most an SM can hold. `limits` maps each limiting resource
    to the blocks per SM that it alone would allow; `co_limiters` are all that allow no more than
    `blocks_per_sm`, `limiter` the first of them. `waves` is the grid over the blocks that all SMs
    hold at once, `tail_blocks` how many blocks the last wave has and `tail_share` that number over
    a full wave; None where no grid was given.
    """

    machine: str
    threads_per_block: int
    registers_per_thread: int | None
    shared_bytes_per_block: int
    blocks_per_sm: int
    warps_per_block: int
    warps_per_sm: int
    relative: float
    limiter: str
    co_limiters: tuple[str, ...]
    limits: Mapping[str, int]
    slacks: tuple[Slack, ...]
    waves: float | None = None
    tail_blocks: int | None = None
    tail_share: float | None = None
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _BlockResources:
    """What one block asks for; `registers` 0 stands for unknown or none."""

    threads: int
    registers: int
    shared_bytes: int
    barriers: int
    shared_percent: int | None

    @property
    def warps(self) -> int:
        return -(-self.threads // WARP_LANES)


@dataclass(frozen=True, slots=True)
class _Rules:
    """The limits of one machine, as integers."""

    name: str
    capability: tuple[int, int]
    warps: int
    blocks: int
    threads_per_block: int
    registers_per_sm: int
    registers_per_block: int
    registers_per_thread: int
    register_unit: int
    granularity: int
    shared_per_sm: int
    shared_per_block: int
    shared_per_block_most: int
    shared_reserved: int
    shared_unit: int
    shared_carveouts: tuple[int, ...]
    barriers: int | None

    @classmethod
    def of(cls, machine: Machine) -> _Rules:
        def number(path: str) -> int:
            return int(machine.number(f"occupancy.{path}", "the occupancy rules"))

        capability = machine.compute_capability
        per_block = number("shared_per_block")
        optin = machine.get("occupancy.shared_per_block_optin")
        barriers = machine.get("occupancy.named_barriers")
        return cls(
            name=f"{machine.name} (cc {capability[0]}.{capability[1]})",
            capability=capability,
            warps=min(number("warps_per_sm"), number("threads_per_sm") // WARP_LANES),
            blocks=number("blocks_per_sm"),
            threads_per_block=number("threads_per_block"),
            registers_per_sm=number("registers_per_sm"),
            registers_per_block=number("registers_per_block"),
            registers_per_thread=number("registers_per_thread"),
            register_unit=number("register_unit"),
            granularity=number("warp_granularity" if capability < (2, 0) else "sub_partitions"),
            shared_per_sm=number("shared_per_sm"),
            shared_per_block=per_block,
            shared_per_block_most=per_block if optin is None else max(per_block, int(optin)),
            shared_reserved=number("shared_reserved"),
            shared_unit=number("shared_unit"),
            shared_carveouts=tuple(int(n) for n in machine.numbers("occupancy.shared_carveouts")),
            barriers=None if barriers is None else int(barriers),
        )


def occupancy(
    machine: Machine,
    *,
    threads: int,
    registers: int | None,
    shared_bytes: int,
    shared_preference_percent: int | None = None,
    named_barriers: int = 0,
    blocks: int | None = None,
) -> Occupancy:
    """Occupancy of a block of `threads` threads.

    Parameters
    ----------
    registers:
        32-bit registers per thread; None where unknown, which limits nothing.
    shared_bytes:
        Static and dynamic shared memory of one block, without what the driver reserves.
    shared_preference_percent:
        Share of the SM's largest shared memory that the kernel prefers, as in
        `cudaFuncAttributePreferredSharedMemoryCarveout`; None prefers the largest.
    named_barriers:
        Barriers that a block uses; they limit from compute capability 9.0.
    blocks:
        Blocks in the grid, for the waves; None leaves them out.

    Raises
    ------
    LaunchError
        If not even one block fits on an SM; says which resource is exceeded.
    """
    _check_numbers(threads, registers, shared_bytes, shared_preference_percent, named_barriers)
    if blocks is not None and blocks < 1:
        raise LaunchError(f"a grid of {blocks} blocks", hint="launch at least 1 block")
    rules = _Rules.of(machine)
    request = _BlockResources(
        threads, registers or 0, shared_bytes, named_barriers, shared_preference_percent
    )
    limits = _limits(rules, request)
    per_sm = min(limits.values())
    if per_sm == 0:
        raise _misfit(rules, request)
    co_limiters = tuple(name for name, limit in limits.items() if limit == per_sm)
    wave = per_sm * int(machine.number("sm.count", "the waves")) if blocks is not None else 1
    tail = None if blocks is None else (blocks - 1) % wave + 1
    return Occupancy(
        machine=machine.name,
        threads_per_block=threads,
        registers_per_thread=registers,
        shared_bytes_per_block=shared_bytes,
        blocks_per_sm=per_sm,
        warps_per_block=request.warps,
        warps_per_sm=per_sm * request.warps,
        relative=per_sm * request.warps / rules.warps,
        limiter=co_limiters[0],
        co_limiters=co_limiters,
        limits=limits,
        slacks=_slacks(rules, request, per_sm),
        waves=None if blocks is None else blocks / wave,
        tail_blocks=tail,
        tail_share=None if tail is None else tail / wave,
        assumptions=_assumptions(rules, request, registers),
    )


def occupancy_of_launch(machine: Machine, resources: Resources, launch: Launch) -> Occupancy:
    """Occupancy of a kernel that holds `resources` under `launch`, waves included.

    Raises
    ------
    LaunchError
        If a block does not fit on an SM or has more threads than the kernel was compiled for.
    """
    most = resources.max_threads_per_block
    if most is not None and launch.threads_per_block > most:
        raise LaunchError(
            f"block of {launch.threads_per_block} threads exceeds the {most} "
            "that the kernel's launch bounds allow",
            hint=f"use at most {most} threads per block or widen __launch_bounds__",
        )
    shared = resources.static_shared_bytes + launch.smem_bytes
    if machine.compute_capability < (2, 0):
        # Arguments live in shared memory there, 4 B each: Volkov 2016, section 5.7.
        shared += 4 * len(launch.args)
    return occupancy(
        machine,
        threads=launch.threads_per_block,
        registers=resources.registers,
        shared_bytes=shared,
        shared_preference_percent=launch.carveout,
        named_barriers=resources.named_barriers,
        blocks=launch.blocks,
    )


def most_for_blocks(
    machine: Machine, held: Occupancy, blocks: int, named_barriers: int = 0
) -> dict[str, int | None]:
    """What each resource may be at most so that it alone allows `blocks` blocks per SM.

    In the units of `Slack`; None where no value does: then the limit is on blocks, or on warps.
    """
    rules = _Rules.of(machine)
    request = _BlockResources(
        held.threads_per_block,
        held.registers_per_thread or 0,
        held.shared_bytes_per_block,
        named_barriers,
        None,
    )
    ranges = {
        "registers": ("registers", 1, rules.registers_per_thread),
        "shared memory": ("shared_bytes", 0, rules.shared_per_block_most),
    }
    most: dict[str, int | None] = {}
    for limiter, limit in _limits(rules, request).items():
        if limiter not in ranges:
            if limit < blocks:
                most[limiter] = None
            continue
        resource, low, high = ranges[limiter]

        def fits(value: int, limiter: str = limiter, resource: str = resource) -> bool:
            limits = _limits(rules, replace(request, **{resource: value}))
            return limits.get(limiter, blocks) >= blocks

        most[limiter] = _greatest(fits, low, high)
    return most


def _check_numbers(
    threads: int, registers: int | None, shared: int, percent: int | None, barriers: int
) -> None:
    for name, value, least in (
        ("threads per block", threads, 1),
        ("registers per thread", registers or 0, 0),
        ("shared memory per block in bytes", shared, 0),
        ("named barriers", barriers, 0),
    ):
        if value < least:
            raise LaunchError(f"{name} is {value}", hint=f"give at least {least}")
    if percent is not None and not 0 <= percent <= 100:
        raise InputError(f"shared-memory preference is {percent} %", hint="give 0 to 100")


def _limits(rules: _Rules, request: _BlockResources) -> dict[str, int]:
    """Blocks per SM that each resource alone allows; resources that limit nothing are left out."""
    limits = {
        "warps": 0 if request.threads > rules.threads_per_block else rules.warps // request.warps,
        "blocks": rules.blocks,
    }
    if request.registers:
        limits["registers"] = _register_limit(rules, request)
    allocated = _round_up(request.shared_bytes + rules.shared_reserved, rules.shared_unit)
    if allocated:
        limits["shared memory"] = _shared_limit(rules, request, allocated)
    if request.barriers and rules.barriers is not None:
        limits["barriers"] = rules.barriers // request.barriers
    return limits


def _register_limit(rules: _Rules, request: _BlockResources) -> int:
    if request.registers > rules.registers_per_thread:
        return 0
    if rules.capability < (2, 0):
        warps = _round_up(request.warps, rules.granularity)
        block = _round_up(warps * WARP_LANES * request.registers, rules.register_unit)
        return rules.registers_per_sm // block
    limit = _partitioned_limit(rules, request, rules.granularity)
    # A block must fit every Pascal, whose other chips have four partitions, to run on GP100.
    if rules.capability == (6, 0) and _partitioned_limit(rules, request, 4) == 0:
        return 0
    return limit


def _partitioned_limit(rules: _Rules, request: _BlockResources, partitions: int) -> int:
    """Registers are given to whole warps, and a warp's lie in one partition of the register file.

    The check per block counts as many warps in every partition as in the fullest.
    """
    warp = _round_up(request.registers * WARP_LANES, rules.register_unit)
    if warp * _round_up(request.warps, partitions) > rules.registers_per_block:
        return 0
    warps = rules.registers_per_sm // partitions // warp * partitions
    return warps // request.warps


def _shared_limit(rules: _Rules, request: _BlockResources, allocated: int) -> int:
    if allocated > rules.shared_per_block_most + rules.shared_reserved:
        return 0
    capacity = rules.shared_per_sm
    if request.shared_percent is not None and rules.shared_carveouts:
        wanted = request.shared_percent * rules.shared_per_sm // 100
        capacity = min(size for size in rules.shared_carveouts if size >= wanted)
        if allocated > capacity:
            sizes = rules.shared_carveouts if rules.capability >= (7, 0) else ()
            capacity = min((s for s in sizes if s >= allocated), default=rules.shared_per_sm)
    return capacity // allocated


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


@lru_cache
def _slacks(rules: _Rules, request: _BlockResources, blocks: int) -> tuple[Slack, ...]:
    """Every rule allows fewer blocks, or as many, for more of a resource: a bisection is exact."""
    ranges = [
        ("threads per block", "threads", 1, rules.threads_per_block),
        ("registers per thread", "registers", 1, rules.registers_per_thread),
        ("shared memory per block", "shared_bytes", 0, rules.shared_per_block_most),
    ]
    if not request.registers:
        del ranges[1]
    slacks = []
    for name, resource, low, high in ranges:
        now: int = getattr(request, resource)

        def fits(most: int, value: int, resource: str = resource) -> bool:
            changed = replace(request, **{resource: value})
            return min(_limits(rules, changed).values()) >= most

        more = _greatest(partial(fits, blocks + 1), low, now)
        less = _greatest(partial(fits, blocks), now, high)
        slacks.append(Slack(name, now, more, now if less is None else less))
    return tuple(slacks)


def _greatest(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """Greatest value of low..high for which `holds`: true up to some value, false above it."""
    if not holds(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _misfit(rules: _Rules, request: _BlockResources) -> LaunchError:
    """Why no block fits."""
    # The first reason that applies; what none of them explains is the registers of the block.
    limits = _limits(rules, request)
    on = f"on {rules.name}"
    if request.threads > rules.threads_per_block:
        most = rules.threads_per_block
        return LaunchError(
            f"block of {request.threads} threads exceeds {most} {on}",
            hint=f"use at most {most} threads per block",
        )
    if limits.get("shared memory") == 0:
        most = rules.shared_per_block_most
        return LaunchError(
            f"{request.shared_bytes} B of shared memory per block exceed {most} {on}",
            hint=f"use at most {most} B, static and dynamic together",
        )
    if limits.get("barriers") == 0:
        return LaunchError(
            f"{request.barriers} named barriers per block exceed {rules.barriers} {on}",
            hint="use fewer barriers",
        )
    if request.registers > rules.registers_per_thread:
        most = rules.registers_per_thread
        return LaunchError(
            f"{request.registers} registers per thread exceed {most} {on}",
            hint=f"compile for at most {most} registers",
        )
    return LaunchError(
        f"block of {request.threads} threads with {request.registers} registers each exceeds "
        f"the {rules.registers_per_block} registers of a block {on}",
        hint="use smaller blocks, or fewer registers with __launch_bounds__",
    )


def _assumptions(rules: _Rules, request: _BlockResources, registers: int | None) -> tuple[str, ...]:
    notes = []
    if registers is None:
        notes.append("registers per thread are unknown and taken as not limiting occupancy")
    if request.shared_bytes > rules.shared_per_block:
        notes.append(
            f"more than {rules.shared_per_block} B of shared memory per block: "
            "the host must opt in with cudaFuncAttributeMaxDynamicSharedMemorySize"
        )
    return tuple(notes)
