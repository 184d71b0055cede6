"""Where blocks that run at the same time may see each other's work.

A *meeting load* reads what the kernel itself may have written since the launch began: it can come
after a write in the code, and both may lead into the same array in global memory. What it finds
depends on how far other blocks have come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kernelcast.analysis.arrays import arrays_of_accesses
from kernelcast.analysis.cfg import reachable
from kernelcast.analysis.loops import natural_loops
from kernelcast.analysis.slicing import Needed, may_write, reachable_spaces
from kernelcast.ir import Instruction, Kernel, OpClass, Space

TURN_ITERATIONS = 4
"""Iterations of a loop with a meeting load after which the turn of a warp ends, if other blocks
run: few enough that blocks stay side by side, in about what others do from barrier to barrier, and
enough that a turn costs no more than they do."""


@dataclass(frozen=True, slots=True)
class Meetings:
    """Whether it matters that blocks run at the same time, and the headers of the loops in which a
    block may see how far others have come."""

    matter: bool
    loops: frozenset[int]


NO_MEETINGS = Meetings(matter=False, loops=frozenset())


def meetings_of(
    kernel: Kernel, pointers: Mapping[int, str], needed: Needed | None = None
) -> Meetings:
    """Where blocks may see each other's work; `pointers` is as for `arrays_of_accesses`.

    Where only what is `needed` is executed, only that counts. Without a barrier of the block or a
    loop around a meeting load, a block that runs alone finds what one of several would: all that
    those before it have left.
    """
    return _meetings_of(kernel, tuple(sorted(pointers.items())), needed)


@lru_cache(maxsize=128)
def _meetings_of(
    kernel: Kernel, pointers: tuple[tuple[int, str], ...], needed: Needed | None
) -> Meetings:
    """`meetings_of`, kept: programs launch a kernel again and again."""
    home = {at: block.index for block in kernel.blocks for at in range(block.start, block.end)}
    blocks = {home[load] for load in _meeting_loads(kernel, dict(pointers), needed, home)}
    if not blocks:
        return NO_MEETINGS
    loops = natural_loops([block.successors for block in kernel.blocks])
    headers = frozenset(loop.header for loop in loops if blocks & loop.blocks)
    return Meetings(bool(headers) or _has_barrier(kernel), headers)


def _has_barrier(kernel: Kernel) -> bool:
    return any(
        step.op_class is OpClass.BARRIER and "warp" not in step.modifiers
        for instruction in kernel.instructions
        for step in kernel.steps(instruction.index)
    )


def _meeting_loads(
    kernel: Kernel,
    pointers: Mapping[int, str],
    needed: Needed | None,
    home: Mapping[int, int],
) -> Iterator[int]:
    all_of = kernel.instructions
    executed = all_of if needed is None else [all_of[index] for index in sorted(needed.in_full)]
    accesses = [i for i in executed if Space.GLOBAL in reachable_spaces(i)]
    writes = [i.index for i in accesses if may_write(i)]
    loads = [i.index for i in accesses if _reads(i)]
    if not writes or not loads:
        return
    arrays = arrays_of_accesses(kernel, pointers)
    edges = [block.successors for block in kernel.blocks]
    after = {
        block: {later for successor in edges[block] for later in reachable(edges, successor)}
        for block in {home[write] for write in writes}
    }

    def may_find(load: int, write: int) -> bool:
        is_later = home[load] in after[home[write]] or write < load < ends[home[write]]
        return is_later and _may_meet(arrays.get(load), arrays.get(write))

    ends = [block.end for block in kernel.blocks]
    yield from (load for load in loads if any(may_find(load, write) for write in writes))


def _may_meet(some: frozenset[str] | None, others: frozenset[str] | None) -> bool:
    """Whether two accesses may lead into one array, of each of which None is any."""
    return some is None or others is None or not some.isdisjoint(others)


def _reads(instruction: Instruction) -> bool:
    is_load = instruction.op_class is OpClass.LOAD
    return is_load or (instruction.op_class is OpClass.ATOMIC and bool(instruction.writes))
