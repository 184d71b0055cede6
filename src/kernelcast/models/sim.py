"""MWP-CWP with arithmetic latency, and four figures of what could be gained.

J. Sim, A. Dasgupta, H. Kim, R. Vuduc: A performance analysis framework for identifying potential
benefits in GPGPU applications. PPoPP 2012. Equation numbers are the paper's, as quoted by
V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, section 7.4. Times
are cycles of an SM per warp: the paper's divided by #total_warps / #active_SMs. cpi is
warp size / SIMD width, so that avg_inst_lat / ITILP_max = cpi.

    T_exec = T_comp + T_mem - T_overlap                                                  (1)
    T_comp = W_parallel + W_serial                                                       (2)
    W_parallel = #insts max(avg_inst_lat / (ILP N), cpi)                                 (3)-(5)
    T_mem = #mem_insts AMAT / ITMLP                                                      (11)
    ITMLP = min(MLP MWP_cp, MWP_peak_bw)                                                 (14)
    MWP_cp = min(max(1, CWP - 1), MWP)                                                   (15)
    T_overlap = min(T_comp F_overlap, T_mem)                                             (16)
    F_overlap = (N - zeta) / N,  zeta = 1 if CWP <= MWP, else 0                          (17)
    CWP = min(1 + mem_cycles / comp_cycles, N)                                           (A.1)-(A.4)
    MWP = min(N, MWP_peak_bw, AMAT / Delta),  MWP_peak_bw = AMAT / mem_cycles_at_peak    (A.5)

AMAT is the mean latency of a memory instruction (equations 12 and 13). The dissertation does not
state the benefits. They follow the paper's definitions in words: time saved by unlimited
parallelism of instructions, by no serialisation, by no instructions but floating point, and by
memory parallelism that leaves nothing but bandwidth:

    B_itilp = W_parallel - #insts cpi                B_serial = W_serial
    B_fp = (#insts - #FP_insts) cpi                  B_memlp = max(T_mem - T_overlap - T_mem_min, 0)

with T_mem_min = #mem_insts mem_cycles_at_peak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernelcast.errors import InputError
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

BENEFITS_IN_WORDS = (
    "B_itilp, B_memlp, B_fp and B_serial follow the paper's definitions in words; no equation for "
    "them was at hand"
)


@dataclass(frozen=True, slots=True)
class SimInputs:
    """Counts of one warp; `cpi` and `mem_cycles` are cycles of an SM per instruction at the peak.

    `departure_delay` is Delta, 0 for no cap on MWP by it.
    """

    n: Numbers
    insts: Numbers
    mem_insts: Numbers
    fp_insts: Numbers
    avg_inst_lat: Numbers
    cpi: Numbers
    ilp: Numbers
    mlp: Numbers
    amat: Numbers
    mem_cycles: Numbers
    w_serial: Numbers = 0.0
    departure_delay: Numbers = 0.0


@dataclass(frozen=True, slots=True)
class SimResult:
    """The named terms of the equations."""

    mwp_peak_bw: Floats
    mwp: Floats
    cwp: Floats
    w_parallel: Floats
    t_comp: Floats
    t_mem: Floats
    t_overlap: Floats
    t_exec: Floats
    b_itilp: Floats
    b_memlp: Floats
    b_fp: Floats
    b_serial: Floats


def solve(i: SimInputs) -> SimResult:
    """Equations 1 to 17 and the four benefits."""
    n = np.asarray(i.n, np.float64)
    w_parallel = i.insts * np.maximum(i.avg_inst_lat / (i.ilp * n), i.cpi)  # (3)-(5)
    t_comp = w_parallel + i.w_serial  # (2)
    mwp_peak_bw = ratio(i.amat, i.mem_cycles, np.inf)
    mwp = np.minimum(np.minimum(n, mwp_peak_bw), ratio(i.amat, i.departure_delay, np.inf))  # (A.5)
    mem_cycles = ratio(i.mem_insts * i.amat, i.mlp, 0.0)
    cwp = np.minimum(1 + ratio(mem_cycles, w_parallel, np.inf), n)
    mwp_cp = np.minimum(np.maximum(1.0, cwp - 1), mwp)  # (15)
    waiting = ratio(np.asarray(i.amat, np.float64), i.mlp * mwp_cp, 0.0)
    t_mem_min = np.asarray(i.mem_insts * i.mem_cycles, np.float64)
    t_mem = np.maximum(i.mem_insts * waiting, t_mem_min)  # (11), (14)
    zeta = np.where(cwp <= mwp, 1.0, 0.0)  # (17)
    t_overlap = np.minimum(t_comp * (n - zeta) / n, t_mem)  # (16)
    return SimResult(
        mwp_peak_bw=mwp_peak_bw,
        mwp=mwp,
        cwp=cwp,
        w_parallel=w_parallel,
        t_comp=t_comp,
        t_mem=t_mem,
        t_overlap=t_overlap,
        t_exec=t_comp + t_mem - t_overlap,  # (1)
        b_itilp=w_parallel - i.insts * i.cpi,
        b_memlp=np.maximum(0.0, t_mem - t_overlap - t_mem_min),
        b_fp=(i.insts - i.fp_insts) * np.asarray(i.cpi, np.float64),
        b_serial=np.asarray(i.w_serial, np.float64),
    )


@dataclass(frozen=True)
class Sim:
    """Time of arithmetic and of memory, overlapped as MWP and CWP allow.

    Parameters
    ----------
    departure_delay:
        Delta in cycles: the least time between two memory instructions of an SM; 0 for none, as in
        the dissertation, which bounds the memory by its sustained bandwidth instead.
    """

    name: ClassVar[str] = "sim"
    title: ClassVar[str] = "MWP-CWP with arithmetic latency and benefit metrics"
    source: ClassVar[str] = (
        "J. Sim, A. Dasgupta, H. Kim, R. Vuduc: A performance analysis framework for identifying "
        "potential benefits in GPGPU applications. PPoPP 2012; after Volkov 2016, section 7.4"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "that a warp waiting for memory executes no arithmetic: latencies of the two kinds do not "
        "add up",
        "the cost of synchronisation and of divergence (equations 7, 8 and 10)",
        "what caches replace but the least recently used line",
        "the last wave: blocks are spread evenly, in fractions if need be",
    )

    departure_delay: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.departure_delay < np.inf:
            raise InputError(
                f"departure_delay is {self.departure_delay:g}", hint="give cycles from 0 on"
            )

    def inputs_of_work(self, work: WarpWork) -> SimInputs:
        """The model's inputs."""
        pipes = ratio(work.arithmetic * work.alu_cycles - work.serial_cycles, work.arithmetic, 0.0)
        return SimInputs(
            n=work.warps,
            insts=work.instructions,
            mem_insts=work.memory,
            fp_insts=work.floating,
            avg_inst_lat=work.alu_lat,
            cpi=np.maximum(pipes, work.issue_cycles),
            ilp=work.ilp,
            mlp=work.mlp,
            amat=work.mem_lat,
            mem_cycles=work.mem_cycles,
            w_serial=work.serial_cycles,
            departure_delay=self.departure_delay,
        )

    def warp_throughput(self, work: WarpWork) -> Floats:
        """Warps per cycle and SM."""
        return 1 / solve(self.inputs_of_work(work)).t_exec

    def predict(self, case: Case) -> Prediction:
        """The time of a case; MissingNumberError where `models.terms.work.case_work` raises it."""
        given = case_work(case, f"model {self.name}")
        inputs = self.inputs_of_work(given.work)
        r = solve(inputs)
        t_comp, t_mem, overlap = float(r.t_comp), float(r.t_mem), float(r.t_overlap)
        bottleneck = given.arithmetic_resource
        # Memory binds: at its peak by bandwidth, else by latency. Else computation, alike.
        if t_mem > t_comp:
            at_peak = t_mem <= float(inputs.mem_insts * inputs.mem_cycles) * (1 + 1e-9)
            bottleneck = given.memory_resource if at_peak else Bottleneck.MEMORY_LATENCY
        elif float(r.b_itilp) > float(inputs.insts * inputs.cpi):
            bottleneck = Bottleneck.ARITHMETIC_LATENCY
        return steady_prediction(
            self,
            case,
            given,
            Steady(
                # What overlaps is time of the longer one.
                parts=(
                    Part("computation", max(0.0, t_comp - (overlap if t_mem > t_comp else 0.0))),
                    Part("memory", t_mem - (0.0 if t_mem > t_comp else overlap)),
                ),
                bottleneck=bottleneck,
                terms={
                    "MWP_peak_bw": float(r.mwp_peak_bw),
                    "MWP": float(r.mwp),
                    "CWP": float(r.cwp),
                    **{
                        f"{symbol}, cycles": float(value) * given.total_warps
                        for symbol, value in (
                            ("T_comp", r.t_comp),
                            ("T_mem", r.t_mem),
                            ("T_overlap", r.t_overlap),
                            ("B_itilp", r.b_itilp),
                            ("B_memlp", r.b_memlp),
                            ("B_fp", r.b_fp),
                            ("B_serial", r.b_serial),
                        )
                    },
                },
                assumptions=(BENEFITS_IN_WORDS,),
            ),
        )
