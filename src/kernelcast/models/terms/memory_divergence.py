"""The equations of the memory-divergence model, for any number of intervals and chips at once.

L. Wang, M. Jahre, A. Adileh, L. Eeckhout: MDM: The GPU Memory Divergence Model. MICRO 2020. Of one
interval of the representative warp, with W warps on an SM (the subscript i is left out):

    IPC_SM = W sum of #Instructions / sum of (C + S_MSHR + S_NoC + S_DRAM)               (1)
    divergent:  M_Read W > #MSHRs                                                        (2)
    M = min(M_Read W, #MSHRs) + M_Write W                                                (3)
    L_NoContention = L_MinLLC + LLCMissRate L_MinDRAM                                    (4)
    S_Mem = L_NoContention + S_NoC + S_DRAM                                              (5)
    S_MSHR = (ceil(M_Read W / #MSHRs) - 1) S_Mem where divergent, else 0                 (6)
    L_NoCService = f BlockSize / B_NoC                                                   (7)
    L_DRAMService = f LLCMissRatio BlockSize / B_DRAM                                    (8)
    S_NoC = #SMs M L_NoCService, half of that unless divergent and saturated; S_DRAM so  (9)
    saturated:  L_NoCService M #SMs > L_MinLLC + L_MinDRAM                               (10)

C, the cycles without contention, are GPUMech's: what the warp alone takes, and what the stalls of
an interval leave of the instructions of other warps (`multithreading`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import InputError
from kernelcast.models.terms.multithreading import (
    GREEDY_THEN_OLDEST,
    mean_turns,
    non_overlapped,
)
from kernelcast.models.terms.work import Numbers, ratio
from kernelcast.profiling.profile import Floats

_INTERVALS_AT_ONCE = 1 << 15
"""Intervals times chips that are solved together, so that arrays stay in a CPU's caches."""

