"""The steps of bulk copies, one lane after the other."""

from __future__ import annotations

import numpy as np

from kernelcast.execution.bulk import Where
from kernelcast.execution.reference.memory_ops import StepFunction, base_reader
from kernelcast.execution.reference.operands import OperandReader, reader
from kernelcast.execution.reference.state import RunState, Warp
from kernelcast.execution.reference.values import Lanes
from kernelcast.ir import Address, Instruction, Operand


def bulk_step(instruction: Instruction, run: RunState) -> StepFunction:
    """The execution of a step of a copy."""
    readers = [_reader(operand, run) for operand in instruction.operands[1:]]

    def step(warp: Warp, mask: int, active: Lanes) -> None:
        values = [read(warp).tolist() for read in readers]
        shared = [np.frombuffer(block.shared, np.uint8) for block in warp.block.cluster]
        for lane in np.flatnonzero(active).tolist():
            where = Where(warp.block.index, warp.first_thread + lane, shared)
            operands = [int(lanes[lane]) for lanes in values]
            records = run.bulk_copies.perform(instruction, operands, where, moves=True)
            run.words.extend(records.tolist())

    return step


def _reader(operand: Operand, run: RunState) -> OperandReader:
    if not isinstance(operand, Address):
        return reader(operand, "u32", run)
    read_base, offset = base_reader(operand, run), operand.offset
    return lambda warp: read_base(warp) + offset
