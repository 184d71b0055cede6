"""What the checking loop must know of a kernel: its accesses, and where its threads meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.checking import layout
from kernelcast.checking.same_values import stores_of_one_value
from kernelcast.execution.engine.registers import PAUSES, waits
from kernelcast.ir import BasicBlock, Immediate, Instruction, Kernel, OpClass, Space
from kernelcast.isas.ptx.bulk import UNIT_BYTES
from kernelcast.isas.ptx.mbarriers import MARK
from kernelcast.isas.ptx.steps import BULK

_SPACES = {
    Space.GLOBAL: layout.GLOBAL,
    Space.SHARED: layout.SHARED,
    Space.GENERIC: layout.GENERIC,
}
_EFFECTS = {
    OpClass.LOAD: layout.READS,
    OpClass.STORE: layout.WRITES,
    OpClass.ATOMIC: layout.READS | layout.WRITES | layout.AGREED,
}
_IN_BULK = {"read": layout.READS, "write": layout.WRITES}
_UNKNOWN_BARRIER = layout.BARRIERS - 1

Table = NDArray[np.void]


@dataclass(frozen=True, slots=True)
class CodeTables:
    """The tables of a kernel; `finest` is the narrowest access to each space, as a power of two."""

    instructions: Table
    steps: Table
    blocks: Table
    events: Table
    finest: dict[int, int]
    writes_global: bool


def code_tables(kernel: Kernel) -> CodeTables:
    """What `check_records` has to know of the code."""
    same = stores_of_one_value(kernel)
    agreed = _loads_before_exchanges(kernel)
    instructions = np.zeros(max(len(kernel.instructions), 1), layout.INSTRUCTION)
    rows: list[tuple[int, int, int]] = []
    for instruction in kernel.instructions:
        accesses = filter(_accesses, kernel.steps(instruction.index))
        found = [_step(kernel, step, same, agreed) for step in accesses]
        instructions[instruction.index] = (len(rows), len(found))
        rows += found
    events: list[tuple[int, int, int]] = []
    blocks = np.zeros(max(len(kernel.blocks), 1), layout.BLOCK)
    sites = _sites(kernel)
    for block in kernel.blocks:
        first = len(events)
        events += _events(kernel, block)
        blocks[block.index] = (first, len(events), *_end(kernel, block, sites))
    return CodeTables(
        instructions,
        np.array(rows or [(layout.ELSEWHERE, 0, 0)], layout.STEP),
        blocks,
        np.array(events or [(0, layout.NO_EVENT, 0)], layout.EVENT),
        {space: _finest(rows, space) for space in (layout.GLOBAL, layout.SHARED)},
        any(
            space in (layout.GLOBAL, layout.GENERIC) and effect & layout.WRITES
            for space, _, effect in rows
        ),
    )


def _is_bulk(step: Instruction) -> bool:
    return step.opcode == BULK and step.modifiers[:1] in (("read",), ("write",))


def _accesses(step: Instruction) -> bool:
    return step.is_traced or _is_bulk(step)


def _loads_before_exchanges(kernel: Kernel) -> frozenset[int]:
    """Loads of a word that an atomic of the same basic block or of the next one goes to: of loops
    around compare-and-swap, which find out themselves that somebody was faster."""
    found: set[int] = set()
    for block in kernel.blocks:
        near = {block.index, *block.successors}
        atomics = [
            kernel.instructions[at]
            for b in near
            for at in range(kernel.blocks[b].start, kernel.blocks[b].end)
            if kernel.instructions[at].op_class is OpClass.ATOMIC
        ]
        for one in kernel.instructions[block.start : block.end]:
            if one.op_class is OpClass.LOAD and any(_go_to_one_word(one, a) for a in atomics):
                found.add(one.index)
    return frozenset(found)


def _go_to_one_word(load: Instruction, atomic: Instruction) -> bool:
    if load.space is not atomic.space or load.access_bytes != atomic.access_bytes:
        return False
    stands_alike = load.location is not None and load.location == atomic.location
    return stands_alike or (bool(load.address_reads) and load.address_reads == atomic.address_reads)


def _step(
    kernel: Kernel, step: Instruction, same: frozenset[int], agreed: frozenset[int]
) -> tuple[int, int, int]:
    if _is_bulk(step):
        space = _SPACES.get(Space(step.modifiers[2]), layout.ELSEWHERE)
        return space, UNIT_BYTES, _IN_BULK[step.modifiers[0]]
    effect = _EFFECTS[step.op_class]
    whole = kernel.instructions[step.index]
    if step.traits.is_volatile or whole.traits.is_volatile or step.index in agreed:
        effect |= layout.AGREED
    if step.op_class is OpClass.STORE and step.index in same:
        effect |= layout.SAME_VALUE
    if MARK in step.modifiers:
        effect |= layout.SYNCHRONISES
    space = layout.ELSEWHERE if step.space is None else _SPACES.get(step.space, layout.ELSEWHERE)
    return space, step.access_bytes, effect


def _finest(rows: list[tuple[int, int, int]], space: int) -> int:
    """The lowest bit of any access to a space: what is told apart there."""
    widths = [size & -size for at, size, _ in rows if at in (space, layout.GENERIC) and size]
    return min(widths, default=1).bit_length() - 1


def _events(kernel: Kernel, block: BasicBlock) -> Iterator[tuple[int, int, int]]:
    for at in range(block.start, block.end):
        if kernel.instructions[at].op_class is OpClass.FENCE:
            yield at, layout.FENCE, 0
        for step in kernel.steps(at):
            if step.op_class is OpClass.BARRIER and "arrive" in step.modifiers:
                yield at, layout.ARRIVAL, _barrier(step)


def _end(kernel: Kernel, block: BasicBlock, sites: dict[int, int]) -> tuple[int, int, int, int]:
    """How a basic block ends, at which barrier and site, and its last instruction."""
    last = block.end - 1
    for step in kernel.steps(last) if block.end > block.start else ():
        if step.opcode in PAUSES:
            return layout.PAUSES, 0, -1, last
        if waits(step):
            site = -1 if _is_counted(step) else sites.get(last, -1)
            return layout.WAITS, _barrier(step), site, last
    return layout.GOES_ON, 0, -1, last


def _sites(kernel: Kernel) -> dict[int, int]:
    """A number for every place in the source where threads wait; the compiler may repeat one."""
    numbers: dict[object, int] = {}
    return {
        i.index: numbers.setdefault(i.location, len(numbers))
        for i in kernel.instructions
        if i.location is not None and any(map(waits, kernel.steps(i.index)))
    }


def _operands(step: Instruction) -> tuple[object, ...]:
    """The number and the count of a barrier, behind a result."""
    return step.operands[1:-1] if "red" in step.modifiers else step.operands


def _barrier(step: Instruction) -> int:
    number = next(iter(_operands(step)), None)
    if isinstance(number, Immediate) and 0 <= number.value < _UNKNOWN_BARRIER:
        return number.value
    return _UNKNOWN_BARRIER if not isinstance(number, Immediate) and number is not None else 0


def _is_counted(step: Instruction) -> bool:
    """Whether it says how many threads are to come: then not all have to."""
    return len(_operands(step)) > 1
