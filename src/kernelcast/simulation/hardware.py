"""An SM and its share of the chip as the simulation reads them, from the numbers of a machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import MissingNumberError
from kernelcast.hierarchy.atomics import shared_conflict_latency, shared_latency, swap_turns
from kernelcast.hierarchy.l1_cache import lies_in_shared_banks, shared_pass_cycles
from kernelcast.hierarchy.l2_cache import l2_times
from kernelcast.hierarchy.rules import caches_memory, serves_half_warps
from kernelcast.ir import Instruction, OpClass, Space
from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES
from kernelcast.isas.assembly import loads_constant
from kernelcast.machines.classes import (
    class_number,
    match_cycles,
    match_latency,
    multiplies_in_half,
    product_cycles,
    shares_fp64,
    wide_product_rate,
)
from kernelcast.machines.machine import Machine
from kernelcast.machines.pipes import RATE_OF, Pipe, pipe_of
from kernelcast.profiling.profile import compared_values
from kernelcast.simulation import layout
from kernelcast.simulation.code import ClassTiming
from kernelcast.simulation.constants import LINE_BYTES
from kernelcast.simulation.layout import HARDWARE

_NEEDED_BY = "the timing simulation"

_PIPES: Mapping[Pipe | None, int] = {
    Pipe.FP32: layout.FP32_PIPE,
    Pipe.INT: layout.INT_PIPE,
    Pipe.FP64: layout.FP64_PIPE,
    Pipe.SFU: layout.SFU_PIPE,
    Pipe.ADU: layout.ADU_PIPE,
    Pipe.TENSOR: layout.TENSOR_PIPE,
    Pipe.UNIFORM: layout.UNIFORM_PIPE,
}
_LINE_BYTES = 128.0
_HASHED_BYTES = 1024
"""That lie in one channel where a hash of addresses names it: of a V100, bit 10 is the lowest that
does (S. Jain et al.: Fractional GPUs. RTAS 2019)."""

_TIMED_BY_MEMORY = frozenset({OpClass.ATOMIC, OpClass.STORE})
"""Of which `memory` says when they are done; `latency.atomic` is of global memory alone."""


@dataclass(frozen=True)
class SmTimings:
    """What instructions ask of an SM, by the numbers of a machine; `notes` are what is assumed.

    `different_values` says, by instruction, with how many lanes are compared on average.

    Raises MissingNumberError where the machine lacks `throughput.fp32` or `latency.fp32`.
    """

    machine: Machine
    different_values: Mapping[int, float] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def schedulers(self) -> int:
        """Warp schedulers of an SM."""
        return int(self.machine.get("sm.schedulers") or 1)

    def __call__(self, op_class: OpClass, instruction: Instruction) -> ClassTiming:
        """What an instruction of a class asks."""
        pipe = layout.FP64_PIPE if self._is_wide(op_class, instruction) else self._pipe(op_class)
        if pipe == layout.MULTIPLIERS and self._takes_both_halves(instruction):
            pipe = layout.BOTH_HALVES
        return ClassTiming(
            pipe,
            self._interval(op_class, pipe, instruction),
            self._latency(op_class, instruction),
            pipe == layout.FP64_PIPE and bool(self.machine.get("lsu.doubles_in_latch")),
            self._computing(instruction),
            self._slots(instruction),
            self._holds(instruction),
        )

    def _takes_both_halves(self, instruction: Instruction) -> bool:
        """Whether the halves of the FP32 pipe work together on a product of integers."""
        known = self.machine.get("throughput.int_mul_wide") is not None
        return known and instruction.traits.widens

    def _slots(self, instruction: Instruction) -> int:
        """Issue slots of an instruction."""
        if instruction.op_class.is_memory and instruction.space in (Space.GLOBAL, Space.LOCAL):
            return int(self.machine.get("issue.memory") or 1)
        return 1

    def _holds(self, instruction: Instruction) -> int:
        """Cycles for which an instruction holds up those behind it, while it is dispatched."""
        if instruction.op_class is not OpClass.INT_MUL or not instruction.traits.widens:
            return 0
        return int(self.machine.get("dispatch.int_mul_wide") or 0)

    def _is_wide(self, op_class: OpClass, instruction: Instruction) -> bool:
        """Whether the double-precision units convert."""
        if op_class is not OpClass.CONVERT or not instruction.traits.converts_wide:
            return False
        is_known = self.machine.get("throughput.convert64") is not None
        return is_known and shares_fp64(self.machine)

    def _computing(self, instruction: Instruction) -> float:
        """Of a load that computes: the cycles beyond those of a load."""
        computes = instruction.traits.computes
        if computes is None:
            return 0.0
        known = self.machine.get("latency.shared_operand")
        if known is None:
            return self._latency(computes, instruction)
        return max(0.0, known - self.machine.number("latency.shared", _NEEDED_BY))

    def _pipe(self, op_class: OpClass) -> int:
        pipe = _PIPES.get(pipe_of(op_class, self.machine), layout.NO_PIPE)
        if op_class is OpClass.INT_MUL and multiplies_in_half(self.machine):
            return layout.MULTIPLIERS
        return pipe

    def _interval(self, op_class: OpClass, pipe: int, instruction: Instruction) -> float:
        if pipe == layout.NO_PIPE:
            return 1.0
        if op_class is OpClass.TENSOR:
            return self._tensor_interval(instruction)
        if (match := instruction.traits.match) is not None:
            values = compared_values(instruction, self.different_values)
            if (cycles := match_cycles(self.machine, match, values)) is not None:
                return cycles
        rate = self._rate(op_class, instruction)
        if _is_of_sm(pipe, self.machine):
            return WARP_LANES / rate
        interval = WARP_LANES * self.schedulers / rate
        # Of a pipe in halves, the interval is that of one.
        in_halves = pipe == layout.FP32_PIPE and multiplies_in_half(self.machine)
        return 2 * interval if in_halves else interval

    def _rate(self, op_class: OpClass, instruction: Instruction) -> float:
        get = self.machine.get
        if op_class is OpClass.CONVERT and instruction.traits.converts_wide:
            wide = get("throughput.convert64")
            if wide is not None:
                return wide
        if op_class is OpClass.INT_MUL and instruction.traits.widens:
            wide = wide_product_rate(self.machine)
            if wide is not None:
                return wide
        if op_class is OpClass.FP32 and instruction.traits.multiplies:
            products = get("throughput.fp32_multiply")
            if products is not None:
                return products
        rate = class_number(self.machine, "throughput", RATE_OF.get(op_class, op_class))
        if rate is not None:
            return rate
        self.notes[f"{op_class} instructions issue like fp32: no throughput.{op_class}"] = None
        return self.machine.number("throughput.fp32", _NEEDED_BY)

    def _tensor_interval(self, instruction: Instruction) -> float:
        """Products of matrices by their size; a fragment's moves take one cycle."""
        product = instruction.traits.product
        cycles = None if product is None else product_cycles(self.machine, product)
        return 1.0 if cycles is None else cycles * self.schedulers

    def _latency(self, op_class: OpClass, instruction: Instruction) -> float:
        if op_class in _TIMED_BY_MEMORY:
            return 0.0
        known = class_number(self.machine, "latency", op_class)
        if (match := instruction.traits.match) is not None:
            values = compared_values(instruction, self.different_values)
            known = match_latency(self.machine, match, values)
        if loads_constant(instruction):
            known = self.machine.get("latency.constant")
        if known is not None:
            return known
        if op_class in (OpClass.BARRIER, OpClass.BRANCH, OpClass.FENCE):
            return 0.0
        fallback = "latency.shared" if op_class is OpClass.OTHER else "latency.fp32"
        return self.machine.number(fallback, _NEEDED_BY)


