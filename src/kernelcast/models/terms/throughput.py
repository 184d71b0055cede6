"""The worksheet: for how long a launch keeps every resource of the chip busy.

Volkov 2016, section 3.6: each resource is used exclusively, so its cycles add over instructions,
and the busiest one bounds the throughput. Rates come from the machine, counts from the profile;
where the machine lacks a rate the row is left out and named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelcast.hierarchy.atomics import in_turn_cycles, shared_turns
from kernelcast.hierarchy.l1_cache import (
    bank_cycles,
    lies_in_shared_banks,
    load_cycles,
    shared_pass_cycles,
)
from kernelcast.hierarchy.rules import caches_memory, serves_half_warps
from kernelcast.hierarchy.traffic import Estimate, stored_bytes
from kernelcast.ir import OpClass, Space
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.isas.assembly import assembled_class, is_machine_code
from kernelcast.isas.sass.instruction import INSTRUCTION_BYTES
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Bottleneck, Case, kept_of_warps
from kernelcast.models.terms.dram import dram_time
from kernelcast.models.terms.dual_issue import second_of_pairs
from kernelcast.models.terms.held_issue import held_slots_per_warp
from kernelcast.models.terms.l2 import l2_seconds
from kernelcast.models.terms.pipes import match_notes, pipe_cycles

_ATOMICS_NOTE = (
    "atomics on one address follow each other, and of newer chips those on one slice of the L2 "
    "cache, one in a clock, or as measured"
)
_SCHEDULER_PIPES = (
    Bottleneck.FP32,
    Bottleneck.INT,
    Bottleneck.SFU,
    Bottleneck.TENSOR,
)


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """One row of the worksheet.

    `cycles_per_warp` is the time that a mean warp keeps the resource of one SM busy; of a resource
    of the whole chip, an SM has an equal share.
    """

    resource: Bottleneck
    cycles_per_warp: float
    is_shared_by_sms: bool = False

    def is_of_scheduler(self, machine: Machine) -> bool:
        """Whether every warp scheduler has its own part of the resource.

        Issue slots always; arithmetic pipes of chips on which section 5.8 of Volkov 2016 sees
        them idle beside a scheduler with more warps.
        """
        if self.resource is Bottleneck.ISSUE:
            return True
        return self.resource in _SCHEDULER_PIPES and machine.get("sm.scheduler_pipes") != 0


@dataclass(frozen=True)
class Worksheet:
    """All rows of one launch; `left_out` says which could not be made, for want of what."""

    uses: tuple[ResourceUse, ...]
    blocks: int
    warps_per_block: int
    sms: int
    left_out: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def warps_per_sm(self) -> float:
        """Warps of the whole launch, spread evenly over the SMs."""
        return self.blocks * self.warps_per_block / self.sms

    @property
    def busiest(self) -> ResourceUse:
        """The row with the most cycles per warp: the tightest bound on throughput."""
        return max(self.uses, key=lambda use: use.cycles_per_warp)

    def even_cycles(self, use: ResourceUse) -> float:
        """Cycles of a row for the whole launch, its warps spread evenly over the SMs."""
        return use.cycles_per_warp * self.warps_per_sm

    def cycles(self, use: ResourceUse) -> float:
        """Cycles of a row for the whole launch, on the SM that gets the most blocks."""
        if use.is_shared_by_sms:
            return self.even_cycles(use)
        return use.cycles_per_warp * self.warps_per_block * -(-self.blocks // self.sms)


def worksheet(case: Case, estimate: Estimate, needed_by: str) -> Worksheet:
    """The worksheet of a case, with memory traffic as estimated.

    Raises
    ------
    MissingNumberError
        If the machine lacks `sm.count`, `sm.issue_per_cycle`, `clock.sm`, `throughput.fp32` or
        `dram.bandwidth`.
    """
    machine = case.machine
    sms = int(machine.number("sm.count", needed_by))
    machine.number("throughput.fp32", needed_by)
    counts = executed_per_warp(case)
    uses: list[ResourceUse] = []
    left_out: list[str] = []
    # Resources that a machine file may lack numbers for: what is missing is left out and said.
    for rows, missing in (
        _pipes(case, counts),
        _issue(case, counts, needed_by),
        _shared(case),
        _l1(case, estimate),
        _l2(case, estimate, sms),
    ):
        uses += rows
        left_out += missing
    uses = _with_common_banks(case, uses, estimate)
    left_out += _fetching(case)
    # DRAM always counts, atomics where there are some.
    dram, notes = _dram(case, estimate, sms, needed_by)
    uses.append(dram)
    uses += _block_launches(case, sms)
    if (atomics := _atomics(case, sms, needed_by)) is not None:
        uses.append(atomics)
        notes = (*notes, _ATOMICS_NOTE)
    return Worksheet(
        uses=tuple(sorted(uses, key=lambda use: -use.cycles_per_warp)),
        blocks=case.launch.blocks,
        warps_per_block=case.launch.warps_per_block,
        sms=sms,
        left_out=tuple(left_out),
        assumptions=(*notes, *match_notes(case), *_assembly_notes(case)),
    )


@kept_of_warps
def _fetching(case: Case) -> list[str]:
    """What fetching instructions may cost, where an SM cannot keep all that it executes."""
    holds = case.machine.get("sm.instruction_cache")
    if holds is None or not is_machine_code(case.kernel):
        return []
    executed = INSTRUCTION_BYTES * int((case.profile.instruction_warps > 0).sum())
    if executed <= holds:
        return []
    return [
        f"fetching instructions: {executed / 1024:.0f} KiB are executed and an SM keeps "
        f"{holds / 1024:.0f}; such kernels took up to three times as long as predicted"
    ]


@kept_of_warps
def executed_per_warp(case: Case) -> dict[OpClass, float]:
    """Machine instructions that a mean warp executes, by op class."""
    counts: dict[OpClass, float] = defaultdict(float)
    for instruction, times in zip(
        case.kernel.instructions, case.profile.instruction_warps, strict=True
    ):
        op_class = assembled_class(instruction, case.kernel)
        if op_class is not None:
            counts[op_class] += float(times) / case.profile.warps
    return dict(counts)


def issue_cycles_per_warp(
    single: float, dual: float, reissued: float, issues_per_cycle: float
) -> float:
    """Cycles that the schedulers of an SM take to issue one warp's instructions.

    Volkov 2016, Table 3.4: an issue event is a single instruction, a pair issued together, or a
    repetition of an instruction that could not finish at once.
    """
    return (single + dual + reissued) / issues_per_cycle


def _dram(
    case: Case, estimate: Estimate, sms: int, needed_by: str
) -> tuple[ResourceUse, tuple[str, ...]]:
    time = dram_time(case, estimate, needed_by)
    cycles = time.seconds * case.machine.number("clock.sm", needed_by)
    use = ResourceUse(time.resource, cycles / case.profile.warps * sms, True)
    return use, time.notes


def block_launch_cycles(case: Case) -> float:
    """SM cycles in which the chip begins all blocks, one after the other, whatever their size.

    0 where nobody has measured `launch.block_interval`.
    """
    interval = case.machine.get("launch.block_interval") or 0.0
    clock = case.machine.number("clock.sm", "the time of beginning blocks")
    return interval * clock * case.launch.blocks


def _block_launches(case: Case, sms: int) -> list[ResourceUse]:
    cycles = block_launch_cycles(case) * sms / (case.launch.blocks * case.launch.warps_per_block)
    return [ResourceUse(Bottleneck.BLOCK_LAUNCHES, cycles, True)] if cycles else []


def _atomics(case: Case, sms: int, needed_by: str) -> ResourceUse | None:
    """Atomics that follow each other in the L2 cache."""
    cycles = in_turn(case, needed_by)
    if not cycles:
        return None
    return ResourceUse(Bottleneck.ATOMICS, cycles / case.profile.warps * sms, True)


def in_turn(case: Case, needed_by: str) -> float:
    """Cycles of atomics that follow each other; of PTX the assembler may merge those of a warp."""
    profile = case.profile
    atomics = profile.atomics if is_machine_code(case.kernel) else profile.merged_atomics
    return in_turn_cycles(atomics, case.machine, needed_by)


_Rows = tuple[list[ResourceUse], list[str]]


def _pipes(case: Case, counts: Mapping[OpClass, float]) -> _Rows:
    cycles, left_out = pipe_cycles(case, counts)
    return [ResourceUse(pipe, spent) for pipe, spent in cycles.items()], left_out


def _issue(case: Case, counts: Mapping[OpClass, float], needed_by: str) -> _Rows:
    rate = case.machine.number("sm.issue_per_cycle", needed_by)
    pairs = _pairs_per_warp(case)
    alone = sum(counts.values()) - 2 * pairs
    repeated = _reissued_per_warp(case) + _further_slots_per_warp(case, counts)
    repeated += held_slots_per_warp(case)
    cycles = issue_cycles_per_warp(alone, pairs, repeated, rate)
    return [ResourceUse(Bottleneck.ISSUE, cycles)], []


def further_slots(machine: Machine, kind: str) -> float:
    """Issue slots beyond the first of a special function (`sfu`) or an access (`shared`).

    Volkov 2016, section 4.7; none where nobody has found any.
    """
    return (machine.get(f"issue.{kind}") or 1.0) - 1.0


def _further_slots_per_warp(case: Case, counts: Mapping[OpClass, float]) -> float:
    accesses = (a.requests for a in case.profile.accesses if a.space is Space.SHARED)
    return (
        further_slots(case.machine, "sfu") * counts.get(OpClass.SFU, 0.0)
        + further_slots(case.machine, "shared") * sum(accesses) / case.profile.warps
    )


@kept_of_warps
def pairs_of_case(case: Case) -> dict[int, int]:
    """Instructions that issue with the one before; see `dual_issue.second_of_pairs`."""
    kernel = case.kernel
    return second_of_pairs(kernel, case.machine, lambda i: assembled_class(i, kernel) is not None)


@kept_of_warps
def _pairs_per_warp(case: Case) -> float:
    executed = case.profile.instruction_warps
    pairs = pairs_of_case(case).items()
    together = sum(min(executed[first], executed[second]) for second, first in pairs)
    return float(together) / case.profile.warps


def reissues(machine: Machine) -> bool:
    """Whether a memory instruction that does not finish in one pass is issued again for the next.

    CUDA profiler, metric `inst_replay_overhead`; elsewhere the memory unit repeats it by itself.
    """
    return machine.get("sm.replays") == 1


@kept_of_warps
def _reissued_per_warp(case: Case) -> float:
    """Repetitions of memory instructions, one for every further pass or line."""
    if not reissues(case.machine):
        return 0.0
    passes = sum(
        max(0.0, (a.passes if a.space is Space.SHARED else a.lines) - a.requests)
        for a in case.profile.accesses
        if a.space in (Space.SHARED, Space.GLOBAL)
    )
    return passes / case.profile.warps


@kept_of_warps
def _shared(case: Case) -> _Rows:
    half_warps = serves_half_warps(case.machine)
    passes, lanes = 0.0, 0.0
    for a in case.profile.accesses:
        if a.space is Space.SHARED and a.op_class is OpClass.ATOMIC:
            instruction = case.kernel.instructions[a.instruction]
            lanes += a.passes * shared_turns(instruction, case.machine)
        elif a.space is Space.SHARED:
            passes += a.passes_half_warp if half_warps else a.passes
    if not passes + lanes:
        return [], []
    cycles = shared_pass_cycles(case.machine)
    if cycles is None:
        return [], ["shared memory: no shared.bandwidth, shared.banks or shared.bank_width"]
    each = case.machine.get("atomics.shared_lane_cycles") or cycles
    total = passes * cycles + lanes * each
    return [ResourceUse(Bottleneck.SHARED_BANDWIDTH, total / case.profile.warps)], []


def _l1(case: Case, estimate: Estimate) -> _Rows:
    """What loads from global memory take of the L1 cache, and the sectors of all else.

    Stores and atomics pass through the cache; with local memory they are charged as bytes moved.
    """
    moved = case.traffic.l1.at(estimate)
    rate = case.machine.get("l1.bandwidth")
    if not moved or not caches_memory(case.machine):
        return [], []
    if rate is None:
        return [], ["L1 cache: no l1.bandwidth"]
    cycles, sectors = _load_cycles(case)
    cycles += max(0.0, moved - SECTOR_BYTES * sectors) / rate
    per_warp = cycles / case.profile.warps + _filling_cycles(case, estimate)
    return [ResourceUse(Bottleneck.L1_BANDWIDTH, per_warp)], []


def _filling_cycles(case: Case, estimate: Estimate) -> float:
    """Cycles per warp in which what comes for loads is written through the banks of the L1 cache:
    as many as it is read in. 0 where these are none of shared memory's, or nobody knows."""
    rate = case.machine.get("l1.bandwidth")
    if rate is None or not lies_in_shared_banks(case.machine):
        return 0.0
    filling = case.traffic.l2.at(estimate) - stored_bytes(case.profile)
    return max(0.0, filling) / rate / case.profile.warps


