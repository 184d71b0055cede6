"""Where lanes wait for each other within a warp: spin loops, and where they reconverge.

A *spin loop* is one that lanes leave, or stay in, by a value that others may change while it runs:
an atomic, a volatile or stronger load. A spin lock is one. In kernels with such a loop, and only
there, lanes that went ahead have to wait at the next *reconvergence point*: an instruction of which
the lanes of a mask take part together.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from kernelcast.analysis.loops import Loop, natural_loops
from kernelcast.ir import (
    BasicBlock,
    BlockRef,
    Immediate,
    Instruction,
    Kernel,
    OpClass,
    Register,
)

SPIN_BUDGET = 32
"""Iterations of a spin loop that the same lanes begin in succession before the others of their
warp move. Where each round lets a lane go, as compare-and-swap does, a warp needs no more."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Headers of the spin loops, and for every block that begins with a reconvergence point the
    mask of the lanes that take part. Both are empty for a kernel without a spin loop."""

    headers: frozenset[int]
    reconvergence: Mapping[int, Register | Immediate]


def waits_of(kernel: Kernel) -> Waits:
    """Where the lanes of a warp may wait for each other."""
    headers = spin_loops(kernel)
    if not headers:
        return Waits(frozenset(), {})
    lanes = {
        b.index: kernel.instructions[b.start].traits.member_mask
        for b in kernel.blocks
        if b.end > b.start
    }
    return Waits(headers, {block: mask for block, mask in lanes.items() if mask is not None})


def spin_loops(kernel: Kernel) -> frozenset[int]:
    """The headers of the spin loops."""
    if not any(_may_change(i, frozenset()) for i in kernel.instructions):
        return frozenset()
    loops = natural_loops([b.successors for b in kernel.blocks])
    return frozenset(loop.header for loop in loops if _waits(kernel, loop))


def cut_at_reconvergence(kernel: Kernel) -> Kernel:
    """The kernel with every reconvergence point at the start of a block, if it has a spin loop."""
    if not spin_loops(kernel):
        return kernel
    reconvergence = {i.index for i in kernel.instructions if i.traits.member_mask}
    starts = [
        [b.start, *sorted(reconvergence.intersection(range(b.start + 1, b.end)))]
        for b in kernel.blocks
    ]
    first = [sum(map(len, starts[:at])) for at in range(len(starts))]
    if all(len(own) == 1 for own in starts):
        return kernel
    blocks: list[BasicBlock] = []
    for block, own in zip(kernel.blocks, starts, strict=True):
        for start, end in zip(own, [*own[1:], block.end], strict=True):
            index = len(blocks)
            is_last = end == block.end
            after = tuple(first[s] for s in block.successors) if is_last else (index + 1,)
            blocks.append(BasicBlock(index, start, end, after))
    return replace(
        kernel,
        blocks=tuple(blocks),
        instructions=tuple(_renamed(i, first) for i in kernel.instructions),
        meanings=tuple(tuple(_renamed(s, first) for s in steps) for steps in kernel.meanings),
    )


def _renamed(instruction: Instruction, first: list[int]) -> Instruction:
    """The same instruction, its targets being known by other numbers."""
    if not any(isinstance(o, BlockRef) for o in instruction.operands):
        return instruction
    operands = (
        BlockRef(first[o.index]) if isinstance(o, BlockRef) else o for o in instruction.operands
    )
    return replace(instruction, operands=tuple(operands))


def _may_change(instruction: Instruction, written: AbstractSet[Register]) -> bool:
    """Whether it reads what others may change while a loop runs, which writes some registers.

    Where the code does not tell, it does if it reads the same place again and again: the compiler
    would have read it once.
    """
    if instruction.op_class is OpClass.ATOMIC:
        return bool(instruction.writes)
    if instruction.op_class is not OpClass.LOAD:
        return False
    if instruction.traits.is_volatile is None:
        return written.isdisjoint(instruction.address_reads)
    return instruction.traits.is_volatile


def _waits(kernel: Kernel, loop: Loop) -> bool:
    """Whether a branch by a value that others may change decides on another iteration.

    It does if it leaves the loop, or if on one of its paths the next iteration comes before any
    branch that leaves the loop.
    """
    deciding = _deciding_branches(kernel, loop)
    leaving = {b for b in loop.blocks if _leaves(kernel, kernel.blocks[b], loop)}
    if deciding & leaving:
        return True
    return loop.header not in leaving and any(
        _goes_round(kernel, loop, side, leaving)
        for block in deciding
        for side in kernel.blocks[block].successors
    )


def _leaves(kernel: Kernel, block: BasicBlock, loop: Loop) -> bool:
    ends = block.end > block.start and kernel.instructions[block.end - 1].traits.exits
    return ends or any(s not in loop.blocks for s in block.successors)


def _goes_round(kernel: Kernel, loop: Loop, start: int, leaving: set[int]) -> bool:
    """Whether the header is reached from a block of the loop without a block that may leave it."""
    seen = set(leaving)
    pending = [start]
    while pending:
        block = pending.pop()
        if block == loop.header:
            return True
        if block not in seen:
            seen.add(block)
            pending += kernel.blocks[block].successors
    return False


def _deciding_branches(kernel: Kernel, loop: Loop) -> set[int]:
    """Blocks of a loop that end with a branch by a value that others may change.

    Such values are followed through registers, block by block, until nothing new is found.
    """
    written = {
        register
        for block in loop.blocks
        for i in kernel.instructions[kernel.blocks[block].start : kernel.blocks[block].end]
        for register in i.writes
    }
    # Fixed point over the blocks: registers that hold such values where each begins.
    known: dict[int, set[Register]] = {block: set() for block in loop.blocks}
    found: set[int] = set()
    pending = set(loop.blocks)
    while pending:
        block = kernel.blocks[min(pending)]
        pending.remove(block.index)
        tainted = set(known[block.index])
        for instruction in kernel.instructions[block.start : block.end]:
            depends = not tainted.isdisjoint(instruction.reads)
            if depends and instruction.op_class is OpClass.BRANCH:
                found.add(block.index)
            if depends or _may_change(instruction, written):
                tainted.update(instruction.writes)
            # Overwritten by something else, in all lanes.
            elif instruction.guard is None:
                tainted.difference_update(instruction.writes)
        for successor in loop.blocks.intersection(block.successors):
            if not tainted <= known[successor]:
                known[successor] |= tainted
                pending.add(successor)
    return found
