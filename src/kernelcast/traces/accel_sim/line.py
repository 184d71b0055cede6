"""The lines of a trace that is written: what those of one instruction have in common.

The words of a line are those of tracer version 6, which ends a line with one or two immediates;
readers of earlier versions take the first and leave the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelcast.ir import Instruction, Space
from kernelcast.traces.accel_sim.addresses import write_addresses
from kernelcast.traces.accel_sim.simulator import BULK_COPIES, stand_in

_ADDRESSED = frozenset({Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC})
"""Spaces whose addresses the tracer sees."""

_INSTRUCTION_BYTES = 16
_MAX_SOURCES = 4
_RZ = 255
_REGISTER = re.compile(r"(?<!\w)R(\d+|Z)(?!\w)")
_CONSTANT = re.compile(r"\W*cx?\[")
_INTEGER = re.compile(r"-?(?:0x[0-9a-f]+|0|[1-9]\d*)")
_LOW_32 = (1 << 32) - 1
_NO_COPY = "0 0x0 0 0 0 4 0x0 0"
"""A bulk copy of nothing: width, barrier, no multicast, bytes, bytes outside, form 4, no
address."""

_COMMITS = "gsb0"
"""An operand of a matrix product by a warp group that closes a group of them."""


@dataclass(frozen=True, slots=True)
class InstructionLine:
    """What all lines of an instruction have; `width` is 0 where they have no addresses."""

    pc: str
    registers: str
    width: int
    tail: str

    def without_addresses(self, mask: int) -> str:
        """The line for active lanes."""
        return f"{self.pc} {mask:08x} {self.registers} {self.tail}\n"

    def with_addresses(self, mask: int, addresses: Sequence[int]) -> str:
        """The line for active lanes, given the address of every lane."""
        text = write_addresses(mask, addresses)
        return f"{self.pc} {mask:08x} {self.registers} {self.width} {text} 0\n"


def line_of(instruction: Instruction, version: int) -> InstructionLine:
    """The lines of an instruction in a trace of that binary version."""
    offset = instruction.code_offset
    pc = _INSTRUCTION_BYTES * instruction.index if offset is None else offset
    operands = ["_" if o is None else str(o) for o in instruction.operands]
    result, sources = _registers(operands)
    base = stand_in(instruction, version) or instruction.opcode
    has_addresses = instruction.op_class.is_memory and instruction.space in _ADDRESSED
    return InstructionLine(
        pc=f"{pc:04x}",
        registers=" ".join(
            (
                *_counted(result),
                ".".join((base, *instruction.modifiers)),
                *_counted(sources[:_MAX_SOURCES]),
            )
        ),
        width=instruction.access_bytes if has_addresses and base not in BULK_COPIES else 0,
        tail=" ".join((*_middle(base, operands), *_immediates(operands))),
    )


def _middle(base: str, operands: Sequence[str]) -> Iterable[str]:
    """What stands between registers and immediates where there are no addresses."""
    if base.endswith("GMMA"):
        yield str(int(_COMMITS in operands))
    yield _NO_COPY if base in BULK_COPIES else "0"


def _registers(operands: Sequence[str]) -> tuple[list[int], list[int]]:
    """The number of the register written, where the first operand is one, and of those read."""
    numbers = [
        [_RZ if n == "Z" else int(n) for n in _REGISTER.findall(text)][:1]
        for text in operands
        if not _CONSTANT.match(text)
    ]
    is_result = bool(operands) and _REGISTER.fullmatch(operands[0]) is not None
    result = numbers.pop(0) if is_result else []
    return result, [n for one in numbers for n in one]


def _counted(registers: Sequence[int]) -> Iterable[str]:
    return str(len(registers)), *(f"R{n}" for n in registers)


def _immediates(operands: Sequence[str]) -> list[str]:
    """The first two integers among the operands, as 32 bits with a sign: of a barrier its number
    and its threads."""
    found = [int(text, 0) & _LOW_32 for text in operands if _INTEGER.fullmatch(text)]
    return [str(value - (value >> 31 << 32)) for value in found[:2]] or ["0"]
