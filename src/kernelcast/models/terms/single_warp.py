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

from dataclasses import replace

import numpy as np

from kernelcast.ir import BasicBlock, Instruction, Kernel, OpClass, Register
from kernelcast.models.terms.base import Case
from kernelcast.models.terms.latency import InstructionTiming
from kernelcast.profiling.critical_path import WarpTime, walk_warp
from kernelcast.profiling.profile import WarpPath

_STORE_PORT = Register("store port", "queue")
_LOAD_SLOT = Register("load slot", "queue")


def single_warp(case: Case, timed: InstructionTiming) -> WarpTime:
    """The representative warp of a case alone on an SM."""
    kernel, path = case.kernel, case.profile.warp
    latency = np.maximum(timed.latency, timed.store_next)
    if timed.loads_per_warp or any(timed.store_next):
        kernel, path = _queued(kernel, path, timed)
    walked = walk_warp(
        kernel, path, lambda i: float(latency[i.index]), lambda i: timed.interval[i.index]
    )
    waits = np.zeros(len(latency))
    np.add.at(waits, [i.index for i in kernel.instructions], walked.waits)
    return replace(walked, waits=waits)


def _queued(kernel: Kernel, path: WarpPath, timed: InstructionTiming) -> tuple[Kernel, WarpPath]:
    """The same with the registers of the queues; instructions keep the index that they have.

    A basic block is there once for every slot that its first load may take.
    """
    slots = timed.loads_per_warp or 1
    instructions: list[Instruction] = []
    blocks: list[BasicBlock] = []
    first, loads = np.zeros((2, len(kernel.blocks)), np.int64)
    for block in kernel.blocks:
        own = kernel.instructions[block.start : block.end]
        queues = [_queue(i, timed) for i in own]
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
    return (
        replace(kernel, instructions=tuple(instructions), blocks=tuple(blocks)),
        replace(path, blocks=(first[path.blocks] + slot_at_entry).astype(np.int32)),
    )


def _queue(instruction: Instruction, timed: InstructionTiming) -> Register | None:
    """The register of the queue in which an instruction stands, if any."""
    if timed.store_next[instruction.index]:
        return _STORE_PORT
    is_load = instruction.op_class is OpClass.LOAD and timed.waits_for_memory[instruction.index]
    return _LOAD_SLOT if is_load and timed.loads_per_warp else None


def _standing_in(instruction: Instruction, queue: Register | None) -> Instruction:
    if queue is None:
        return instruction
    return replace(
        instruction, reads=(*instruction.reads, queue), writes=(*instruction.writes, queue)
    )