def _sfu_queued(timings: SmTimings) -> float:
    """Cycles of work that wait for a scheduler's special-function units while its warps go on."""
    rate = class_number(timings.machine, "throughput", OpClass.SFU)
    each = WARP_LANES * timings.schedulers / rate if rate else 0.0
    return each * (timings.machine.get("sfu.queue") or 0)


def _is_of_sm(pipe: int, machine: Machine) -> bool:
    """Whether the schedulers of an SM share one such pipe.

    The unit that compares lanes is one: a warp of an H100 alone has four values compared in 11
    cycles, where a quarter of the unit's rate would take 32.
    """
    return pipe == layout.ADU_PIPE or (pipe == layout.FP64_PIPE and shares_fp64(machine))


@dataclass(frozen=True)
class ChipShare:
    """What some SMs in detail have of a chip whose other SMs do as they do.

    `share` is that of the blocks, by which they ask the DRAM for more or less than others; of the
    ways to the L2 cache, which are as wide for every SM, they have that of the `busy` SMs. Where
    these SMs are the chip's, `is_chip`, so are the channels of its DRAM.
    """

    sms: int
    busy: int
    share: float
    is_chip: bool = False


def hardware_record(
    timings: SmTimings,
    share: ChipShare,
    *,
    resident: int,
    warps: int,
    registers: int,
    has_l1: bool,
) -> NDArray[np.void]:
    """One record of `layout.HARDWARE`: `resident` blocks of `warps` warps on each SM.

    What is derived is added to the notes of `timings`. Raises MissingNumberError where the machine
    lacks a number that cannot be.
    """
    machine = timings.machine
    schedulers = timings.schedulers
    get, number = machine.get, machine.number
    clock_hz = machine.number("clock.sm", _NEEDED_BY)
    records = np.zeros(1, HARDWARE)
    one = records[0]
    one["sms"], one["schedulers"] = share.sms, schedulers
    one["places"] = -(-resident * warps // schedulers)
    one["resident"], one["warps"], one["registers"] = resident, warps, registers
    one["policy"] = machine.number("sm.policy", _NEEDED_BY)
    issues = machine.number("sm.issue_per_cycle", _NEEDED_BY)
    one["issue_interval"] = max(1, round(schedulers / issues))
    one["read_cycles"] = get("registers.read_cycles") or 0.0
    taken = get("latency.branch_taken") or 0.0
    one["jump_cycles"] = [round(taken), round(get("latency.branch_indirect") or taken)]
    one["jump_holds"] = [get(f"dispatch.{name}") or 0 for name in ("branch", "branch_indirect")]
    one["loads_per_warp"] = int(get("sm.loads_per_warp") or 0)
    one["store_next"] = get("latency.store_next") or 0.0
    one["queued"][layout.SFU_PIPE] = _sfu_queued(timings)
    one["of_sm"] = [_is_of_sm(pipe, machine) for pipe in range(layout.PIPES)]
    one["fp32_halves"] = multiplies_in_half(machine)
    interval = get("launch.block_interval")
    one["block_interval"] = interval * clock_hz * share.busy if interval else 0.0
    one["replacement"] = get("latency.block_replacement") or 0.0
    one["drain"] = min(one["replacement"], get("latency.block_drain") or 0.0)
    one["sync_cycles"] = get("latency.barrier") or number("latency.barrier_release", _NEEDED_BY)
    one["has_l1"] = has_l1
    _set_banks(one, machine)
    _set_latencies(one, machine, share.busy)
    _set_fetch(one, timings)
    _set_constants(one, machine, share)
    _set_l2(one, machine, clock_hz * share.busy / share.sms)
    one["store_first"] = get("sm.store_cycles") or 0.0
    one["store_further"] = get("sm.store_further_cycles") or 0.0
    one["store_narrow"] = get("sm.store_narrow_cycles") or one["store_first"]
    one["store_whole"] = get("sm.store_whole_cycles") or 0.0
    one["store_lines"] = get("sm.store_lines") or 0
    one["miss_cycles"] = get("sm.miss_cycles") or 0.0
    one["atomic_line"] = get("sm.atomic_cycles") or 0.0
    one["least_sectors"] = (get("l1.sector") or SECTOR_BYTES) / SECTOR_BYTES
    one["most_dram_wait"] = one["dram_latency"]
    _set_way_to_memory(one, machine, clock_hz, share)
    _set_channels(one, timings, share)
    _set_tlb(one, machine)
    return records


def _set_constants(one: np.void, machine: Machine, share: ChipShare) -> None:
    """The caches of constants; where the machine has none, every constant is there."""
    get = machine.get
    near, near_latency = get("constant.near_size"), get("latency.constant_near")
    if near and near_latency:
        one["constant_lines"], one["constant_near_latency"] = near // LINE_BYTES, near_latency
        one["constant_told_lines"] = (get("constant.uniform_size") or near) // LINE_BYTES
    size, ways, far = (get(n) for n in ("constant.size", "constant.ways", "latency.constant_far"))
    if size and ways and far:
        one["constant_sets"], one["constant_ways"] = size // (LINE_BYTES * ways), ways
        one["constant_far_latency"] = far
    one["constant_word_cycles"] = get("constant.word_cycles") or 0.0
    part = share.busy / machine.number("sm.count", _NEEDED_BY)
    one["constant_interval"] = (get("constant.interval") or 0.0) * part


def _set_l2(one: np.void, machine: Machine, cycles_per_s: float) -> None:
    """The ways between SMs and L2 cache, and its slices."""
    one["l2_rate"] = _way_bandwidth(machine) / cycles_per_s
    times = l2_times(machine)
    if times is None:
        return
    one["l2_request_cycles"] = times.reading * cycles_per_s
    one["l2_change_cycles"] = times.writing * cycles_per_s
    one["l2_write_shared"] = times.is_shared
    if not times.is_shared or times.first_written > times.read:
        one["l2_write_first"] = times.first_written * cycles_per_s
        one["l2_write_cycles"] = times.written * cycles_per_s


def _way_bandwidth(machine: Machine) -> float:
    """Bytes per second between all SMs and the L2 cache; of a chip without one, of the DRAM."""
    known = machine.get("l2.bandwidth") or machine.get("noc.bandwidth")
    return known or machine.number("dram.bandwidth", _NEEDED_BY)


def _set_way_to_memory(one: np.void, machine: Machine, clock_hz: float, share: ChipShare) -> None:
    """What SMs ask of memory: how much at once, and by which way.

    SMs that share a way to memory have no more of the bandwidth than falls to it.
    """
    get = machine.get
    group = int(get("sm.memory_group") or 1)
    sectors = get("sm.sectors_in_flight") if not caches_memory(machine) else None
    one["memory_group"] = group
    one["memory_apart"] = not caches_memory(machine)
    one["in_flight"] = round(sectors * group) if sectors else 0
    one["miss_registers"] = one["in_flight"] or int(get("l1.miss_registers") or 1024)
    if group > 1:
        ways = -(-share.sms // group)
        bandwidth = machine.number("dram.bandwidth", _NEEDED_BY) / clock_hz
        most = bandwidth * group * ways / machine.number("sm.count", _NEEDED_BY)
        one["l2_rate"] = min(one["l2_rate"], most)


def _set_channels(one: np.void, timings: SmTimings, share: ChipShare) -> None:
    """The channels of the DRAM, each for other addresses.

    Of a chip without caches before its memory, addresses name the channel. Of others, the channels
    are told apart where all SMs are simulated that use them.
    """
    get = timings.machine.get
    channels, interleave = int(get("dram.channels") or 1), get("dram.interleave")
    chunk = interleave or (_LINE_BYTES if one["memory_apart"] else _HASHED_BYTES)
    one["channels"], one["channel_shift"] = 1, round(math.log2(chunk / _LINE_BYTES))
    if one["memory_apart"]:
        one["channels"] = channels
    elif share.is_chip and channels > 1:
        one["reading_channels"] = channels
        timings.notes[
            f"a hash of addresses spreads memory over the {channels} channels of the DRAM, "
            f"{chunk:.0f} B at a time"
        ] = None


def _set_tlb(one: np.void, machine: Machine) -> None:
    """The TLB of the chip, where its reach, its pages and what a miss costs are known."""
    reach, page, miss = (machine.get(n) for n in ("tlb.reach", "tlb.page", "latency.tlb_miss"))
    if not reach or not page or not miss:
        return
    one["tlb_entries"], one["tlb_miss"] = max(1, int(reach // page)), miss
    one["tlb_shift"] = round(math.log2(page / _LINE_BYTES))


def _set_banks(one: np.void, machine: Machine) -> None:
    """The load/store unit, shared memory and the L1 cache."""
    get = machine.get
    one["queue"] = int(machine.number("lsu.queue", _NEEDED_BY))
    for name in ("address_cycles", "shared_address_cycles"):
        one[name] = machine.number(f"lsu.{name}", _NEEDED_BY)
    lanes = machine.number("throughput.load", _NEEDED_BY)
    one["lsu_cycles"] = WARP_LANES / lanes
    passes = shared_pass_cycles(machine)
    if passes is None:
        raise MissingNumberError(machine.name, "shared.bandwidth", _NEEDED_BY)
    one["pass_cycles"] = passes
    bits = machine.numbers("l1.tag_bank_bits")
    tags = get("l1.tags")
    one["fills_banks"] = lies_in_shared_banks(machine)
    one["tag_cycles"] = (1 << len(bits)) / tags if tags and bits else 0.0
    one["l1_rate"] = get("l1.bandwidth") or _LINE_BYTES / passes
    halves = 2 if serves_half_warps(machine) else 1
    conflict = get("latency.bank_conflict")
    one["conflict_cycles"] = conflict / halves if conflict else passes
    operand = get("latency.shared_operand_conflict")
    one["operand_conflict_cycles"] = operand / halves if operand else one["conflict_cycles"]
    one["shared_atomic_cycles"] = machine.number("atomics.shared_lane_cycles", _NEEDED_BY)
    one["swap_turns"] = swap_turns(machine)
    one["atomic_shared_latency"] = shared_latency(machine, _NEEDED_BY)
    one["atomic_conflict_cycles"] = shared_conflict_latency(machine, _NEEDED_BY)


def _set_latencies(one: np.void, machine: Machine, busy: int) -> None:
    """The latencies of the memory's levels where `busy` SMs load at the same time."""
    get = machine.get
    one["shared_latency"] = machine.number("latency.shared", _NEEDED_BY)
    dram = machine.number("latency.dram", _NEEDED_BY)
    l2 = get("latency.l2") or dram
    far = get("latency.l2_far") or l2
    contention = get("latency.dram_contention")
    one["dram_contention"] = contention or get("volkov.latency_slope") or 0.0
    one["dram_latency"], one["l2_latency"], one["l2_far_latency"] = dram, l2, far
    one["l1_latency"] = get("latency.l1") or l2
    for level in ("l2", "dram"):
        one[f"{level}_spread"] = get(f"latency.{level}_spread") or 0.0
    one["dram_line_spread"] = get("latency.dram_line_spread") or 0.0
    loading = min(1.0, busy / machine.number("sm.count", _NEEDED_BY))
    one["dram_latency"] += loading * (get("latency.dram_all_sms") or 0.0)
    one["l2_all_sms"] = loading * (get("latency.l2_all_sms") or 0.0)
    waited_s = get("dram.write_wait") or 0.0
    one["dram_write_wait"] = waited_s * machine.number("clock.sm", _NEEDED_BY)


def _set_fetch(one: np.void, timings: SmTimings) -> None:
    """The caches of instructions; where the machine has none, every instruction is there."""
    get = timings.machine.get
    line, near, own = (get(p) for p in ("fetch.line", "fetch.l0_size", "sm.instruction_cache"))
    latency = get("fetch.latency")
    if line is None or near is None or own is None or latency is None:
        timings.notes["instructions are always there: no fetch.l0_size"] = None
        return
    one["fetch_line"], one["fetch_bytes"] = int(line).bit_length() - 1, line
    one["l0_lines"], one["instruction_lines"] = near // line, own // line
    one["fetch_ahead"] = get("fetch.ahead") or 0
    one["fetch_interval"] = get("fetch.interval") or 0.0
    one["fetch_l0_interval"] = get("fetch.l0_interval") or 0.0
    one["fetch_l2_interval"] = get("fetch.l2_interval") or 0.0
    one["fetch_dram_interval"] = get("fetch.dram_interval") or 0.0
    one["keeps_code"] = 1
    one["fetch_latency"] = latency
    beyond = get("fetch.l2_latency")
    if beyond is None:
        # The way of a load that misses the L1 cache.
        beyond = latency + one["l2_latency"] - one["l1_latency"]
        timings.notes["instructions go the way of loads from L2: no fetch.l2_latency"] = None
    one["fetch_l2_latency"] = beyond
