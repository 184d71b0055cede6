"""Latencies and issue intervals of a case, instruction by instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kernelcast.analysis.order_statistics import largest_beyond_mean
from kernelcast.errors import MissingNumberError
from kernelcast.hierarchy.atomics import shared_conflict_latency, shared_latency, shared_turns
from kernelcast.hierarchy.caches.counts import AccessCounts
from kernelcast.hierarchy.rules import (
    merges_half_warps,
    merges_in_order,
    serves_half_warps,
    transaction_bytes,
)
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import Instruction, Kernel, OpClass, Space
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.isas.assembly import assembled_class, loads_constant
from kernelcast.machines.classes import class_number, match_latency
from kernelcast.machines.machine import Machine
from kernelcast.machines.pipes import is_of_cuda_cores
from kernelcast.models.terms.base import Case, kept_of_warps
from kernelcast.models.terms.dram import mixed_over_reads
from kernelcast.models.terms.latency_hiding import MemoryContention
from kernelcast.models.terms.throughput import pairs_of_case, sector_cycles
from kernelcast.profiling.profile import AccessProfile, compared_values

_OfEach = TypeVar("_OfEach")

_UNTIMED = frozenset(
    {
        OpClass.BARRIER,
        OpClass.BRANCH,
        OpClass.FENCE,
        OpClass.MOVE,
        OpClass.STORE,
        OpClass.OTHER,
        OpClass.ASYNC_COPY,
    }
)
"""Classes without a result that another instruction waits for, or without a known latency."""


def shares_of_waits(
    case: Case, estimate: Estimate, together: float = 1.0
) -> tuple[float, float, float]:
    """Shares of the waits for memory that end with the L1 cache, with the L2 and with the DRAM.

    Of loads that are waited for together, the slowest counts: where a level serves the share p of
    the bytes, g loads at a time wait for it, or for a slower one, in the share min(1, g p) of all
    cases, as its bytes are spread evenly over the waits.
    """
    _, from_l2, from_dram = _shares_of_loads(case, estimate)
    beyond_l2 = min(1.0, together * from_dram)
    beyond_l1 = min(1.0, together * (from_dram + from_l2))
    return 1 - beyond_l1, beyond_l1 - beyond_l2, beyond_l2


def _shares_of_loads(case: Case, estimate: Estimate) -> tuple[float, float, float]:
    """Shares of what is loaded that the L1 cache, the L2 cache and the DRAM serve.

    Counted where caches were simulated; the least and the most traffic with the DRAM then changes
    what that serves as it changes all traffic. Elsewhere those of the bytes, what is stored among
    them.
    """
    _, _, from_dram = case.traffic.shares(estimate)
    loads = _counted_loads(case)
    asked = sum(a.l1.hits + a.l2.sectors for a in loads)
    if not asked:
        return case.traffic.shares(estimate)
    _, _, central = case.traffic.shares(Estimate.CENTRAL)
    beyond_l1 = sum(a.l2.sectors for a in loads) / asked
    missed = sum(a.l2.misses for a in loads) / asked
    beyond_l2 = min(beyond_l1, missed * from_dram / central) if central else 0.0
    return 1 - beyond_l1, beyond_l1 - beyond_l2, beyond_l2


_MEAN = "every load takes the mean latency of the levels that serve the bytes"
_SLOWEST = (
    "loads that are waited for together take as long as the slowest of them, the bytes of every "
    "level being spread evenly over the waits"
)
_SPREAD = (
    "how long loads take differs by where their lines lie, and a warp waits for the last of those "
    "that it has in flight"
)


@dataclass(frozen=True, slots=True)
class SlowestLoads:
    """Of loads from one level that are waited for together: how widely they differ, how many.

    `s` is the mean by which a load's latency exceeds the least one, `m` H(k) - 1 of k loads.
    """

    s: float
    m: float

    @property
    def cycles(self) -> float:
        """What the slowest takes longer than a mean one."""
        return self.m * self.s


def slowest_loads(
    case: Case, estimate: Estimate, level: str, together: float = 1.0
) -> SlowestLoads:
    """Of `together` loads of a case, those that a level serves.

    A load takes longer or less long by where its line lies: how far the slice of the L2 cache and
    the channel of the DRAM are from the SM, and whether that is just being refreshed. A warp that
    has several in flight waits for the last of them. Of k latencies with the mean L that are
    exponentially distributed beyond a least one, with the standard deviation s, the largest is on
    average (David and Nagaraja: Order Statistics, 2003, section 2.5)

        L + s (H(k) - 1),    H(k) = 1 + 1/2 + ... + 1/k

    which on an H100 is right within 4 % for all from one load to 32. A wait that ends with a level
    that serves the share p of g loads is for max(1, g p) of them. A load whose lanes lie apart
    counts as many times as the DRAM turns to another chunk of memory for it.
    """
    spread = case.machine.get(f"latency.{level}_spread") or 0.0
    _, from_l2, from_dram = _shares_of_loads(case, estimate)
    share = from_l2 if level == "l2" else from_dram * _chunks_per_miss(case)
    return SlowestLoads(spread, largest_beyond_mean(together * share) if spread else 0.0)


def _chunks_per_miss(case: Case) -> float:
    """Chunks of memory that the DRAM turns to for each load that it serves, at least 1."""
    rows = [
        (a.requests * a.l2.misses / (a.l1.hits + a.l2.sectors), a.visits)
        for a in _counted_loads(case)
        if a.l2.misses
    ]
    served = sum(requests for requests, _ in rows)
    return sum(max(requests, visits) for requests, visits in rows) / served if served else 1.0


def _counted_loads(case: Case) -> list[AccessCounts]:
    counts = case.cache_counts
    return [] if counts is None else [a for a in counts.accesses if a.op_class is OpClass.LOAD]


def l2_latency(machine: Machine) -> float | None:
    """Cycles of a load from the L2 cache, half of them from its far partition where it has one."""
    near, far = machine.get("latency.l2"), machine.get("latency.l2_far")
    return near if near is None or far is None else (near + far) / 2


def load_latency(
    case: Case, estimate: Estimate, dram: float, together: float = 1.0
) -> tuple[float, tuple[str, ...]]:
    """Mean cycles that loads from global memory are waited for, and what was assumed.

    The latencies of the L1 cache, the L2 cache and the DRAM (`dram` cycles), weighted by
    `shares_of_waits`, for `together` loads at a time. Where the L2 cache has a near and a far
    partition, half of its loads go to each. A cache whose latency is unknown answers like the next
    level.
    """
    get = case.machine.get
    from_l1, from_l2, from_dram = shares_of_waits(case, estimate, together)
    known, far, l1 = l2_latency(case.machine), get("latency.l2_far"), get("latency.l1")
    l2 = dram if known is None else known
    notes = []
    if from_l2 and known is None:
        notes.append("loads from the L2 cache take as long as from the DRAM: no latency.l2")
    elif from_l2 and far is not None:
        notes.append("loads from the L2 cache go to its near and its far partition alike")
    if from_l1 and l1 is None:
        notes.append("loads from the L1 cache take as long as from the L2: no latency.l1")
    if from_l1 or from_l2:
        notes.append(_MEAN if together == 1 else _SLOWEST)
    mean = from_l1 * (l2 if l1 is None else l1) + from_l2 * l2 + from_dram * dram
    longer = (
        from_l2 * slowest_loads(case, estimate, "l2", together).cycles
        + from_dram * slowest_loads(case, estimate, "dram", together).cycles
    )
    if longer:
        notes.append(_SPREAD)
    return mean + longer, tuple(notes)


def with_own_latencies(case: Case, timed: InstructionTiming, memory: float) -> InstructionTiming:
    """The timing with every load's own hits, where caches were simulated.

    In `timed` all loads from global memory take `memory` cycles, the mean of all, and what divides
    their lanes. A level whose latency is unknown answers like the next one.
    """
    if case.cache_counts is None:
        return timed
    dram = case.machine.get("latency.dram") or memory
    l2 = l2_latency(case.machine) or dram
    l1 = case.machine.get("latency.l1") or l2
    latency = list(timed.latency)
    for access in case.cache_counts.accesses:
        served = access.l1.hits + access.l2.sectors
        if access.op_class is OpClass.LOAD and access.space is Space.GLOBAL and served:
            cycles = access.l1.hits * l1 + access.l2.hits * l2 + access.l2.misses * dram
            beside_memory = max(0.0, latency[access.instruction] - memory)
            latency[access.instruction] = cycles / served + beside_memory
    return replace(timed, latency=tuple(latency))


def contention_law(machine: Machine, written: float = 0.0) -> MemoryContention | None:
    """Section 6.4 with throughput in bytes per second, None where the machine has no constants.

    The constants are those of reads. Where the share `written` of the bytes is written, and the
    machine says how long loads wait for that, the throughput ends where that of the mixture does:

        latency = a + b T / (c r - T) + v p T / W

    r is the bandwidth of the mixture over that of reads, p the share that is written, W the
    bandwidth of writes, and p T / W the share of the time that the DRAM writes. It writes in
    batches, and a load that comes meanwhile waits v cycles on average (Chatterjee et al.: Staged
    Reads, HPCA 2012, section 2).
    """
    get = machine.get
    a, b, c = (get(f"volkov.latency_{name}") for name in ("base", "slope", "capacity"))
    if a is None or b is None or c is None:
        return None
    b2, c2 = get("volkov.latency_slope_2"), get("volkov.latency_capacity_2")
    terms = ((b, c),) if b2 is None or c2 is None else ((b, c), (b2, c2))
    write_wait_s, write_bandwidth = get("dram.write_wait"), get("dram.write_bandwidth")
    if write_wait_s is None or write_bandwidth is None:
        return MemoryContention(a, terms)
    r = mixed_over_reads(machine, written)
    v = write_wait_s * machine.number("clock.sm")
    mixed = tuple((b, c * r) for b, c in terms)
    return MemoryContention(a, mixed, d=v * written / write_bandwidth)


def issue_interval(machine: Machine, needed_by: str) -> float:
    """Cycles from an instruction to the next independent one of its warp (Volkov's ILP latency)."""
    known = machine.get("latency.issue_next")
    if known is not None:
        return known
    return (machine.get("sm.schedulers") or 1.0) / machine.number("sm.issue_per_cycle", needed_by)


def conflict_latency(machine: Machine, needed_by: str) -> float:
    """Cycles that each further lane that wants one bank adds to a load from shared memory.

    Where nobody has measured it, the cycles in which all banks serve one word each, for both
    half-warps where those take turns.
    """
    known = machine.get("latency.bank_conflict")
    if known is not None:
        return known
    number = machine.number
    width = number("shared.banks", needed_by) * number("shared.bank_width", needed_by)
    halves = 2 if serves_half_warps(machine) else 1
    return halves * width / number("shared.bandwidth", needed_by)


def transaction_latency(machine: Machine, needed_by: str) -> float:
    """Cycles that each further transaction adds to a load from memory (Volkov 2016, Table 6.7).

    Where nobody has measured it, the cycles in which the L1 cache serves a sector.
    """
    known = machine.get("latency.transaction")
    if known is not None:
        return known
    rate = machine.get("l1.bandwidth")
    if rate is None:
        raise MissingNumberError(machine.name, "latency.transaction", needed_by)
    return SECTOR_BYTES / rate


@dataclass(frozen=True)
class InstructionTiming:
    """Cycles by the index of an instruction, and what was assumed.

    `latency` is that from an instruction to one that needs its result (register dependency
    latency), `interval` that to the next instruction of the same warp (Volkov's ILP latency),
    `store_next` that from a store to memory to the next such store of the warp, 0 where stores do
    not hinder each other, and `waits_for_memory` whether the result comes from outside the SM.
    Of the loads whose result does, a warp has `loads_per_warp` in flight at most, where not 0.
    """

    latency: tuple[float, ...]
    interval: tuple[float, ...]
    store_next: tuple[float, ...]
    waits_for_memory: tuple[bool, ...]
    loads_per_warp: int
    notes: tuple[str, ...]


def timing(case: Case, memory: float, needed_by: str) -> InstructionTiming:
    """Timing of every instruction; `memory` is the latency of a coalesced load in cycles.

    Raises
    ------
    MissingNumberError
        If the machine lacks the latency of a class and `latency.fp32`, or `latency.shared` where
        shared memory is read, or what tells the cost of its bank conflicts where it has some.
    """
    known = _timing_without_memory(case, needed_by)
    latency = known.inside + memory * known.outside
    return replace(known.timing, latency=tuple(latency.tolist()))


@dataclass(frozen=True)
class _TimingWithoutMemory:
    """All of a timing that no latency of memory changes.

    The latency of an instruction is `inside`, and that of memory `outside` times, 0 or 1.
    """

    timing: InstructionTiming
    inside: NDArray[np.float64]
    outside: NDArray[np.float64]


@kept_of_warps
def _timing_without_memory(case: Case, needed_by: str) -> _TimingWithoutMemory:
    kinds = _kinds(case)
    costs = _InstructionCosts(case, needed_by, kinds)
    latency = np.array(kinds.alike([costs.latency(i) for i in kinds.examples])).reshape(-1, 2)
    timed = InstructionTiming(
        (),
        kinds.alike([costs.interval(i) for i in kinds.examples]),
        kinds.alike([costs.store_next(i) for i in kinds.examples]),
        kinds.alike([costs.waits_for_memory(i) for i in kinds.examples]),
        int(case.machine.get("sm.loads_per_warp") or 0),
        tuple(sorted(costs.notes)),
    )
    return _TimingWithoutMemory(timed, latency[:, 0], latency[:, 1])


@dataclass(frozen=True)
class _Kinds:
    """Instructions by all that their timing depends on, with an example of every kind.

    A long kernel has few kinds, so it is timed as fast as a short one. `kind` names that of every
    instruction. `accesses` holds, of every memory instruction, the space that most requests went
    to, and `readers` the class of the first that reads a result in its basic block.
    """

    examples: tuple[Instruction, ...]
    kind: tuple[int, ...]
    accesses: Mapping[int, AccessProfile]
    readers: Mapping[int, OpClass | None]
    first_of_pairs: frozenset[int]

    def alike(self, values: Sequence[_OfEach]) -> tuple[_OfEach, ...]:
        """What holds of the examples, for all instructions."""
        return tuple([values[kind] for kind in self.kind])


@kept_of_warps
def _kinds(case: Case) -> _Kinds:
    accesses: dict[int, AccessProfile] = {}
    for access in case.profile.accesses:
        known = accesses.get(access.instruction)
        if known is None or access.requests > known.requests:
            accesses[access.instruction] = access
    pairs = frozenset(pairs_of_case(case).values())
    readers = _first_readers(case.kernel)
    numbers: dict[object, int] = {}
    examples: list[Instruction] = []
    kind: list[int] = []
    for i in case.kernel.instructions:
        key = (
            assembled_class(i, case.kernel),
            (i.op_class, i.space, i.issue_cycles, i.guard is None),
            i.index in pairs,
            readers.get(i.index),
            _per_request(accesses.get(i.index)),
            i.traits.match and (i.traits.match, compared_values(i, case.profile.different_values)),
        )
        if key not in numbers:
            numbers[key] = len(examples)
            examples.append(i)
        kind.append(numbers[key])
    return _Kinds(tuple(examples), tuple(kind), accesses, readers, pairs)


@lru_cache(maxsize=32)
def _first_readers(kernel: Kernel) -> Mapping[int, OpClass | None]:
    readers: dict[int, OpClass | None] = {}
    for block in kernel.blocks:
        following: dict[object, int] = {}  # of every register, who reads it next
        for at in reversed(range(block.start, block.end)):
            instruction = kernel.instructions[at]
            found = [following[each] for each in instruction.writes if each in following]
            if found:
                readers[at] = assembled_class(kernel.instructions[min(found)], kernel)
            following |= dict.fromkeys(instruction.reads, at)
    return readers


def _per_request(access: AccessProfile | None) -> tuple[object, ...]:
    """What a mean request of an access takes."""
    if access is None:
        return ()
    sums = (
        access.bytes,
        access.sectors,
        access.lines,
        access.passes,
        access.passes_half_warp,
        access.ideal_passes,
        access.transactions_cc10,
        access.transactions_cc12,
    )
    return (access.space, *(each / access.requests for each in sums))


@dataclass
class _InstructionCosts:
    case: Case
    needed_by: str
    kinds: _Kinds
    notes: set[str] = field(default_factory=set)

    @cached_property
    def _issue_interval(self) -> float:
        return issue_interval(self.case.machine, self.needed_by)

    def latency(self, instruction: Instruction) -> tuple[float, float]:
        """Cycles inside the SM, and 1 where those of memory come on top, else 0."""
        op_class = assembled_class(instruction, self.case.kernel)
        if op_class is None or op_class in _UNTIMED:
            return 0.0, 0.0
        if op_class in (OpClass.LOAD, OpClass.ATOMIC):
            return self._memory_latency(instruction)
        value = self._to_alu(instruction, op_class) or class_number(
            self.case.machine, "latency", op_class
        )
        if (match := instruction.traits.match) is not None:
            values = compared_values(instruction, self.case.profile.different_values)
            value = match_latency(self.case.machine, match, values)
        if value is not None:
            return value, 0.0
        self.notes.add(f"{op_class} instructions take latency.fp32: no latency.{op_class}")
        return self.case.machine.number("latency.fp32", self.needed_by), 0.0

    def interval(self, instruction: Instruction) -> float:
        op_class = assembled_class(instruction, self.case.kernel)
        if op_class is None:
            return 0.0
        machine = self.case.machine
        interval = max(self._issue_interval, instruction.issue_cycles)
        if instruction.index in self.kinds.first_of_pairs:
            return 0.0
        if op_class is OpClass.BARRIER:
            return max(interval, machine.get("latency.barrier") or 0.0)
        if op_class is OpClass.BRANCH and instruction.guard:
            # Where one number is known only of branches that are taken, all are, as those of loops.
            known = machine.get("latency.branch") or machine.get("latency.branch_taken")
            return max(interval, known or 0.0)
        return interval

    def store_next(self, instruction: Instruction) -> float:
        if instruction.op_class is not OpClass.STORE or self._space(instruction) != Space.GLOBAL:
            return 0.0
        return self.case.machine.get("latency.store_next") or 0.0

    def waits_for_memory(self, instruction: Instruction) -> bool:
        reads = instruction.op_class in (OpClass.LOAD, OpClass.ATOMIC)
        return reads and self._space(instruction) in (Space.GLOBAL, Space.LOCAL)

    def _memory_latency(self, instruction: Instruction) -> tuple[float, float]:
        machine = self.case.machine
        access = self.kinds.accesses.get(instruction.index)
        match self._space(instruction):
            case Space.SHARED:
                latency = self._shared_latency(instruction)
                return latency + _conflict_cycles(self.case, access, self.needed_by), 0.0
            case Space.LOCAL:
                return _or_memory(machine.get("latency.l1"))
            case Space.CONST | Space.PARAM:
                return self._constant_latency(instruction), 0.0
        if instruction.op_class is OpClass.ATOMIC:
            return _or_memory(machine.get("latency.l2"))
        extra = _divergence_cycles(self.case, access)
        if extra is None:
            self.notes.add("a load of many transactions takes no longer: no latency.transaction")
        return extra or 0.0, 1.0

    def _constant_latency(self, instruction: Instruction) -> float:
        known = self.case.machine.get("latency.constant")
        if known is not None and loads_constant(instruction):
            return known
        self.notes.add("constants are cached and take latency.fp32")
        return self.case.machine.number("latency.fp32", self.needed_by)

    def _shared_latency(self, instruction: Instruction) -> float:
        if instruction.op_class is OpClass.ATOMIC:
            return shared_latency(self.case.machine, self.needed_by)
        known = self._to_alu(instruction, "shared")
        return known or self.case.machine.number("latency.shared", self.needed_by)

    def _to_alu(self, instruction: Instruction, kind: str) -> float | None:
        """The latency of `kind` to the CUDA cores, where they need the result and it is known.

        Volkov 2016, section 4.7. What decides is the first in the basic block that reads it.
        """
        known = self.case.machine.get(f"latency.{kind}_to_alu")
        if known is None:
            return None
        reader = self.kinds.readers.get(instruction.index)
        return known if reader is not None and is_of_cuda_cores(reader) else None

    def _space(self, instruction: Instruction) -> Space | None:
        access = self.kinds.accesses.get(instruction.index)
        return access.space if access else instruction.space


def _or_memory(known: float | None) -> tuple[float, float]:
    """A latency that is that of memory where nobody knows it."""
    return (known, 0.0) if known else (0.0, 1.0)


def _conflict_cycles(case: Case, access: AccessProfile | None, needed_by: str) -> float:
    """Cycles that bank conflicts add to a request."""
    if access is None:
        return 0.0
    halved = serves_half_warps(case.machine)
    passes = access.passes_half_warp / 2 if halved else access.passes
    is_atomic = access.op_class is OpClass.ATOMIC
    if is_atomic:
        passes *= shared_turns(case.kernel.instructions[access.instruction], case.machine)
    extra = max(0.0, passes - access.ideal_passes) / access.requests
    if not extra:
        return 0.0
    each = shared_conflict_latency if is_atomic else conflict_latency
    return extra * each(case.machine, needed_by)


def _divergence_cycles(case: Case, access: AccessProfile | None) -> float | None:
    """Cycles of the transactions that a request takes beyond those of a coalesced one.

    None where there are some and the machine does not say what they take.
    """
    if access is None:
        return 0.0
    sectors = access.sectors - access.bytes / SECTOR_BYTES
    known = case.machine.get("latency.transaction")
    if known is None:
        cycles = sector_cycles(case, max(0.0, sectors) / access.requests)
        return None if sectors > 0 and not cycles else cycles
    if merges_in_order(case.machine):
        extra = access.transactions_cc10 - 2 * access.requests
    elif merges_half_warps(case.machine):
        extra = access.transactions_cc12 - 2 * access.requests
    elif transaction_bytes(case.machine) > SECTOR_BYTES:
        extra = access.lines - access.requests
    else:
        extra = sectors
    return max(0.0, extra) / access.requests * known
