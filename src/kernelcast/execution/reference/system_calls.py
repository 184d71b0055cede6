"""Calls of the system, one lane after the other."""

from __future__ import annotations

import numpy as np

from kernelcast.execution.reference.memory_ops import StepFunction
from kernelcast.execution.reference.operands import reader
from kernelcast.execution.reference.state import RunState, Warp
from kernelcast.execution.reference.values import Lanes
from kernelcast.execution.system_calls import Caller, call_system
from kernelcast.ir import Instruction, Register


def system_step(instruction: Instruction, run: RunState) -> StepFunction:
    """The execution of a call."""
    target, *sources = instruction.operands
    assert isinstance(target, Register)
    readers = [reader(operand, "u64", run) for operand in sources]

    def step(warp: Warp, mask: int, active: Lanes) -> None:
        values = [read(warp).tolist() for read in readers]
        for lane in np.flatnonzero(active).tolist():
            local = memoryview(warp.local[lane])
            caller = Caller(
                run.kernel,
                run.launch,
                run.memory,
                warp.block.index,
                warp.first_thread + lane,
                local,
            )
            given = [int(lanes[lane]) for lanes in values]
            warp.register(target)[lane] = call_system(instruction, given, caller)

    return step