@kept_of_warps
def _load_cycles(case: Case) -> tuple[float, float]:
    """Cycles of the loads whose stages in the L1 cache are known, and their sectors."""
    taken = [(load_cycles(case.machine, a), a.sectors) for a in case.profile.accesses]
    known = [(cycles, sectors) for cycles, sectors in taken if cycles is not None]
    return sum(cycles for cycles, _ in known), sum(sectors for _, sectors in known)


def _with_common_banks(
    case: Case, uses: list[ResourceUse], estimate: Estimate
) -> list[ResourceUse]:
    """Shared memory and the data of the L1 cache lie in the same banks: what both take adds up.

    It is the time of the one that takes more. So does every stage alone where it takes longer.
    """
    cycles = {use.resource: use.cycles_per_warp for use in uses}
    in_l1, in_shared = _bank_cycles(case), cycles.get(Bottleneck.SHARED_BANDWIDTH, 0.0)
    if not in_l1 or not in_shared:
        return uses
    in_l1 += _filling_cycles(case, estimate)
    longer = Bottleneck.L1_BANDWIDTH if in_l1 > in_shared else Bottleneck.SHARED_BANDWIDTH
    together = in_l1 + in_shared
    return [
        replace(u, cycles_per_warp=max(u.cycles_per_warp, together)) if u.resource is longer else u
        for u in uses
    ]


