"""What the counting loop must know of kernel, launch and memory, as its tables."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Mapping, Sequence, Set
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
from kernelcast.ir import (
    BasicBlock,
    CompareAndSwap,
    Instruction,
    Kernel,
    MbarrierUse,
    OpClass,
    Register,
    Space,
)
from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES
from kernelcast.profiling import layout
from kernelcast.profiling.rules import AccessRules

IntegerTable = NDArray[np.void]
"""Records of one of the kinds in `layout`."""

_WORD_BYTES = 4

_LOGGED_BLOCKS = 8
"""Executed blocks whose warps' paths are logged, evenly chosen."""

_LAST_ADDRESS = np.iinfo(np.int64).max
SPACE_CODES = {
    Space.GLOBAL: layout.GLOBAL,
    Space.SHARED: layout.SHARED,
    Space.LOCAL: layout.LOCAL,
    Space.PARAM: layout.PARAM,
    Space.CONST: layout.CONST,
    Space.GENERIC: layout.GENERIC,
}
"""The codes of `layout`."""

_GENERIC_TARGETS = (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.PARAM)
_EFFECTS = {
    OpClass.LOAD: layout.READS,
    OpClass.STORE: layout.WRITES,
    OpClass.ATOMIC: layout.READS | layout.WRITES,
}
_MBARRIER_USES: Mapping[MbarrierUse | None, int] = {
    MbarrierUse.ARRIVES: layout.WAITED_FOR,
    MbarrierUse.COMPLETES: layout.WAITED_FOR,
    MbarrierUse.WAITS: layout.WAITS,
}


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


