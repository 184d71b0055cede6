"""What an instruction reads and writes: registers of every file, with their widths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelcast.isas.sass.by_coordinates import ByCoordinates, by_coordinates
from kernelcast.isas.sass.instruction import SassInstruction
from kernelcast.isas.sass.opcodes import Opcode, Writes, opcode
from kernelcast.isas.sass.operands import (
    AddressOperand,
    ConstantOperand,
    IndirectOperand,
    IntegerOperand,
    NameOperand,
    RegisterFile,
    RegisterOperand,
    SassOperand,
    SassRegister,
)

_ALL_PREDICATES = {"PR": RegisterFile.PREDICATE, "UPR": RegisterFile.UNIFORM_PREDICATE}
_PREDICATES = 7
_PAIR = 2
_MATRIX_WORDS = 4
_DESCRIPTOR = "gdesc"
_TENSOR_MEMORY = ("LDTM", "STTM")
_GROUP_SHAPE = re.compile(r"64x(\d+)x\d+")
_TIMES = re.compile(r"x\d+")
_SHAPE_WORDS = {"16dp128bit": 2, "16dp256bit": 4}
_GROUP_PRODUCTS = ("HGMMA", "IGMMA", "QGMMA", "BGMMA")
_ONE_WORD_SUFFIXES = ("F32", "U32")  # one register, where the opcode takes a pair


@dataclass(frozen=True, slots=True)
class Effects:
    """Registers read, the guard's among them, and written, in operand order.

    Registers of several words are listed word by word; RZ, PT and the like not at all.
    """

    reads: tuple[SassRegister, ...]
    writes: tuple[SassRegister, ...]


def effects(instruction: SassInstruction) -> Effects:
    """What an instruction reads and writes; an opcode the table does not know only reads."""
    if instruction.opcode in _GROUP_PRODUCTS:
        return _of_group_product(instruction)
    form = by_coordinates(instruction)
    if form is not None:
        return _of_access_by_coordinates(instruction, form)
    row = opcode(instruction.opcode)
    count = _written(instruction, row) if row else 0
    sizes = _sizes(instruction, row, count)
    reads: list[SassRegister] = []
    writes: list[SassRegister] = []
    if instruction.guard:
        reads += _registers(instruction.guard, 1)
    wide_address = "E" in instruction.modifiers
    # Addresses are read even where the operand is written.
    for place, (operand, size) in enumerate(zip(instruction.operands, sizes, strict=True)):
        into = writes if place < count else reads
        if isinstance(operand, AddressOperand):
            reads += _address_registers(operand, wide_address)
        elif isinstance(operand, NameOperand):
            into += _masked_predicates(operand, instruction.operands[-1])
        else:
            into += _registers(operand, size)
    return Effects(tuple(reads), tuple(writes))


def sources(instruction: SassInstruction) -> Iterator[tuple[SassOperand, int]]:
    """The operands that an instruction only reads, but for predicates, with their registers."""
    row = opcode(instruction.opcode)
    count = _written(instruction, row) if row else 0
    sizes = _sizes(instruction, row, count)
    for operand, size in list(zip(instruction.operands, sizes, strict=True))[count:]:
        if not _is_predicate(operand):
            yield operand, size


def _sizes(instruction: SassInstruction, row: Opcode | None, count: int) -> list[int]:
    """How many registers each operand names, of which the first `count` are written."""
    words = list(row.words_of(instruction.modifiers)) if row else []
    if _has_two_results(instruction, row):
        words = _words_of_two(instruction)
    if instruction.opcode in _TENSOR_MEMORY:
        words = [_tensor_memory_words(instruction.modifiers)] * len(instruction.operands)
    has_register = any(not _is_predicate(o) for o in instruction.operands[:count])
    if row and row.writes in (Writes.RESULT, Writes.VOTE) and not has_register:
        words = words[1:]
    # Predicates take no entry of `words`.
    return [1 if _is_predicate(o) or not words else words.pop(0) for o in instruction.operands]


def _of_group_product(instruction: SassInstruction) -> Effects:
    """Two registers of sums for four columns, one where they are halves; four of matrix a, if it is
    in registers; and the descriptors of a and b, side by side, or that of b alone. Of sparse ones
    also the word that says where numbers are."""
    shape = next(found for m in instruction.modifiers if (found := _GROUP_SHAPE.fullmatch(m)))
    columns = int(shape[1])
    sums = columns // 4 if "F16" in instruction.modifiers else columns // 2
    target, left, *rest = instruction.operands
    reads = list(_registers(instruction.guard, 1)) if instruction.guard else []
    reads += _registers(left, _MATRIX_WORDS)
    widths = [sums]
    for operand in (left, *rest):
        if isinstance(operand, AddressOperand):
            (first,) = operand.registers
            skipped = 0 if operand is left else _PAIR
            reads += list(_consecutive(first.register, 2 * _PAIR))[skipped:]
        elif operand is not left:
            is_narrow = _is_predicate(operand) or not widths
            reads += _registers(operand, 1 if is_narrow else widths.pop())
    return Effects(tuple(reads), tuple(_registers(target, sums)))


def _of_access_by_coordinates(instruction: SassInstruction, form: ByCoordinates) -> Effects:
    """Textures are read and surfaces loaded to the channels' registers; a store reads them."""
    guard = tuple(_registers(instruction.guard, 1)) if instruction.guard else ()
    data = tuple(r for _, r in form.channels if r.number is not None)
    reads = (*guard, *(r for r in form.reads if r.number is not None))
    is_store = instruction.opcode in ("SUST", "SURED")
    return Effects((*reads, *data), ()) if is_store else Effects(reads, data)


