"""The vendor's rule: enough warps to issue arithmetic while one waits for memory.

NVIDIA: CUDA C Programming Guide, section 5.2.3 (versions 3.0 to 5.5). Discussed in V. Volkov:
Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, section 4.8.

    warps needed = mem_lat / (instruction time alpha)
    warps needed (refined) = mem_lat / (instruction time (alpha + 1)) + 1

alpha is the number of arithmetic instructions per memory instruction. The guide gives no time. What
it implies, that throughput is the issue rate once there are enough warps and in proportion to the
warps before, is our reading:

    x = min(n / mem_lat, 1 / (instruction time alpha))                 loads per cycle and SM
    x = min(n / (mem_lat + t (alpha + 1)), 1 / (t (alpha + 1)))        refined
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

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
class CudaGuideInputs:
    """Of one warp: `waits` loads waited for and `arithmetic` instructions; times are cycles."""

    n: Numbers
    waits: Numbers
    arithmetic: Numbers
    mem_lat: Numbers
    instruction_time: Numbers


@dataclass(frozen=True, slots=True)
class CudaGuideResult:
    """Warps needed; cycles of a single warp, and of an SM per warp at the issue rate."""

    warps_needed: Floats
    alone: Floats
    busy: Floats

    def cycles_per_warp(self, n: Numbers) -> Floats:
        """max(alone / n, busy)."""
        return np.asarray(np.maximum(self.alone / n, self.busy))


def solve(i: CudaGuideInputs, *, refined: bool = False) -> CudaGuideResult:
    """The rule, or its refined form.

    The number of warps is infinite where there is no arithmetic to hide latency with.
    """
    issued = i.arithmetic + i.waits if refined else i.arithmetic
    waiting = np.asarray(i.waits * i.mem_lat, np.float64)
    busy = np.asarray(issued * i.instruction_time, np.float64)
    alone = waiting + busy if refined else waiting
    return CudaGuideResult(ratio(waiting, busy, np.inf) + refined, alone, busy)


def inputs_of_work(work: WarpWork) -> CudaGuideInputs:
    """The model's inputs: loads waited for are those that a single warp waits for in a row."""
    return CudaGuideInputs(
        n=work.warps,
        waits=ratio(work.memory_path, work.mem_lat, 0.0),
        arithmetic=work.arithmetic,
        mem_lat=work.mem_lat,
        instruction_time=np.maximum(work.alu_cycles, work.issue_cycles),
    )


@dataclass(frozen=True)
class CudaGuide:
    """Latency of memory against the issue of arithmetic, and no other limit.

    Parameters
    ----------
    refined:
        Count the waiting warp itself and the memory instructions as well.
    """

    name: ClassVar[str] = "cuda-guide"
    title: ClassVar[str] = "The vendor's rule for the number of warps"
    source: ClassVar[str] = (
        "NVIDIA: CUDA C Programming Guide 5.5, section 5.2.3; after Volkov 2016, section 4.8"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "arithmetic latency",
        "memory bandwidth, and all other rates but those of arithmetic and issue",
        "what caches replace but the least recently used line",
        "the last wave: blocks are spread evenly, in fractions if need be",
    )

    refined: bool = False

    def warp_throughput(self, work: WarpWork) -> Floats:
        """Warps per cycle and SM."""
        solved = solve(inputs_of_work(work), refined=self.refined)
        return 1 / solved.cycles_per_warp(work.warps)

    def predict(self, case: Case) -> Prediction:
        """The time of a case; MissingNumberError where `models.terms.work.case_work` raises it."""
        given = case_work(case, f"model {self.name}")
        inputs = inputs_of_work(given.work)
        r = solve(inputs, refined=self.refined)
        cycles = float(r.cycles_per_warp(inputs.n))
        busy = float(r.busy)
        waits = cycles - busy > busy
        needed = float(r.warps_needed)
        return steady_prediction(
            self,
            case,
            given,
            Steady(
                parts=(
                    Part("computation", busy),
                    Part(f"exposed {Bottleneck.MEMORY_LATENCY}", max(0.0, cycles - busy)),
                ),
                bottleneck=Bottleneck.MEMORY_LATENCY if waits else given.arithmetic_resource,
                terms={"mem_lat": float(inputs.mem_lat), "warps needed": needed},
                warnings=("the rule knows no limit of memory bandwidth",),
                needed_warps=needed if np.isfinite(needed) else None,
            ),
        )
