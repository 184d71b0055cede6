"""GPUMech: interval analysis of one warp, scaled to many.

J.-C. Huang, J. H. Lee, H. Kim, H.-H. S. Lee: GPUMech: GPU performance modeling technique based on
interval analysis. MICRO 2014. Equation numbers are the paper's, as quoted and corrected by
V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, sections 7.5-7.8.

    CPI_final = CPI_multithreading + CPI_rc_contention                                   (3)
    p = #insts / total_cycles                                                            (9)
    IPC_multithreading = n #insts / (total_cycles + sum of NO_i)                         (7)
    round robin:          NO_i = p (n - 1) (interval_insts_i - 1)                        (10), (11)
    greedy then oldest:   NO_i = max(0, avg_interval_insts min(p stall_cycles_i, 1) (n - 1)
                                        - stall_cycles_i)                                (12)-(16)
    CPI_rc_contention = (MSHR_delay + Bandwidth_delay) / #insts                          (17)
    #core_reqs = n #reqs                                                                 (18)
    MSHR_delay = mem_lat (mean over j = 1..#core_reqs of ceil(j / #MSHRs) - 1)           (20)
    lambda = #core_reqs #cores / mem_lat                                                 (23)
    s = clock rate 128 B / memory pin bandwidth
    rho = lambda s                                                                       (22)
    Bandwidth_delay = min(lambda s^2 / (2 (1 - rho)), s #core_reqs #cores / 2)           (21)

(7) names CPI for IPC, and (15) and (16) swap max and min in the paper. Delays are summed over the
intervals that end in a memory instruction; equation 20 is the mean wait of requests that take turns
at the registers. rho may exceed 1, and then Bandwidth_delay is negative; that is the model, not an
error in it here. Latencies count slots in which one instruction issues: with several such slots per
cycle, n is the warps of one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcast.errors import InputError
from kernelcast.models.terms.base import Bottleneck, Case, Part, Prediction
from kernelcast.models.terms.multithreading import check_policy, mean_turns, non_overlapped
from kernelcast.models.terms.work import (
    Numbers,
    Steady,
    WarpWork,
    case_work,
    ratio,
    steady_prediction,
)
from kernelcast.profiling.profile import Floats

_TRANSACTION_BYTES = 128


@dataclass(frozen=True, slots=True)
class GpuMechInputs:
    """One core that issues at most one instruction per cycle.

    `alu` and `mem` are instructions of a warp, `*_insts` how many of them make an interval, and
    `*_lat` what an interval lasts. `reqs` are the transactions of a memory instruction, `s` the
    cycles in which the whole memory serves one, `cores` what shares that memory; `mshrs` 0 for
    as many as needed.
    """

    n: Numbers
    alu: Numbers
    mem: Numbers
    alu_lat: Numbers
    mem_lat: Numbers
    alu_insts: Numbers = 1.0
    mem_insts: Numbers = 1.0
    reqs: Numbers = 1.0
    s: Numbers = 0.0
    cores: Numbers = 1.0
    mshrs: int = 0


@dataclass(frozen=True, slots=True)
class GpuMechResult:
    """The named terms of the equations; delays are cycles per memory interval."""

    total_cycles: Floats
    non_overlapped: Floats
    cpi_multithreading: Floats
    rho: Floats
    mshr_delay: Floats
    bandwidth_delay: Floats
    cpi_rc_contention: Floats

    @property
    def cpi_final(self) -> Floats:
        """Equation 3 with contention; it may be negative."""
        return self.cpi_multithreading + self.cpi_rc_contention


def solve(i: GpuMechInputs, policy: str = "round-robin") -> GpuMechResult:
    """Equations 3 to 23."""
    n = np.asarray(i.n, np.float64)
    insts = np.asarray(i.alu + i.mem, np.float64)
    alu_intervals, mem_intervals = i.alu / i.alu_insts, i.mem / i.mem_insts
    total_cycles = np.asarray(alu_intervals * i.alu_lat + mem_intervals * i.mem_lat, np.float64)
    p = np.minimum(1.0, ratio(insts, total_cycles, 1.0))  # (9)
    mean_insts = ratio(insts, alu_intervals + mem_intervals, 1.0)  # (13)
    waiting = np.zeros_like(n * insts)
    for intervals, size, latency in (
        (alu_intervals, i.alu_insts, i.alu_lat),
        (mem_intervals, i.mem_insts, i.mem_lat),
    ):
        stall = np.maximum(0.0, np.asarray(latency, np.float64) - size)
        waiting = waiting + intervals * non_overlapped(policy, size, stall, p, mean_insts, n)
    core_reqs = n * i.reqs  # (18)
    bandwidth_delay, rho = _bandwidth_delay(i, core_reqs)
    turns = mean_turns(core_reqs, i.mshrs) if i.mshrs else np.zeros_like(core_reqs)
    mshr_delay = np.asarray(i.mem_lat * turns, np.float64)  # (20)
    contention = np.where(
        np.asarray(i.mem) > 0, mem_intervals * (mshr_delay + bandwidth_delay), 0.0
    )
    return GpuMechResult(
        total_cycles=total_cycles,
        non_overlapped=waiting,
        cpi_multithreading=(total_cycles + waiting) / (n * insts),  # (7)
        rho=rho,
        mshr_delay=mshr_delay,
        bandwidth_delay=bandwidth_delay,
        cpi_rc_contention=contention / insts,  # (17)
    )


def _bandwidth_delay(i: GpuMechInputs, core_reqs: Numbers) -> tuple[Floats, Floats]:
    arrivals = ratio(core_reqs * i.cores, i.mem_lat, 0.0)  # (23)
    rho = np.asarray(arrivals * i.s, np.float64)  # (22)
    queue = ratio(arrivals * np.square(i.s), 2 * (1 - rho), np.inf)
    return np.minimum(queue, i.s * core_reqs * i.cores / 2), rho  # (21)


@dataclass(frozen=True)
class GpuMech:
    """Intervals of one warp, those of the others filling its stalls.

    Parameters
    ----------
    policy:
        How the scheduler picks a warp: round-robin or greedy-then-oldest.
    bandwidth:
        Add the delays of contention (equation 17). They may be negative; see `warnings`.
    mshrs:
        Miss registers of an SM, 0 for as many as needed.
    """

    name: ClassVar[str] = "gpumech"
    title: ClassVar[str] = "Interval analysis of a representative warp"
    source: ClassVar[str] = (
        "J.-C. Huang, J. H. Lee, H. Kim, H.-H. S. Lee: GPUMech. MICRO 2014; after Volkov 2016, "
        "sections 7.5-7.8"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "limits of throughput: of pipes, of issue under round robin, of memory without `bandwidth`",
        "a memory that is asked for more than it delivers: the delay is negative then",
        "what caches replace but the least recently used line",
        "the last wave: blocks are spread evenly, in fractions if need be",
    )

    policy: str = "round-robin"
    bandwidth: bool = False
    mshrs: int = 0

    def __post_init__(self) -> None:
        check_policy(self.policy)
        if self.mshrs < 0:
            raise InputError(f"mshrs is {self.mshrs}", hint="give a count, 0 for as many as needed")

    def inputs_of_work(self, work: WarpWork) -> GpuMechInputs:
        """The model's inputs, per slot that issues one instruction in its cycle.

        Raises
        ------
        InputError
            If the machine's bandwidth is 0.
        """
        if work.pin_bandwidth <= 0:
            raise InputError("dram.bandwidth is 0", hint="give one with --set dram.bandwidth=VALUE")
        slots, cycle = _slots(work), _cycle(work)
        return GpuMechInputs(
            n=work.warps / slots,
            alu=work.arithmetic,
            mem=work.memory,
            alu_lat=np.maximum(work.alu_lat / cycle, work.ilp),
            mem_lat=np.maximum(work.mem_lat / cycle, 1.0),
            alu_insts=work.ilp,
            mem_insts=np.where(np.isfinite(work.mlp), work.mlp, np.maximum(work.memory, 1.0)),
            reqs=work.lines,
            s=work.clock_hz / cycle * _TRANSACTION_BYTES / work.pin_bandwidth,
            cores=work.sms * slots,
            mshrs=self.mshrs,
        )

    def warp_throughput(self, work: WarpWork) -> Floats:
        """Warps per cycle and SM; negative where the equations say so."""
        return 1 / self._cycles_per_warp(work, self._solve(work))

    def _solve(self, work: WarpWork) -> GpuMechResult:
        return solve(self.inputs_of_work(work), self.policy)

    def _cycles_per_warp(self, work: WarpWork, r: GpuMechResult) -> Floats:
        cpi = r.cpi_final if self.bandwidth else r.cpi_multithreading
        return np.asarray(work.instructions * cpi * _cycle(work) / _slots(work))

    def predict(self, case: Case) -> Prediction:
        """The time of a case.

        Raises
        ------
        InputError
            If the contention term makes the time negative.
        MissingNumberError
            Where `models.terms.work.case_work` raises it.
        """
        given = case_work(case, f"model {self.name}")
        r = self._solve(given.work)
        cycles = float(self._cycles_per_warp(given.work, r))
        if cycles <= 0:
            raise InputError(
                f"model {self.name}: equation 21 gives a time of {cycles:.3g} cycles per warp, as "
                f"the memory is asked for {float(r.rho):.3g} times what it delivers",
                hint="use bandwidth=false or fewer warps",
            )
        # Without contention; what that adds is a part of its own.
        base = float(given.work.instructions * r.cpi_multithreading)
        base *= float(_cycle(given.work) / _slots(given.work))
        doubtful = self.bandwidth and float(r.bandwidth_delay) < 0
        parts: tuple[Part, ...] = (Part("intervals", min(base, cycles)),)
        if self.bandwidth:
            parts = (*parts, Part("contention", max(0.0, cycles - base)))
        waits = float(given.work.memory_path) > float(given.work.arithmetic_path)
        contended = self.bandwidth and cycles > 2 * base
        return steady_prediction(
            self,
            case,
            given,
            Steady(
                parts=parts,
                bottleneck=Bottleneck.DRAM_BANDWIDTH
                if contended
                else Bottleneck.MEMORY_LATENCY
                if waits
                else Bottleneck.ARITHMETIC_LATENCY,
                terms={
                    "total_cycles": float(r.total_cycles),
                    "total_nonoverlapped_insts": float(r.non_overlapped),
                    "CPI_multithreading": float(r.cpi_multithreading),
                    "rho": float(r.rho),
                    "MSHR_delay": float(r.mshr_delay),
                    "Bandwidth_delay": float(r.bandwidth_delay),
                    "CPI_rc_contention": float(r.cpi_rc_contention),
                },
                warnings=_warnings(self.bandwidth, doubtful, r),
            ),
        )


def _warnings(bandwidth: bool, doubtful: bool, r: GpuMechResult) -> tuple[str, ...]:
    if doubtful:
        return (
            f"Bandwidth_delay is {float(r.bandwidth_delay):.3g} cycles, which is impossible: rho "
            f"is {float(r.rho):.3g}, and equation 21 holds below 1 only",
        )
    return () if bandwidth else ("no limit of throughput is modelled without bandwidth=true",)


def _slots(work: WarpWork) -> Numbers:
    """Instructions that an SM issues in a cycle, at least 1."""
    return np.maximum(1.0, 1 / np.asarray(work.issue_cycles, np.float64))


def _cycle(work: WarpWork) -> Numbers:
    """SM cycles in which a slot issues one instruction."""
    return np.maximum(1.0, np.asarray(work.issue_cycles, np.float64))
