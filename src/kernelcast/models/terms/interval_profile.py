"""The interval profile: the path of a representative warp, cut where it stalls.

J.-C. Huang, J. H. Lee, H. Kim, H.-H. S. Lee: GPUMech. MICRO 2014, section III: an interval is a run
of instructions that a warp alone issues without a stall, and the stall that ends it. L. Wang et
al.: MDM. MICRO 2020, section II: it also holds the requests that leave the SM.

Requests belong to the interval whose stall is the first that waits for memory after they were
issued, so those that are waited for together stand together, whatever arithmetic lies between them;
what is issued after the last such stall belongs to the last interval. Intervals that are alike are
stored once, with how often they occur.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.models.terms.base import Case, kept
from kernelcast.models.terms.beyond_l1 import RequestsBeyondL1, requests_beyond_l1
from kernelcast.models.terms.latency import InstructionTiming, timing, with_own_latencies
from kernelcast.models.terms.memory_divergence import IntervalMisses, WarpIntervals
from kernelcast.models.terms.single_warp import single_warp_issue
from kernelcast.profiling.critical_path import IssueOrder
from kernelcast.profiling.profile import Floats, RepresentativeWarp

_COLUMNS = ("insts", "issue_cycles", "stall_cycles", "reads", "writes", "llc_misses", "blocks")
_STEPS = 1e6
"""Cycles and requests are alike in so many steps of a unit."""
_MULTIPLIERS = np.array(
    [pow(0x9E3779B97F4A7C15, 1 + column, 1 << 64) for column in range(len(_COLUMNS))], np.uint64
)
"""Powers of 2**64 over the golden ratio, rounded to an odd number."""


@dataclass(frozen=True)
class IntervalProfile:
    """Kinds of intervals of the mean warp of a launch.

    `times` says how often a warp passes through each, `insts`, `issue_cycles` and `stall_cycles`
    what it then issues and waits for; `reads` and `writes` are the lines of 128 B that leave the
    SM, `llc_misses` those of them that miss in the LLC, `blocks` what they move in units of a line.
    `warps` are the shares of the launch's warps that its representative warps stand for.
    """

    times: Floats = field(repr=False)
    insts: Floats = field(repr=False)
    issue_cycles: Floats = field(repr=False)
    stall_cycles: Floats = field(repr=False)
    reads: Floats = field(repr=False)
    writes: Floats = field(repr=False)
    llc_misses: Floats = field(repr=False)
    blocks: Floats = field(repr=False)
    warps: tuple[float, ...]
    notes: tuple[str, ...] = ()

    @property
    def instructions(self) -> float:
        """Of the mean warp."""
        return float(self.times @ self.insts)

    @property
    def requests(self) -> float:
        """Of the mean warp, reads and writes."""
        return float(self.times @ (self.reads + self.writes))

    @property
    def waits_for_memory(self) -> bool:
        """Whether most of what the warp waits alone is in intervals with requests to read."""
        waits = self.times * self.stall_cycles
        return bool(waits[self.reads > 0].sum() * 2 > waits.sum())

    @property
    def intervals(self) -> WarpIntervals:
        """All intervals, as the cycles without contention depend on them."""
        return WarpIntervals(self.times, self.insts, self.issue_cycles, self.stall_cycles)

    @property
    def misses(self) -> IntervalMisses:
        """The intervals with requests, as contention depends on them."""
        has = self.reads + self.writes > 0
        requests = (self.reads + self.writes)[has]
        return IntervalMisses(
            times=self.times[has],
            m_read=self.reads[has],
            m_write=self.writes[has],
            llc_miss=self.llc_misses[has] / requests,
            block_share=self.blocks[has] / requests,
        )


@kept
def interval_profile(case: Case, memory: float, needed_by: str) -> IntervalProfile:
    """The profile of a case on its machine, where coalesced loads take `memory` cycles.

    Instructions are scaled to those of the mean warp of the launch. Raises as `latency.timing`.
    """
    profile = case.profile
    timed = with_own_latencies(case, timing(case, memory, needed_by), memory)
    beyond = requests_beyond_l1(case)
    warps = profile.representatives or (RepresentativeWarp(profile.warp, 1.0),)
    held = sum(warp.share * warp.path.instructions for warp in warps)
    mean = profile.total.warp / profile.warps
    times, rows = [], []
    for warp in warps:
        issued = single_warp_issue(replace(case, profile=replace(profile, warp=warp.path)), timed)
        cut = _cut(issued, timed, beyond)
        weight = warp.share * issued.scale * mean / held if held else 0.0
        times.append(np.full(len(cut), weight))
        rows.append(cut)
    kinds, often = _alike(np.concatenate(rows), np.concatenate(times))
    columns: dict[str, Floats] = dict(zip(_COLUMNS, kinds.T, strict=True))
    return IntervalProfile(
        often,
        **columns,
        warps=tuple(warp.share for warp in warps),
        notes=(*timed.notes, *beyond.notes),
    )


def _cut(issued: IssueOrder, timed: InstructionTiming, beyond: RequestsBeyondL1) -> Floats:
    """One row per interval of a path, its columns as `_COLUMNS`."""
    executed = issued.executed
    if not len(executed):
        return np.zeros((0, len(_COLUMNS)))
    first = issued.stalls > 0
    first[0] = True
    number = np.cumsum(first) - 1
    intervals = int(number[-1]) + 1
    stalls = np.append(issued.stalls[first][1:], 0.0)
    issue = np.array(timed.interval)[executed]
    owner = _owners(issued, np.array(timed.waits_for_memory), number)
    requests = (beyond.reads, beyond.writes, beyond.llc_misses, beyond.blocks)
    columns = (
        np.bincount(number, minlength=intervals),
        np.bincount(number, issue, intervals),
        stalls,
        *(np.bincount(owner, each[executed], intervals) for each in requests),
    )
    return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)


def _owners(
    issued: IssueOrder, waits_for_memory: NDArray[np.bool_], number: NDArray[np.int64]
) -> NDArray[np.int64]:
    """By executed instruction, the interval that its requests belong to."""
    waited = issued.producers >= 0
    waited &= waits_for_memory[issued.executed[issued.producers]] & (issued.stalls > 0)
    starts = np.flatnonzero(waited)
    ends = np.append(number[starts] - 1, number[-1])
    positions = np.arange(len(number))
    found: NDArray[np.int64] = ends[np.searchsorted(starts, positions, side="right")]
    return found


def _alike(rows: Floats, times: Floats) -> tuple[Floats, Floats]:
    """Different rows, and how often each occurs.

    Rows are compared by a sum of 64 bits that two different ones share once in 2**64.
    """
    whole = np.rint(rows * _STEPS).astype(np.int64)
    keys = (whole.view(np.uint64) * _MULTIPLIERS).sum(axis=1)
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return whole[first] / _STEPS, np.bincount(number, times, len(first)).astype(np.float64)