_GPUMECH, _GPUMECH_PLUS, _MDM = "gpumech", "gpumech+", "mdm"
_ROUNDING = 1e-9
"""Requests are sums of measured counts: so far above a multiple of the registers, they are it."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """One of the five models of Table V: how it queues, and what waits for miss registers.

    queue
        `gpumech`: half of the requests before each are waited for, at the DRAM alone. `gpumech+`:
        also at the NoC. `mdm`: equation 9.
    registers
        `gpumech`: requests take turns at the registers, each for the latency without contention
        (GPUMech's equation 20). `gpumech+`: each for that latency and the queues. `mdm`: equation
        6.
    """

    queue: str = _MDM
    registers: str = _MDM

    def __post_init__(self) -> None:
        for name, value in (("queue", self.queue), ("registers", self.registers)):
            if value not in (_GPUMECH, _GPUMECH_PLUS, _MDM):
                raise InputError(
                    f"{name} is {value!r}", hint=f"give {_GPUMECH}, {_GPUMECH_PLUS} or {_MDM}"
                )

    @property
    def knows_noc(self) -> bool:
        """Whether requests also queue at the NoC."""
        return self.queue != _GPUMECH


_OF_THE_PAPER = Scheme()


@dataclass(frozen=True, slots=True)
class WarpIntervals:
    """What C depends on. The last axis of arrays is that of the intervals of the mean warp.

    times
        How often an interval occurs.
    insts, issue_cycles, stall_cycles
        Its instructions, the cycles that the warp issues them in, and those that it then waits.
    """

    times: Numbers
    insts: Numbers
    issue_cycles: Numbers
    stall_cycles: Numbers


@dataclass(frozen=True, slots=True)
class IntervalMisses:
    """What the stalls beyond the L1 cache depend on; arrays as in `WarpIntervals`.

    m_read, m_write
        Requests of one warp and interval that leave the SM.
    llc_miss
        Share of them that miss in the LLC.
    block_share
        Share of `BLOCK_BYTES` that a mean request moves: 1 where lines move whole.
    """

    times: Numbers
    m_read: Numbers
    m_write: Numbers = 0.0
    llc_miss: Numbers = 1.0
    block_share: Numbers = 1.0


@dataclass(frozen=True, slots=True)
class QueueingSystem:
    """The chip; numbers, or for many chips at once arrays of one column, a chip in each row.

    `slots` instructions are issued at once, each taking `slot_cycles`, and `w` warps share them.
    `noc_service` and `dram_service` are f BlockSize / B in cycles: of a line, not shared out to
    channels, as B is the bandwidth of all of them. `mshrs` are the miss registers of an SM or,
    where those are more than enough, what its NoC queue holds (footnote 2).
    """

    w: Numbers
    sms: Numbers
    mshrs: Numbers
    noc_service: Numbers
    dram_service: Numbers
    min_llc: Numbers
    min_dram: Numbers
    slots: Numbers = 1.0
    slot_cycles: Numbers = 1.0


@dataclass(frozen=True, slots=True)
class MissStalls:
    """The terms of equations 2 to 10 for every interval; `s_*` in cycles, `m` in requests."""

    divergent: NDArray[np.bool_]
    saturated: NDArray[np.bool_]
    m: Floats
    s_noc: Floats
    s_dram: Floats
    s_mem: Floats
    s_mshr: Floats


def contention(
    misses: IntervalMisses, chip: QueueingSystem, scheme: Scheme = _OF_THE_PAPER
) -> MissStalls:
    """Equations 2 to 10: what every interval waits for beyond its cycles without contention."""
    reads = np.asarray(misses.m_read * chip.w, np.float64)
    batches = reads / chip.mshrs
    divergent = batches > 1 + _ROUNDING  # (2)
    m = np.minimum(reads, chip.mshrs) + misses.m_write * chip.w  # (3)
    noc = chip.sms * m * (chip.noc_service * misses.block_share)  # (7)
    dram = chip.sms * m * (chip.dram_service * misses.llc_miss * misses.block_share)  # (8)
    saturated = noc > chip.min_llc + chip.min_dram  # (10)
    waited: Numbers = 0.5
    if scheme.queue == _MDM:
        waited = np.where(divergent & saturated, 1.0, 0.5)
    s_noc = waited * noc if scheme.knows_noc else np.zeros_like(noc)  # (9)
    s_dram = waited * dram
    no_contention = chip.min_llc + misses.llc_miss * chip.min_dram  # (4)
    s_mem = no_contention + s_noc + s_dram  # (5)
    if scheme.registers == _MDM:
        turns = np.where(divergent, np.ceil(batches - _ROUNDING) - 1, 0.0)  # (6)
    else:
        turns = mean_turns(reads, chip.mshrs)
    s_mshr = turns * (no_contention if scheme.registers == _GPUMECH else s_mem)
    return MissStalls(divergent, saturated, m, s_noc, s_dram, s_mem, np.asarray(s_mshr))


def uncontended_cycles(
    warp: WarpIntervals, chip: QueueingSystem, policy: str = GREEDY_THEN_OLDEST
) -> Floats:
    """Sum of C over all intervals, one column.

    No less than the issue slots take for the instructions of all warps: where no warp fills a
    stall, equations 12 to 16 let them issue at once.
    """
    n, slot = chip.w / np.asarray(chip.slots, np.float64), chip.slot_cycles
    total_insts = _over_intervals(warp.times * warp.insts)
    alone = np.asarray(warp.issue_cycles + warp.stall_cycles, np.float64)
    p = np.minimum(1.0, ratio(slot * total_insts, _over_intervals(warp.times * alone), 1.0))  # (9)
    mean_insts = ratio(total_insts, _over_intervals(warp.times), 1.0)  # (13)
    stall = warp.stall_cycles / np.asarray(slot, np.float64)
    waiting = non_overlapped(policy, warp.insts, stall, p, mean_insts, n)
    return np.maximum(
        _over_intervals(warp.times * (alone + slot * waiting)), _issue_cycles(warp, chip)
    )


def _issue_cycles(warp: WarpIntervals, chip: QueueingSystem) -> Floats:
    """Cycles in which the slots issue the instructions of all warps, one column."""
    per_slot = chip.w / np.asarray(chip.slots, np.float64) * chip.slot_cycles
    return np.asarray(per_slot * _over_intervals(warp.times * warp.insts), np.float64)


def _over_intervals(values: Numbers) -> Floats:
    total: Floats = np.sum(np.atleast_1d(np.asarray(values, np.float64)), axis=-1, keepdims=True)
    return total


@dataclass(frozen=True, slots=True)
class CpiStack:
    """Cycles in which an SM executes the mean warp beside the others, by what they go to.

    Over W times the instructions of the warp they are cycles per instruction of the SM. `base` is
    issue, `dependence` waiting for results without contention; one number for each chip.
    """

    base: Floats
    dependence: Floats
    miss_registers: Floats
    noc: Floats
    dram: Floats

    @property
    def cycles(self) -> Floats:
        """The denominator of equation 1."""
        return self.base + self.dependence + self.miss_registers + self.noc + self.dram


def solve(
    warp: WarpIntervals,
    misses: IntervalMisses,
    chips: QueueingSystem,
    scheme: Scheme = _OF_THE_PAPER,
    policy: str = GREEDY_THEN_OLDEST,
) -> CpiStack:
    """The denominator of equation 1 for every chip."""
    stacks = [_solve(warp, misses, part, scheme, policy) for part in _parts(chips, misses)]
    return CpiStack(
        *(np.concatenate([getattr(stack, f.name) for stack in stacks]) for f in fields(CpiStack))
    )


def _solve(
    warp: WarpIntervals, misses: IntervalMisses, chips: QueueingSystem, scheme: Scheme, policy: str
) -> CpiStack:
    found = contention(misses, chips, scheme)
    cycles = uncontended_cycles(warp, chips, policy)
    base = np.minimum(_issue_cycles(warp, chips), cycles)
    times = misses.times
    waits = (_over_intervals(times * s) for s in (found.s_mshr, found.s_noc, found.s_dram))
    return CpiStack(*(np.ravel(part) for part in np.broadcast_arrays(base, cycles - base, *waits)))


def _parts(chips: QueueingSystem, misses: IntervalMisses) -> Iterator[QueueingSystem]:
    """The chips in parts that are solved one after another."""
    columns = {f.name: np.asarray(getattr(chips, f.name), np.float64) for f in fields(chips)}
    columns = {name: np.reshape(column, (-1, 1)) for name, column in columns.items()}
    rows = max(map(len, columns.values()))
    size = max(1, _INTERVALS_AT_ONCE // max(1, np.size(misses.times)))
    for start in range(0, rows, size):
        part = slice(start, start + size)
        yield QueueingSystem(**{n: c if len(c) == 1 else c[part] for n, c in columns.items()})
