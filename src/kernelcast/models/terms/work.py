"""What a mean warp does and what that costs on one SM: what the earlier models look at.

Arithmetic is every instruction but those of global and local memory; memory is the latter. A work
is either that of a case or that of a synthetic mix; then its numbers may be arrays that broadcast,
and a model answers for a whole range of occupancies and intensities in one call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass, Space
from kernelcast.models.terms.base import (
    Bottleneck,
    Case,
    Model,
    Part,
    Prediction,
    in_seconds,
    launch_overhead,
)
from kernelcast.models.terms.latency import load_latency
from kernelcast.models.terms.single_warp import single_warp
from kernelcast.models.terms.throughput import Worksheet, executed_per_warp, worksheet
from kernelcast.profiling.profile import Floats

Numbers = float | Floats

_MEMORY_SPACES = (Space.GLOBAL, Space.LOCAL)
_FLOATING = (OpClass.FP16, OpClass.FP32, OpClass.FP64, OpClass.SFU)
_PIPES = (Bottleneck.FP32, Bottleneck.FP64, Bottleneck.INT)
_MEMORY_ROWS = (
    Bottleneck.DRAM_BANDWIDTH,
    Bottleneck.PCIE_BANDWIDTH,
    Bottleneck.L2_BANDWIDTH,
    Bottleneck.L1_BANDWIDTH,
)


@dataclass(frozen=True, slots=True)
class WarpWork:
    """Counts are of one warp, `*_lat` latencies in cycles.

    warps
        n: warps that are on an SM at the same time.
    alu_cycles, issue_cycles, mem_cycles
        Cycles of one SM for each arithmetic instruction, for issuing any instruction, and of an
        SM's share of the memory for each memory instruction: reciprocal throughputs.
    arithmetic_path, memory_path
        Cycles that one warp alone spends on arithmetic and in waiting for memory; their sum is its
        latency bound (Volkov 2016, section 3.7).
    lines
        Lines of 128 B that a mean memory instruction touches.
    sms
        SMs that have work; `pin_bandwidth` in bytes per second is that of the whole chip.
    serial_cycles
        Of the arithmetic: cycles of special functions, bank conflicts and the like beyond those of
        the arithmetic pipes.
    floating
        Floating-point instructions among the arithmetic.
    repeats
        How often the counted instructions follow each other in a warp.
    """

    warps: Numbers
    arithmetic: Numbers
    memory: Numbers
    alu_lat: Numbers
    alu_cycles: Numbers
    issue_cycles: Numbers
    mem_lat: Numbers
    mem_cycles: Numbers
    arithmetic_path: Numbers
    memory_path: Numbers
    lines: Numbers
    sms: float
    clock_hz: float
    pin_bandwidth: float
    barriers: Numbers = 0.0
    serial_cycles: Numbers = 0.0
    floating: Numbers = 0.0
    repeats: float = 1.0

    @property
    def instructions(self) -> Numbers:
        """Arithmetic and memory together."""
        return self.arithmetic + self.memory

    @property
    def alone_cycles(self) -> Numbers:
        """The latency bound of a warp."""
        return self.arithmetic_path + self.memory_path

    @property
    def bound(self) -> Floats:
        """Warps per cycle and SM that the chip's rates allow."""
        rows = (
            self.arithmetic * self.alu_cycles,
            self.memory * self.mem_cycles,
            self.instructions * self.issue_cycles,
        )
        return ratio(1.0, np.maximum(np.maximum(rows[0], rows[1]), rows[2]), np.inf)

    @property
    def ilp(self) -> Floats:
        """Arithmetic instructions of a single warp that are in execution at once, at least 1."""
        return np.maximum(1.0, ratio(self.arithmetic * self.alu_lat, self.arithmetic_path, 1.0))

    @property
    def mlp(self) -> Floats:
        """The same for memory instructions; infinite where the warp waits for none."""
        return np.maximum(1.0, ratio(self.memory * self.mem_lat, self.memory_path, np.inf))