def _written(instruction: SassInstruction, row: Opcode) -> int:
    """How many leading operands are written."""
    operands = instruction.operands
    if row.writes is Writes.NONE or not operands:
        return 0
    if row.writes in (Writes.FIRST, Writes.PREDICATE):
        return 1
    if row.writes is Writes.PREDICATES:
        return 2
    if _has_two_results(instruction, row):
        return 2
    if row.writes is Writes.VOTE:
        return 1 if _is_predicate(operands[0]) else 2
    count = _predicates_from(operands, 0)
    if count < len(operands) and isinstance(operands[count], RegisterOperand):
        count = _predicates_from(operands, count + 1)
    return count


def _has_two_results(instruction: SassInstruction, row: Opcode | None) -> bool:
    """Whether it is a load of 256 bits to two places."""
    return row is not None and row.writes is Writes.RESULT and "ENL2" in instruction.modifiers


def _words_of_two(instruction: SassInstruction) -> list[int]:
    """Registers of the high and of the low half: four, or as many as a mask leaves."""
    last = instruction.operands[-1]
    mask = last.value if isinstance(last, IntegerOperand) else 0xFF
    return [(mask >> 4).bit_count(), (mask & 0xF).bit_count()]


def _tensor_memory_words(modifiers: tuple[str, ...]) -> int:
    """Registers that a lane loads or stores: `x4` times those of the shape."""
    times = next((int(m[1:]) for m in modifiers if _TIMES.fullmatch(m)), 1)
    return times * next((n for shape, n in _SHAPE_WORDS.items() if shape in modifiers), 1)


def _predicates_from(operands: tuple[SassOperand, ...], start: int) -> int:
    """The first place from `start` on that holds no plain predicate."""
    while start < len(operands):
        operand = operands[start]
        if not _is_predicate(operand) or _is_inverted(operand):
            break
        start += 1
    return start


def _is_predicate(operand: SassOperand) -> bool:
    return isinstance(operand, RegisterOperand) and operand.register.file.is_predicate


def _is_inverted(operand: SassOperand) -> bool:
    return isinstance(operand, RegisterOperand) and operand.is_inverted


def _registers(operand: SassOperand, words: int) -> Iterator[SassRegister]:
    match operand:
        case RegisterOperand(register, decoration):
            narrow = any(s in _ONE_WORD_SUFFIXES for s in decoration.suffixes)
            yield from _consecutive(register, 1 if narrow else words)
        case ConstantOperand(bank, register):
            if isinstance(bank, SassRegister):
                yield from _consecutive(bank, 1)
            if register is not None:
                yield from _consecutive(register, 1)
        case IndirectOperand(register_operand):
            yield from _consecutive(register_operand.register, words)
        case _:
            return


def _masked_predicates(operand: NameOperand, mask: SassOperand) -> Iterator[SassRegister]:
    """The predicates of `PR` or `UPR` that a mask selects, all where the last operand is none."""
    if operand.name in _ALL_PREDICATES:
        selected = mask.value if isinstance(mask, IntegerOperand) else -1
        for number in range(_PREDICATES):
            if selected >> number & 1:
                yield SassRegister(_ALL_PREDICATES[operand.name], number)


def _address_registers(operand: AddressOperand, wide: bool) -> Iterator[SassRegister]:
    if operand.descriptor is not None:
        yield from _consecutive(operand.descriptor.register, _PAIR)
    for part in operand.registers:
        suffixes = part.decoration.suffixes
        pair = "64" in suffixes or (wide and "U32" not in suffixes) or operand.space == _DESCRIPTOR
        yield from _consecutive(part.register, _PAIR if pair else 1)


def _consecutive(register: SassRegister, words: int) -> Iterator[SassRegister]:
    if register.number is not None:
        for word in range(words):
            yield SassRegister(register.file, register.number + word)
