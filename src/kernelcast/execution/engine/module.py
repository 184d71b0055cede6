"""A kernel as an LLVM module: driver, address checks, and the function that runs a warp."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.analysis.slicing import Needed
from kernelcast.execution.engine.control import branch, go, pause, wait_at_barrier
from kernelcast.execution.engine.driver import DECLARATIONS, driver_ir
from kernelcast.execution.engine.fairness import gate
from kernelcast.execution.engine.lowering import InstructionSet, Lowering
from kernelcast.execution.engine.registers import PAUSES, waits
from kernelcast.execution.engine.turn import (
    begin,
    dispatch_and_end,
    end_after_iterations,
    state_bytes,
)
from kernelcast.execution.trace import RECORD_WORDS, RecordKind
from kernelcast.ir import Kernel, OpClass


@dataclass(frozen=True)
class LoweredKernel:
    """LLVM IR of a kernel, and what its host must provide: bytes of state per warp, and room for
    `headroom_bytes` behind the limit of the log."""

    ir: str
    state_bytes: int
    headroom_bytes: int


def lower_kernel(
    kernel: Kernel,
    isa: InstructionSet,
    needed: Needed | None = None,
    shared_loops: frozenset[int] = frozenset(),
    *,
    logs: bool = True,
    is_shared: bool = False,
) -> LoweredKernel:
    """Lower a kernel, or only what is `needed` of it.

    The turn of a warp ends now and then in `shared_loops`, given by their headers: there blocks
    that run at the same time may see each other's work. `logs` is whether it writes its
    trace, `is_shared` whether several threads execute its blocks. UnsupportedError names an
    instruction that the engine does not know.
    """
    lw = Lowering(kernel, isa, needed, shared_loops, logs=logs, is_shared=is_shared)
    begin(lw)
    for index in range(len(kernel.blocks)):
        _lower_block(lw, index)
    dispatch_and_end(lw)
    entry, *rest = lw.b.lines
    body = "\n".join((entry, *lw.b.slots, *rest))
    declarations = "\n".join(sorted({*DECLARATIONS, *lw.b.declarations}))
    functions = "\n".join(lw.b.functions.values())
    ir = (
        f"{driver_ir(logs=logs)}\n{declarations}\n{functions}\n"
        f"define internal i32 @warp(ptr noalias %ctx, i64 %w, i32 %resume) {{\n{body}\n}}\n"
        '!0 = !{!"branch_weights", i32 1, i32 1000}\n'
    )
    return LoweredKernel(ir, state_bytes(lw), _headroom_bytes(kernel))


def _lower_block(lw: Lowering, index: int) -> None:
    block = lw.kernel.blocks[index]
    lw.enter_block(index)
    if index in lw.shared_loops:
        end_after_iterations(lw, index)
    gate(lw, index)
    lw.start_block(index)
    for position in range(block.start, block.end):
        for step in lw.steps(position):
            if step.op_class is OpClass.BRANCH:
                lw.store_registers()
                branch(lw, index, step)
                return
            if waits(step):
                lw.store_registers()
                end = pause if step.opcode in PAUSES else wait_at_barrier
                end(lw, index, step)
                return
            lower = lw.isa.opcodes.get(step.opcode)
            if lower is None:
                raise lw.unsupported("this instruction")
            lower(lw, step)
    lw.store_registers()
    go(lw, block.successors[0], lw.mask)


def _headroom_bytes(kernel: Kernel) -> int:
    """Bytes that a warp may log between two checks: every block once, and a warp header."""
    words = RECORD_WORDS[RecordKind.WARP]
    words += RECORD_WORDS[RecordKind.BLOCK] * len(kernel.blocks)
    classes = [step.op_class for i in kernel.instructions for step in kernel.steps(i.index)]
    words += RECORD_WORDS[RecordKind.ADDRESSES] * sum(one.is_memory for one in classes)
    words += RECORD_WORDS[RecordKind.VALUES] * classes.count(OpClass.MATCH)
    return 8 * words
