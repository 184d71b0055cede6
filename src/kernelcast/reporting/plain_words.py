"""What each bottleneck means, in a sentence for someone who has not read the models."""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.models.terms.base import Bottleneck

MEANING: Mapping[Bottleneck, str] = {
    Bottleneck.DRAM_BANDWIDTH: "device memory cannot deliver its bytes any faster",
    Bottleneck.PCIE_BANDWIDTH: "the bus cannot carry the host's arrays any faster",
    Bottleneck.L2_BANDWIDTH: "the L2 cache cannot deliver its bytes any faster",
    Bottleneck.L1_BANDWIDTH: "the L1 caches cannot serve its accesses any faster",
    Bottleneck.SHARED_BANDWIDTH: "shared memory cannot serve its accesses any faster",
    Bottleneck.FP32: "the single-precision units are always busy",
    Bottleneck.FP64: "the double-precision units are always busy",
    Bottleneck.INT: "the integer units are always busy",
    Bottleneck.SFU: "the special-function units (roots, exponents, sines) are always busy",
    Bottleneck.ADU: "the unit that compares and adds up the lanes of a warp is always busy",
    Bottleneck.TENSOR: "the tensor cores are always busy",
    Bottleneck.LSU: "memory instructions queue up at the load/store units",
    Bottleneck.ISSUE: "the schedulers issue an instruction in every cycle they can",
    Bottleneck.MEMORY_LATENCY: "warps wait for memory, and too few of them run to fill the wait",
    Bottleneck.ARITHMETIC_LATENCY: (
        "warps wait for their own results, and too few of them run to fill the wait"
    ),
    Bottleneck.MISS_REGISTERS: "no more cache misses can be outstanding",
    Bottleneck.NOC_BANDWIDTH: "the network between SMs and L2 cannot carry its bytes any faster",
    Bottleneck.ATOMICS: "atomic operations on the same addresses wait for each other",
    Bottleneck.BARRIERS: "warps wait for each other at barriers",
    Bottleneck.SLOWER_WARPS: "blocks stay as long as the slowest of their warps",
    Bottleneck.UNEQUAL_WORK: "some schedulers get more warps than others, which wait for them",
    Bottleneck.INSTRUCTION_FETCH: "instructions cannot be fetched any faster",
    Bottleneck.CONSTANTS: "constants cannot be fetched any faster",
    Bottleneck.BLOCK_LAUNCHES: "blocks end sooner than the chip begins new ones",
    Bottleneck.LAUNCH_OVERHEAD: "starting the kernel takes longer than running it",
    Bottleneck.TAIL: "the last wave of blocks leaves most of the chip idle",
}
"""Reads on from "bound by ...: "."""

STALL: Mapping[str, str] = {
    "selected": "an instruction issues",
    "wait": "waiting for the fixed delay of an instruction",
    "not selected": "ready, while another warp issues",
    "long scoreboard": "waiting for what is loaded from L1, L2 or DRAM",
    "short scoreboard": "waiting for shared memory or special functions",
    "barrier": "waiting for other warps at a barrier",
    "math pipe throttle": "waiting for an arithmetic unit that is busy",
    "lg throttle": "waiting for the full queue of accesses to global memory",
    "mio throttle": "waiting for the full queue of shared memory and special functions",
    "dispatch stall": "waiting for registers that are being read",
    "no instruction": "waiting for the next instruction to be fetched",
    "imc miss": "waiting for a constant that the code names",
    "drain": "waiting for stores on their way when a warp ends",
}
"""What schedulers and warps do or wait for, by the words of NVIDIA's profiler."""
