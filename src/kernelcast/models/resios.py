"""Delays divided by the parallelism that a coarse simulation finds.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011. Equations 4.5 to 4.9 are in `terms.resios_delays`, those of transfers in `terms.transfers`,
the simulation (Algorithm 5.1) in `simulation.coarse`.

    TIME = OVERHEAD + EXECUTION                                                         (4.1)
    EXECUTION = t n / W / clk

t are the cycles in which one SM executes W of its n warps. The thesis multiplies the sum of all
delays by the number of threads (4.4); the simulation takes its place.

    speedup = sequential / (overhead + parallel)
    bandwidth = accessed size / (overhead + parallel)
    FLOPS = floating-point operations / (overhead + parallel)
    AI = compute instructions / memory instructions                                     (6.3)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import ClassVar

import numpy as np

from kernelcast.analysis.intensity import ArithmeticIntensity, arithmetic_intensity
from kernelcast.errors import InputError, NotFoundError
from kernelcast.ir import Space
from kernelcast.models.terms.base import (
    Bottleneck,
    Case,
    Part,
    Prediction,
    in_seconds,
    kept,
    launch_overhead,
)
from kernelcast.models.terms.resios_delays import Delay
from kernelcast.models.terms.resios_trace import FlatTrace, TracedOperation, flat_trace
from kernelcast.models.terms.transfers import Direction, Transfer, end_to_end
from kernelcast.models.terms.work import WarpWork, ratio
from kernelcast.profiling.profile import Floats
from kernelcast.simulation.coarse import (
    CoarseRun,
    CoarseSm,
    MemoryTlp,
    Strategy,
    simulate_coarsely,
)
from kernelcast.simulation.coarse_loop import COMPUTE, MEMORY

_LAWS = ("limit", "printed")
_HOT_SPOTS, _LEAST_HOT = 3, 0.005
_STEADY = 8
"""Turns of all resident warps after which their beginning and their end no longer show."""


@dataclass(frozen=True)
class Resios:
    """Latencies divided among the warps that a coarse simulation finds ready.

    Parameters
    ----------
    law:
        How a delay follows from parallelism: printed as in equations 4.5 and 4.6, or the limit that
        both tend to, which never grows with more warps or more bandwidth.
    caches:
        Serve accesses by the caches that hold them; else all go to the DRAM, as in the thesis.
    memory_tlp:
        Which warps share the latency of memory: all resident ones, or the ready ones as printed.
    queue:
        Which warp of a queue comes next: first, last or shortest.
    warps:
        Warps that are simulated at the most, in whole blocks; more are extrapolated.
    compute_units:
        Warps of an SM that compute at once.
    memory_units:
        Accesses to memory of an SM that are executed at once.
    cpu_s:
        Seconds of the sequential program, for the speed-up; 0 where nobody knows.
    copied_bytes:
        Bytes copied to the device, for the overhead in the speed-up.
    """

    name: ClassVar[str] = "resios"
    title: ClassVar[str] = "Delays over the parallelism that a coarse simulation finds"
    source: ClassVar[str] = (
        "A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht "
        "University, 2011"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "instructions of different kinds that an SM executes in the same cycle: it has one compute "
        "unit and one memory unit",
        "divergent warps and warps that differ: all do what a mean warp does",
        "how a loop alternates between computation and memory: each operation stands for all its "
        "executions",
        "atomics that meet on one address",
        "what caches replace but the least recently used line",
    )

    law: str = "limit"
    caches: bool = True
    memory_tlp: str = str(MemoryTlp.RESIDENT)
    queue: str = str(Strategy.FIRST)
    warps: int = 192
    compute_units: int = 1
    memory_units: int = 1
    cpu_s: float = 0.0
    copied_bytes: float = 0.0

    def __post_init__(self) -> None:
        for what, value, known in (
            ("law", self.law, _LAWS),
            ("memory_tlp", self.memory_tlp, tuple(map(str, MemoryTlp))),
            ("queue", self.queue, tuple(map(str, Strategy))),
        ):
            if value not in known:
                raise NotFoundError(f"{what} of model resios", value, known)
        for what in ("warps", "compute_units", "memory_units"):
            if getattr(self, what) < 1:
                raise InputError(f"{what} is {getattr(self, what)}", hint="give at least 1")
        for what in ("cpu_s", "copied_bytes"):
            if not 0 <= getattr(self, what) < math.inf:
                raise InputError(
                    f"{what} is {getattr(self, what):g}", hint="give a number from 0 on"
                )

    def predict(self, case: Case) -> Prediction:
        """The time of a case; MissingNumberError as `terms.resios_trace.flat_trace`."""
        needed_by = f"model {self.name}"
        trace = flat_trace(case, needed_by, cached=self.caches)
        sms = min(int(case.machine.number("sm.count", needed_by)), case.launch.blocks)
        of_one_sm = -(-case.launch.blocks // sms)
        simulated = min(of_one_sm, max(1, self.warps // case.launch.warps_per_block))
        run = self._run(
            trace,
            CoarseSm(
                most_warps=case.occupancy.warps_per_sm,
                most_blocks=case.occupancy.blocks_per_sm,
            ),
            simulated,
            case.launch.warps_per_block,
        )
        scale = of_one_sm / simulated
        start, missing = launch_overhead(case)
        parts = _parts(trace, run, simulated * case.launch.warps_per_block, scale)
        cycles = sum(part.cycles for part in parts) + start.cycles
        time_s = in_seconds(case, cycles)
        return Prediction(
            model=self,
            case=case,
            cycles=cycles,
            time_s=time_s,
            bottleneck=Bottleneck(max((*parts, start), key=lambda part: part.cycles).name),
            breakdown=(*parts, start),
            terms={
                "TLP, mean of ready warps": run.tlp,
                "W, simulated warps": float(simulated * case.launch.warps_per_block),
                "n, warps of an SM": float(of_one_sm * case.launch.warps_per_block),
                "t, simulated cycles": run.cycles,
                "share of t without computation": _share_of_idle(run),
                **_metrics(case, time_s),
                **self._speed_up(case, time_s),
                **_hot_spots(trace, run),
            },
            assumptions=(
                *case.occupancy.assumptions,
                *(case.traffic.assumptions if self.caches else ("no cache holds anything",)),
                *trace.assumptions,
                "every SM executes as many blocks as the busiest",
            ),
            warnings=missing,
        )

    def warp_throughput(self, work: WarpWork) -> Floats:
        """Warps per cycle and SM, of warps that each do their work a few times over."""

        def one(*numbers: float) -> float:
            n, arithmetic, memory, alu, alu_cycles, mem_lat, mem_cycles, ilp, mlp = numbers
            rows = [
                _operation(MEMORY, memory, mem_lat, mem_cycles, mlp, Bottleneck.DRAM_BANDWIDTH),
                _operation(COMPUTE, arithmetic, alu, alu_cycles, ilp, Bottleneck.ISSUE),
            ]
            trace = FlatTrace(tuple(row for row in rows if row.times) * _STEADY, ())
            resident = int(n)
            run = self._run(trace, CoarseSm(resident, resident), resident, 1)
            return resident * _STEADY / run.cycles if run.cycles else math.inf

        mlp = np.minimum(work.mlp, np.maximum(1.0, work.memory))
        each = np.vectorize(one, otypes=[np.float64])
        found: Floats = each(
            work.warps,
            work.arithmetic,
            work.memory,
            work.alu_lat,
            np.maximum(work.alu_cycles, work.issue_cycles),
            work.mem_lat,
            np.maximum(work.mem_cycles, work.issue_cycles),
            work.ilp,
            mlp,
        )
        return found

    def _run(self, trace: FlatTrace, sm: CoarseSm, blocks: int, warps_per_block: int) -> CoarseRun:
        chosen = replace(
            sm,
            compute_units=self.compute_units,
            memory_units=self.memory_units,
            compute_queue=Strategy(self.queue),
            memory_queue=Strategy(self.queue),
            memory_tlp=MemoryTlp(self.memory_tlp),
        )
        arrays = trace.arrays(as_printed=self.law == "printed")
        return simulate_coarsely(arrays, chosen, blocks, warps_per_block)

    def _speed_up(self, case: Case, time_s: float) -> Mapping[str, float]:
        """Over the sequential program, where its time is known (section 5.3)."""
        if not self.cpu_s:
            return {}
        copied = [Transfer(self.copied_bytes, Direction.TO_DEVICE)] if self.copied_bytes else []
        whole = end_to_end(case.machine, time_s, copied)
        return {
            "overhead beside the launch, s": whole.overhead_s,
            "speed-up": self.cpu_s / (time_s + whole.overhead_s),
            "speed-up of the kernel alone": self.cpu_s / time_s,
        }


def _share_of_idle(run: CoarseRun) -> float:
    """Share of the cycles in which nothing was computed."""
    return float(ratio(run.cycles - run.computing_cycles, run.cycles, 0.0))


def _operation(
    kind: int, times: float, latency: float, penalty: float, ilp: float, resource: Bottleneck
) -> TracedOperation:
    warps = max(1.0, math.ceil(latency / penalty)) if penalty else 1.0
    beyond = 1 / warps if kind == COMPUTE else 1.0
    return TracedOperation(0, kind, times, ilp, Delay(latency, warps, penalty, beyond), resource)


def _parts(trace: FlatTrace, run: CoarseRun, warps: int, scale: float) -> tuple[Part, ...]:
    """The simulated cycles by what they go to: as much of an operation's as its resource serves all
    warps in, and its latency for the rest."""
    cycles: dict[Bottleneck, float] = defaultdict(float)
    for op, charged in zip(trace.operations, run.charged.tolist(), strict=True):
        served = min(charged, warps * op.times * op.delay.penalty)
        waited = Bottleneck.MEMORY_LATENCY if op.kind == MEMORY else Bottleneck.ARITHMETIC_LATENCY
        cycles[op.resource] += scale * served
        cycles[waited] += scale * (charged - served)
    rows = [Part(str(name), spent) for name, spent in cycles.items() if spent > 0]
    return tuple(sorted(rows, key=lambda part: -part.cycles))


def _metrics(case: Case, time_s: float) -> Mapping[str, float]:
    """Section 5.3 but for the speed-up."""
    size_bytes, operations, intensity = _work(case)
    found = {
        "effective bandwidth, byte/s": size_bytes / time_s,
        "FLOPS": operations / time_s,
    }
    if intensity.off_chip:
        found["arithmetic intensity"] = intensity.ratio
    return found


@kept
def _work(case: Case) -> tuple[float, float, ArithmeticIntensity]:
    """Bytes accessed, floating-point operations and the intensity, which no machine changes."""
    profile = case.profile
    intensity = arithmetic_intensity(case.kernel, profile.instruction_warps.tolist())
    return profile.requested_bytes(Space.GLOBAL), sum(profile.flops.values()), intensity


def _hot_spots(trace: FlatTrace, run: CoarseRun) -> Mapping[str, str]:
    """The accesses during which compute units idle most, by falling share of all cycles."""
    found = [
        (idle / run.cycles, op)
        for op, idle in zip(trace.operations, run.idle.tolist(), strict=True)
        if idle > _LEAST_HOT * run.cycles
    ]
    ranked = sorted(found, key=lambda pair: -pair[0])[:_HOT_SPOTS]
    return {
        f"hot spot {place}": f"{100 * share:.0f} % of the time, {op.name} at {_place(op)}"
        for place, (share, op) in enumerate(ranked, 1)
    }


def _place(op: TracedOperation) -> str:
    at = op.location
    return f"{PurePath(at.file).name}:{at.line}" if at else f"instruction {op.instruction}"
