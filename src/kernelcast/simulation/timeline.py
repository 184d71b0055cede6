"""Parts of what was issued in a simulation, by warp and in order."""

from __future__ import annotations

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
    registers, for a constant that it names, and for its turn, in cycles."""

    cycle: int
    instruction: int
    reason: int
    waited: int
    throttle: int
    throttled: int
    held: int
    missed: int
    not_selected: int

    @property
    def cycles(self) -> int:
        """From the warp's instruction before to this one."""
        told = self.waited + self.throttled + self.held + self.missed
        return told + self.not_selected + 1


_SPENT = ("waited", "throttled", "held", "missed")
_FIELDS = ("cycle", "instruction", "reason", "throttle", *_SPENT)


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
    return tuple(_timeline(found, events) for events in _events_of_warps(found))


def _events_of_warps(found: Simulated) -> list[NDArray[np.void]]:
    """What was noted of each warp; there may be thousands."""
    events = found.events
    if not len(events):
        return []
    order = np.lexsort((events["cycle"], events["warp"], events["block"], events["sm"]))
    events = events[order]
    same = np.ones(len(events) - 1, np.bool_)
    for name in ("sm", "block", "warp"):
        same &= np.diff(events[name]) == 0
    return np.split(events, np.flatnonzero(~same) + 1)


def _timeline(found: Simulated, events: NDArray[np.void]) -> WarpTimeline:
    first = events[0]
    before = int(found.times[first["block"], 0]) - 1
    issues = []
    for event in events:
        told = {name: int(event[name]) for name in _FIELDS}
        spent = sum(told[name] for name in _SPENT)
        turn = told["cycle"] - before - spent - 1
        issues.append(IssuedInstruction(**told, not_selected=turn))
        before = told["cycle"]
    sm, scheduler, block, warp = (int(first[n]) for n in ("sm", "scheduler", "block", "warp"))
    return WarpTimeline(sm, scheduler, block, warp, tuple(issues))


def loop_iteration(kernel: Kernel, found: Simulated) -> WarpTimeline | None:
    """One iteration, by one warp, of the innermost loop in which warps spend most cycles.

    A whole warp's timeline where the kernel has no loop; None where nothing of it was noted.
    """
    warps = _events_of_warps(found)
    loop = _longest_loop(kernel, found)
    if loop is None:
        return _timeline(found, warps[0]) if warps else None
    inside = {i for b in loop.blocks for i in range(kernel.blocks[b].start, kernel.blocks[b].end)}
    for events in warps:
        begins = _header_places(kernel, loop, events["instruction"])
        if len(begins) > 2:
            warp = _timeline(found, events)
            at = len(begins) // 2 - 1
            own = warp.issues[begins[at] : begins[at + 1]]
            kept = tuple(issue for issue in own if issue.instruction in inside)
            return replace(warp, issues=kept)
    return None


def _header_places(kernel: Kernel, loop: Loop, issued: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where iterations begin: at the first instruction of the header that is issued at all."""
    header = kernel.blocks[loop.header]
    within = issued[(issued >= header.start) & (issued < header.end)]
    return np.flatnonzero(issued == within.min()) if len(within) else np.empty(0, np.intp)


def _longest_loop(kernel: Kernel, found: Simulated) -> Loop | None:
    spent = found.stalls.sum(axis=1)
    loops = innermost(natural_loops([block.successors for block in kernel.blocks]))

    def cycles(loop: Loop) -> float:
        blocks = (kernel.blocks[b] for b in loop.blocks)
        return float(sum(spent[block.start : block.end].sum() for block in blocks))

    longest = max(loops, key=cycles, default=None)
    return longest if longest is not None and cycles(longest) > 0 else None
