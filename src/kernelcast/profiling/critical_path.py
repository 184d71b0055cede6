"""How long one warp takes alone: the critical path through its issue order and its registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernelcast.ir import Instruction, Kernel, OpClass, Register, Space
from kernelcast.profiling.loops import FixedArray
from kernelcast.profiling.profile import WarpPath
from kernelcast.profiling.walking import walk_path

_WALKED_INSTRUCTIONS = 1 << 21
"""Longer paths are walked as far as this and scaled: by then a kernel is in its steady state."""


@dataclass(frozen=True)
class WarpTime:
    """One warp alone on an SM.

    `cycles` is when its last instruction issues, the first issuing at 0: what a model adds for the
    end of a warp is its own. It is the sum of `issue_cycles`, the issue intervals, and of `waits`,
    by instruction the cycles in which the warp stood still for a result of that instruction.
    `critical` says how many results of each op class and space are waited for in a row along the
    critical path.
    """

    cycles: float
    issue_cycles: float
    waits: NDArray[np.float64] = field(repr=False)
    critical: Mapping[tuple[OpClass, Space | None], float]


@dataclass(frozen=True)
class IssueOrder:
    """The instructions of a path, one by one.

    `executed` are their indices in the kernel, `stalls` the cycles that each waits for the result
    of another, and `producers` the place of that one, -1 where it does not wait. Where the path is
    cut short, `scale` is the whole warp over what is here.
    """

    executed: NDArray[np.int32] = field(repr=False)
    producers: NDArray[np.int32] = field(repr=False)
    stalls: NDArray[np.float64] = field(repr=False)
    scale: float


@dataclass(frozen=True)
class DependenceChain:
    """The longest chain of instructions in a path that each read a result of the one before."""

    instructions: float
    by_class: Mapping[OpClass, float]


def walk_warp(
    kernel: Kernel,
    path: WarpPath,
    latency: Callable[[Instruction], float],
    issue: Callable[[Instruction], float],
) -> WarpTime:
    """Walk a warp in program order, with nothing else on the SM.

    With issue times t, latency L and issue interval I in cycles (Volkov 2016, section 3.7):

        t(i) = max( t(i-1) + I(i-1),  t(p) + L(p) for every p whose result i reads )

    The guard of an instruction is among what it reads, and so is, under a guard, what it writes,
    since the old value may stay. Dependences through memory are not followed. Where the path is
    cut short or longer than `_WALKED_INSTRUCTIONS`, all results are scaled to the whole warp.
    """
    latency_cycles = np.array([latency(i) for i in kernel.instructions], np.float64)
    interval_cycles = np.array([issue(i) for i in kernel.instructions], np.float64)
    return walk_in_cycles(kernel, path, latency_cycles, interval_cycles)


def walk_in_cycles(
    kernel: Kernel,
    path: WarpPath,
    latency_cycles: NDArray[np.float64],
    interval_cycles: NDArray[np.float64],
) -> WarpTime:
    """`walk_warp` with the cycles of every instruction of the kernel in an array."""
    walk = _walk(kernel, path, latency_cycles, interval_cycles, in_order=True)
    critical: dict[tuple[OpClass, Space | None], float] = {}
    executed = np.flatnonzero(walk.critical)
    for index, times in zip(executed.tolist(), walk.critical[executed].tolist(), strict=True):
        instruction = kernel.instructions[index]
        key = (instruction.op_class, instruction.space)
        critical[key] = critical.get(key, 0.0) + times * walk.scale
    return WarpTime(
        cycles=walk.cycles * walk.scale,
        issue_cycles=walk.issue_cycles * walk.scale,
        waits=walk.waits * walk.scale,
        critical=critical,
    )


def issue_order(
    kernel: Kernel,
    path: WarpPath,
    latency_cycles: NDArray[np.float64],
    interval_cycles: NDArray[np.float64],
) -> IssueOrder:
    """The same walk, instruction by instruction; latencies and intervals by index."""
    return _walk(kernel, path, latency_cycles, interval_cycles, in_order=True).issued


def dependence_chain(kernel: Kernel, path: WarpPath) -> DependenceChain:
    """The longest chain of a path, whatever order its instructions stand in: its data flow alone.

    The path's length over the chain's is the instruction-level parallelism that an ideal core
    would find.
    """
    unit = np.ones(len(kernel.instructions))
    walk = _walk(kernel, path, unit, unit, in_order=False)
    by_class: dict[OpClass, float] = {}
    for index in np.flatnonzero(walk.critical):
        op_class = kernel.instructions[index].op_class
        by_class[op_class] = by_class.get(op_class, 0.0) + float(walk.critical[index]) * walk.scale
    return DependenceChain(sum(by_class.values()), by_class)


@dataclass(frozen=True)
class _Walk:
    cycles: float
    issue_cycles: float
    waits: NDArray[np.float64]
    critical: NDArray[np.int64]
    issued: IssueOrder

    @property
    def scale(self) -> float:
        return self.issued.scale


def _walk(
    kernel: Kernel,
    path: WarpPath,
    latency_cycles: NDArray[np.float64],
    interval_cycles: NDArray[np.float64],
    *,
    in_order: bool,
) -> _Walk:
    flow = _data_flow(kernel)
    held = int(flow.lengths[path.blocks].sum())
    walked = min(held, _WALKED_INSTRUCTIONS)
    issued = IssueOrder(
        executed=np.empty(walked, np.int32),
        producers=np.empty(walked, np.int32),
        stalls=np.empty(walked),
        scale=max(path.instructions, held) / walked if walked else 1.0,
    )
    waits = np.zeros(len(kernel.instructions))
    critical = np.zeros(len(kernel.instructions), np.int64)
    result = np.zeros(2)
    walk_path(
        np.ascontiguousarray(path.blocks, np.int32),
        flow.bounds,
        flow.read_start,
        flow.reads,
        flow.write_start,
        flow.writes,
        latency_cycles,
        interval_cycles,
        in_order,
        np.zeros(flow.registers),
        np.full(flow.registers, -1, np.int64),
        issued.executed,
        issued.producers,
        issued.stalls,
        waits,
        critical,
        result,
    )
    return _Walk(float(result[0]), float(result[1]), waits, critical, issued)


@dataclass(frozen=True)
class _DataFlow:
    """What the walk of a kernel reads of it, as `walk_path` takes it.

    `lengths` are those of its basic blocks, in instructions.
    """

    lengths: NDArray[np.int64]
    bounds: FixedArray
    read_start: FixedArray
    reads: FixedArray
    write_start: FixedArray
    writes: FixedArray
    registers: int


@lru_cache(maxsize=32)
def _data_flow(kernel: Kernel) -> _DataFlow:
    """Kept because a kernel is walked once for every machine that it is put on."""
    bounds = np.array([(b.start, b.end) for b in kernel.blocks], np.int64).reshape(-1, 2)
    ids: dict[Register, int] = {}
    read_start, reads = _registers([_read_by(i) for i in kernel.instructions], ids)
    write_start, writes = _registers([i.writes for i in kernel.instructions], ids)
    return _DataFlow(
        lengths=bounds[:, 1] - bounds[:, 0],
        bounds=FixedArray(bounds),
        read_start=FixedArray(read_start),
        reads=FixedArray(reads),
        write_start=FixedArray(write_start),
        writes=FixedArray(writes),
        registers=len(ids),
    )


def _read_by(instruction: Instruction) -> tuple[Register, ...]:
    return instruction.reads + (instruction.writes if instruction.guard else ())


def _registers(
    lists: Sequence[tuple[Register, ...]], ids: dict[Register, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start of every list, and all of them in a row, registers numbered by `ids`."""
    start = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    numbers = [ids.setdefault(register, len(ids)) for row in lists for register in row]
    return start, np.array(numbers, np.int64)
