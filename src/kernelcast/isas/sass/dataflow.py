"""What an instruction reads and writes: registers of every file, with their widths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernelcast.isas.sass.instruction import SassInstruction
from kernelcast.isas.sass.opcodes import Opcode, Writes, opcode
from kernelcast.isas.sass.operands import (
    AddressOperand,
    ConstantOperand,
    IndirectOperand,
    NameOperand,
    Operand,
    Register,
    RegisterFile,
    RegisterOperand,
)

_ALL_PREDICATES = {"PR": RegisterFile.PREDICATE, "UPR": RegisterFile.UNIFORM_PREDICATE}
_PREDICATES = 7
_PAIR = 2
_ONE_WORD_SUFFIXES = ("F32", "U32")  # one register, where the opcode takes a pair


@dataclass(frozen=True, slots=True)
class Effects:
    """Registers read, the guard's among them, and written, in operand order.

    Registers of several words are listed word by word; RZ, PT and the like not at all.
    """

    reads: tuple[Register, ...]
    writes: tuple[Register, ...]


def effects(instruction: SassInstruction) -> Effects:
    """What an instruction reads and writes; an opcode the table does not know only reads."""
    row = opcode(instruction.opcode)
    count = _written(instruction, row) if row else 0
    words = list(row.words_of(instruction.modifiers)) if row else []
    reads: list[Register] = []
    writes: list[Register] = []
    if instruction.guard:
        reads += _registers(instruction.guard, 1)
    has_register = any(not _is_predicate(o) for o in instruction.operands[:count])
    if row and row.writes in (Writes.RESULT, Writes.VOTE) and not has_register:
        words = words[1:]
    wide_address = "E" in instruction.modifiers
    for place, operand in enumerate(instruction.operands):
        size = 1 if _is_predicate(operand) or not words else words.pop(0)
        into = writes if place < count else reads
        if isinstance(operand, AddressOperand):
            reads += _address_registers(operand, wide_address)
        else:
            into += _registers(operand, size)
    return Effects(tuple(reads), tuple(writes))


def _written(instruction: SassInstruction, row: Opcode) -> int:
    """How many leading operands are written."""
    operands = instruction.operands
    if row.writes is Writes.NONE or not operands:
        return 0
    if row.writes in (Writes.FIRST, Writes.PREDICATE):
        return 1
    if row.writes is Writes.PREDICATES:
        return 2
    if row.writes is Writes.VOTE:
        return 1 if _is_predicate(operands[0]) else 2
    count = _predicates_from(operands, 0)
    if count < len(operands) and isinstance(operands[count], RegisterOperand):
        count = _predicates_from(operands, count + 1)
    return count


def _predicates_from(operands: tuple[Operand, ...], start: int) -> int:
    """The first place from `start` on that holds no plain predicate."""
    while start < len(operands):
        operand = operands[start]
        if not _is_predicate(operand) or _is_inverted(operand):
            break
        start += 1
    return start


def _is_predicate(operand: Operand) -> bool:
    return isinstance(operand, RegisterOperand) and operand.register.file.is_predicate


def _is_inverted(operand: Operand) -> bool:
    return isinstance(operand, RegisterOperand) and operand.is_inverted


def _registers(operand: Operand, words: int) -> Iterator[Register]:
    match operand:
        case RegisterOperand(register, decoration):
            narrow = any(s in _ONE_WORD_SUFFIXES for s in decoration.suffixes)
            yield from _consecutive(register, 1 if narrow else words)
        case ConstantOperand(bank, register):
            if isinstance(bank, Register):
                yield from _consecutive(bank, 1)
            if register is not None:
                yield from _consecutive(register, 1)
        case IndirectOperand(register_operand):
            yield from _consecutive(register_operand.register, words)
        case NameOperand(name) if name in _ALL_PREDICATES:
            for number in range(_PREDICATES):
                yield Register(_ALL_PREDICATES[name], number)
        case _:
            return


def _address_registers(operand: AddressOperand, wide: bool) -> Iterator[Register]:
    if operand.descriptor is not None:
        yield from _consecutive(operand.descriptor.register, _PAIR)
    for part in operand.registers:
        suffixes = part.decoration.suffixes
        pair = "64" in suffixes or (wide and "U32" not in suffixes)
        yield from _consecutive(part.register, _PAIR if pair else 1)


def _consecutive(register: Register, words: int) -> Iterator[Register]:
    if register.number is not None:
        for word in range(words):
            yield Register(register.file, register.number + word)
