"""The timing simulation: warps of some SMs played through issue logic, pipes and memory.

J. Lai, A. Seznec: TEG: GPU Performance Estimation Using a Timing Model. INRIA research report
RR-7804, 2011; of today's chips, R. Huerta et al.: Analyzing Modern NVIDIA GPU cores. MICRO 2025.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import InputError, NotFoundError
from kernelcast.execution.blocks import these_blocks
from kernelcast.hierarchy.atomics import with_results
from kernelcast.hierarchy.caches.counts import AccessCounts, CacheCounts
from kernelcast.hierarchy.caches.launch import system_of
from kernelcast.hierarchy.caches.memory_system import MemorySystem, missing_numbers
from kernelcast.hierarchy.caches.policies import policies
from kernelcast.hierarchy.rules import access_rules, caches_memory
from kernelcast.hierarchy.traffic import Estimate, stored_bytes
from kernelcast.ir import CacheState, Instruction, OpClass, Space
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import (
    Bottleneck,
    Case,
    Part,
    Prediction,
    in_seconds,
    launch_overhead,
)
from kernelcast.models.terms.dram import dram_time
from kernelcast.models.terms.latency import issue_interval
from kernelcast.models.terms.pipes import match_notes
from kernelcast.models.terms.throughput import block_launch_cycles, in_turn, pairs_of_case
from kernelcast.profiling.streams import AccessStreams
from kernelcast.profiling.tables import access_rows
from kernelcast.simulation import layout
from kernelcast.simulation.code import issue_tables
from kernelcast.simulation.hardware import ChipShare, SmTimings, hardware_record
from kernelcast.simulation.layout import ROW
from kernelcast.simulation.mean_streams import mean_streams
from kernelcast.simulation.misses import with_misses
from kernelcast.simulation.plan import MOST_SMS, DetailedSms, detailed_sms
from kernelcast.simulation.recorder import StreamRecorder
from kernelcast.simulation.removals import NOTHING, Removal, Removals
from kernelcast.simulation.removing import resident_blocks, without, without_tail
from kernelcast.simulation.results import (
    LaunchTime,
    achieved_warps,
    are_in_step,
    cycle_stack,
    launch_time,
    time_in_step,
)
from kernelcast.simulation.rewriting import sent_together
from kernelcast.simulation.shortening import instructions_of, shortened
from kernelcast.simulation.simulate import SimulationInput, simulate
from kernelcast.simulation.simulated import Simulated
from kernelcast.simulation.streams import WarpStreams

_BY = "model teg"
_BUSY = 0.6
"""Of the cycles: a resource that is busy for longer is what binds (NVIDIA, Nsight Compute, "Kernel
Profiling Guide", GPU speed of light throughput)."""
_MOST_WORDS = 1 << 24
_MOST_WORDS_OF_ALL, _MOST_INSTRUCTIONS_OF_ALL = 1 << 25, 1 << 27
"""Of streams, and of warps, where all SMs are simulated: up to 3 GB, and seconds to a minute."""
_ROOM_LEFT = 0.8
"""Of the words there may be: blocks that have more than the mean are to find room, too."""
_ALIKE = 0.05
"""To which variation of their instructions blocks that begin together also end together."""
_UNEVEN, _OF_UNEVEN = 0.3, 5
"""From which variation of the blocks' instructions on a grid is uneven, and how many times the
instructions are simulated of one: where some blocks work and most do not, few tell little."""
_OF_LIMIT = 0.95
"""Of the instructions that may be simulated: warps that end early are to end before that."""
_NOTED = 1 << 16
"""Issued instructions of which a timeline can tell."""
_MEAN_WARPS = (
    "the launch cannot be executed again: all warps go the way of representative ones, with mean "
    "requests"
)

_CACHED = (Space.GLOBAL, Space.LOCAL)

_AFFORDABLE, _ALL = "auto", "all"
_OF_MACHINE = "machine"
_POLICIES = ("turns", "oldest", "youngest", "line")
"""In the order of `sm.policy`."""

_NEXT = {OpClass.FP64: "latency.fp64_next", OpClass.SHIFT: "latency.shift_next"}
_INSTEAD = ("latency.shift_next",)
"""Numbers that hold also where they are smaller than that of other instructions."""

_WAITS = {
    "long scoreboard": Bottleneck.MEMORY_LATENCY,
    "short scoreboard": Bottleneck.ARITHMETIC_LATENCY,
    "wait": Bottleneck.ARITHMETIC_LATENCY,
    "barrier": Bottleneck.BARRIERS,
    "math pipe throttle": Bottleneck.ARITHMETIC_LATENCY,
    "lg throttle": Bottleneck.LSU,
    "mio throttle": Bottleneck.LSU,
    "no instruction": Bottleneck.INSTRUCTION_FETCH,
    "imc miss": Bottleneck.CONSTANTS,
    "dispatch stall": Bottleneck.ISSUE,
    "drain": Bottleneck.TAIL,
}
_PIPES = {
    layout.FP32_PIPE: Bottleneck.FP32,
    layout.INT_PIPE: Bottleneck.INT,
    layout.FP64_PIPE: Bottleneck.FP64,
    layout.SFU_PIPE: Bottleneck.SFU,
    layout.ADU_PIPE: Bottleneck.ADU,
    layout.TENSOR_PIPE: Bottleneck.TENSOR,
}


@dataclass(frozen=True)
class Teg:
    """Some SMs in detail, the chip as their share of it.

    Parameters
    ----------
    instructions:
        Warp instructions to simulate at the most, five times as many where blocks differ much in
        theirs; what is left out is extrapolated. Of all SMs, so many of every four.
    sms:
        How many SMs to simulate in detail: a number; auto leaves it to what is affordable; all are
        those of the chip that have blocks, with its channels of the DRAM side by side.
    control:
        Obey the control codes of machine code; else a scoreboard of registers.
    assembled:
        Issue PTX as its assembler would leave it; else every instruction, as simulators of PTX do.
    policy:
        Which ready warp comes first: turns; oldest, youngest or first in line (line),
        each after the last one; or machine, as `sm.policy` says.
    late_fills:
        Lines take their place in the L1 cache when they come, where `l1.allocates_on_fill` says so;
        else when they are asked for.
    uneven_waits:
        Of a load's wait for the way from the L2 cache, a share differs from line to line, as
        `noc.wait_spread` says; else all wait evenly.
    """

    name: ClassVar[str] = "teg"
    title: ClassVar[str] = "Timing simulation of native code"
    source: ClassVar[str] = (
        "J. Lai, A. Seznec: TEG: GPU Performance Estimation Using a Timing Model. INRIA, RR-7804, "
        "2011"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "ports of special units",
        "the order of blocks once SMs are no longer in step",
    )

    instructions: int = 2_000_000
    sms: str = _AFFORDABLE
    control: bool = True
    assembled: bool = True
    policy: str = _OF_MACHINE
    late_fills: bool = False
    uneven_waits: bool = False

    def predict(
        self, case: Case, removed: Removals = NOTHING, prepare: Preparer | None = None
    ) -> Prediction:
        """The time of a case.

        Parameters
        ----------
        removed:
            Bottlenecks that are left out.
        prepare:
            The case as it is simulated, for who plays it often; `prepared` makes it where nobody
            gives it.

        Raises
        ------
        MissingNumberError
            If the machine lacks what the simulation needs.
        """
        return self.prediction(self.play(case, removed, prepare))

    def prediction(self, played: Played) -> Prediction:
        """What a simulation says of the whole launch."""
        case, time = played.case, played.time
        start, warning = launch_overhead(case)
        if Removal.LAUNCH_OVERHEAD in played.removed:
            start = Part(start.name, 0.0)
        stack = cycle_stack(played.found, time.cycles)
        longest = sorted(stack.items(), key=lambda row: -row[1])
        parts = (*(Part(name, cycles) for name, cycles in longest if cycles), start)
        cycles = time.cycles + start.cycles
        bounds = [in_seconds(case, c + start.cycles) for c in time.interval or ()]
        return Prediction(
            model=self,
            case=case,
            cycles=cycles,
            time_s=in_seconds(case, cycles),
            bottleneck=_bottleneck(played, stack, start.cycles),
            breakdown=parts,
            bounds=_bounds(played),
            low_s=bounds[0] if bounds else None,
            high_s=bounds[1] if bounds else None,
            terms=_terms(played),
            assumptions=(*case.occupancy.assumptions, *case.traffic.assumptions, *played.notes),
            warnings=warning,
            simulated=played.found,
        )

    def play(
        self, case: Case, removed: Removals = NOTHING, prepare: Preparer | None = None
    ) -> Played:
        """Simulate a case; parameters and errors are those of `predict`."""
        resident = resident_blocks(case.occupancy.limits, removed)
        ready = prepare(resident) if prepare else self.prepared(case, resident)
        plan = ready.plan
        found = simulate(
            without(ready.given, removed),
            plan,
            ready.system,
            most_issued=_limit(ready.instructions),
            most_events=0 if removed else _NOTED,
        )
        time = _time_of_launch(case, ready, found, removed)
        if Removal.TAIL in removed:
            time = without_tail(time, plan, int(case.machine.number("sm.count", _BY)))
        return Played(case, removed, plan, ready.given, found, time, ready.notes)

    def prepared(self, case: Case, resident: int, record: Recorder | None = None) -> PreparedCase:
        """A case of which an SM takes so many blocks at a time, as it is simulated.

        `record` says what warps did, where it is not to be recorded anew. Errors are those of
        `predict`.
        """
        plan, most = self._plan(case, resident)
        resident = min(resident, plan.simulated)
        streams = record(plan) if record else recorded(case, plan)
        timings = SmTimings(case.machine, case.profile.different_values)
        code = issue_tables(
            case.kernel,
            timings,
            same_warp_cycles=_same_warp(case),
            pairs=pairs_of_case(case),
            obeys_control=self.control,
            assembled=self.assembled,
        )
        system = _caches(case) if case.run is not None else None
        is_chip = self.sms == _ALL and plan.share == 1
        busy = _busy_sms(case)
        share = ChipShare(len(plan.blocks), busy, plan.share, is_chip)
        hardware = hardware_record(
            timings,
            share,
            resident=resident,
            warps=case.launch.warps_per_block,
            registers=code.registers,
            has_l1=system is not None and system.l1 is not None,
        )
        if self.policy != _OF_MACHINE:
            hardware["policy"] = _policy(self.policy)
        if case.caches is CacheState.WARM:
            hardware["fetch_dram_interval"] = 0.0
        fills_late = case.machine.get("l1.allocates_on_fill") == 1
        hardware["fills_late"] = self.late_fills and fills_late and hardware["has_l1"]
        if self.uneven_waits:
            hardware["l2_wait_spread"] = case.machine.get("noc.wait_spread") or 0.0
        dram = dram_time(case, Estimate.CENTRAL, _BY)
        rows = _rows(case, system, share, dram.seconds_per_byte)
        given = SimulationInput(code, streams, hardware, rows)
        if case.run is not None and (noted := _noted_misses(case)):
            given = with_misses(given, *noted)
        if joined := int(hardware["store_lines"][0]):
            given = replace(given, streams=sent_together(given.streams, code.table, joined))
        given, part = _affordable(case, given, plan, resident, most)
        notes = (*timings.notes, *match_notes(case), *dram.notes)
        notes = (*notes, *([_MEAN_WARPS] if case.run is None else []))
        if self.sms == _ALL and not is_chip:
            notes = (*notes, _fewer_sms(len(plan.blocks), busy))
        return PreparedCase(plan, most, system, given, notes, part)

    def _plan(self, case: Case, resident: int) -> tuple[DetailedSms, int]:
        """The blocks of some SMs, and how many instructions are simulated at the most."""
        blocks, per_block = case.launch.blocks, _instructions_per_block(case)
        sms = int(case.machine.number("sm.count", _BY))
        busy = _busy_sms(case)
        if self.sms != _ALL:
            wanted = _wanted_sms(self.sms, busy) or _sms_of_way(case.machine, busy, sms)
            is_uneven = case.profile.sample.variation > _UNEVEN
            most = self.instructions * (_OF_UNEVEN if is_uneven else 1)
            heaviest = _heaviest_sm(case, sms) if blocks <= sms * resident else None
            plan = detailed_sms(
                blocks,
                sms,
                resident,
                most / per_block,
                wanted or None,
                heaviest=heaviest,
                are_uneven=is_uneven,
            )
            return plan, most
        most = min(self.instructions * busy // MOST_SMS, _MOST_INSTRUCTIONS_OF_ALL)
        most = max(most, self.instructions)
        affordable = min(most / per_block, _MOST_WORDS_OF_ALL / _words_per_block(case))
        return detailed_sms(blocks, sms, resident, affordable, most=busy), most


def _limit(instructions: float) -> int:
    """After how many a simulation is cut that blocks were chosen for by so many instructions."""
    return int(2 * instructions)


def _affordable(
    case: Case, given: SimulationInput, plan: DetailedSms, resident: int, most: float
) -> tuple[SimulationInput, float]:
    """What is simulated of the blocks of some SMs, and its share of what they do.

    Where all are there at once and do too much, it is the first of every warp, so that all of them
    end. Warps that count each other's arrivals need all of each other.
    """
    counts = any(i.traits.mbarrier is not None for i in case.kernel.instructions)
    is_at_once = plan.is_whole and plan.busiest <= resident
    if not is_at_once or counts or given.streams.is_cut:
        return given, 1.0
    bounds = given.code.bounds
    share = _OF_LIMIT * _limit(most) / max(1, instructions_of(given.streams, bounds))
    if share >= 1:
        return given, 1.0
    return replace(given, streams=shortened(given.streams, bounds, share)), share


@dataclass(frozen=True)
class PreparedCase:
    """A case as it is simulated while nothing is removed, of at the most so many `instructions`;
    `part` is what that is of all that the blocks of the plan do, where every warp ends early."""

    plan: DetailedSms
    instructions: int
    system: MemorySystem | None
    given: SimulationInput = field(repr=False)
    notes: tuple[str, ...]
    part: float = 1.0


Preparer = Callable[[int], PreparedCase]
"""A case of which an SM takes so many blocks at a time."""


@dataclass(frozen=True)
class Played:
    """A case that was simulated; `given` is what it is with nothing removed."""

    case: Case
    removed: Removals
    plan: DetailedSms
    given: SimulationInput = field(repr=False)
    found: Simulated
    time: LaunchTime
    notes: tuple[str, ...]

    @property
    def use(self) -> dict[str, float]:
        """Shares of the launch's time for which resources are busy."""
        found = self.found
        slots = found.cycles * found.sms * found.schedulers
        used = {str(Bottleneck.ISSUE): float(found.issued.sum()) / slots}
        used |= {str(name): float(found.busy[pipe] / slots) for pipe, name in _PIPES.items()}
        banks = found.cycles * found.sms
        used[str(Bottleneck.SHARED_BANDWIDTH)] = found.shared_busy / banks
        used[str(Bottleneck.L1_BANDWIDTH)] = found.l1_busy / banks
        if not self.given.hardware["memory_apart"][0]:
            # Both have the same banks, which are taken up by the one that takes them for longer.
            longer = max(Bottleneck.SHARED_BANDWIDTH, Bottleneck.L1_BANDWIDTH, key=used.__getitem__)
            used[longer] = (found.shared_busy + found.l1_busy) / banks
        used[str(Bottleneck.L2_BANDWIDTH)] = found.l2_busy / found.cycles
        beyond_l2 = dram_time(self.case, Estimate.CENTRAL, _BY).resource
        used[str(beyond_l2)] = found.dram_busy / found.cycles
        scale = self._work_over_simulated * found.cycles / self.time.cycles
        used = {name: min(1.0, scale * share) for name, share in used.items()}
        if Removal.ATOMIC_CONFLICTS not in self.removed:
            used[str(Bottleneck.ATOMICS)] = in_turn(self.case, _BY) / self.time.cycles
        if Removal.BLOCK_LAUNCH not in self.removed:
            used[str(Bottleneck.BLOCK_LAUNCHES)] = block_launch_cycles(self.case) / self.time.cycles
        return used

    @property
    def _work_over_simulated(self) -> float:
        """What the SMs in detail have to do altogether, over what was simulated of it.

        Blocks that were left out keep resources busy for as long as others do, though not for the
        same share of the time: as a simulation begins and ends, warps are few.
        """
        if self.plan.is_whole and not self.found.is_cut:
            return 1.0
        executed = float(self.found.issued.sum()) - self.found.repeated
        return self.case.profile.total.warp * self.plan.share / max(1.0, executed)


Recorder = Callable[[DetailedSms], WarpStreams]
"""What the warps of the blocks of a plan did."""


def recorded(case: Case, plan: DetailedSms) -> WarpStreams:
    """What the warps of a plan's blocks do: the launch is executed for them once more."""
    rules = access_rules(case.machine)
    chosen = [block for own in plan.blocks for block in own]
    if case.run is None:
        return mean_streams(case.profile, chosen, rules.half_warps, _most_words(plan))
    run, most = case.run(), _most_words(plan)
    is_too_long = _words_per_block(case) * len(chosen) > _ROOM_LEFT * most
    most_of_warp = None
    if is_too_long:
        # Blocks that have little to do leave their room to others.
        most_of_warp = int(
            most / (_working_share(case) * len(chosen) * case.launch.warps_per_block)
        )
    recorder = StreamRecorder(case.kernel, case.launch, rules, most, most_of_warp)
    run.over(these_blocks(case.launch.blocks, chosen)).execute(recorder)
    return recorder.finish()


def _heaviest_sm(case: Case, sms: int) -> int:
    """The SM whose blocks have the most to do altogether, of `sms` that get them in turn."""
    work = case.profile.instructions_of(range(case.launch.blocks))
    return int(np.bincount(np.arange(len(work)) % sms, work).argmax())


def _working_share(case: Case) -> float:
    """What a mean block does of what the one does that does most, as far as they are known."""
    profile = case.profile
    most = int(profile.block_instructions.max(initial=0))
    return min(1.0, _instructions_per_block(case) / most) if most else 1.0


def _policy(name: str) -> int:
    """The number of a policy; NotFoundError where there is none."""
    if name not in _POLICIES:
        raise NotFoundError("policy", name, (*_POLICIES, _OF_MACHINE))
    return _POLICIES.index(name)


def _busy_sms(case: Case) -> int:
    """SMs that have blocks."""
    return min(int(case.machine.number("sm.count", _BY)), case.launch.blocks)


def _dram_cycles(case: Case) -> float:
    """Cycles for which the DRAM is busy with a launch."""
    seconds = dram_time(case, Estimate.CENTRAL, _BY).seconds
    return seconds * case.machine.number("clock.sm", _BY)


def _instructions_per_block(case: Case) -> float:
    return max(1.0, case.profile.total.warp / case.launch.blocks)


def _instructions(case: Case, plan: DetailedSms, resident: int) -> float:
    """Instructions of the SMs in detail, with those of blocks that are left out.

    Where all blocks are there at once nobody takes over from an SM that has more to do: then each
    that does anything much counts as the one that has the most.
    """
    own = [float(case.profile.instructions_of(blocks).sum()) for blocks in plan.blocks]
    if plan.busiest <= resident:
        return max(own) * sum(2 * one >= max(own) for one in own)
    mean = sum(own) / sum(map(len, plan.blocks))
    return mean * plan.busiest * len(plan.blocks)


def _time_of_launch(
    case: Case, ready: PreparedCase, found: Simulated, removed: Removals
) -> LaunchTime:
    """The time of a launch of which a plan was simulated; once more, where its last wave tells."""
    plan, resident = ready.plan, int(ready.given.hardware["resident"][0])
    instructions = _instructions(case, plan, resident) if found.is_cut else 0.0
    if ready.part < 1:
        instructions = found.executed / ready.part
    dram_cycles = _dram_cycles(case) if found.is_cut else 0.0
    left = plan.busiest % resident
    if not (left and _are_alike(case, plan, resident) and are_in_step(found, dram_cycles)):
        in_order = int(ready.given.hardware["policy"][0]) != _POLICIES.index("youngest")
        return launch_time(found, plan, resident, instructions, dram_cycles, ends_in_order=in_order)
    fewer = replace(plan, blocks=tuple(own[:left] for own in plan.blocks))
    most = ready.instructions * left // resident
    last = simulate(without(ready.given, removed), fewer, ready.system, most_issued=most)
    return time_in_step(found, last, plan.busiest, resident, _instructions_per_block(case))


def _are_alike(case: Case, plan: DetailedSms, resident: int) -> bool:
    """Whether SMs get several waves of blocks that all have about as much to do."""
    return plan.busiest > resident and case.profile.sample.variation <= _ALIKE


def _most_words(plan: DetailedSms) -> int:
    """Words of streams at the most."""
    return _MOST_WORDS if len(plan.blocks) <= MOST_SMS else _MOST_WORDS_OF_ALL


def _words_per_block(case: Case) -> float:
    """Words of the warp streams of a mean block, without those that lines are not looked up for."""
    profile = case.profile
    entered = sum(profile.instruction_warps[block.start] for block in case.kernel.blocks)
    asked = sum(a.requests + a.lines * (a.space in _CACHED) for a in profile.accesses)
    return float(max(1.0, (entered + asked) / case.launch.blocks))


def _fewer_sms(played: int, busy: int) -> str:
    return (
        f"{played} of {busy} SMs are simulated, the others as their share of the chip: all of them "
        "execute too much"
    )


def _wanted_sms(sms: str, busy: int) -> int:
    """How many of the `busy` SMs are to be simulated, 0 for what is affordable."""
    if sms == _AFFORDABLE:
        return 0
    if not sms.isdecimal() or not int(sms):
        raise InputError(
            f"sms is a number of SMs, {_AFFORDABLE} or {_ALL}, not {sms!r}", where="model teg"
        )
    return min(busy, int(sms))


def _sms_of_way(machine: Machine, busy: int, sms: int) -> int:
    """Of `busy` SMs, those that share one way to memory; 0 where each has its own.

    Blocks go to SMs with a way of their own first.
    """
    group = int(machine.get("sm.memory_group") or 1)
    return -(-busy * group // sms) if group > 1 else 0


def _same_warp(case: Case) -> Callable[[Instruction], int]:
    least = max(1, round(issue_interval(case.machine, _BY)))

    def cycles(instruction: Instruction) -> int:
        own = _next_of(instruction)
        known = case.machine.get(own) if own else None
        if known is None:
            return least
        return round(known) if own in _INSTEAD else max(least, round(known))

    return cycles


def _next_of(instruction: Instruction) -> str:
    """The machine's number for the cycles from an instruction to the next one of its warp."""
    if instruction.op_class is OpClass.BRANCH and instruction.guard is not None:
        return "latency.branch"
    if instruction.traits.reconverges:
        return "latency.reconvergence"
    if instruction.op_class.is_memory and instruction.space in _CACHED:
        return "latency.memory_next"
    return _NEXT.get(instruction.op_class, "")


def _caches(case: Case) -> MemorySystem | None:
    if not caches_memory(case.machine) or missing_numbers(case.machine):
        return None
    return system_of(case.machine, case.kernel, case.launch)


def _rows(
    case: Case, system: MemorySystem | None, share: ChipShare, dram_seconds_per_byte: float
) -> NDArray[np.void]:
    """How the chip beyond the SM treats the accesses of every row."""
    every = access_rows(case.kernel)
    rows = np.zeros(max(1, len(every)), ROW)
    if system is not None:
        rows["rule"][: len(every)] = policies(every, (), system)
    clock_hz = case.machine.number("clock.sm", _BY)
    rows["dram_cycles"] = dram_seconds_per_byte * SECTOR_BYTES * clock_hz / share.share
    rows["dram"] = rows["far"] = 1.0
    gives_back = with_results(case.kernel)
    rows["gives_back"][: len(every)] = [gives_back[a.instruction.index] for a in every]
    rows["in_turn_cycles"] = _in_turn_cycles(case) / share.share
    counts = case.cache_counts
    if counts is None:
        rows["l1_miss"], rows["dram"] = _miss_shares(case)
        for row, access in zip(rows, every, strict=False):
            if access.instruction.op_class is OpClass.LOAD:
                row["dram"] *= row["l1_miss"]
        return rows
    rows["l1_miss"] = 1.0
    known = {(a.instruction, a.space): a for a in counts.accesses}
    written, spilled = _written_share(counts), _spilled_share(counts)
    for row, access in zip(rows, every, strict=False):
        found = known.get((access.instruction.index, access.space))
        if found is None or not (asked := max(found.l1.sectors, found.l2.sectors)):
            continue
        if found.l1.sectors:
            row["l1_miss"] = found.l1.misses / found.l1.sectors
        if case.caches is not CacheState.WARM:
            row["far"] = _far_share(found)
        moved = found.dram_sectors + written * found.dirtied_sectors
        if _is_spill(found):
            moved += spilled * asked
        moved *= _moved_together(case, found)
        row["dram"] = moved / asked
    return rows


def _far_share(found: AccessCounts) -> float:
    """Of the lines in the partition of the L2 cache that is far from an SM, those not copied to the
    near one.

    The first SM of a partition that loads a line has it copied there (an H100: 173 cycles more than
    the next load takes). Of n loads of a line one comes from the DRAM, and of the n - 1 that the L2
    cache holds, one is the first of its partition; without copies, (n - 1)/2 would be far.
    """
    misses, hits = found.l2.misses, found.l2.hits
    return min(1.0, 2 * misses / hits) if hits else 1.0


def _noted_misses(case: Case) -> tuple[AccessStreams, NDArray[np.uint8]] | None:
    """The accesses that caches were simulated with, and what the DRAM moved for each."""
    moved = case.moved_by_word
    return None if case.streams is None or moved is None else (case.streams, moved)


def _written_share(counts: CacheCounts) -> float:
    """Of the sectors that stores soil, those that reach the DRAM before the launch ends."""
    dirtied = sum(access.dirtied_sectors for access in counts.accesses)
    written = counts.dram_written_sectors - counts.spilled_sectors
    return min(1.0, written / dirtied) if dirtied else 1.0


def _is_spill(access: AccessCounts) -> bool:
    return access.space is Space.LOCAL and access.op_class is OpClass.STORE


def _spilled_share(counts: CacheCounts) -> float:
    """Of the sectors that are stored in local memory, those that the L2 cache does not keep.

    Whatever makes them leave it, a store has made them what has to be written.
    """
    stored = sum(a.l2.sectors for a in counts.accesses if _is_spill(a))
    return min(1.0, counts.spilled_sectors / stored) if stored else 0.0


def _moved_together(case: Case, found: AccessCounts) -> float:
    """Sectors that move for each that is asked of the L2 cache: more than one with whole lines."""
    sector = case.machine.get("l1.sector") or SECTOR_BYTES
    lines = found.missed_lines if found.op_class is OpClass.LOAD else found.lines
    asked = found.l2.sectors
    return max(1.0, lines * sector / SECTOR_BYTES / asked) if asked else 1.0


def _miss_shares(case: Case) -> tuple[float, float]:
    """Of what is loaded, the share that the L1 caches lack; and of that the L2 cache's."""
    traffic = case.traffic
    stored = stored_bytes(case.profile)
    l2, loaded = traffic.l2.central, traffic.l1.central - stored
    beyond_l1 = (l2 - stored) / loaded if loaded > 0 else 1.0
    beyond_l2 = traffic.dram.central / l2 if l2 else 1.0
    return min(1.0, max(0.0, beyond_l1)), min(1.0, beyond_l2)


def _in_turn_cycles(case: Case) -> float:
    """Cycles that a turn of an atomic adds, of a slice that takes them one after the other."""
    turns = sum(a.turns for a in case.profile.accesses)
    return in_turn(case, _BY) / turns if turns else 0.0


def _bounds(played: Played) -> tuple[Part, ...]:
    """What each resource alone would take."""
    rows = [Part(name, used * played.time.cycles) for name, used in played.use.items() if used]
    return tuple(sorted(rows, key=lambda row: -row.cycles))


def _bottleneck(played: Played, stack: Mapping[str, float], start_cycles: float) -> Bottleneck:
    """What takes the largest share: a resource that is busy for most of the time, whatever warps
    wait for then; else what they wait for the longest. A warp that is selected waits for nothing.
    """
    name, used = max(played.use.items(), key=lambda pair: pair[1])
    shares = {Bottleneck.LAUNCH_OVERHEAD: start_cycles}
    waits = {reason: cycles for reason, cycles in stack.items() if reason in _WAITS and cycles}
    if used > _BUSY or not waits:
        shares[Bottleneck(name)] = used * played.time.cycles
    else:
        for reason, cycles in waits.items():
            shares[_WAITS[reason]] = shares.get(_WAITS[reason], 0.0) + cycles
    return max(shares, key=lambda bottleneck: shares[bottleneck])


def _terms(played: Played) -> dict[str, float | str]:
    found, plan = played.found, played.plan
    return {
        "SMs in detail": float(found.sms),
        "blocks simulated": float(sum(map(len, plan.blocks))),
        "instructions simulated": float(found.issued.sum()),
        "cycles simulated": float(found.cycles),
        "cycles from block to block": played.time.block_cycles,
        "achieved warps per SM": achieved_warps(found, plan, played.time),
        "instructions per cycle and SM": float(found.issued.sum()) / (found.cycles * found.sms),
        **{f"use of {name}": share for name, share in played.use.items() if share},
    }
