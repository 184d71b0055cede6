"""How long warps wait at barriers for the slowest warp of their block.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, section 3.7: from
one barrier to the next, every warp of a block takes as long as the slowest of them would alone, and
the end of the block is such a barrier. That asks for the paths of all warps. A profile holds one,
and how often warps entered each basic block altogether: a mean warp x times per time that it came
by. What the slowest of W warps did follows from that, if blocks and their warps are as alike as the
counts allow:

- Where x < 1, some warp enters in min(1, W x) of the blocks, and that warp is the slowest.
- Where x >= 1, all warps enter floor(x) times, and some once more, as above for the rest of x.
- Of paths that exclude each other, the slowest warp takes the longest. Where more warps enter them
  than came by, lanes of a warp diverge, and the slowest takes all paths one after the other.
- Paths in sequence are taken by the same warp.
- Paths through a barrier are taken by all warps of a block together. So x counts from
  barrier to barrier: per round of a loop that holds one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kernelcast.analysis.cfg import immediate_dominators
from kernelcast.analysis.loops import natural_loops
from kernelcast.ir import BasicBlock, Kernel, OpClass, Register
from kernelcast.models.terms.base import Case, kept, kept_of_warps
from kernelcast.models.terms.latency import InstructionTiming
from kernelcast.models.terms.single_warp import single_warp
from kernelcast.profiling.critical_path import WarpTime
from kernelcast.profiling.profile import Floats

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class WarpSpread:
    """Cycles that a mean warp takes alone, and that it waits for slower ones of its block.

    `has_barriers` says that it waits for them at barriers; else it does at the end of the block.
    """

    mean_cycles: float
    wait_cycles: float
    has_barriers: bool


@kept
def warp_spread(case: Case, memory: float, needed_by: str) -> WarpSpread:
    """All warps of a case, beside its representative one as `single_warp` walks it."""
    kernel = case.kernel
    alone = single_warp(case, memory, needed_by)
    entries = _entries(case)
    cycles = _block_cycles(kernel, alone.timed, alone.walked, entries.own)
    mean = float(np.sum(entries.entered * cycles))
    warps = case.launch.warps_per_block
    slowest = slowest_cycles(kernel, entries.entered, cycles, warps)
    _, synchronised = _nesting(kernel)
    return WarpSpread(
        mean_cycles=max(0.0, alone.walked.cycles + mean - float(np.sum(entries.own * cycles))),
        wait_cycles=max(0.0, slowest - mean),
        has_barriers=any(synchronised),
    )


@dataclass(frozen=True)
class _Entries:
    """How often the mean warp, and the representative one, enters each basic block."""

    entered: Floats
    own: Floats


@kept_of_warps
def _entries(case: Case) -> _Entries:
    kernel, profile = case.kernel, case.profile
    entered = profile.instruction_warps[[b.start for b in kernel.blocks]] / profile.warps
    own = np.bincount(profile.warp.blocks, minlength=len(kernel.blocks)).astype(np.float64)
    held = float(np.sum(own * [b.end - b.start for b in kernel.blocks]))
    own *= max(1.0, profile.warp.instructions / held) if held else 1.0
    return _Entries(entered, own)


def slowest_cycles(kernel: Kernel, entered: Floats, cycles: Floats, warps: float) -> float:
    """Cycles of the slowest of `warps` warps from barrier to barrier, summed over a block's life.

    `entered` says how often a mean warp enters each basic block, `cycles` how long that takes.
    """
    parents, synchronised = _nesting(kernel)
    seen = _seen(parents, synchronised, entered, warps)
    total = seen.times * cycles
    paths: list[list[_BranchPath]] = [[] for _ in kernel.blocks]
    for b in reversed(range(len(kernel.blocks))):
        total[b] += _taken(paths[b], seen.company[b])
        if synchronised[b]:
            total[b] *= seen.x[b]
        if b and (synchronised[b] or seen.x[b] >= 1 - _ROUNDING):
            total[parents[b]] += total[b]
        elif b:
            paths[parents[b]].append(_BranchPath(float(seen.x[b]), float(total[b])))
    return float(total[0])


@lru_cache(maxsize=32)
def _nesting(kernel: Kernel) -> tuple[Sequence[int], Sequence[bool]]:
    parents = _parents(kernel.blocks)
    return parents, _meets_barrier(kernel, parents)


def _meets_barrier(kernel: Kernel, parents: Sequence[int]) -> list[bool]:
    """Whether each basic block, or one that it dominates, holds a barrier."""
    synchronised = [
        any(i.op_class is OpClass.BARRIER for i in kernel.instructions[b.start : b.end])
        for b in kernel.blocks
    ]
    for b in reversed(range(1, len(synchronised))):
        synchronised[parents[b]] |= synchronised[b]
    return synchronised


@dataclass(frozen=True, slots=True)
class _Seen:
    """By basic block, per time that a warp comes by its parent.

    `x` says how often the mean warp enters it, `times` how often the slowest does, and `company`
    how many warps of its block do. Where warps meet at a barrier, `times` and `company` are those
    of one round.
    """

    x: Floats
    times: Floats
    company: Floats


def _seen(
    parents: Sequence[int], synchronised: Sequence[bool], entered: Floats, warps: float
) -> _Seen:
    count = len(parents)
    x, times, company = np.zeros(count), np.ones(count), np.full(count, float(warps))
    for b, up in enumerate(parents):
        came_by = entered[up] / times[up] if b and entered[up] else 1.0
        x[b] = entered[b] / came_by
        company[b] = company[up]
        if x[b] >= 1 - _ROUNDING and not synchronised[b]:
            whole = np.floor(x[b] + _ROUNDING)
            times[b] = whole + min(1.0, company[up] * max(0.0, x[b] - whole))
        elif not synchronised[b]:
            company[b] = max(1.0, company[up] * x[b])
    return _Seen(x, times, company)


@dataclass(frozen=True, slots=True)
class _BranchPath:
    """A path that a mean warp takes less than once, and how long it takes."""

    entered: float
    cycles: float


def _taken(paths: Sequence[_BranchPath], warps: float) -> float:
    """Cycles of the slowest of `warps` warps on paths of which each takes one, or diverges."""
    total, rest = 0.0, 1.0
    diverged = sum(w.entered for w in paths) - 1
    choices = sorted(paths, key=lambda w: -w.cycles)
    if diverged > _ROUNDING:
        choices.insert(0, _BranchPath(diverged, sum(w.cycles for w in paths)))
    for path in choices:
        share = min(rest, warps * path.entered)
        total += share * path.cycles
        rest -= share
    return total


def _parents(blocks: Sequence[BasicBlock]) -> list[int]:
    """By block, the nearest of its dominators that is in no loop but the block's own.

    Edges back to a loop's header do not count.
    """
    loops = natural_loops([b.successors for b in blocks])
    inside = [{loop.header for loop in loops if b.index in loop.blocks} for b in blocks]
    forward = [[t for t in b.successors if t > b.index] for b in blocks]
    entered = {target for targets in forward for target in targets}
    forward[0] += [b for b in range(1, len(blocks)) if b not in entered]
    dominators = immediate_dominators(forward, 0)
    parents = [0] * len(blocks)
    for b in range(1, len(blocks)):
        above = dominators[b]
        while above and not inside[above] <= inside[b]:
            above = dominators[above]
        parents[b] = above
    return parents


def _block_cycles(
    kernel: Kernel, timed: InstructionTiming, walked: WarpTime, own: Floats
) -> Floats:
    """Cycles per entry of each basic block: issue, and waiting for what it produces.

    As walked where the representative warp came by, `own` times; alone elsewhere.
    """
    found = np.zeros(len(kernel.blocks))
    for b in kernel.blocks:
        if own[b.index]:
            waits = float(walked.waits[b.start : b.end].sum())
            found[b.index] = sum(timed.interval[b.start : b.end]) + waits / own[b.index]
        else:
            found[b.index] = _alone(kernel, timed, b)
    return found


def _alone(kernel: Kernel, timed: InstructionTiming, block: BasicBlock) -> float:
    """Cycles until the instruction after a basic block may issue, nothing else being in flight."""
    clock = 0.0
    ready: dict[Register, float] = {}
    for i in kernel.instructions[block.start : block.end]:
        time = max([clock, *(ready.get(r, 0.0) for r in i.reads)])
        ready |= dict.fromkeys(i.writes, time + timed.latency[i.index])
        clock = time + timed.interval[i.index]
    return clock
