"""Why a block stopped, as an error."""

from __future__ import annotations

from kernelcast.errors import BudgetError, DeadlockError, ExecutionError
from kernelcast.execution.engine.context import Fault
from kernelcast.execution.faults import memory_fault, place
from kernelcast.execution.memory import Memory
from kernelcast.ir import Kernel, Launch


def over_budget(kernel: Kernel, block: int, executed: int, budget: int) -> BudgetError:
    """A block has executed more warp instructions than it may."""
    return BudgetError(
        f"block {block} may never end: stopped after {executed:.3g} warp instructions, a block's "
        f"budget is {budget:.3g}",
        where=_where(kernel),
        hint="check the exits of its loops, or raise --budget",
    )


def too_much(kernel: Kernel, executed: int, most: int) -> BudgetError:
    """All blocks together have executed more warp instructions than they may."""
    return BudgetError(
        f"stopped after {executed:.3g} warp instructions, all blocks together may execute "
        f"{most:.3g}",
        where=_where(kernel),
        hint="execute fewer blocks",
    )


def too_long(kernel: Kernel, most_bytes: int) -> BudgetError:
    """The trace of blocks that run at the same time is more than can be held."""
    return BudgetError(
        f"the trace of blocks that run at the same time has more than {most_bytes >> 20} MiB",
        where=_where(kernel),
        hint="follow fewer blocks",
    )


def deadlock(kernel: Kernel, block: int) -> DeadlockError:
    """No warp of a block can go on."""
    return DeadlockError(
        f"all warps of block {block} wait at barriers that not all threads reach",
        where=_where(kernel),
        hint="make every thread of the block reach the barrier",
    )


def _where(kernel: Kernel) -> str:
    return f"kernel {kernel.shown}"


_REASONS = {
    Fault.TRAP: (
        "the kernel stopped itself (trap or failed assertion)",
        "check the condition it asserts",
    ),
    Fault.NO_TARGET: ("a branch by index has no target for its index", "check the index"),
    Fault.MIXED_BARRIERS: (
        "lanes of one warp wait at different barriers",
        "let a whole warp reach the same barrier",
    ),
}


def fault_error(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    fault: Fault,
    instruction: int,
    block: int,
    thread: int,
    address: int,
) -> ExecutionError:
    """A thread has done what is not allowed; of the address, faults of accesses speak."""
    at = kernel.instructions[instruction]
    if fault not in _REASONS:
        return memory_fault(kernel, launch, memory, at, block, thread, address)
    what, hint = _REASONS[fault]
    return ExecutionError(
        what,
        where=place(kernel, launch, at, block, thread),
        hint=hint,
        at=(at.index, block, thread),
    )
