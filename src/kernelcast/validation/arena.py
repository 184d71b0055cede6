"""Every model on the synthetic workload of latency hiding, against one that is trusted more.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, sections 7.9 and
7.10. At every arithmetic intensity alpha and occupancy n, the throughput that a model predicts is
divided by the observed one; the smallest and the largest quotient over the occupancies say how far
the model errs at that alpha. Observed is what the refined model of section 6.5 gives:

    x = min(n / (a + b T / (c - T) + alpha alu_lat), throughput bound),  T the memory throughput

or any other function of a machine and such points, as the timing simulation (`played_mix`).

As in the dissertation only occupancies with as many warps on every scheduler count, and alpha runs
over 1 to 512 in steps of a factor of the root of 2, rounded to whole instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kernelcast.errors import InputError, MissingNumberError
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.machines.machine import Machine
from kernelcast.models.baghsorkhi import Baghsorkhi
from kernelcast.models.cuda_guide import CudaGuide
from kernelcast.models.gpumech import GpuMech
from kernelcast.models.mwp_cwp import MwpCwpInputs, solve
from kernelcast.models.resios import Resios
from kernelcast.models.sim import Sim
from kernelcast.models.terms.latency_hiding import contended_throughput, warp_throughput
from kernelcast.models.terms.mix import COALESCED_BYTES, Mix, mix_contention, mix_work
from kernelcast.models.terms.work import WarpWork
from kernelcast.models.zhang_owens import ThroughputTable, ZhangOwens
from kernelcast.profiling.profile import Floats

GPUS = ("8800-gtx", "gtx-280", "gtx-480", "gtx-680", "gtx-980")
"""The five chips of the dissertation."""

ALPHAS = tuple(sorted({round(2 ** (k / 2)) for k in range(19)}))
"""18 numbers: from 1 to 512 there are 19 powers of the root of 2, but whole additions go with each
load, and the power 1.41 is as near to 1 as it gets (section 7.9 samples "approximately")."""

LIMITS = (0.0, math.inf)
"""Loads alone and additions alone."""

REFINED = "refined"
_NEEDED_BY = "the refined model of section 6.5"

_PEAK_SHARE = 0.9
"""Latency counts as hidden from this share of the throughput bound on (section 4.5)."""

_NEAR = 0.05
"""Near the bound, where latency is hidden, two descriptions of one chip differ by no more."""

_ENDLESS = 1e6
"""Repetitions after which what happens once per warp no longer shows."""


Observed = Callable[[Machine, Floats, Floats], Floats]
"""The throughput that models are held to, of a machine: a row per alpha, a column per occupancy."""


@dataclass(frozen=True)
class Contestant:
    """A model, or a variant of one: warps per cycle and SM of a work, for arrays of them."""

    name: str
    throughput: Callable[[WarpWork], Floats]


@dataclass(frozen=True)
class Field:
    """One machine, its occupancies, and the work and observed throughput at each alpha.

    Arrays have a row per alpha and a column per occupancy; throughput is in groups of alpha + 1
    instructions, additions where alpha is infinite, per cycle and SM. `refined` is that of section
    6.5, `loads` and `additions` the observed one of either alone, by occupancy.
    """

    machine: Machine
    alphas: Floats
    warps: Floats
    work: WarpWork
    observed: Floats
    refined: Floats
    loads: Floats
    additions: Floats

    @property
    def bound(self) -> Floats:
        """The throughput that no model exceeds, by row and column."""
        return np.broadcast_to(np.asarray(self.work.bound, np.float64), self.observed.shape)


@dataclass(frozen=True)
class ArenaScore:
    """How far a contestant errs on a machine, by alpha.

    `smallest` and `largest` are predicted over observed throughput; `needed` the fewest warps per
    SM at which the model reaches 90 % of the throughput bound, NaN where none do; `impossible`
    counts the points at which it predicts a throughput that is negative or not finite. Those enter
    the quotients as they are.
    """

    contestant: str
    gpu: str
    alphas: Floats
    smallest: Floats
    largest: Floats
    needed: Floats
    impossible: int

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest quotient of all."""
        return float(np.nanmin(self.smallest)), float(np.nanmax(self.largest))

    @property
    def cusp(self) -> float:
        """Most warps needed at any alpha over the more of those at the two ends of the range.

        1 where intermediate intensities need no more warps than the ends; infinite where no
        occupancy suffices for them but one does at both ends.
        """
        needed = np.where(np.isnan(self.needed), np.inf, self.needed)
        ends = max(needed[0], needed[-1])
        return float(np.max(needed) / ends) if np.isfinite(ends) else 1.0


