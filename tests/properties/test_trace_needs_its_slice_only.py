"""What a trace does not need may be left out: with junk in its place, kernels go the same way."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from tests.properties.ptx_programs import programs
from tests.properties.ptx_writer import Program
from tests.tracing import by_warp

from kernelcast.analysis.slicing import Needed, needed_for_trace
from kernelcast.errors import ExecutionError
from kernelcast.execution.memory import Memory
from kernelcast.execution.reference import run_reference
from kernelcast.execution.trace import RecordKind, decode
from kernelcast.ir import (
    Address,
    Immediate,
    Instruction,
    Kernel,
    OpClass,
    Operand,
    Register,
    Vector,
)
from kernelcast.isas.ptx import parse_ptx

BUDGET = 200_000


def corrupted(kernel: Kernel, needed: Needed) -> tuple[Kernel, list[int]]:
    """A kernel with junk for all that is not needed, and where its instructions are from."""
    junk = random.Random(0)
    instructions: list[Instruction] = []
    origin: list[int] = []
    blocks = []
    for block in kernel.blocks:
        start = len(instructions)
        for at in range(block.start, block.end):
            for made in _in_place_of(kernel.instructions[at], needed, junk):
                instructions.append(replace(made, index=len(instructions)))
                origin.append(at)
        blocks.append(replace(block, start=start, end=len(instructions)))
    return replace(kernel, instructions=tuple(instructions), blocks=tuple(blocks)), origin


def _in_place_of(
    instruction: Instruction, needed: Needed, junk: random.Random
) -> list[Instruction]:
    if instruction.index in needed.in_full:
        return [instruction]
    kept = []
    if instruction.index in needed.address_only:
        first = len(instruction.operands) if instruction.op_class is OpClass.LOAD else 0
        first += instruction.opcode == "atom"
        operands = [
            operand if place < first else _spoiled(operand, junk)
            for place, operand in enumerate(instruction.operands)
        ]
        kept = [replace(instruction, operands=tuple(operands))]
    return kept + [_junk_in(register, junk) for register in instruction.writes]


def _spoiled(operand: Operand, junk: random.Random) -> Operand:
    """A value that is stored, replaced; the address stays."""
    if isinstance(operand, Address):
        return operand
    if isinstance(operand, Vector):
        return Vector(tuple(Immediate(junk.getrandbits(64)) for _ in operand.elements))
    return Immediate(junk.getrandbits(64))


def _junk_in(register: Register, junk: random.Random) -> Instruction:
    value = junk.getrandbits(1 if register.type == "pred" else 64)
    operands = (register, Immediate(value))
    return Instruction(0, "mov", (register.type,), operands, OpClass.MOVE, writes=(register,))


def way(kernel: Kernel, program: Program, origin: list[int]) -> object:
    """The records of every warp, accesses by the index of the original instruction."""
    memory = Memory.build(kernel, program.launch)
    memory.array("in")[:] = program.words
    try:
        words, _, _ = run_reference(
            kernel, program.launch, memory, range(program.launch.blocks), budget=BUDGET
        )
    except ExecutionError as error:
        return type(error)
    return by_warp(
        record if record.kind is RecordKind.BLOCK else replace(record, id=origin[record.id])
        for record in decode(words)
    )


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(programs())
def test_junk_in_place_of_what_is_not_needed_changes_no_trace(program: Program) -> None:
    kernel = parse_ptx(program.text, "generated.ptx").kernel()
    spoiled, origin = corrupted(kernel, needed_for_trace(kernel))
    assert way(spoiled, program, origin) == way(kernel, program, [*range(len(kernel.instructions))])
