"""What to do about what binds a launch: first what is seen in it, else what usually helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelcast.models.terms.base import Bottleneck
from kernelcast.reporting.documents.accesses import WastefulAccess
from kernelcast.reporting.documents.occupancy_curve import CurveResult
from kernelcast.reporting.documents.speed_of_light import SpeedPart
from kernelcast.reporting.figures import digits

_MOST = 3
_BEYOND_SM = frozenset(
    {
        "dram bandwidth",
        "pcie bandwidth",
        "l2 bandwidth",
        "l1 bandwidth",
        "noc bandwidth",
        "memory latency",
        "miss registers",
        "lsu pipe",
    }
)
_SPENT_BY: Mapping[str, frozenset[str]] = {
    "sectors": _BEYOND_SM,
    "passes": frozenset({"shared-memory bandwidth"}),
}
"""What wasted sectors and passes of shared memory take, by bottleneck."""
_BUSY = 0.5
"""Share of the time from which a unit is worth relieving though something else binds."""
_LATENCIES = frozenset({"memory latency", "arithmetic latency"})

USUAL: Mapping[str, str] = {
    "dram bandwidth": "move fewer bytes: narrower types, one pass over the data, or tiles that "
    "stay in a cache",
    "pcie bandwidth": "copy what is read more than once to the device first, and read whole "
    "sectors of the rest in order",
    "l2 bandwidth": "reuse what an SM has read: tiles in shared memory or in registers",
    "l1 bandwidth": "keep values in registers and read several of them with one wide load",
    "shared-memory bandwidth": "read shared memory with wider loads, and each value less often: "
    "keep more of a tile in registers",
    "fp32 pipe": "fewer operations, packed half precision, or tensor cores where it is a product "
    "of matrices",
    "fp64 pipe": "use single precision where the result allows it",
    "int pipe": "take address arithmetic out of the innermost loop: unroll it, step pointers, and "
    "divide by powers of two",
    "sfu pipe": "replace roots, exponents and divisions, or compute them once",
    "adu pipe": "let each thread add up its own values before a warp compares or adds its lanes",
    "tensor pipe": "a narrower format or structured sparsity: the tensor cores are full",
    "lsu pipe": "fewer and wider accesses: vectors of two or four elements in one instruction",
    "issue slots": "fewer instructions for the same work: unroll, use wider accesses, and let each "
    "thread compute several results",
    "memory latency": "more in flight: more warps per SM, or several independent loads in each "
    "thread",
    "arithmetic latency": "more independent work: several accumulators in each thread, or more "
    "warps per SM",
    "miss registers": "fewer lines per request: let neighbouring lanes read neighbouring addresses",
    "noc bandwidth": "let blocks that share data run on one SM, or reuse it in shared memory",
    "atomics": "add up in registers or shared memory first, and make one atomic for a warp or "
    "block",
    "barriers": "smaller blocks or fewer barriers, with equal work between them for all warps",
    "slower warps": "give the warps of a block equal work, or use smaller blocks",
    "unequal work": "a number of warps per block that is a multiple of the schedulers of an SM",
    "instruction fetch": "a smaller loop body: unroll less",
    "constants": "read the constants of a loop from shared memory, or fewer of them in each turn",
    "block launches": "fewer blocks with more work each",
    "launch overhead": "more work in a launch: merge kernels, or launch them as a graph",
    "tail": "a grid that is a multiple of what all SMs hold at once, or smaller blocks",
}
"""By bottleneck: what usually makes a launch bound by it faster. Reads on from "What to do: "."""


def next_steps(
    bottleneck: Bottleneck,
    wasteful: Sequence[WastefulAccess],
    speed_of_light: Sequence[SpeedPart] = (),
    curve: CurveResult | None = None,
) -> list[str]:
    """Up to three clauses, the most telling first: lines that waste what binds or what is busy most
    of the time, and the warps that are missing where latency binds; what usually helps where
    neither is seen."""
    wanted = {str(bottleneck), *(str(s.unit) for s in speed_of_light if s.share > _BUSY)}
    found = [_repair(a) for a in wasteful if wanted & _SPENT_BY[a.unit]]
    if bottleneck in _LATENCIES and curve is not None and not curve.enough:
        found += curve.advice[:1]
    return found[:_MOST] or [USUAL[str(bottleneck)]]


def _repair(access: WastefulAccess) -> str:
    where = f"{Path(access.file).name}:{access.line}: " if access.file is not None else ""
    if access.unit == "passes":
        return (
            f"{where}the lanes of a warp meet in banks, {digits(access.times_fewest)}-fold: pad "
            "the rows of the array, or permute its columns"
        )
    return (
        f"{where}{digits(access.per_request)} sectors per request where "
        f"{digits(access.fewest_per_request)} would do: let neighbouring lanes access neighbouring "
        "addresses"
    )