def instruction_table(kernel: Kernel, rows: Sequence[AccessRow]) -> IntegerTable:
    """`layout.INSTRUCTION` for every instruction, 0 where it is no access."""
    table = np.zeros(len(kernel.instructions), layout.INSTRUCTION)
    read = {register for instruction in kernel.instructions for register in instruction.reads}
    for number in reversed(range(len(rows))):  # the first row of an instruction stays
        instruction = rows[number].instruction
        assert instruction.space is not None
        space, op_class = instruction.space, instruction.op_class
        adds = op_class is OpClass.ATOMIC and space is Space.GLOBAL
        table[instruction.index] = (
            SPACE_CODES[space],
            instruction.access_bytes,
            max(instruction.access_bytes // _WORD_BYTES, 1).bit_length() - 1,
            _EFFECTS[op_class],
            number,
            space is not Space.GENERIC and not adds and instruction.access_bytes > 0,
            instruction.traits.adds_floats,
            _turns(instruction, read),
            _MBARRIER_USES.get(instruction.traits.mbarrier, 0),
            0,
            0,
        )
    return table


def _turns(instruction: Instruction, read: Set[Register]) -> int:
    """How its lanes take turns, as in `layout.BY_WORD`; `read` are the registers in use."""
    if instruction.op_class is not OpClass.ATOMIC:
        return layout.BY_WORD
    if instruction.traits.swap is CompareAndSwap.TRIES:
        return layout.AT_ONCE
    counts = instruction.traits.counts_lanes and read.isdisjoint(instruction.writes)
    return layout.BY_WORD if counts else layout.BY_LANE


def block_table(kernel: Kernel, *, lanes_reconverge: bool) -> IntegerTable:
    """`layout.BLOCK` for every basic block, passed through by nobody yet.

    Lanes can diverge at the end of a block with several successors. Those that did reconverge
    where machine code says so, behind the instruction that every group of them executes on its own;
    with `lanes_reconverge`, as in PTX, which leaves that to the assembler, wherever they come
    together.
    """
    table = np.zeros(len(kernel.blocks), layout.BLOCK)
    for block in kernel.blocks:
        row = table[block.index]
        row["length"] = block.end - block.start
        row["is_branch"] = len(set(block.successors)) > 1
        row["next"] = block.successors[0] if _passes(kernel, block) else -1
        row["reconvergence"] = 0 if lanes_reconverge else _reconvergence_point(kernel, block)
    return table


def _passes(kernel: Kernel, block: BasicBlock) -> bool:
    """Whether lanes for which the block's last instruction is switched off go on behind it."""
    return block.end > block.start and kernel.instructions[block.end - 1].guard is not None


def _reconvergence_point(kernel: Kernel, block: BasicBlock) -> int:
    """Instructions up to and with the last one at which lanes wait for each other; -1 for none."""
    body = kernel.instructions[block.start : block.end]
    points = [at for at, one in enumerate(body, 1) if one.traits.reconverges]
    return points[-1] if points else -1


def executed_table(blocks: Sequence[int]) -> IntegerTable:
    """`layout.EXECUTED` for every executed block, given by index in the grid."""
    table = np.zeros(len(blocks), layout.EXECUTED)
    table["index"] = blocks
    table["path_slot"] = -1
    count = min(len(blocks), _LOGGED_BLOCKS)
    for rank in range(count):
        table["path_slot"][(2 * rank + 1) * len(blocks) // (2 * count)] = rank * layout.MAX_WARPS
    return table


def region_table(memory: Memory) -> tuple[IntegerTable, int]:
    """`layout.REGION` for every array, and the pages of all of them."""
    table = np.zeros(len(memory.regions), layout.REGION)
    pages = 0
    for row, region in zip(table, memory.regions, strict=True):
        row["first_line"] = -(-region.address // layout.LINE_BYTES)
        row["end_line"] = -(-(region.address + region.size_bytes) // layout.LINE_BYTES)
        row["first_page"] = pages
        pages += page_count(row)
    return table, pages


def page_count(region: np.void) -> int:
    """Pages of an array, of which its first line and its last may not begin and end one."""
    first, end = int(region["first_line"]), int(region["end_line"])
    return -(-end // layout.PAGE_LINES) - first // layout.PAGE_LINES


def line_marks(pages: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The table of pages, 0 where none was touched yet, and room for a mark of every line of them.

    What is never touched costs nothing: huge pages would clear and hold all of it.
    """
    size_bytes = 8 * layout.PAGE_LINES * (pages + 1)
    memory = mmap.mmap(-1, size_bytes)
    advice = getattr(mmap, "MADV_NOHUGEPAGE", None)
    if advice is not None:
        with contextlib.suppress(OSError):  # kernels built without huge pages refuse
            memory.madvise(advice)
    return np.zeros(max(pages, 1), np.int32), np.frombuffer(memory, np.int64)


def array_sectors(size_bytes: int) -> int:
    """Sectors of an array that starts at a sector."""
    return -(-size_bytes // SECTOR_BYTES)


def initial_states(
    executed: IntegerTable, warps_per_block: int, rules: AccessRules
) -> IntegerTable:
    """One record of `layout.STATE` as the loop expects it before the first word."""
    states = np.zeros(1, layout.STATE)
    state = states[0]
    state["ordinal"] = -1
    state["warp_lanes"] = WARP_LANES
    state["slot"] = -1
    for first in executed["path_slot"][executed["path_slot"] >= 0]:
        state["is_logged"][first : first + warps_per_block] = 1
    state["counts_half_warps"] = rules.half_warps
    state["tag_bank_bits"][: len(rules.tag_bank_bits)] = rules.tag_bank_bits
    state["window"] = generic_windows()
    return states


def generic_windows() -> NDArray[np.int64]:
    """Where generic addresses lead, by space: start and end of its window, what to subtract."""
    windows = np.zeros((layout.GENERIC_SPACES, 3), np.int64)
    starts = (SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW)
    windows[layout.GLOBAL] = (max(starts) + WINDOW_BYTES, _LAST_ADDRESS, 0)
    for code, start in zip((layout.SHARED, layout.LOCAL, layout.PARAM), starts, strict=True):
        windows[code] = (start, start + WINDOW_BYTES, start)
    # Those of the blocks of a cluster stand side by side.
    windows[layout.SHARED, 1] = LOCAL_WINDOW
    return windows