@dataclass(frozen=True)
class Agreement:
    """Throughput by the refined model over the observed one on a GPU: its extremes at all points,
    and at those near the bound, where the refined model is within 5 % of it."""

    gpu: str
    points: int
    extremes: tuple[float, float]
    near_points: int
    near_extremes: tuple[float, float]

    @property
    def holds(self) -> bool:
        """Whether it is within 5 % of what is observed at all points near the bound."""
        low, high = self.near_extremes
        return low >= 1 - _NEAR and high <= 1 + _NEAR


def refined_throughput(machine: Machine, alphas: Floats, warps: Floats) -> Floats:
    """The refined model of section 6.5; raises MissingNumberError for a number of its law."""
    mix = Mix(1)
    work = mix_work(machine, mix, warps[None, :], alphas[:, None])
    law = mix_contention(machine, mix)
    if law is None:
        raise MissingNumberError(machine.name, "volkov.latency_base", _NEEDED_BY)
    return contended_throughput(
        work.warps,
        lambda x: work.arithmetic_path + work.memory * law.latency(x * work.memory),
        work.bound,
    )


def even_occupancies(machine: Machine) -> Floats:
    """Warps per SM of which every scheduler has as many, up to the most."""
    schedulers = machine.number("sm.schedulers", _NEEDED_BY)
    most = machine.number("occupancy.warps_per_sm", _NEEDED_BY)
    return np.arange(schedulers, most + 1, schedulers, dtype=np.float64)


def field(
    machine: Machine,
    alphas: Sequence[float] = ALPHAS,
    warps: Sequence[float] | None = None,
    observed: Observed = refined_throughput,
) -> Field:
    """The workload on a machine, at whole numbers of warps per scheduler unless `warps` are given.

    Raises
    ------
    MissingNumberError
        If the machine lacks a number that the workload or the observed side needs.
    InputError
        If an alpha is negative, or an occupancy not from 1 to the most warps of an SM.
    """
    if not len(alphas):
        raise InputError("no alpha is given", hint="give at least one")
    n = even_occupancies(machine) if warps is None else np.asarray(warps, np.float64)
    a = np.asarray(alphas, np.float64)
    work = mix_work(machine, Mix(1), n[None, :], a[:, None])
    refined = refined_throughput(machine, a, n)
    judged = refined if observed is refined_throughput else observed(machine, a, n)
    loads, additions = observed(machine, np.array(LIMITS), n)
    return Field(machine, a, n, work, judged, refined, loads, additions)


def contestants(on: Field) -> tuple[Contestant, ...]:
    """All models that are judged; the refined one, too, where it is not what is observed.

    Zhang & Owens' tables are the observed throughputs of additions alone and of loads alone, as
    theirs are measured ones.
    """
    loads, additions = (
        ThroughputTable(tuple(on.warps), tuple(WARP_LANES * row))
        for row in (on.loads, on.additions)
    )
    refined = (Contestant(REFINED, lambda _: on.refined),) if on.refined is not on.observed else ()
    return (
        *refined,
        Contestant("volkov", _volkov),
        Contestant("mwp-cwp", _mwp_cwp),
        Contestant("baghsorkhi", Baghsorkhi().warp_throughput),
        Contestant("zhang-owens", ZhangOwens(alu=additions, mem=loads).warp_throughput),
        Contestant("sim", Sim().warp_throughput),
        Contestant("gpumech", GpuMech().warp_throughput),
        Contestant("gpumech greedy", GpuMech(policy="greedy-then-oldest").warp_throughput),
        Contestant("gpumech bandwidth", GpuMech(bandwidth=True).warp_throughput),
        Contestant("resios", Resios().warp_throughput),
        Contestant("resios printed", Resios(law="printed").warp_throughput),
        Contestant("cuda-guide", CudaGuide().warp_throughput),
    )


