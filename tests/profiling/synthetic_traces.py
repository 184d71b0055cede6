"""Kernels made by hand and the words of traces that nobody executed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernelcast.execution.address_map import ARRAY_ALIGN_BYTES, GLOBAL_BASE, GUARD_BYTES
from kernelcast.execution.memory import Region
from kernelcast.execution.trace import ID_SHIFT, KIND_SHIFT, RecordKind
from kernelcast.ir import (
    BasicBlock,
    Guard,
    Instruction,
    Kernel,
    Launch,
    Location,
    OpClass,
    Register,
    Space,
)
from kernelcast.profiling.builder import ProfileBuilder
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.rules import AccessRules

FULL = 0xFFFF_FFFF
WORD = (1 << 64) - 1
ALL_RULES = AccessRules(tag_bank_bits=(0x2AFF, 0x3F2A), half_warps=True)


def register(name: str) -> Register:
    return Register(name, "b32")


def instruction(
    index: int,
    op_class: OpClass = OpClass.INT,
    opcode: str = "add",
    modifiers: tuple[str, ...] = (),
    *,
    reads: str = "",
    writes: str = "",
    guard: str = "",
    space: Space | None = None,
    access_bytes: int = 0,
    line: int = 0,
) -> Instruction:
    """`reads`, `writes` and `guard` name registers, with spaces between."""
    return Instruction(
        index=index,
        opcode=opcode,
        modifiers=modifiers,
        operands=(),
        op_class=op_class,
        guard=Guard(register(guard)) if guard else None,
        reads=tuple(map(register, (reads + " " + guard).split())),
        writes=tuple(map(register, writes.split())),
        space=space,
        access_bytes=access_bytes,
        location=Location("kernel.cu", line) if line else None,
    )


def kernel(instructions: Iterable[Instruction], blocks: Sequence[BasicBlock] = ()) -> Kernel:
    """One basic block holds everything unless `blocks` are given."""
    listed = tuple(instructions)
    return Kernel(
        name="k",
        isa="ptx",
        target="sm_90",
        parameters=(),
        instructions=listed,
        blocks=tuple(blocks) or (BasicBlock(0, 0, len(listed), ()),),
    )


def access_kernel(
    space: Space = Space.GLOBAL, access_bytes: int = 4, op_class: OpClass = OpClass.LOAD
) -> Kernel:
    """A kernel of one memory instruction."""
    return kernel([instruction(0, op_class, "ld", space=space, access_bytes=access_bytes)])


def memory(*sizes_bytes: int) -> Any:
    """Arrays named a, b, c... at the addresses that the device memory would give them."""
    regions = []
    address = GLOBAL_BASE
    for number, size in enumerate(sizes_bytes):
        regions.append(Region(chr(ord("a") + number), address, size, "b8"))
        past = -(-(address + size) // ARRAY_ALIGN_BYTES) * ARRAY_ALIGN_BYTES
        address = past + GUARD_BYTES
    return SimpleNamespace(regions=tuple(regions))


def header(kind: RecordKind, ident: int, mask: int = FULL) -> int:
    return kind << KIND_SHIFT | ident << ID_SHIFT | mask


def warp(block: int, number: int) -> list[int]:
    return [header(RecordKind.WARP, number, 0), block]


def enter(block: int, mask: int = FULL) -> list[int]:
    return [header(RecordKind.BLOCK, block, mask)]


def affine(ident: int, base: int, stride: int, mask: int = FULL) -> list[int]:
    return [header(RecordKind.AFFINE, ident, mask), base & WORD, stride & WORD]


def halves(ident: int, base: int, stride: int, second: int, mask: int = FULL) -> list[int]:
    return [header(RecordKind.HALVES, ident, mask), base & WORD, stride & WORD, second & WORD]


def scattered(ident: int, addresses: Sequence[int], mask: int = FULL) -> list[int]:
    return [header(RecordKind.ADDRESSES, ident, mask), *(a & WORD for a in addresses)]


def values(ident: int, count: int, mask: int = FULL) -> list[int]:
    return [header(RecordKind.VALUES, ident, mask), count & WORD]


def words(*records: Sequence[int]) -> np.ndarray:
    return np.array([word for record in records for word in record], np.uint64)


def profile(
    of: Kernel,
    *records: Sequence[int],
    arrays: SimpleNamespace | None = None,
    blocks: Sequence[int] = (0,),
    grid: int = 1,
    threads: int = 32,
    rules: AccessRules = ALL_RULES,
) -> Profile:
    builder = ProfileBuilder(
        of,
        Launch((grid, 1, 1), (threads, 1, 1)),
        arrays or memory(1 << 20),  # type: ignore[arg-type]
        blocks,
        rules=rules,
    )
    builder.consume(words(*records))
    return builder.finish()
