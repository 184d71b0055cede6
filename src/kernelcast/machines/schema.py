"""What a machine file may hold: every path with its unit, meaning and allowed range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kernelcast.errors import InputError
from kernelcast.ir import OpClass

SCHEMA = "kernelcast/machine/1"
"""Value of `schema` in every machine file."""

_CYCLES = "cycles"
_RATE = "results/cycle/SM"
_BYTES_PER_CYCLE = "byte/cycle/SM"


@dataclass(frozen=True, slots=True)
class QuantityRule:
    """One path: `low` to `high` are allowed, both included."""

    unit: str
    meaning: str
    low: float
    high: float
    is_whole: bool = False
    is_list: bool = False

    def check(self, value: object, where: str) -> float | tuple[float, ...]:
        """`value` as a number, or a tuple of them for a list; InputError where it is neither."""
        if not self.is_list:
            return self._check_number(value, where)
        items = value if isinstance(value, (list, tuple)) else [value]
        if not items:
            raise InputError("the list is empty", where=where)
        return tuple(sorted(self._check_number(item, where) for item in items))

    def _check_number(self, value: object, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"{value!r} is not a number", where=where, hint=self._hint())
        if not self.low <= value <= self.high or (self.is_whole and not float(value).is_integer()):
            raise InputError(f"{value:g} is out of range", where=where, hint=self._hint())
        return value

    def _hint(self) -> str:
        number = "a whole number" if self.is_whole else "a number"
        limit = "" if math.isinf(self.high) else f" to {self.high:g}"
        unit = "" if self.unit == "1" else f" in the unit {self.unit}"
        return f"give {number} from {self.low:g}{limit}{unit}"


def _count(unit: str, meaning: str, low: float = 1, high: float = 1e9) -> QuantityRule:
    return QuantityRule(unit, meaning, low, high, is_whole=True)


def _flag(meaning: str) -> QuantityRule:
    return _count("1", f"1 where {meaning}, else 0", 0, 1)


def _real(unit: str, meaning: str, low: float, high: float) -> QuantityRule:
    return QuantityRule(unit, meaning, low, high)


def _throughput(meaning: str) -> QuantityRule:
    return _real(_RATE, f"{meaning}; one result per lane and instruction", 1e-3, 1e5)


def _latency(meaning: str) -> QuantityRule:
    return _real(_CYCLES, meaning, 0.1, 1e6)


_BEHIND_BRANCH = "in which a scheduler issues nothing behind a branch that {}"

_SM = {
    "sm.count": _count("1", "streaming multiprocessors (SMs) in use", 1, 10_000),
    "sm.schedulers": _count("1", "warp schedulers of an SM", 1, 64),
    "sm.issue_per_cycle": _real(
        "instructions/cycle/SM", "warp instructions issued per cycle without dual issue", 0.01, 64
    ),
    "sm.dual_issue": _flag("a scheduler may issue two instructions at once"),
    "sm.scheduler_pipes": _flag("every warp scheduler has arithmetic pipes of its own"),
    "sm.integer_pipe": _flag("integer arithmetic has a pipe beside that of floating point"),
    "sm.replays": _flag("a memory instruction is issued again for every further pass it takes"),
    "sm.policy": _count(
        "1",
        "ready warp a scheduler prefers: 0 next in turn; else the last one where its code does not "
        "yield, or 1 the oldest, 2 the youngest, 3 the first in line",
        0,
        3,
    ),
    "sm.profiler_counters": _flag("Nsight Compute reads counters of the chip"),
    "sm.instruction_cache": _count("byte", "instructions that an SM's own largest cache holds"),
    "registers.read_cycles": _count("cycles", "in which an instruction reads its registers", 1, 64),
    "dispatch.branch": _count("cycles", _BEHIND_BRANCH.format("is taken"), 0, 64),
    "dispatch.branch_indirect": _count("cycles", _BEHIND_BRANCH.format("a register leads"), 0, 64),
    "dispatch.int_mul_wide": _count(
        "cycles",
        "in which a scheduler dispatches nothing behind an integer product whose upper half is "
        "wanted",
        0,
        64,
    ),
    "lsu.queue": _count("1", "memory instructions of a scheduler that wait to be sent", 1, 1024),
    "lsu.doubles_in_latch": _flag(
        "double precision waits where memory instructions enter their queue"
    ),
    "sfu.queue": _count("1", "special functions of a scheduler that wait for their units", 0, 1024),
    "lsu.address_cycles": _real(_CYCLES, "addresses of a scheduler's memory instruction", 0.1, 64),
    "lsu.shared_address_cycles": _real(_CYCLES, "the same in shared memory", 0.1, 64),
    "fetch.line": _count("byte", "of instructions that are fetched at once", 16, 65536),
    "fetch.l0_size": _count("byte", "instructions that a scheduler's own cache holds"),
    "fetch.ahead": _count("1", "lines behind one that is missed that are fetched, too", 0, 1024),
    "fetch.interval": _real(_CYCLES, "from line to line that sm.instruction_cache gives", 0.1, 1e4),
    "fetch.l0_interval": _real(
        _CYCLES, "from line to line that a scheduler's own cache gets", 0.1, 1e4
    ),
    "fetch.l2_interval": _real(_CYCLES, "from line to line that an SM gets from beyond", 0.1, 1e4),
    "fetch.dram_interval": _real(_CYCLES, "the same, of lines that the L2 cache lacks", 0.1, 1e4),
    "fetch.latency": _latency("to an instruction that the scheduler's own cache lacks"),
    "fetch.l2_latency": _latency("to an instruction that sm.instruction_cache lacks, too"),
    "constant.near_size": _count("byte", "constants that code names and a scheduler keeps"),
    "constant.uniform_size": _count(
        "byte", "constants whose place a uniform register tells and a scheduler keeps"
    ),
    "constant.size": _count("byte", "constants that are loaded and an SM keeps"),
    "constant.ways": _count("1", "ways of a set of that cache", 1, 64),
    "constant.word_cycles": _real(_CYCLES, "in which an SM loads one word of constants", 0.1, 64),
    "constant.interval": _real(
        _CYCLES, "from line to line that an SM gets while all SMs ask for one", 0.1, 1e4
    ),
    "sm.memory_group": _count("1", "SMs that share one way to memory", 1, 64),
    "sm.loads_per_warp": _count("1", "most loads of one warp in flight at once", 1, 64),
    "sm.store_lines": _count("1", "lines stored last of which a sector is sent once", 0, 4096),
    "sm.store_cycles": _real(_CYCLES, "in which an SM sends the first sector of a line", 0.1, 64),
    "sm.store_further_cycles": _real(_CYCLES, "in which it sends each other one", 0.1, 64),
    "sm.store_narrow_cycles": _real(
        _CYCLES, "in which it sends the first one, of words narrower than 4 byte", 0.1, 64
    ),
    "sm.store_whole_cycles": _real(_CYCLES, "in which it sends a line written whole", 0.1, 64),
    "sm.miss_cycles": _real(
        _CYCLES, "in which it asks for a line that its L1 cache lacks", 0.1, 64
    ),
    "sm.atomic_cycles": _real(_CYCLES, "in which an SM sends a line of a global atomic", 0.1, 64),
    "sm.sectors_in_flight": _real("1", "most sectors that an SM waits for at once", 1, 1e6),
    "issue.sfu": _real("slots", "issue slots of a special function, where not 1", 1, 32),
    "issue.memory": _count("slots", "issue slots of an access to memory, where not 1", 1, 32),
    "issue.shared": _real("slots", "issue slots of a shared-memory access, where not 1", 1, 32),
    "clock.sm": _real("Hz", "clock in which the SM's cycles count: boost or shader", 1e6, 1e11),
    "clock.base": _real("Hz", "guaranteed clock", 1e6, 1e11),
    "clock.l2": _real("Hz", "clock of L2 cache and network, where it is not the SM's", 1e6, 1e11),
    "clock.memory": _real("Hz", "command clock of the memory", 1e6, 1e11),
}

_OCCUPANCY = {
    "occupancy.warps_per_sm": _count("warps", "most warps on an SM"),
    "occupancy.blocks_per_sm": _count("blocks", "most blocks on an SM"),
    "occupancy.threads_per_sm": _count("threads", "most threads on an SM"),
    "occupancy.threads_per_block": _count("threads", "most threads in a block"),
    "occupancy.registers_per_sm": _count("registers", "32-bit registers of an SM"),
    "occupancy.registers_per_block": _count("registers", "most registers of a block"),
    "occupancy.registers_per_thread": _count("registers", "most registers of a thread"),
    "occupancy.register_unit": _count(
        "registers", "allocation unit: of a warp; of a block on compute capability 1.x"
    ),
    "occupancy.warp_granularity": _count(
        "warps", "compute capability 1.x: warps of a block are rounded up to this for registers"
    ),
    "occupancy.sub_partitions": _count(
        "1", "partitions of an SM's registers, each holding whole warps", 1, 64
    ),
    "occupancy.shared_per_sm": _count("byte", "most shared memory of an SM"),
    "occupancy.shared_per_block": _count("byte", "most shared memory of a block by default"),
    "occupancy.shared_per_block_optin": _count("byte", "most shared memory of a block on request"),
    "occupancy.shared_reserved": _count("byte", "shared memory the driver takes per block", 0),
    "occupancy.shared_unit": _count("byte", "allocation unit of a block's shared memory"),
    "occupancy.shared_carveouts": QuantityRule(
        "byte", "sizes of shared memory an SM can be set to", 0, 1e9, is_whole=True, is_list=True
    ),
    "occupancy.named_barriers": _count("1", "barriers of an SM, where they limit its blocks"),
}

_THROUGHPUT = {
    f"throughput.{op}": _throughput(meaning)
    for op, meaning in {
        OpClass.FP16: "half-precision add, multiply, fused multiply-add, pairs packed",
        OpClass.FP32: "single-precision add, multiply, fused multiply-add",
        OpClass.FP64: "double-precision add, multiply, fused multiply-add",
        OpClass.INT: "32-bit integer add and subtract",
        OpClass.INT_MUL: "32-bit integer multiply and multiply-add",
        OpClass.LOGIC: "32-bit and, or, xor",
        OpClass.SHIFT: "32-bit shift",
        OpClass.BITFIELD: "field extract and insert; bit reverse and counts, where bit_count lacks",
        OpClass.BIT_COUNT: "bit reverse, counts of bits, on the pipe of special functions",
        OpClass.COMPARE: "compare, minimum, maximum",
        OpClass.CONVERT: "conversion between 32-bit types",
        OpClass.SFU: "special functions: reciprocal, root, sine, exponent, logarithm",
        OpClass.LOAD: "addresses that the load/store units take",
        OpClass.STORE: "addresses that the load/store units take",
        OpClass.SHUFFLE: "warp shuffle",
        OpClass.VOTE: "warp vote",
        OpClass.REDUCE: "sums and the like of a warp's integers",
        OpClass.UNIFORM: "what a warp does once for all its lanes",
    }.items()
} | {
    "throughput.fp64_share": _real("1", "share of throughput.fp64 that kernels reach", 0.1, 1),
    "throughput.fp32_multiply": _throughput(
        "single-precision multiply, where special function units do it, too"
    ),
    "throughput.int_mul_wide": _throughput(
        "integer products of 64 bits or of their upper half, where not int_mul"
    ),
    "throughput.convert64": _throughput("conversion from and to 64-bit types"),
    "throughput.match": _real(
        "values/cycle/SM",
        "different values of 32 bits, one after the other, whose lanes a match finds; half as many "
        "of 64",
        1e-3,
        1e3,
    ),
    "throughput.tensor": _real("FMA/cycle/SM", "dense half-precision matrix FMA", 1, 1e6),
    "throughput.tensor_warp": _real(
        "FMA/cycle/SM", "the same by products of one warp, of m16n8k16, where fewer", 1, 1e6
    ),
    "throughput.tensor_tf32": _real("FMA/cycle/SM", "the same in TF32", 1, 1e6),
    "throughput.tensor_fp64": _real("FMA/cycle/SM", "the same in double precision", 0.1, 1e6),
    "throughput.tensor_int8": _real("FMA/cycle/SM", "the same of 8-bit integers", 1, 1e6),
    "throughput.tensor_fp8": _real("FMA/cycle/SM", "the same of 8-bit floating point", 1, 1e6),
}

_LATENCY = {
    f"latency.{op}": _latency(f"from one {op} instruction to the next that needs its result")
    for op in (
        OpClass.FP16,
        OpClass.FP32,
        OpClass.FP64,
        OpClass.INT,
        OpClass.INT_MUL,
        OpClass.LOGIC,
        OpClass.SHIFT,
        OpClass.BITFIELD,
        OpClass.BIT_COUNT,
        OpClass.COMPARE,
        OpClass.CONVERT,
        OpClass.SFU,
        OpClass.SHUFFLE,
    )
} | {
    "latency.tensor": _latency("from one half-precision MMA of a warp to the next that adds to it"),
    "latency.match": _latency("match, without what each different value takes"),
    "latency.match_value": _latency("each different value, beyond what throughput.match says"),
    "latency.constant": _latency("load that hits the constant cache next to the SM's pipes"),
    "latency.constant_far": _latency("load of a constant that this cache lacks"),
    "latency.constant_near": _latency("to a constant that code names and its scheduler lacks"),
    "latency.shared": _latency("load from shared memory without conflicts"),
    "latency.shared_operand": _latency("arithmetic with an operand in shared memory, no conflict"),
    "latency.shared_operand_conflict": _latency("each further lane that wants such a bank"),
    "latency.l1": _latency("load that hits the L1 cache"),
    "latency.l2": _latency("load that hits the L2 cache (the near partition, where it has two)"),
    "latency.l2_far": _latency("load that hits the far partition of the L2 cache"),
    "latency.dram": _latency("load that misses every cache, unloaded memory, TLB hit"),
    "latency.l2_spread": _latency("standard deviation over lines of loads that hit the L2 cache"),
    "latency.dram_spread": _latency("standard deviation over lines of loads from the DRAM"),
    "latency.dram_line_spread": _latency("the same over the lines of 4 KiB, which differ less"),
    "latency.l2_all_sms": _latency("what a load from the L2 cache takes longer while all SMs load"),
    "latency.dram_all_sms": _latency("what a load from the DRAM takes longer while all SMs load"),
    "latency.tlb_miss": _latency("what a load takes longer whose page the TLB does not hold"),
    "latency.atomic": _latency("atomic on global memory, of one lane for each address"),
    "latency.atomic_conflict": _latency("each further lane of a warp on the same address"),
    "latency.atomic_shared": _latency("atomic on shared memory, of one lane for each address"),
    "latency.atomic_shared_conflict": _latency("each further lane on one address, shared memory"),
    "latency.issue_next": _latency("from an instruction to the next independent one of its warp"),
    "latency.memory_next": _latency("from an access to memory to the next instruction of its warp"),
    "latency.fp64_next": _latency("from double precision to the next instruction of its warp"),
    "latency.shift_next": _latency("from a shift to the next instruction of its warp"),
    "latency.store_next": _latency("from a store to memory to the next one of its warp"),
    "latency.dram_contention": _latency("b in: a load takes b u/(1 - u) longer at DRAM load u"),
    "latency.branch": _latency("from a conditional branch to the next instruction of its warp"),
    "latency.branch_taken": _latency("from a branch that is taken to what it leads to"),
    "latency.branch_indirect": _latency("from one that goes where a register says"),
    "latency.reconvergence": _latency("from where lanes meet to the next instruction"),
    "latency.divergence": _latency("each further path of a branch, beyond its instructions"),
    "latency.sfu_to_alu": _latency("from a special function to arithmetic that needs its result"),
    "latency.shared_to_alu": _latency("from a load from shared memory to such arithmetic"),
    "latency.bank_conflict": _latency("each further lane that wants the bank of another"),
    "latency.transaction": _latency("each further transaction of a load from memory"),
    "latency.barrier": _latency("barrier of a block whose warps all wait"),
    "latency.barrier_release": _latency("from the last arrival at a barrier to what follows it"),
    "latency.barrier_warp": _latency("each further warp of the block at a barrier"),
    "latency.block_replacement": _latency("from a block's end to its successor's start"),
    "latency.block_drain": _latency("how much sooner that is if the block has stored nothing"),
}

_MEMORY = {
    "coalescing.lanes": _count(
        "1", "lanes whose accesses merge: a half-warp's or a warp's", 16, 32
    ),
    "coalescing.in_order": _flag("they merge only if each takes its own word of a segment in turn"),
    "coalescing.transaction": _count("byte", "smallest transaction of a request", 1, 65536),
    "shared.banks": _count("1", "banks of shared memory", 1, 1024),
    "shared.bank_width": _count("byte", "width of a bank", 1, 1024),
    "shared.lanes_per_request": _count("1", "lanes that a request to shared memory serves", 16, 32),
    "shared.bandwidth": _real(_BYTES_PER_CYCLE, "shared memory without conflicts", 0.1, 1e5),
    "l1.size": _count("byte", "L1 data cache of an SM; with shared memory, where they are one"),
    "l1.reach": _real("byte", "what the L1 cache holds, at its largest carve-out", 1, 1e9),
    "l1.bandwidth": _real(_BYTES_PER_CYCLE, "loads that hit the L1 cache", 0.1, 1e5),
    "l1.tags": _real(
        "lines/cycle/SM", "lines that the L1 cache looks up, its banks even", 0.1, 1e3
    ),
    "l1.tag_bank_bits": QuantityRule(
        "1",
        "masks: the parities of a line's number under them name the bank of its tag",
        1,
        2**32 - 1,
        is_whole=True,
        is_list=True,
    ),
    "l1.caches_global": _flag("loads from global memory are cached unless the code asks otherwise"),
    "l1.caches_read_only": _flag("loads of what the kernel never writes are cached, if asked for"),
    "l1.caches_local": _flag("local memory is cached"),
    "l1.writes_through": _flag("stores to local memory go on to the L2 cache at once"),
    "l1.line": _count("byte", "line of the L1 cache", 1, 65536),
    "l1.sector": _count("byte", "unit of transfer between L1 and L2 cache", 1, 65536),
    "l1.ways": _count("1", "ways of a set at l1.size; a carve-out takes ways, not sets", 1, 65536),
    "l1.hashes_sets": _flag("many bits of an address choose its set, not the lowest alone"),
    "l1.miss_registers": _count("1", "lines that the L1 cache awaits at once (MSHRs)", 1, 1e6),
    "l1.allocates_on_fill": _flag("a line takes its place when it arrives, not when it is missed"),
    "read_only.size": _count("byte", "cache of an SM for what the kernel never writes, if its own"),
    "l2.size": _count("byte", "L2 cache", 1, 1e12),
    "l2.reach": _real("byte", "footprint up to which a chase of one SM stays in L2", 1, 1e12),
    "l2.bandwidth": _real("byte/s", "loads that hit the L2 cache", 1e6, 1e16),
    "l2.mixed_bandwidth": _real("byte/s", "in L2, as many reads as writes", 1e6, 1e16),
    "l2.write_bandwidth": _real("byte/s", "stores of whole lines to L2 alone", 1e6, 1e16),
    "l2.write_rate": _real("1/s", "stores to a sector anywhere in L2", 1e6, 1e15),
    "l2.request_rate": _real("1/s", "requests for a sector anywhere in L2", 1e6, 1e15),
    "l2.line": _count("byte", "line of the L2 cache", 1, 65536),
    "l2.ways": _count("1", "ways of a set of the L2 cache", 1, 65536),
    "l2.hashes_sets": _flag("many bits of an address choose its slice and set"),
    "l2.slices": _count("1", "slices, each for other addresses, side by side", 1, 65536),
    "l2.partitions": _count("1", "partitions; an SM's own one keeps copies of the other's", 1, 2),
    "l2.miss_registers": _count("1", "lines that a slice awaits at once (MSHRs)", 1, 1e6),
    "l2.fills_partial_sectors": _flag("a sector written in part is read before it is written back"),
    "l2.dirty_share": _real("1", "of what L2 holds, at most not yet written to memory", 0, 1),
    "l2.caches_global": _flag("global and local memory are cached"),
    "noc.bandwidth": _real("byte/s", "from the L2 cache to all SMs", 1e6, 1e16),
    "noc.queue": _count("1", "lines of 128 byte that an SM may have asked of the L2 cache", 1, 1e6),
    "noc.wait_spread": _real(
        "1", "of a wait for the way from the L2 cache, what differs from line to line", 0, 1
    ),
    "tlb.reach": _real("byte", "memory whose addresses are translated without a miss", 1, 1e15),
    "tlb.page": _count("byte", "memory that one entry of the TLB translates", 4096, 1 << 40),
    "dram.size": _count("byte", "device memory", 1, 1e15),
    "dram.channels": _count("1", "channels, each for other addresses, side by side", 1, 65536),
    "dram.interleave": _count("byte", "that lie in one channel before the next", 128, 1 << 20),
    "dram.queue": _count("1", "accesses that wait for a channel, served row by row", 1, 65536),
    "dram.write_wait": _real(
        "s", "that a load waits on average that comes while it writes", 0, 1e-4
    ),
    "dram.core_latency": _real("s", "to open a row and read it, at any clock of it", 0, 1e-6),
    "dram.access": _count("byte", "least that a channel reads or writes at once", 1, 65536),
    "dram.bandwidth": _real("byte/s", "at the pins of the device memory", 1e6, 1e16),
    "dram.achieved_bandwidth": _real("byte/s", "of long streams, the best seen", 1e6, 1e16),
    "dram.write_bandwidth": _real("byte/s", "long streams of writes alone", 1e6, 1e16),
    "dram.triad_bandwidth": _real("byte/s", "long streams, three reads to a write", 1e6, 1e16),
    "dram.mixed_bandwidth": _real("byte/s", "long streams, as many reads as writes", 1e6, 1e16),
    "dram.scattered_rate": _real("1/s", "transactions that each lie anywhere in memory", 1e3, 1e14),
    "dram.scattered_transaction": _count(
        "byte", "what a transaction that lies anywhere takes of the bandwidth at least", 1, 65536
    ),
    "atomics.rate": _real("1/s", "atomic additions of the chip, each lane its own word", 1e3, 1e15),
    "atomics.same_address": _real("s", "from one addition to an address to the next", 1e-12, 1),
    "atomics.same_address_float": _real("s", "the same of sums of floating point", 1e-12, 1),
    "atomics.same_address_block": _real("s", "the same of scope .cta", 1e-12, 1),
    "atomics.same_address_system": _real("s", "the same of scope .sys", 1e-12, 1),
    "atomics.by_slice": _flag("those on a slice of the L2 cache follow each other, on any address"),
    "atomics.several_words": _real(
        "1", "what a sector takes of which a request changes several words, over one word", 0.1, 100
    ),
    "atomics.repeated_words": _real("1", "the same of each further lane on such a word", 0.1, 100),
    "atomics.doubles_by_lane": _flag("sums of doubles in one sector follow each other, too"),
    "atomics.same_address_cycles": _real(
        _CYCLES, "atomics.same_address in cycles, where nobody has measured a time", 0.1, 1e6
    ),
    "atomics.shared_lane_cycles": _real(
        _CYCLES, "of the banks for each lane that adds to one word in shared memory", 0.1, 1e4
    ),
    "atomics.shared_swap_turns": _real(
        "1", "of such additions that a compare-and-swap takes of banks and latency", 1, 100
    ),
    "launch.overhead": _real("s", "from one launch to the next of an empty kernel", 1e-9, 1),
    "launch.cold_overhead": _real("s", "of a launch that the L2 cache knows nothing of", 1e-9, 1),
    "launch.graph_node": _real("s", "the same of launches that are nodes of a graph", 1e-9, 1),
    "launch.block_interval": _real("s", "from one empty block of the chip to the next", 1e-12, 1),
    "launch.context": _real("s", "to create the context, once in a program", 1e-9, 100),
    "pcie.bandwidth": _real(
        "byte/s", "large copies from the host, by PCIe or NVLink-C2C", 1e6, 1e13
    ),
    "pcie.bandwidth_to_host": _real("byte/s", "large copies to the host", 1e6, 1e13),
    "pcie.latency": _real("s", "copy of a few bytes from the host", 1e-9, 1),
    "pcie.latency_to_host": _real("s", "copy of a few bytes to the host", 1e-9, 1),
    "pcie.pageable_bandwidth": _real("byte/s", "the same of memory not pinned", 1e6, 1e13),
    "pcie.pageable_bandwidth_to_host": _real("byte/s", "the same to the host", 1e6, 1e13),
    "pcie.pageable_latency": _real("s", "a few bytes of memory not pinned", 1e-9, 1),
    "pcie.pageable_latency_to_host": _real("s", "the same to the host", 1e-9, 1),
    "pcie.ramp_bandwidth": _real("byte/s", "a in: copies have min(peak, a + b size)", 1, 1e13),
    "pcie.ramp_slope": _real("1/s", "b in: copies have min(peak, a + b size)", 1e-3, 1e12),
}

_MODELS = {
    "mwp_cwp.mem_ld": _latency("Mem_LD: round trip to memory of one transaction"),
    "mwp_cwp.departure_uncoalesced": _latency("Departure_del_uncoal: between its transactions"),
    "mwp_cwp.departure_coalesced": _latency("Departure_del_coal: between coalesced accesses"),
    "mwp_cwp.issue_cycles": _latency("Issue_cycles: to issue one instruction to a warp"),
    **{
        f"resios.{kind}.{name}": rule
        for kind in (
            *("add", "mul", "madd", "div", "logic"),
            *("fadd", "fmadd", "fmul", "fdiv", "sqrt"),
        )
        for name, rule in (
            ("latency", _latency(f"latency_i of {kind} in Table 3.1")),
            ("throughput", _throughput(f"throughput_i of {kind} in Table 3.1")),
            ("warps", _count("warps", f"max_i of {kind} in Table 3.1: enough for its peak")),
        )
    },
    "resios.memory_latency": _latency("latency of global memory in equation 4.6"),
    "resios.memory_warps": _count("warps", "max_p of global memory in equation 4.6"),
    "resios.memory_bandwidth": _real("byte/s", "BW of all SMs in equation 4.8", 1e6, 1e16),
    "resios.shared_latency": _latency("latency of shared memory in equation 4.6"),
    "resios.shared_warps": _count("warps", "max_p of shared memory in equation 4.6"),
    "resios.bank_bandwidth": _real("byte/cycle", "BW of a bank in equation 4.9", 0.1, 1e4),
    "resios.compute_factor": _real("1", "c in: c L warps hide a latency L", 0.01, 1e3),
    "volkov.latency_base": _latency("a in: latency = a + b T/(c - T), T the memory throughput"),
    "volkov.latency_slope": _latency("b in: latency = a + b T/(c - T)"),
    "volkov.latency_capacity": _real("byte/s", "c in: latency = a + b T/(c - T)", 1e6, 1e16),
    "volkov.latency_slope_2": _latency("b of a second term b T/(c - T)"),
    "volkov.latency_capacity_2": _real("byte/s", "c of a second term b T/(c - T)", 1e6, 1e16),
}

ENTRIES: Mapping[str, QuantityRule] = _SM | _OCCUPANCY | _THROUGHPUT | _LATENCY | _MEMORY | _MODELS
"""Every path that a machine may hold, in the order in which it is shown."""
