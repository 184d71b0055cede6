"""One warp alone on an SM: the walk along its path, and the queues in which its accesses stand.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, section 3.7. Beside
the dependences between registers and the intervals of issue, which `walk_warp` follows, accesses
to memory of one warp wait for each other (Listing 3.2):

- a store for the store before it, for as long as `InstructionTiming.store_next` says;
- a load for the load `InstructionTiming.loads_per_warp` places before it, until that has returned.

Both are dependences through a register that the code does not have: all stores read and write one,
and every load reads and writes the slot that it takes, the slots in turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.ir import BasicBlock, Instruction, Kernel, OpClass, Register
from kernelcast.models.terms.base import Case, kept_of_warps
from kernelcast.models.terms.latency import InstructionTiming, timing
from kernelcast.profiling.critical_path import IssueOrder, WarpTime, issue_order, walk_in_cycles
from kernelcast.profiling.profile import Floats, WarpPath

_STORE_PORT = Register("store port", "queue")
_LOAD_SLOT = Register("load slot", "queue")


@dataclass(frozen=True)
class SingleWarp:
    """The representative warp of a case alone on an SM, and the timing it was walked with."""

    timed: InstructionTiming
    walked: WarpTime


@kept_of_warps
def single_warp(case: Case, memory: float, needed_by: str) -> SingleWarp:
    """The walk in which coalesced loads take `memory` cycles; raises as `latency.timing` does."""
    timed = timing(case, memory, needed_by)
    queued, latency, interval = _timed_path(case, timed)
    walked = walk_in_cycles(queued.kernel, queued.path, latency, interval)
    waits = np.bincount(queued.index, walked.waits, len(timed.latency)).astype(np.float64)
    return SingleWarp(timed, replace(walked, waits=waits))


def single_warp_issue(case: Case, timed: InstructionTiming) -> IssueOrder:
    """The same walk, instruction by instruction."""
    queued, latency, interval = _timed_path(case, timed)
    issued = issue_order(queued.kernel, queued.path, latency, interval)
    return replace(issued, executed=queued.index[issued.executed].astype(np.int32))


def _timed_path(case: Case, timed: InstructionTiming) -> tuple[_Queued, Floats, Floats]:
    """The path, and latency and issue interval of each of its instructions."""
    stores = tuple(map(bool, timed.store_next))
    queued = _queued(case, timed.loads_per_warp, stores, timed.waits_for_memory)
    latency = np.maximum(timed.latency, timed.store_next).astype(np.float64)
    return queued, latency[queued.index], np.array(timed.interval, np.float64)[queued.index]


@dataclass(frozen=True)
class _Queued:
    """A path with the registers of the queues.

    `index` holds, by instruction, the one of the case's own kernel that it stands for.
    """

    kernel: Kernel
    path: WarpPath
    index: NDArray[np.int64]


@kept_of_warps
def _queued(
    case: Case, loads_per_warp: int, stores: tuple[bool, ...], waits: tuple[bool, ...]
) -> _Queued:
    """Where accesses queue: for so many slots of loads, which stores, and which loads `waits`.

    A basic block is there once for every slot that its first load may take.
    """
    kernel, path = case.kernel, case.profile.warp
    if not loads_per_warp and not any(stores):
        return _Queued(kernel, path, np.arange(len(kernel.instructions)))
    slots = loads_per_warp or 1
    instructions: list[Instruction] = []
    blocks: list[BasicBlock] = []
    first, loads = np.zeros((2, len(kernel.blocks)), np.int64)
    for block in kernel.blocks:
        own = kernel.instructions[block.start : block.end]
        queues = [
            _STORE_PORT
            if stores[i.index]
            else _LOAD_SLOT
            if loads_per_warp and i.op_class is OpClass.LOAD and waits[i.index]
            else None
            for i in own
        ]
        first[block.index], loads[block.index] = len(blocks), queues.count(_LOAD_SLOT)
        for slot in range(slots if loads[block.index] else 1):
            start, taken = len(instructions), slot
            for instruction, queue in zip(own, queues, strict=True):
                stands_in = queue
                if queue == _LOAD_SLOT:
                    stands_in = replace(queue, name=f"{queue.name} {taken % slots}")
                    taken += 1
                instructions.append(_standing_in(instruction, stands_in))
            blocks.append(BasicBlock(len(blocks), start, len(instructions), ()))
    entered = loads[path.blocks]
    slot_at_entry = np.where(entered, (np.cumsum(entered) - entered) % slots, 0)
    return _Queued(
        replace(kernel, instructions=tuple(instructions), blocks=tuple(blocks)),
        replace(path, blocks=(first[path.blocks] + slot_at_entry).astype(np.int32)),
        np.array([i.index for i in instructions], np.int64),
    )


def _standing_in(instruction: Instruction, queue: Register | None) -> Instruction:
    if queue is None:
        return instruction
    return replace(
        instruction, reads=(*instruction.reads, queue), writes=(*instruction.writes, queue)
    )