def score(contestant: Contestant, on: Field) -> ArenaScore:
    """Predicted over observed throughput, and the warps that the contestant asks for."""
    with np.errstate(divide="ignore"):
        predicted = np.broadcast_to(contestant.throughput(on.work), on.observed.shape)
    quotient = predicted / on.observed
    return ArenaScore(
        contestant=contestant.name,
        gpu=on.machine.name,
        alphas=on.alphas,
        smallest=quotient.min(axis=1),
        largest=quotient.max(axis=1),
        needed=_needed(predicted, on),
        impossible=int(np.sum(~np.isfinite(predicted) | (predicted <= 0))),
    )


def observed_score(on: Field) -> ArenaScore:
    """The observed throughput against itself: for the warps that it needs."""
    return score(Contestant("observed", lambda _: on.observed), on)


def judge(
    machines: Sequence[Machine],
    alphas: Sequence[float] = ALPHAS,
    warps: Sequence[float] | None = None,
    observed: Observed = refined_throughput,
) -> tuple[ArenaScore, ...]:
    """All contestants on all machines, the observed throughput first; see `field`."""
    scores = []
    for machine in machines:
        on = field(machine, alphas, warps, observed)
        scores.append(observed_score(on))
        scores += [score(c, on) for c in contestants(on)]
    return tuple(scores)


def agreement(on: Field) -> Agreement:
    """The refined model beside what is observed."""
    quotient = on.refined / on.observed
    near = quotient[on.refined >= (1 - _NEAR) * on.bound]
    return Agreement(
        gpu=on.machine.name,
        points=quotient.size,
        extremes=(float(quotient.min()), float(quotient.max())),
        near_points=near.size,
        near_extremes=(float(near.min()), float(near.max())) if near.size else (1.0, 1.0),
    )


def _needed(predicted: Floats, on: Field) -> Floats:
    enough = predicted >= _PEAK_SHARE * on.bound
    first = on.warps[np.argmax(enough, axis=1)]
    return np.where(enough.any(axis=1), first, np.nan)


def _volkov(work: WarpWork) -> Floats:
    return warp_throughput(work.warps, work.alone_cycles, work.bound)


def _mwp_cwp(work: WarpWork) -> Floats:
    """Hong & Kim's equations as in section 7.1: no departure delay, bandwidth at the pins."""

    def one(n: float, arithmetic: float, memory: float, latency: float, issue: float) -> float:
        inputs = MwpCwpInputs(
            mem_ld=latency,
            departure_del_uncoal=0.0,
            departure_del_coal=0.0,
            issue_cycles=issue,
            freq_hz=work.clock_hz,
            mem_bandwidth=work.pin_bandwidth,
            blocks=n * work.sms,
            active_sms=work.sms,
            active_blocks_per_sm=n,
            warps_per_block=1,
            comp_insts=arithmetic * _ENDLESS,
            uncoal_mem_insts=0.0,
            coal_mem_insts=memory * _ENDLESS,
            synch_insts=0.0,
            uncoal_per_mw=1.0,
            load_bytes_per_warp=float(work.lines) * COALESCED_BYTES,
        )
        cycles = solve(inputs, comp_over_mem_equation=24).total
        return n * _ENDLESS / cycles

    each = np.vectorize(one, otypes=[np.float64])
    issue = np.maximum(work.alu_cycles, work.issue_cycles)
    return np.asarray(each(work.warps, work.arithmetic, work.memory, work.mem_lat, issue))
