"""Names of the bottlenecks that a simulation can leave out.

J. Lai, A. Seznec: TEG: GPU Performance Estimation Using a Timing Model. INRIA research report
RR-7804, 2011, section 5: what a bottleneck costs is the time that is gained without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum


class Removal(StrEnum):
    """A bottleneck, by what is removed."""

    BANK_CONFLICTS = "bank-conflicts"
    ATOMIC_CONFLICTS = "atomic-conflicts"
    UNCOALESCED_ACCESS = "uncoalesced-access"
    DIVERGENCE = "divergence"
    BARRIERS = "barriers"
    REGISTER_LIMIT = "register-limit"
    SHARED_MEMORY_LIMIT = "shared-memory-limit"
    TAIL = "tail"
    BLOCK_LAUNCH = "block-launch"
    LAUNCH_OVERHEAD = "launch-overhead"
    L1_MISSES = "l1-misses"
    L2_MISSES = "l2-misses"
    TLB_MISSES = "tlb-misses"
    MISS_REGISTERS = "miss-registers"
    INSTRUCTION_FETCH = "instruction-fetch"
    ISSUE_RATE = "issue-rate"
    REGISTER_BANKS = "register-banks"
    FP32_PIPE = "fp32-pipe"
    INT_PIPE = "int-pipe"
    FP64_PIPE = "fp64-pipe"
    SFU_PIPE = "sfu-pipe"
    ADU_PIPE = "adu-pipe"
    TENSOR_PIPE = "tensor-pipe"
    UNIFORM_PIPE = "uniform-pipe"
    LSU_RATE = "lsu-rate"
    SHARED_MEMORY_BANDWIDTH = "shared-memory-bandwidth"
    L1_BANDWIDTH = "l1-bandwidth"
    L2_BANDWIDTH = "l2-bandwidth"
    DRAM_BANDWIDTH = "dram-bandwidth"
    ARITHMETIC_LATENCY = "arithmetic-latency"
    CONSTANT_LATENCY = "constant-latency"
    SHARED_MEMORY_LATENCY = "shared-memory-latency"
    L1_LATENCY = "l1-latency"
    L2_LATENCY = "l2-latency"
    DRAM_LATENCY = "dram-latency"


Removals = AbstractSet[Removal]
NOTHING: Removals = frozenset()

MEANINGS: Mapping[Removal, str] = {
    Removal.BANK_CONFLICTS: "shared memory serves a request in the fewest passes",
    Removal.ATOMIC_CONFLICTS: "lanes' atomics on one word do not wait for each other",
    Removal.UNCOALESCED_ACCESS: "requests touch the fewest lines and sectors that hold their data",
    Removal.DIVERGENCE: "lanes of a block that take the same path do so as full warps",
    Removal.BARRIERS: "no warp waits at a barrier of its block",
    Removal.REGISTER_LIMIT: "registers do not limit how many blocks an SM holds",
    Removal.SHARED_MEMORY_LIMIT: "shared memory does not limit how many blocks an SM holds",
    Removal.TAIL: "all SMs are full and busy until the end",
    Removal.BLOCK_LAUNCH: "blocks start, and replace others, at once",
    Removal.LAUNCH_OVERHEAD: "the kernel starts at once",
    Removal.L1_MISSES: "loads that ask the L1 cache find all they want there",
    Removal.L2_MISSES: "the L2 cache holds all",
    Removal.TLB_MISSES: "every address is translated at once",
    Removal.MISS_REGISTERS: "any number of lines may be on their way to an SM",
    Removal.INSTRUCTION_FETCH: "every instruction is there when it is wanted",
    Removal.ISSUE_RATE: "schedulers issue from all ready warps at once",
    Removal.REGISTER_BANKS: "registers of one bank are read at once",
    Removal.FP32_PIPE: "the fp32 pipe is never busy",
    Removal.INT_PIPE: "the integer pipe is never busy",
    Removal.FP64_PIPE: "the fp64 pipe is never busy",
    Removal.SFU_PIPE: "the special-function unit is never busy",
    Removal.ADU_PIPE: "the unit that compares and adds up lanes is never busy",
    Removal.TENSOR_PIPE: "the tensor pipe is never busy",
    Removal.UNIFORM_PIPE: "the uniform pipe is never busy",
    Removal.LSU_RATE: "the load/store unit and its queues are never busy",
    Removal.SHARED_MEMORY_BANDWIDTH: "the banks of shared memory are never busy",
    Removal.L1_BANDWIDTH: "tags and data of the L1 cache take a cycle for any request",
    Removal.L2_BANDWIDTH: "the way to the L2 cache is never busy",
    Removal.DRAM_BANDWIDTH: "the DRAM is never busy",
    Removal.ARITHMETIC_LATENCY: "results of pipes are there at once; an instruction a cycle",
    Removal.CONSTANT_LATENCY: "constants are there at once",
    Removal.SHARED_MEMORY_LATENCY: "shared memory answers at once",
    Removal.L1_LATENCY: "the L1 cache answers at once, and all beyond it sooner by as much",
    Removal.L2_LATENCY: "the L2 cache answers as soon as the L1 cache",
    Removal.DRAM_LATENCY: "the DRAM answers as soon as the L2 cache",
}
"""What each leaves behind."""
