"""The work flow graph: latencies of instructions summed up along one warp, the rest hidden.

S. Baghsorkhi, M. Delahaye, S. Patel, W. Gropp, W. Hwu: An adaptive performance modeling tool for
GPU architectures. PPoPP 2010. Equation numbers are the paper's, as quoted by V. Volkov:
Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, section 7.2.

    alu = max(issue time of the pipe, latency / n)                                       (3)
    CYC_compute = NUM_alu alu + NUM_mem issue
    LatencyBW = issue + max(0, CYC_mem - CYC_compute) / NUM_mem                          (4)
    NBC_avg = CYC_compute / (NUM_mem + NUM_sync + 1)                                     (5)
    Latency_exposed = mem_lat - (n - 1) NBC_avg                                          (6)
    Warp latency = NUM_alu alu + sum over memory nodes of max(LatencyBW, Latency_exposed)

The execution time is the sum of all warps' latencies. The graph has a node for every memory
instruction, with a data dependence arc where its result is waited for; on a longest path the arc's
weight is Latency_exposed where there is one, and LatencyBW where there is none.
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
class BaghsorkhiInputs:
    """Counts are those of one warp; times cycles of one SM. Numbers may be arrays that broadcast.

    `num_waits` memory instructions have a data dependence arc; `repeats` is how often the counted
    instructions follow each other, infinite for an endless loop, where the 1 in equation 5
    vanishes.
    """

    n: Numbers
    num_alu: Numbers
    num_mem: Numbers
    num_waits: Numbers
    num_sync: Numbers
    alu_latency: Numbers
    alu_issue: Numbers
    issue: Numbers
    mem_lat: Numbers
    cyc_mem: Numbers
    repeats: float = 1.0


@dataclass(frozen=True, slots=True)
class BaghsorkhiResult:
    """The named terms of the equations; `cyc_mem` inputs are per memory instruction."""

    alu: Floats
    cyc_compute: Floats
    latency_bw: Floats
    nbc_avg: Floats
    latency_exposed: Floats
    computing: Floats
    memory: Floats

    @property
    def warp_latency(self) -> Floats:
        """Cycles by which every warp on an SM lengthens the whole."""
        return self.computing + self.memory


def solve(i: BaghsorkhiInputs) -> BaghsorkhiResult:
    """Equations 3 to 6 and the longest path through the graph."""
    alu = np.maximum(i.alu_issue, i.alu_latency / np.asarray(i.n, np.float64))  # (3)
    cyc_compute = i.num_alu * alu + i.num_mem * i.issue
    waiting = np.maximum(0.0, i.num_mem * i.cyc_mem - cyc_compute)
    latency_bw = i.issue + ratio(waiting, i.num_mem, 0.0)  # (4)
    stops = i.num_mem + i.num_sync + 1 / i.repeats
    nbc_avg = ratio(cyc_compute, stops, np.inf)  # (5)
    # A warp alone hides nothing, however long it runs before it stops.
    others = np.asarray(i.n, np.float64) - 1
    hidden = np.where(others > 0, others * np.where(others > 0, nbc_avg, 0.0), 0.0)
    latency_exposed = i.mem_lat - hidden  # (6)
    arcs = np.maximum(0.0, i.num_mem - i.num_waits)
    memory = arcs * latency_bw + np.minimum(i.num_waits, i.num_mem) * np.maximum(
        latency_bw, latency_exposed
    )
    return BaghsorkhiResult(
        alu, cyc_compute, latency_bw, nbc_avg, latency_exposed, i.num_alu * alu, memory
    )


def _inputs_of_work(work: WarpWork) -> BaghsorkhiInputs:
    """The model's inputs: loads waited for are those that a single warp waits for in a row."""
    return BaghsorkhiInputs(
        n=work.warps,
        num_alu=work.arithmetic,
        num_mem=work.memory,
        num_waits=np.minimum(work.memory, ratio(work.memory_path, work.mem_lat, 0.0)),
        num_sync=work.barriers,
        alu_latency=work.alu_lat,
        alu_issue=np.maximum(work.alu_cycles, work.issue_cycles),
        issue=np.maximum(work.alu_cycles, work.issue_cycles),
        mem_lat=work.mem_lat,
        cyc_mem=work.mem_cycles,
        repeats=work.repeats,
    )


@dataclass(frozen=True)
class Baghsorkhi:
    """Latencies of all instructions summed up, memory's as far as other warps do not cover it."""

    name: ClassVar[str] = "baghsorkhi"
    title: ClassVar[str] = "Work flow graph: latencies that other warps do not cover add up"
    source: ClassVar[str] = (
        "S. Baghsorkhi, M. Delahaye, S. Patel, W. Gropp, W. Hwu: An adaptive performance modeling "
        "tool for GPU architectures. PPoPP 2010; after Volkov 2016, section 7.2"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "other warps' waiting: loads of different warps are not in memory at the same time",
        "switching to another warp at any instruction but memory and barriers",
        "independent arithmetic instructions of one warp",
        "what caches replace but the least recently used line",
        "the last wave: blocks are spread evenly, in fractions if need be",
    )

    def warp_throughput(self, work: WarpWork) -> Floats:
        """Warps per cycle and SM."""
        return 1 / solve(_inputs_of_work(work)).warp_latency

    def predict(self, case: Case) -> Prediction:
        """The time of a case; MissingNumberError where `models.terms.work.case_work` raises it."""
        given = case_work(case, f"model {self.name}")
        r = solve(_inputs_of_work(given.work))
        computing, memory = float(r.computing), float(r.memory)
        bottleneck = given.arithmetic_resource
        if memory > computing:
            covered = float(r.latency_exposed) <= float(r.latency_bw)
            bottleneck = given.memory_resource if covered else Bottleneck.MEMORY_LATENCY
        elif float(r.alu) > given.work.alu_cycles and float(r.alu) > given.work.issue_cycles:
            bottleneck = Bottleneck.ARITHMETIC_LATENCY
        return steady_prediction(
            self,
            case,
            given,
            Steady(
                parts=(Part("computation", computing), Part("memory", memory)),
                bottleneck=bottleneck,
                terms={
                    "alu": float(r.alu),
                    "CYC_compute": float(r.cyc_compute),
                    "LatencyBW": float(r.latency_bw),
                    "NBC_avg": float(r.nbc_avg),
                    "Latency_exposed": float(r.latency_exposed),
                    "Warp latency": float(r.warp_latency),
                },
            ),
        )
