"""A small kernel of machine code and a trace of it, both made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tests.profiling.synthetic_traces import affine, enter, scattered, warp, words

from kernelcast.execution.address_map import GLOBAL_BASE, SHARED_WINDOW
from kernelcast.execution.memory import Region
from kernelcast.ir import (
    BasicBlock,
    Guard,
    Instruction,
    Kernel,
    Launch,
    Register,
    Resources,
    Space,
    Text,
)
from kernelcast.isas.sass.opcodes import opcode
from kernelcast.isas.sass.traits import with_traits
from kernelcast.traces.stored import TraceHead

A = Region("a", GLOBAL_BASE, 1 << 16, "f32")
TABLE = Region("table", GLOBAL_BASE + (1 << 31), 256, "b8", is_argument=False)


def instruction(
    text: str,
    reads: str = "",
    writes: str = "",
    space: Space | None = None,
    access_bytes: int = 0,
    guard: str = "",
) -> Instruction:
    """`text` as a listing has it, without the guard."""
    name, _, operands = text.partition(" ")
    base, *modifiers = name.split(".")
    row = opcode(base)
    assert row is not None
    made = Instruction(
        index=0,
        opcode=base,
        modifiers=tuple(modifiers),
        operands=tuple(map(Text, operands.split(", "))) if operands else (),
        op_class=row.op_class,
        guard=Guard(Register(guard, "pred")) if guard else None,
        reads=tuple(Register(name, "b32") for name in reads.split()),
        writes=tuple(Register(name, "b32") for name in writes.split()),
        space=space,
        access_bytes=access_bytes,
    )
    return with_traits(made)


def kernel(instructions: Sequence[Instruction], blocks: Sequence[BasicBlock]) -> Kernel:
    return Kernel(
        name="_Z3sumPf",
        isa="sass",
        target="sm_80",
        parameters=(),
        instructions=tuple(replace(one, index=at) for at, one in enumerate(instructions)),
        blocks=tuple(blocks),
        resources=Resources(registers=24, static_shared_bytes=512, source="hand"),
    )


G, S = Space.GLOBAL, Space.SHARED
KERNEL = kernel(
    [
        instruction("LDC R1, c[0x0][0x28]", "", "R1", Space.CONST, 4),
        instruction("IMAD.WIDE R2, R0, 0x4, R4", "R0 R4 R5", "R2 R3"),
        # The loop: half of the lanes store, all load and go on.
        instruction("LDG.E.64 R6, desc[UR4][R2.64+0x8]", "R2 R3", "R6 R7", G, 8),
        instruction("STS [R8+UR5], R6", "R8 R6", "", S, 4, guard="P0"),
        instruction("FADD R9, -R6, |R9|", "R6 R9", "R9"),
        instruction("BRA `(.L_x_1)", guard="P1"),
        # Lanes that leave the loop early wait here for the others.
        instruction("LD.E R9, [R2]", "R2 R3", "R9", Space.GENERIC, 4),
        instruction("MOV R8, 0xfffffff0", "", "R8"),
        instruction("EXIT"),
    ],
    [BasicBlock(0, 0, 2, (1,)), BasicBlock(1, 2, 6, (2, 1)), BasicBlock(2, 6, 9, ())],
)
HEAD = TraceHead(KERNEL, Launch((2, 2, 1), (48, 1, 1), smem_bytes=64), (0, 1, 2, 3), (A, TABLE))


def _warp(block: int, number: int, lanes: int) -> list[list[int]]:
    """The loop twice, the second time for lanes 0 to 3 only."""
    base = A.address + 4096 * block
    few = 0xF & lanes
    return [
        warp(block, number),
        enter(0, lanes),
        enter(1, lanes),
        affine(2, base, 8, lanes),
        scattered(3, [4 * (lane ^ 1) for lane in range(32)], 0x5555_5555 & lanes),
        enter(1, few),
        scattered(2, [base + 64 * lane * lane for lane in range(32)], few),
        enter(2, lanes),
        affine(6, SHARED_WINDOW + 16, 4, lanes),
    ]


def stream(blocks: Sequence[int] = HEAD.blocks) -> np.ndarray:
    """The words of the whole grid: the second warp of every block has 16 lanes."""
    records = [
        record
        for block in blocks
        for number, lanes in ((0, 0xFFFF_FFFF), (1, 0xFFFF))
        for record in _warp(block, number, lanes)
    ]
    return words(*records)
