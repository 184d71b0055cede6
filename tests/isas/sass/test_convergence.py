"""Lanes reconverge where the machine code says: by the order of the blocks, without its barriers.

BSSY notes the lanes that are to meet, and BSYNC holds them until all have come. No executor does
either: of the blocks in which lanes wait the first one runs, so lanes reconverge at a block if all
that may come between stands before it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.compiled_families import load_family
from tests.kept import CACHE

from kernelcast.errors import CompileError
from kernelcast.ir import BasicBlock, Kernel
from kernelcast.isas.sass.instruction import INSTRUCTION_BYTES
from kernelcast.suite.registry import families
from kernelcast.suite.table import Scale


def regions(kernel: Kernel) -> Iterator[tuple[int, int, str]]:
    """Block of every BSSY, the block of the BSYNC that it names, and the barrier."""
    block_of = {i: b.index for b in kernel.blocks for i in range(b.start, b.end)}
    places = {i.code_offset: i for i in kernel.instructions}
    for instruction in kernel.instructions:
        if instruction.opcode == "BSSY":
            barrier = str(instruction.operands[0])
            label = str(instruction.operands[1])
            target = reconvergence_point(kernel, instruction.index, barrier, places, label)
            if target is not None:
                yield block_of[instruction.index], block_of[target], barrier


def reconvergence_point(kernel, start, barrier, places, label) -> int | None:
    """The first BSYNC of the barrier that control comes to from a BSSY, breadth first."""
    block_of = {i: b for b in kernel.blocks for i in range(b.start, b.end)}
    pending: list[tuple[BasicBlock, int]] = [(block_of[start], start + 1)]
    seen: set[int] = set()
    while pending:
        block, first = pending.pop(0)
        for index in range(first, block.end):
            found = kernel.instructions[index]
            if found.opcode == "BSYNC" and str(found.operands[0]) == barrier:
                return index
        for successor in after(kernel, block):
            if successor not in seen:
                seen.add(successor)
                pending.append((kernel.blocks[successor], kernel.blocks[successor].start))
    return None


def between(kernel: Kernel, start: int, end: int, barrier: str) -> set[int]:
    """Blocks that lanes may run through from a BSSY to its BSYNC; BREAK lets them off."""
    seen: set[int] = set()
    pending = [s for s in after(kernel, kernel.blocks[start]) if s != end]
    while pending:
        index = pending.pop()
        if index in seen or index == start:
            continue
        seen.add(index)
        block = kernel.blocks[index]
        body = kernel.instructions[block.start : block.end]
        if any(i.opcode == "BREAK" and str(i.operands[-1]) == barrier for i in body):
            continue
        pending += [s for s in after(kernel, block) if s != end]
    return seen


def after(kernel: Kernel, block: BasicBlock) -> tuple[int, ...]:
    """Where lanes go on: a call returns to its own caller, whoever else calls the function."""
    last = kernel.instructions[block.end - 1]
    if last.opcode == "RET":
        return ()
    if last.opcode == "CALL":
        assert last.code_offset is not None
        behind = last.code_offset + INSTRUCTION_BYTES
        starts = {kernel.instructions[b.start].code_offset: b.index for b in kernel.blocks}
        return (*block.successors, starts[behind])
    return block.successors


@pytest.mark.parametrize(("third", "architecture"), [(0, "sm_75"), (1, "sm_90"), (2, "sm_120")])
def test_every_block_between_stands_before_the_reconvergence_point(
    third: int, architecture: str
) -> None:
    """A third of the families for each architecture: how blocks are ordered does not depend on
    it."""
    checked = 0
    for family, members in list(families().items())[third::3]:
        try:
            module = load_family(family, architecture, CACHE)
        except CompileError:
            continue  # a family that needs NVIDIA's headers
        for member in members:
            kernel = module.machine_kernel(member.launches(Scale.SMALL)[0].kernel)
            for start, end, barrier in regions(kernel):
                if start == end:
                    continue
                inside = between(kernel, start, end, barrier)
                late = sorted(b for b in inside if b > end)
                assert not late, f"{member.name}: blocks {late} after B{end}, where {barrier} meets"
                checked += 1
    assert checked > 30
