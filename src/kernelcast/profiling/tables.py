"""What the counting loop must know of kernel, launch and memory, as its tables."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.address_map import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    WINDOW_BYTES,
)
from kernelcast.execution.memory import Memory
from kernelcast.ir import BasicBlock, Instruction, Kernel, OpClass, Space
from kernelcast.profiling import counting as c

Table = NDArray[np.int64]

SECTOR_BYTES = 32
LOGGED_BLOCKS = 8
"""Executed blocks whose warps' paths are logged, evenly chosen."""

_LAST_ADDRESS = np.iinfo(np.int64).max
_CODES = {
    Space.GLOBAL: c.GLOBAL,
    Space.SHARED: c.SHARED,
    Space.LOCAL: c.LOCAL,
    Space.PARAM: c.PARAM,
    Space.CONST: c.CONST,
    Space.GENERIC: c.GENERIC,
}
_GENERIC_TARGETS = (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.PARAM)
_EFFECTS = {OpClass.LOAD: c.READS, OpClass.STORE: c.WRITES, OpClass.ATOMIC: c.READS | c.WRITES}


@dataclass(frozen=True, slots=True)
class AccessRow:
    """What one row of the access table counts: one instruction in one space."""

    instruction: Instruction
    space: Space


def access_rows(kernel: Kernel) -> tuple[AccessRow, ...]:
    """A row per memory instruction and space it can lead to, in the order of the program."""
    return tuple(
        AccessRow(instruction, space)
        for instruction in kernel.instructions
        if instruction.op_class.is_memory and instruction.space is not None
        for space in (
            _GENERIC_TARGETS if instruction.space is Space.GENERIC else (instruction.space,)
        )
    )


def instruction_table(kernel: Kernel, rows: Sequence[AccessRow]) -> Table:
    """`counting.INSTRUCTION_COLUMNS` for every instruction, 0 where it is no access."""
    table = np.zeros((len(kernel.instructions), c.INSTRUCTION_COLUMNS), np.int64)
    for number in reversed(range(len(rows))):  # the first row of an instruction stays
        instruction = rows[number].instruction
        assert instruction.space is not None
        table[instruction.index] = (
            _CODES[instruction.space],
            instruction.access_bytes,
            _EFFECTS[instruction.op_class],
            number,
        )
    return table


def block_table(kernel: Kernel, *, lanes_meet: bool) -> Table:
    """`counting.BLOCK_COLUMNS` for every basic block.

    Lanes can part at the end of a block that goes on in more than one place. Those that did meet
    again where machine code says so, behind the instruction that every group of them executes on
    its own; with `lanes_meet`, as in PTX, which leaves that to the assembler, wherever they come
    together.
    """
    table = np.zeros((len(kernel.blocks), c.BLOCK_COLUMNS), np.int64)
    for block in kernel.blocks:
        table[block.index, c.LENGTH] = block.end - block.start
        table[block.index, c.IS_BRANCH] = len(set(block.successors)) > 1
        table[block.index, c.NEXT] = block.successors[0] if _passes(kernel, block) else -1
        table[block.index, c.MEETING] = 0 if lanes_meet else _meeting(kernel, block)
    return table


def _passes(kernel: Kernel, block: BasicBlock) -> bool:
    """Whether lanes for which the block's last instruction is switched off go on behind it."""
    return block.end > block.start and kernel.instructions[block.end - 1].guard is not None


def _meeting(kernel: Kernel, block: BasicBlock) -> int:
    """Instructions up to and with the last one at which lanes wait for each other; -1 for none."""
    body = kernel.instructions[block.start : block.end]
    meetings = [at for at, one in enumerate(body, 1) if one.traits.reconverges]
    return meetings[-1] if meetings else -1


def executed_table(blocks: Sequence[int]) -> Table:
    """`counting.EXECUTED_COLUMNS` for every executed block, given by index in the grid."""
    table = np.full((len(blocks), c.EXECUTED_COLUMNS), -1, np.int64)
    table[:, c.INDEX] = blocks
    count = min(len(blocks), LOGGED_BLOCKS)
    for rank in range(count):
        table[(2 * rank + 1) * len(blocks) // (2 * count), c.PATH_SLOT] = rank * c.MAX_WARPS
    return table


def region_table(memory: Memory) -> tuple[Table, int]:
    """`counting.REGION_COLUMNS` for every array, and the sectors of all of them."""
    table = np.zeros((len(memory.regions), c.REGION_COLUMNS), np.int64)
    sectors = 0
    for row, region in zip(table, memory.regions, strict=True):
        row[c.START] = region.address
        row[c.END] = region.address + region.size_bytes
        row[c.FIRST_SECTOR] = sectors
        sectors += array_sectors(region.size_bytes)
    return table, sectors


def sector_stamps(sectors: int) -> NDArray[np.int32]:
    """`counting.TOUCHED` and `STORED` for every sector, 0; pages never touched cost nothing.

    A sample touches an array here and there: huge pages would clear and hold all of it.
    """
    pages = mmap.mmap(-1, max(2 * sectors * np.dtype(np.int32).itemsize, 1))
    advice = getattr(mmap, "MADV_NOHUGEPAGE", None)
    if advice is not None:
        with contextlib.suppress(OSError):  # kernels built without huge pages refuse
            pages.madvise(advice)
    return np.frombuffer(pages, np.int32, 2 * sectors).reshape(2, sectors)


def array_sectors(size_bytes: int) -> int:
    """Sectors of an array that starts at a sector."""
    return -(-size_bytes // SECTOR_BYTES)


def initial_states(executed: Table, warps_per_block: int) -> NDArray[np.void]:
    """One record of `counting.STATE` as the loop expects it before the first word."""
    states = np.zeros(1, c.STATE)
    state = states[0]
    state["ordinal"] = -1
    state["slot"] = -1
    for first in executed[executed[:, c.PATH_SLOT] >= 0, c.PATH_SLOT]:
        state["is_logged"][first : first + warps_per_block] = 1
    state["memo_key"] = -1
    state["hash_key"] = -1
    starts = (SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW)
    state["window"][c.GLOBAL] = (max(starts) + WINDOW_BYTES, _LAST_ADDRESS, 0)
    for code, start in zip((c.SHARED, c.LOCAL, c.PARAM), starts, strict=True):
        state["window"][code] = (start, start + WINDOW_BYTES, start)
    for sectors in range(1, 16):
        state["segment_bytes"][sectors] = _segment_bytes(sectors)
    return states


def _segment_bytes(sectors: int) -> int:
    """Bytes that move of a segment when the sectors of these bits are asked for: a half at the
    most where one half suffices, down to a sector."""
    if sectors in (0b0001, 0b0010, 0b0100, 0b1000):
        return SECTOR_BYTES
    return 2 * SECTOR_BYTES if sectors in (0b0011, 0b1100) else 4 * SECTOR_BYTES
