"""The static instructions of an Accel-Sim trace: what its lines say, and the table of opcodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernelcast.ir import Instruction, Location, OpClass, Register, Space, Text
from kernelcast.isas.sass.opcodes import Opcode, opcode
from kernelcast.isas.sass.traits import with_traits
from kernelcast.traces.accel_sim.lines import Head

_ZEROS = frozenset({"R255", "UR63", "UR255", "P7", "UP7"})
"""Registers that always hold the same: nothing depends on them."""

_PREPARING = frozenset({"BSSY", "BMOV"})
"""Of class branch, but no lane goes anywhere."""

_COPY = "LDGSTS"
"""From global to shared memory: the tracer gives the addresses of what it loads alone."""

_WARP_GROUP_PRODUCT = "GMMA"
"""Behind the sources of these stands whether they close a group of products."""

_GENERIC = frozenset({"LD", "ST", "ATOM"})
_WIDTH = re.compile(r"[USFB]?(8|16|32|64|128|256)")
_REGISTER = re.compile(r"(U?[RP])(\d+)")
_MATRIX_ROW_BYTES = 16
"""What a lane's address in LDSM leads to, whatever the element's width."""

_MAX_REGISTERS = 64


@dataclass(frozen=True, slots=True)
class StaticInstruction:
    """One static instruction; `name_at` and `width_at` are places of words in its lines."""

    pc: int
    name: str
    results: tuple[str, ...]
    sources: tuple[str, ...]
    name_at: int
    width_at: int
    space: Space | None
    op_class: OpClass
    access_bytes: int
    line: int = 0

    @property
    def ends_group(self) -> bool:
        """Whether lanes may diverge or reconverge behind it."""
        base = self.name.partition(".")[0]
        return self.op_class is OpClass.BRANCH and base not in _PREPARING

    @property
    def has_addresses(self) -> bool:
        """Whether its addresses count."""
        return self.access_bytes > 0


def read_code(words: Sequence[str], head: Head) -> StaticInstruction:
    """The instruction of a line.

    ValueError and IndexError where the line is none.
    """
    at = head.first_word
    results, after = _registers(words, at + 2)
    name = words[after]
    sources, width_at = _registers(words, after + 1)
    if head.has_commits and _WARP_GROUP_PRODUCT in name:
        width_at += 1
    int(words[width_at])
    base, *modifiers = name.split(".")
    op_class, space = _asks(base)
    is_access = op_class.is_memory and space not in (None, Space.CONST, Space.PARAM)
    return StaticInstruction(
        pc=int(words[at], 16),
        name=name,
        results=results,
        sources=sources,
        name_at=after,
        width_at=width_at,
        space=space,
        op_class=op_class,
        access_bytes=_access_bytes(base, modifiers) if is_access else 0,
        line=int(words[at - 1]) if head.has_lines else 0,
    )


def instruction(code: StaticInstruction, index: int) -> Instruction:
    """The same for a kernel.

    The registers of a wide result are all written; of wide sources only the first is known.
    """
    base, *modifiers = code.name.split(".")
    sources = tuple(_register(name) for name in code.sources if name not in _ZEROS)
    made = Instruction(
        index=index,
        opcode=base,
        modifiers=tuple(modifiers),
        operands=(
            *(map(Text, code.results) if code.results else (None,)),
            *map(Text, code.sources),
        ),
        op_class=code.op_class,
        reads=sources,
        writes=_written(code, opcode(base), tuple(modifiers)),
        space=code.space,
        access_bytes=code.access_bytes,
        location=Location("source", code.line) if code.line else None,
        address_reads=sources[:1] if code.op_class.is_memory else (),
        code_offset=code.pc,
    )
    return with_traits(made)


def _asks(base: str) -> tuple[OpClass, Space | None]:
    """Class and state space of an opcode, as for kernels that are executed."""
    if base == _COPY:
        return OpClass.LOAD, Space.GLOBAL
    row = opcode(base)
    if row is None:
        return OpClass.OTHER, None
    space = Space.GENERIC if base in _GENERIC else row.space
    is_uniform = row.pipe == "uniform" and not row.op_class.is_memory
    return OpClass.UNIFORM if is_uniform else row.op_class, space


def _registers(words: Sequence[str], at: int) -> tuple[tuple[str, ...], int]:
    """As many registers as word `at` says, and the place behind them."""
    count = int(words[at])
    found = tuple(words[at + 1 : at + 1 + count])
    if not 0 <= count <= _MAX_REGISTERS or not all(map(_REGISTER.fullmatch, found)):
        raise ValueError("no registers")
    return found, at + 1 + count


def _written(
    code: StaticInstruction, row: Opcode | None, modifiers: tuple[str, ...]
) -> tuple[Register, ...]:
    words = row.words_of(modifiers)[:1] if row else ()
    return tuple(
        _register(name, word)
        for name in code.results
        if name not in _ZEROS
        for word in range(words[0] if words and "R" in name else 1)
    )


def _register(name: str, further: int = 0) -> Register:
    """The register of that name, or one further on."""
    found = _REGISTER.fullmatch(name)
    assert found is not None, name
    kind, number = found[1], int(found[2]) + further
    return Register(f"{kind}{number}", "b32" if "R" in kind else "pred")


def _access_bytes(base: str, modifiers: Sequence[str]) -> int:
    """What one lane moves: the first width among the modifiers, else a word."""
    if base == "LDSM":
        return _MATRIX_ROW_BYTES
    widths = (_WIDTH.fullmatch(modifier) for modifier in modifiers)
    return next((int(found[1]) // 8 for found in widths if found), 4)