@kept_of_warps
def _bank_cycles(case: Case) -> float:
    """Cycles per warp of loads from global memory in the banks of shared memory."""
    taken = (bank_cycles(case.machine, a) or 0.0 for a in case.profile.accesses)
    return sum(taken) / case.profile.warps


def _l2(case: Case, estimate: Estimate, sms: int) -> _Rows:
    moved = case.traffic.l2.at(estimate)
    if not moved or not caches_memory(case.machine):
        return [], []
    seconds, clock = l2_seconds(case, estimate), case.machine.get("clock.sm")
    if seconds is None or clock is None:
        return [], ["L2 cache: no l2.bandwidth"]
    per_warp = seconds * clock * sms / case.profile.warps
    return [ResourceUse(Bottleneck.L2_BANDWIDTH, per_warp, True)], []


def _assembly_notes(case: Case) -> tuple[str, ...]:
    if is_machine_code(case.kernel):
        return ()
    note = "PTX moves, parameter loads and integer conversions cost nothing or one move"
    if not case.machine.get("sm.dual_issue"):
        return (note,)
    return (
        note,
        "neighbours in the PTX issue in pairs where they may; the assembler reorders them",
    )


def sector_cycles(case: Case, sectors: float) -> float:
    """Cycles in which the L1 cache of one SM serves sectors, 0 where its rate is unknown."""
    rate = case.machine.get("l1.bandwidth")
    return SECTOR_BYTES * sectors / rate if rate else 0.0
