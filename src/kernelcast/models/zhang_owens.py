"""Throughput tables: each kind of instruction on its own, and the slower kind decides.

Y. Zhang, J. D. Owens: A quantitative performance analysis model for GPU architectures. HPCA 2011;
as evaluated by V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016,
section 7.3. alu(n) and mem(n) are the throughputs of either kind alone with n warps on the SM:

    alu_time = #alu_instructions 32 / alu(n)
    mem_time = #mem_instructions 32 / mem(n)
    Time = max(alu_time, mem_time)        or, if nothing overlaps, their sum

The tables are measured in the paper. Where none are given they are modelled, in instructions of a
warp per cycle and SM:

    alu(n) / 32 = min(n ILP / latency, peak)            mem(n) / 32 = min(n MLP / latency, peak)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcast.errors import InputError
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.models.terms.base import Bottleneck, Case, Part, Prediction
from kernelcast.models.terms.work import (
    Numbers,
    Steady,
    WarpWork,
    case_work,
    ratio,
    steady_prediction,
)
from kernelcast.profiling.profile import Floats


@dataclass(frozen=True, slots=True)
class ThroughputTable:
    """Throughput in lane operations per cycle and SM at measured occupancies, in rising order."""

    warps: tuple[float, ...]
    operations: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.warps, self.warps[1:], strict=False))
        if not self.warps or len(self.warps) != len(self.operations) or not rising:
            raise InputError("a throughput table needs occupancies in rising order, one rate each")
        if min(self.operations) <= 0:
            raise InputError("a throughput table holds a rate that is not positive")

    def at(self, n: Numbers) -> Floats:
        """The rate at n warps per SM, linear between the entries.

        Raises
        ------
        InputError
            If n is outside the table.
        """
        if np.any((n < np.float64(self.warps[0])) | (n > np.float64(self.warps[-1]))):
            raise InputError(
                f"an occupancy is outside the table, {self.warps[0]:g} to {self.warps[-1]:g} warps"
            )
        return np.asarray(np.interp(n, self.warps, self.operations))


@dataclass(frozen=True, slots=True)
class ZhangOwensInputs:
    """Instructions of one warp, and the throughputs alu(n) and mem(n) in lanes per cycle and SM."""

    alu_instructions: Numbers
    mem_instructions: Numbers
    alu: Numbers
    mem: Numbers


@dataclass(frozen=True, slots=True)
class ZhangOwensResult:
    """Cycles of an SM per warp."""

    alu_time: Floats
    mem_time: Floats

    def time(self, overlap: bool = True) -> Floats:
        """The longer of the two, or their sum where nothing overlaps."""
        if overlap:
            return np.asarray(np.maximum(self.alu_time, self.mem_time))
        return self.alu_time + self.mem_time


def solve(i: ZhangOwensInputs) -> ZhangOwensResult:
    """Time of either kind of instruction."""
    return ZhangOwensResult(
        ratio(i.alu_instructions * WARP_LANES, i.alu, 0.0),
        ratio(i.mem_instructions * WARP_LANES, i.mem, 0.0),
    )


def _modelled(warps: Numbers, parallelism: Numbers, latency: Numbers, cycles: Numbers) -> Floats:
    """min(n parallelism / latency, peak) in lanes per cycle and SM; 0 where there is no work."""
    waiting = ratio(latency, np.asarray(warps, np.float64) * parallelism, 0.0)
    return ratio(np.float64(WARP_LANES), np.maximum(waiting, cycles), 0.0)


@dataclass(frozen=True)
class ZhangOwens:
    """The slower of arithmetic and memory, each at the throughput it has alone.

    Parameters
    ----------
    overlap:
        Take the longer of the two times; else their sum.
    alu, mem:
        Measured throughput against occupancy, from Python; where there is none it is modelled.
    """

    name: ClassVar[str] = "zhang-owens"
    title: ClassVar[str] = "Throughput of each kind of instruction at the occupancy"
    source: ClassVar[str] = (
        "Y. Zhang, J. D. Owens: A quantitative performance analysis model for GPU architectures. "
        "HPCA 2011; after Volkov 2016, section 7.3"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "that a warp waiting for memory executes no arithmetic: latencies of the two kinds do not "
        "add up",
        "block size and number of blocks as indices of the throughput tables",
        "barriers, at which the paper adds the times of the parts between them",
        "what caches replace but the least recently used line",
        "the last wave: blocks are spread evenly, in fractions if need be",
    )

    overlap: bool = True
    alu: ThroughputTable | None = None
    mem: ThroughputTable | None = None

    def inputs_of_work(self, work: WarpWork) -> ZhangOwensInputs:
        """The model's inputs, from the tables where there are some."""
        busy = np.maximum(work.alu_cycles, work.issue_cycles)
        return ZhangOwensInputs(
            alu_instructions=work.arithmetic,
            mem_instructions=work.memory,
            alu=self.alu.at(work.warps)
            if self.alu
            else _modelled(work.warps, work.ilp, work.alu_lat, busy),
            mem=self.mem.at(work.warps)
            if self.mem
            else _modelled(work.warps, work.mlp, work.mem_lat, work.mem_cycles),
        )

    def warp_throughput(self, work: WarpWork) -> Floats:
        """Warps per cycle and SM."""
        return 1 / solve(self.inputs_of_work(work)).time(self.overlap)

    def predict(self, case: Case) -> Prediction:
        """The time of a case; MissingNumberError where `models.terms.work.case_work` raises it."""
        given = case_work(case, f"model {self.name}")
        inputs = self.inputs_of_work(given.work)
        r = solve(inputs)
        alu_time, mem_time = float(r.alu_time), float(r.mem_time)
        rest = float(r.time(self.overlap)) - max(alu_time, mem_time)
        return steady_prediction(
            self,
            case,
            given,
            Steady(
                parts=(
                    Part("computation", alu_time if alu_time >= mem_time else rest),
                    Part("memory", mem_time if mem_time > alu_time else rest),
                ),
                bottleneck=_bottleneck(given.work, alu_time, mem_time)
                or (given.arithmetic_resource if alu_time >= mem_time else given.memory_resource),
                terms={
                    "alu(n)": float(inputs.alu),
                    "mem(n)": float(inputs.mem),
                    "alu_time": alu_time,
                    "mem_time": mem_time,
                },
            ),
        )


def _bottleneck(work: WarpWork, alu_time: float, mem_time: float) -> Bottleneck | None:
    """The latency that binds, None where a rate does."""
    if mem_time > alu_time:
        at_peak = mem_time <= float(work.memory * work.mem_cycles) * (1 + 1e-9)
        return None if at_peak else Bottleneck.MEMORY_LATENCY
    busy = float(np.maximum(work.alu_cycles, work.issue_cycles) * work.arithmetic)
    return None if alu_time <= busy * (1 + 1e-9) else Bottleneck.ARITHMETIC_LATENCY
