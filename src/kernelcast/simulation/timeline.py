"""Parts of what was issued in a simulation, by warp and in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.analysis.loops import Loop, innermost, natural_loops
from kernelcast.ir import Kernel
from kernelcast.simulation.simulated import Simulated


@dataclass(frozen=True, slots=True)
class IssuedInstruction:
    """An instruction that a warp issued: in which cycle, what it had waited for since the warp's
    one before (`results.STALLS`), for how long, and then for its pipe, for a scheduler that reads
    registers, and for its turn, in cycles."""

    cycle: int
    instruction: int
    reason: int
    waited: int
    throttle: int
    throttled: int
    held: int
    not_selected: int

    @property
    def cycles(self) -> int:
        """From the warp's instruction before to this one."""
        return self.waited + self.throttled + self.held + self.not_selected + 1


_FIELDS = ("cycle", "instruction", "reason", "waited", "throttle", "throttled", "held")


@dataclass(frozen=True)
class WarpTimeline:
    """What one warp issued; `block` is its place among those that were simulated."""

    sm: int
    scheduler: int
    block: int
    warp: int
    issues: tuple[IssuedInstruction, ...]


def warp_timelines(found: Simulated) -> tuple[WarpTimeline, ...]:
    """The timeline of every warp of which something was noted, in the order of SMs and blocks."""
    return tuple(_timelines(found))


def _timelines(found: Simulated) -> Iterator[WarpTimeline]:
    """The same, each made when it is asked for: there may be thousands."""
    events = found.events
    if not len(events):
        return
    order = np.lexsort((events["cycle"], events["warp"], events["block"], events["sm"]))
    events = events[order]
    same = np.ones(len(events) - 1, np.bool_)
    for name in ("sm", "block", "warp"):
        same &= np.diff(events[name]) == 0
    parts = np.split(events, np.flatnonzero(~same) + 1)
    for part in parts:
        yield _timeline(part, int(found.times[part[0]["block"], 0]))


def _timeline(events: NDArray[np.void], begins: int) -> WarpTimeline:
    first, before = events[0], begins - 1
    issues = []
    for event in events:
        told = {name: int(event[name]) for name in _FIELDS}
        turn = told["cycle"] - before - told["waited"] - told["throttled"] - told["held"] - 1
        issues.append(IssuedInstruction(**told, not_selected=turn))
        before = told["cycle"]
    sm, scheduler, block, warp = (int(first[n]) for n in ("sm", "scheduler", "block", "warp"))
    return WarpTimeline(sm, scheduler, block, warp, tuple(issues))


def loop_iteration(kernel: Kernel, found: Simulated) -> WarpTimeline | None:
    """One iteration, by one warp, of the innermost loop in which warps spend most cycles.

    A whole warp's timeline where the kernel has no loop; None where nothing of it was noted.
    """
    warps = _timelines(found)
    loop = _longest_loop(kernel, found)
    if loop is None:
        return next(warps, None)
    inside = {i for b in loop.blocks for i in range(kernel.blocks[b].start, kernel.blocks[b].end)}
    for warp in warps:
        begins = _header_places(kernel, loop, warp.issues)
        if len(begins) > 2:
            at = len(begins) // 2 - 1
            own = warp.issues[begins[at] : begins[at + 1]]
            kept = tuple(issue for issue in own if issue.instruction in inside)
            return replace(warp, issues=kept)
    return None


def _header_places(kernel: Kernel, loop: Loop, issues: Sequence[IssuedInstruction]) -> list[int]:
    """Where iterations begin: at the first instruction of the header that is issued at all."""
    header = kernel.blocks[loop.header]
    within = [i.instruction for i in issues if header.start <= i.instruction < header.end]
    if not within:
        return []
    return [at for at, issue in enumerate(issues) if issue.instruction == min(within)]


def _longest_loop(kernel: Kernel, found: Simulated) -> Loop | None:
    spent = found.stalls.sum(axis=1)
    loops = innermost(natural_loops([block.successors for block in kernel.blocks]))

    def cycles(loop: Loop) -> float:
        blocks = (kernel.blocks[b] for b in loop.blocks)
        return float(sum(spent[block.start : block.end].sum() for block in blocks))

    longest = max(loops, key=cycles, default=None)
    return longest if longest is not None and cycles(longest) > 0 else None
