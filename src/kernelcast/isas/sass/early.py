"""Native code of compute capability 1.x, line by line: `FADD32 R2, g[A1+0xb], R2`.

Arithmetic may take an operand from shared memory, `g[..]`. Such an instruction is a load from there
in the IR, whose trait `computes` says what it does with what it loads.
"""

from __future__ import annotations

import re

from kernelcast.errors import NotFoundError, ParseError
from kernelcast.ir import Guard, Immediate, Instruction, OpClass, Operand, Register, Space, Text
from kernelcast.isas.sass.early_opcodes import EarlyOpcode, early_opcodes
from kernelcast.isas.sass.traits import with_traits

_LINE = re.compile(r"(?:@(!?)(C\d)(?:\.\w+)?\s+)?([A-Z][\w.]*)\s*(.*)")
_REGISTER = re.compile(r"\b([RAC])(\d+)(?:[LH])?\b")
_SHARED = re.compile(r"\bg\s*\[")
_BARRIER = re.compile(r"b(\d+)")
_CONDITION = re.compile(r"C\d")
_WIDTH = re.compile(r"[USFB](8|16|32|64|128)")
_JUMP = "BRA"
_WORD_BYTES = 4
_INSTRUCTION_BYTES = 8


def early_instruction(text: str, index: int, where: str) -> Instruction:
    """The instruction of a line.

    ParseError, at `where`, where it is none; NotFoundError where nobody knows its opcode.
    """
    found = _LINE.fullmatch(text.strip().rstrip(";").strip())
    if found is None:
        raise ParseError(f"{text.strip()!r} is no instruction", where=where)
    negated, condition, name, rest = found.groups()
    opcode, *modifiers = name.split(".")
    row = early_opcodes().get(opcode)
    if row is None:
        raise NotFoundError("operation", opcode, early_opcodes(), where=where)
    operands = tuple(part.strip() for part in rest.split(",")) if rest else ()
    guard = Guard(Register(condition, "pred"), bool(negated)) if condition else None
    return _instruction(row, opcode, tuple(modifiers), operands, guard, index)


def is_jump(instruction: Instruction) -> bool:
    """Whether lanes may go on at the label that is its last operand."""
    return instruction.opcode == _JUMP


def _instruction(
    row: EarlyOpcode,
    opcode: str,
    modifiers: tuple[str, ...],
    operands: tuple[str, ...],
    guard: Guard | None,
    index: int,
) -> Instruction:
    sources = operands[1:] if row.writes else operands
    reads_shared = row.space is None and any(map(_SHARED.search, sources))
    space = Space.SHARED if reads_shared else row.space
    width = 0 if space is None else _width(modifiers) or _WORD_BYTES * row.words
    words = max(row.words, width // _WORD_BYTES)
    written = _registers(operands[0], words) if row.writes and operands else ()
    written += tuple(Register(m, "pred") for m in modifiers if _CONDITION.fullmatch(m))
    made = Instruction(
        index=index,
        opcode=opcode,
        modifiers=modifiers,
        operands=tuple(map(_operand, operands)),
        op_class=OpClass.LOAD if reads_shared else row.op_class,
        guard=guard,
        reads=(*_reads(sources, words), *((guard.register,) if guard else ())),
        writes=written,
        space=space,
        access_bytes=width,
        address_reads=tuple(r for s in sources if "[" in s for r in _registers(s, 1)),
        code_offset=_INSTRUCTION_BYTES * index,
    )
    return with_traits(made)


def _operand(text: str) -> Operand:
    """The number of a barrier; else what is written."""
    barrier = _BARRIER.fullmatch(text)
    return Immediate(int(barrier[1])) if barrier else Text(text)


def _reads(sources: tuple[str, ...], words: int) -> tuple[Register, ...]:
    """The registers of all sources; those in brackets make up an address, of one word."""
    return tuple(r for s in sources for r in _registers(s, 1 if "[" in s else words))


def _width(modifiers: tuple[str, ...]) -> int:
    """What one lane moves: the first width among the modifiers; 0 where there is none."""
    widths = (_WIDTH.fullmatch(modifier) for modifier in modifiers)
    return next((int(found[1]) // 8 for found in widths if found), 0)


def _registers(operand: str, words: int) -> tuple[Register, ...]:
    """Those that an operand names, each with those behind it that hold the rest of its value."""
    return tuple(
        Register(f"{kind}{int(number) + word}", "pred" if kind == "C" else "b32")
        for kind, number in _REGISTER.findall(operand)
        for word in range(words if kind == "R" else 1)
    )
