"""A case as the coarse simulation takes it: a flat trace whose operations have delays.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 5.2.1. Where the machine has the thesis' own numbers (`resios.*`), they are used;
elsewhere latencies, throughputs and bandwidths of the machine, and Little's law for the parallelism
that reaches the peak.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kernelcast.analysis.ilp import block_parallelism
from kernelcast.hierarchy.caches.counts import AccessCounts
from kernelcast.hierarchy.coalescing import uncached_bytes
from kernelcast.hierarchy.rules import (
    caches_memory,
    merges_in_order,
    serves_half_warps,
    transaction_bytes,
)
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import Instruction, Location, OpClass, Space
from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES
from kernelcast.isas.assembly import assembled_class
from kernelcast.machines.classes import class_number, match_cycles, product_cycles
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Bottleneck, Case, kept
from kernelcast.models.terms.latency import l2_latency, timing
from kernelcast.models.terms.resios_delays import (
    Delay,
    compute_delay,
    global_penalty,
    memory_delay,
    shared_penalty,
    warps_for_peak,
)
from kernelcast.profiling.profile import AccessProfile, compared_values
from kernelcast.simulation.coarse import CoarseTrace
from kernelcast.simulation.coarse_loop import BARRIER, COMPUTE, MEMORY

_LINE_BYTES = 128
_WORD_BYTES = 4
_SOURCES_OF_MULTIPLY_ADD = 4
"""Operands of a multiply-add, its result among them."""

_TABLE_3_1: Mapping[OpClass, str] = {OpClass.INT: "add", OpClass.LOGIC: "logic"}

_PIPES: Mapping[OpClass, Bottleneck] = {
    OpClass.FP32: Bottleneck.FP32,
    OpClass.FP16: Bottleneck.FP32,
    OpClass.FP64: Bottleneck.FP64,
    OpClass.SFU: Bottleneck.SFU,
    OpClass.CONVERT: Bottleneck.SFU,
    **dict.fromkeys((OpClass.REDUCE, OpClass.MATCH), Bottleneck.ADU),
    OpClass.TENSOR: Bottleneck.TENSOR,
    OpClass.INT_MUL: Bottleneck.FP32,
    **dict.fromkeys(
        (OpClass.INT, OpClass.LOGIC, OpClass.SHIFT, OpClass.BITFIELD, OpClass.COMPARE),
        Bottleneck.INT,
    ),
}


@dataclass(frozen=True, slots=True)
class TracedOperation:
    """An instruction and how often a mean warp executes it.

    `resource` is what serves it in its penalty, `kind` that of the simulation.
    """

    instruction: int
    kind: int
    times: float
    ilp: float
    delay: Delay
    resource: Bottleneck
    location: Location | None = None
    name: str = ""

    def served(self, delay: Delay, resource: Bottleneck) -> TracedOperation:
        """The same operation with another delay."""
        return replace(self, delay=delay, resource=resource)


@dataclass(frozen=True)
class FlatTrace:
    """All operations of a mean warp, in the order of the code, and what was assumed."""

    operations: tuple[TracedOperation, ...]
    assumptions: tuple[str, ...]

    def arrays(self, *, as_printed: bool) -> CoarseTrace:
        """For the simulation: by equations 4.5 and 4.6, or by what they tend to."""
        rows = [_row(op, as_printed=as_printed) for op in self.operations]
        columns = np.array(rows, np.float64).reshape(-1, 5).T
        latency, peak, beyond, penalty, floor = map(np.ascontiguousarray, columns)
        kinds = np.array([op.kind for op in self.operations], np.int8)
        return CoarseTrace(kinds, latency, peak, beyond, penalty, floor)


def _row(op: TracedOperation, *, as_printed: bool) -> tuple[float, ...]:
    latency, penalty = op.times * op.delay.latency / op.ilp, op.times * op.delay.penalty
    if as_printed:
        return latency, op.delay.peak / op.ilp, op.delay.beyond, penalty, 0.0
    return latency, math.inf, 1.0, 0.0, penalty


def flat_trace(case: Case, needed_by: str, *, cached: bool = True) -> FlatTrace:
    """The trace of a mean warp.

    Without `cached`, every request to global and local memory goes to the DRAM.

    Raises MissingNumberError where the machine lacks what its instructions need.
    """
    plan = _planned(case, needed_by)
    memory = _MemoryDelays(case, needed_by, cached)
    operations = [
        op if access is None else op.served(*memory.of(access)) for op, access in plan.operations
    ]
    return FlatTrace(tuple(operations), plan.notes)


@dataclass(frozen=True)
class _PlannedTrace:
    """A trace as far as no cache and no memory beyond it decides: operations, of which those with
    an access to global or local memory lack their delay."""

    operations: tuple[tuple[TracedOperation, AccessProfile | None], ...]
    notes: tuple[str, ...]


@kept
def _planned(case: Case, needed_by: str) -> _PlannedTrace:
    planner = _TracePlanner(case, needed_by)
    return _PlannedTrace(tuple(planner.operations()), planner.notes)


_NOT_YET = Delay(0.0, math.inf, 0.0)


class _TracePlanner:
    """What does not depend on memory: a sweep over its numbers asks for it once."""

    def __init__(self, case: Case, needed_by: str) -> None:
        self._case, self._machine, self._needed_by = case, case.machine, needed_by
        timed = timing(case, 0.0, needed_by)
        self._latency = timed.latency
        self.notes = tuple(dict.fromkeys(timed.notes))
        self._accesses: dict[int, list[AccessProfile]] = defaultdict(list)
        for access in case.profile.accesses:
            self._accesses[access.instruction].append(access)
        self._issue = 1 / self._machine.number("sm.issue_per_cycle", needed_by)
        self._machine.number("throughput.fp32", needed_by)

    def operations(self) -> Iterator[tuple[TracedOperation, AccessProfile | None]]:
        """One for every instruction that is executed and does not vanish."""
        kernel, profile = self._case.kernel, self._case.profile
        warps = profile.warps
        for block, ilp in zip(kernel.blocks, block_parallelism(kernel), strict=True):
            for instruction in kernel.instructions[block.start : block.end]:
                times = float(profile.instruction_warps[instruction.index]) / warps
                op_class = assembled_class(instruction, kernel)
                if times and op_class is not None:
                    yield from self._operations(instruction, op_class, times, ilp)

    def _operations(
        self, instruction: Instruction, op_class: OpClass, times: float, ilp: float
    ) -> Iterator[tuple[TracedOperation, AccessProfile | None]]:
        def made(kind: int, delay: Delay, resource: Bottleneck, times: float) -> TracedOperation:
            at, name = instruction.location, instruction.name
            return TracedOperation(instruction.index, kind, times, ilp, delay, resource, at, name)

        if op_class is OpClass.BARRIER:
            yield made(BARRIER, _NOT_YET, Bottleneck.BARRIERS, times), None
            return
        accesses = [
            access
            for access in self._accesses.get(instruction.index, ())
            if access.requests and access.space in (Space.GLOBAL, Space.LOCAL, Space.SHARED)
        ]
        for access in accesses:
            requests = access.requests / self._case.profile.warps
            if access.space is Space.SHARED:
                yield made(MEMORY, *self._shared(access), requests), None
            else:
                yield made(MEMORY, _NOT_YET, Bottleneck.DRAM_BANDWIDTH, requests), access
        if not accesses:
            yield made(COMPUTE, *self._compute(instruction, op_class), times), None

    def _compute(self, instruction: Instruction, op_class: OpClass) -> tuple[Delay, Bottleneck]:
        machine, get = self._machine, self._machine.get
        pipe = _PIPES.get(op_class, Bottleneck.ISSUE)
        if pipe is Bottleneck.INT and get("sm.integer_pipe") == 0:
            pipe = Bottleneck.FP32
        kind = _kind_of_table_3_1(instruction, op_class)
        if (latency := get(f"resios.{kind}.latency")) is not None:
            results = machine.number(f"resios.{kind}.throughput", self._needed_by)
            peak = machine.number(f"resios.{kind}.warps", self._needed_by)
            return compute_delay(latency, results, peak), pipe
        own_latency = self._latency[instruction.index]
        known: float | None = None
        if instruction.traits.product is not None:
            known = product_cycles(machine, instruction.traits.product)
        elif (match := instruction.traits.match) is not None:
            values = compared_values(instruction, self._case.profile.different_values)
            known = match_cycles(machine, match, values)
        elif (rate := class_number(machine, "throughput", op_class)) is not None:
            known = WARP_LANES / rate
        penalty = max(self._issue, known or 0.0)
        resource = pipe if known is not None and known > self._issue else Bottleneck.ISSUE
        warps = warps_for_peak(own_latency, penalty)
        return Delay(own_latency, warps, penalty, 1 / warps), resource

    def _shared(self, access: AccessProfile) -> tuple[Delay, Bottleneck]:
        get, number = self._machine.get, self._machine.number
        latency = get("resios.shared_latency") or number("latency.shared", self._needed_by)
        banks = number("shared.banks", self._needed_by)
        rate = get("resios.bank_bandwidth")
        if rate is None:
            rate = number("shared.bandwidth", self._needed_by) / banks
        passes = access.passes / access.requests
        ideal = access.ideal_passes / access.requests
        if serves_half_warps(self._machine):
            passes = access.passes_half_warp / 2 / access.requests
        conflicts = passes / ideal if passes > ideal else 0.0
        penalty = shared_penalty(_WORD_BYTES * ideal, conflicts, banks, rate)
        peak = get("resios.shared_warps") or warps_for_peak(latency, penalty)
        return memory_delay(latency, penalty, peak), Bottleneck.SHARED_BANDWIDTH


class _MemoryDelays:
    """Delays of accesses to global and local memory."""

    def __init__(self, case: Case, needed_by: str, cached: bool) -> None:
        self._case, self._machine, self._needed_by = case, case.machine, needed_by
        self._is_cached = cached and caches_memory(case.machine)
        self._counted: dict[tuple[int, Space], AccessCounts] = {}
        if self._is_cached and case.cache_counts is not None:
            self._counted = {(a.instruction, a.space): a for a in case.cache_counts.accesses}

    def of(self, access: AccessProfile) -> tuple[Delay, Bottleneck]:
        """The delay, and what serves it in its penalty."""
        size = _moved_bytes(self._machine, access) / access.requests
        from_l1, from_l2, from_dram = self._shares(access)
        rates = [(Bottleneck.DRAM_BANDWIDTH, from_dram, self._dram_bytes_per_cycle())]
        if self._is_cached:
            rates += self._rates_of_caches(1.0, from_l2 + from_dram)
        penalty, resource = max(
            (global_penalty(size, share, rate), level) for level, share, rate in rates
        )
        if (lanes := self._machine.get("throughput.load")) is not None:
            penalty = max(penalty, WARP_LANES / lanes)
        latency = self._memory_latency(from_l1, from_l2, from_dram)
        peak = self._machine.get("resios.memory_warps") or warps_for_peak(latency, penalty)
        return memory_delay(latency, penalty, peak), resource

    def _rates_of_caches(
        self, asked: float, beyond_l1: float
    ) -> list[tuple[Bottleneck, float, float]]:
        """Levels before the DRAM, the shares of the bytes that they serve, and their rates."""
        get = self._machine.get
        rows = []
        if (l1 := get("l1.bandwidth")) is not None:
            rows.append((Bottleneck.L1_BANDWIDTH, asked, l1))
        if (l2 := get("l2.bandwidth")) is not None:
            rows.append((Bottleneck.L2_BANDWIDTH, beyond_l1, self._of_one_sm(l2)))
        return rows

    def _shares(self, access: AccessProfile) -> tuple[float, float, float]:
        """Shares of the bytes of an access that L1, L2 and DRAM end up serving."""
        if not self._is_cached:
            return 0.0, 0.0, 1.0
        counted = self._counted.get((access.instruction, access.space))
        if counted is None:
            return self._case.traffic.shares(Estimate.CENTRAL)
        asked = counted.l1.hits + counted.l2.sectors
        if not asked:
            return 1.0, 0.0, 0.0
        moved = counted.dram_sectors + counted.dirtied_sectors
        from_dram = min(1.0, max(counted.l2.misses if access.is_load else 0.0, moved) / asked)
        from_l1 = min(counted.l1.hits / asked, 1 - from_dram)
        return from_l1, 1 - from_l1 - from_dram, from_dram

    def _memory_latency(self, from_l1: float, from_l2: float, from_dram: float) -> float:
        dram = self._dram_latency()
        l2 = l2_latency(self._machine) or dram
        l1 = self._machine.get("latency.l1") or l2
        return from_l1 * l1 + from_l2 * l2 + from_dram * dram

    def _dram_latency(self) -> float:
        known = self._machine.get("resios.memory_latency")
        return known or self._machine.number("latency.dram", self._needed_by)

    def _dram_bytes_per_cycle(self) -> float:
        get = self._machine.get
        known = get("resios.memory_bandwidth") or get("dram.achieved_bandwidth")
        return self._of_one_sm(known or self._machine.number("dram.bandwidth", self._needed_by))

    def _of_one_sm(self, bytes_per_second: float) -> float:
        """An equal share, in bytes per cycle (chapter 7)."""
        number = self._machine.number
        per_cycle = bytes_per_second / number("clock.sm", self._needed_by)
        return per_cycle / number("sm.count", self._needed_by)


def _kind_of_table_3_1(instruction: Instruction, op_class: OpClass) -> str:
    """The row of Table 3.1 that an instruction belongs to, empty where it has none."""
    is_float = any(m.startswith("f") for m in instruction.modifiers[-1:])
    adds_to_product = len(instruction.operands) >= _SOURCES_OF_MULTIPLY_ADD
    match instruction.opcode, op_class:
        case "div", _:
            return "fdiv" if is_float else "div"
        case "sqrt", _:
            return "sqrt"
        case _, OpClass.FP32:
            return (
                "fmadd" if adds_to_product else "fmul" if instruction.traits.multiplies else "fadd"
            )
        case _, OpClass.INT_MUL:
            return "madd" if adds_to_product else "mul"
        case _:
            return _TABLE_3_1.get(op_class, "")


def _moved_bytes(machine: Machine, access: AccessProfile) -> float:
    """Bytes of the transactions that all requests of an access are."""
    if not caches_memory(machine):
        return uncached_bytes([access], in_order=merges_in_order(machine))
    if transaction_bytes(machine) > SECTOR_BYTES:
        return access.lines * _LINE_BYTES
    return access.sectors * SECTOR_BYTES