def ratio(numerator: Numbers, denominator: Numbers, where_zero: float) -> Floats:
    """numerator / denominator, and `where_zero` where the denominator is 0."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    )
    quotient: Floats = np.full(top.shape, where_zero)
    np.divide(top, bottom, out=quotient, where=bottom != 0)
    return quotient


@dataclass(frozen=True)
class CaseWork:
    """The work of a case, and how much of it there is.

    `total_warps` are the warps that the busiest SM executes, whole waves or fractions of one.
    """

    work: WarpWork
    total_warps: float
    arithmetic_resource: Bottleneck
    memory_resource: Bottleneck
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]


def case_work(case: Case, needed_by: str) -> CaseWork:
    """The work of a case, with memory traffic as estimated.

    Raises
    ------
    MissingNumberError
        If the machine lacks what the worksheet needs, or `latency.fp32`, or `latency.dram` where
        the kernel uses global or local memory, or `latency.shared` where it reads shared memory.
    """
    estimate = Estimate.CENTRAL
    sheet = worksheet(case, estimate, needed_by)
    # The warps of one busy SM, and what a mean one of them executes.
    sms = min(sheet.sms, case.launch.blocks)
    per_sm = min(case.occupancy.blocks_per_sm, -(-case.launch.blocks // sms))
    warps = float(per_sm * case.launch.warps_per_block)
    counts = executed_per_warp(case)
    instructions = max(sum(counts.values()), 1.0)
    requests = [a for a in case.profile.accesses if a.space in _MEMORY_SPACES]
    memory = min(sum(a.requests for a in requests) / case.profile.warps, instructions)
    arithmetic = instructions - memory
    # Latency, then throughput: the walk along the path, and the worksheet per warp.
    mem_lat = 0.0
    notes: tuple[str, ...] = ()
    if memory:
        dram = case.machine.number("latency.dram", needed_by)
        mem_lat, notes = load_latency(case, estimate, dram)
    paths = _paths(case, mem_lat, needed_by)
    rows = _WorksheetRows.of(sheet, sms)
    work = WarpWork(
        warps=warps,
        arithmetic=arithmetic,
        memory=memory,
        alu_lat=paths.latency_sum / arithmetic if arithmetic else 0.0,
        alu_cycles=rows.arithmetic_cycles / arithmetic if arithmetic else 0.0,
        issue_cycles=rows.issue_cycles / instructions,
        mem_lat=max(mem_lat, paths.longest_load),
        mem_cycles=rows.memory_cycles / memory if memory else 0.0,
        arithmetic_path=paths.arithmetic,
        memory_path=paths.memory,
        lines=sum(a.lines for a in requests) / (memory * case.profile.warps) if memory else 1.0,
        sms=float(sms),
        clock_hz=case.machine.number("clock.sm", needed_by),
        pin_bandwidth=case.machine.number("dram.bandwidth", needed_by),
        barriers=counts.get(OpClass.BARRIER, 0.0),
        serial_cycles=rows.serial_cycles,
        floating=min(arithmetic, sum(counts.get(c, 0.0) for c in _FLOATING)),
    )
    return CaseWork(
        work=work,
        total_warps=max(case.launch.blocks / sms, per_sm) * case.launch.warps_per_block,
        arithmetic_resource=rows.arithmetic_resource,
        memory_resource=rows.memory_resource,
        assumptions=(
            *case.occupancy.assumptions,
            *case.traffic.assumptions,
            *sheet.assumptions,
            *notes,
            *paths.notes,
            "blocks are spread evenly over the SMs that have work",
        ),
        warnings=sheet.left_out,
    )


@dataclass(frozen=True, slots=True)
class _Paths:
    """Of the mean warp: cycles of its path, and the arithmetic latencies it would sum up."""

    arithmetic: float
    memory: float
    latency_sum: float
    longest_load: float
    notes: tuple[str, ...]


def _paths(case: Case, mem_lat: float, needed_by: str) -> _Paths:
    alone = single_warp(case, mem_lat, needed_by)
    timed, walked = alone.timed, alone.walked
    mean_instructions = case.profile.total.warp / case.profile.warps
    scale = mean_instructions / max(1, case.profile.warp.instructions)
    outside = np.array(timed.waits_for_memory, bool)
    memory = float(walked.waits[outside].sum()) * scale
    times = case.profile.instruction_warps / case.profile.warps
    latency = np.array(timed.latency)
    loads = times[outside].sum()
    return _Paths(
        arithmetic=max(0.0, walked.cycles * scale - memory),
        memory=memory,
        latency_sum=float((times * latency)[~outside].sum()),
        longest_load=float((times * latency)[outside].sum() / loads) if loads else 0.0,
        notes=timed.notes,
    )


@dataclass(frozen=True, slots=True)
class _WorksheetRows:
    """The worksheet in three: cycles per warp and the resource that takes them."""

    arithmetic_cycles: float
    arithmetic_resource: Bottleneck
    memory_cycles: float
    memory_resource: Bottleneck
    issue_cycles: float
    serial_cycles: float

    @staticmethod
    def of(sheet: Worksheet, active_sms: int) -> _WorksheetRows:
        memory, inside = (0.0, Bottleneck.DRAM_BANDWIDTH), (0.0, Bottleneck.ISSUE)
        issue = pipes = 0.0
        for use in sheet.uses:
            # Fewer SMs have a larger share of what all of them use together.
            share = active_sms / sheet.sms if use.is_shared_by_sms else 1.0
            row = (use.cycles_per_warp * share, use.resource)
            if use.resource is Bottleneck.ISSUE:
                issue = row[0]
            elif use.resource in _MEMORY_ROWS:
                memory = max(memory, row)
            else:
                inside = max(inside, row)
                pipes = max(pipes, row[0] if use.resource in _PIPES else 0.0)
        return _WorksheetRows(*inside, *memory, issue, max(0.0, inside[0] - max(pipes, issue)))


@dataclass(frozen=True)
class Steady:
    """A model's answer for a warp among n on an SM: `parts` sum to cycles of the SM per warp, and
    `bottleneck` says what the largest of them stands for."""

    parts: tuple[Part, ...]
    bottleneck: Bottleneck
    terms: Mapping[str, float | str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    needed_warps: float | None = None


def steady_prediction(model: Model, case: Case, given: CaseWork, steady: Steady) -> Prediction:
    """The whole launch: every warp of the busiest SM takes what a warp among n takes."""
    start, missing = launch_overhead(case)
    parts = tuple(Part(p.name, p.cycles * given.total_warps) for p in steady.parts)
    cycles = sum(p.cycles for p in parts)
    starts = start.cycles > max(p.cycles for p in parts)
    return Prediction(
        model=model,
        case=case,
        cycles=cycles + start.cycles,
        time_s=in_seconds(case, cycles + start.cycles),
        bottleneck=Bottleneck.LAUNCH_OVERHEAD if starts else steady.bottleneck,
        breakdown=(*parts, start),
        terms={
            "resident warps per SM": float(given.work.warps),
            "arithmetic instructions per warp": float(given.work.arithmetic),
            "memory instructions per warp": float(given.work.memory),
            **{k: v for k, v in steady.terms.items() if isinstance(v, str) or np.isfinite(v)},
        },
        assumptions=(*given.assumptions, *steady.assumptions),
        warnings=(*steady.warnings, *given.warnings, *missing),
        needed_warps=steady.needed_warps,
    )
