"""Operands of SASS instructions: typed values that print as nvdisasm writes them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum


class RegisterFile(StrEnum):
    """Where a register lives; the letters of its name."""

    GENERAL = "R"
    UNIFORM = "UR"
    PREDICATE = "P"
    UNIFORM_PREDICATE = "UP"
    CONVERGENCE = "B"
    SCOREBOARD = "SB"

    @property
    def is_predicate(self) -> bool:
        """Whether its registers hold one bit."""
        return self in (RegisterFile.PREDICATE, RegisterFile.UNIFORM_PREDICATE)


_CONSTANT_LETTER = {
    RegisterFile.GENERAL: "Z",
    RegisterFile.UNIFORM: "Z",
    RegisterFile.PREDICATE: "T",
    RegisterFile.UNIFORM_PREDICATE: "T",
}


@dataclass(frozen=True, slots=True)
class SassRegister:
    """A register; `number` None is the one that reads 0 or true and drops writes (RZ, PT)."""

    file: RegisterFile
    number: int | None

    def __str__(self) -> str:
        return f"{self.file}{_CONSTANT_LETTER[self.file] if self.number is None else self.number}"


@dataclass(frozen=True, slots=True)
class Decoration:
    """What stands around a value: a prefix (`-`, `~`, `!`), bars, suffixes without their dots."""

    prefix: str = ""
    is_absolute: bool = False
    suffixes: tuple[str, ...] = ()

    def around(self, value: str) -> str:
        """The value with its decoration."""
        bars = f"|{value}|" if self.is_absolute else value
        return self.prefix + bars + "".join(f".{s}" for s in self.suffixes)


PLAIN = Decoration()

_BANK_BYTES = 1 << 16
"""How far a bank of constants reaches at most."""


@dataclass(frozen=True, slots=True)
class RegisterOperand:
    """A register as a source or destination: `R2`, `-|R3|.reuse`, `!P0`, `R7.H1_H1`."""

    register: SassRegister
    decoration: Decoration = PLAIN

    @property
    def is_inverted(self) -> bool:
        """Whether a predicate is read as its complement."""
        return self.decoration.prefix == "!"

    def __str__(self) -> str:
        return self.decoration.around(str(self.register))


@dataclass(frozen=True, slots=True)
class IntegerOperand:
    """An integer immediate; nvdisasm writes it in hexadecimal."""

    value: int

    def __str__(self) -> str:
        return f"{self.value:#x}"


@dataclass(frozen=True, slots=True)
class FloatOperand:
    """A floating-point immediate as written; its exact bits are in the encoding."""

    text: str

    @property
    def value(self) -> float:
        """The number; NaN for every kind of NaN."""
        word = self.text.lstrip("+-")
        if word == "INF":
            return -math.inf if self.text.startswith("-") else math.inf
        return math.nan if word.endswith("NAN") else float(self.text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ConstantOperand:
    """`c[bank][register + offset]`, or `cx[table][...]` through a register.

    `register` and `offset` are None where they are not written.
    """

    bank: int | SassRegister
    register: SassRegister | None
    offset: int | None
    decoration: Decoration = PLAIN

    def __str__(self) -> str:
        bank = f"c[{self.bank:#x}]" if isinstance(self.bank, int) else f"cx[{self.bank}]"
        terms = [str(self.register)] if self.register else []
        if self.offset is not None:
            terms.append(f"{self.offset:#x}")
        return self.decoration.around(f"{bank}[{'+'.join(terms)}]")


@dataclass(frozen=True, slots=True)
class AddressOperand:
    """`desc[UR4][R2.64+UR6+0x8]`: the sum of registers and an offset in bytes.

    `space` is the word before the brackets (`tmem`, `gdesc`, `idesc`), empty for memory that the
    opcode names; `descriptor` the register in `desc[...]`; `offset` None where none is written.
    """

    registers: tuple[RegisterOperand, ...]
    offset: int | None
    space: str = ""
    descriptor: RegisterOperand | None = None
    decoration: Decoration = PLAIN

    def __str__(self) -> str:
        terms = [str(r) for r in self.registers]
        if self.offset is not None:
            terms.append(f"{self.offset:#x}")
        before = self.space if self.descriptor is None else f"desc[{self.descriptor}]"
        return self.decoration.around(f"{before}[{'+'.join(terms)}]")


@dataclass(frozen=True, slots=True)
class LabelOperand:
    """A place in the code: a label of the same section or a function."""

    name: str

    def __str__(self) -> str:
        return f"`({self.name})"


@dataclass(frozen=True, slots=True)
class SymbolOperand:
    """Part of an address that the linker fills in, such as `32@lo(function)`."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class NameOperand:
    """A word: a special register (`SR_TID.X`), all predicates (`PR`), a texture's shape (`2D`)."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class IndirectOperand:
    """The target `register + base` of an indirect branch or call: ``R8 `(f)``, `R6 -0x2c0`."""

    register: RegisterOperand
    base: LabelOperand | IntegerOperand | SymbolOperand

    def __str__(self) -> str:
        return f"{self.register} {self.base}"


@dataclass(frozen=True, slots=True)
class SetOperand:
    """Scoreboards by number, `{5,4}`."""

    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return "{" + ",".join(map(str, self.numbers)) + "}"


SassOperand = (
    RegisterOperand
    | IntegerOperand
    | FloatOperand
    | ConstantOperand
    | AddressOperand
    | LabelOperand
    | SymbolOperand
    | NameOperand
    | IndirectOperand
    | SetOperand
)

_REGISTER = r"(?:UR(?:\d+|Z)|R(?:\d+|Z)|UP(?:\d+|T)|P(?:\d+|T)|SB\d+|B\d+)"
_SUFFIXES = r"((?:\.\w+)*)"
"""They stand behind the bar of an absolute value; the half of a uniform register or a constant, of
which that is taken, before it."""
_HEX = r"-?0x[0-9a-f]+"
_DECORATED_REGISTER = re.compile(rf"([-~!]?)(\|?)({_REGISTER}){_SUFFIXES}(\|?){_SUFFIXES}")
_INTEGER = re.compile(_HEX)
_FLOAT = re.compile(r"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|INF|[QS]?NAN)")
_CONSTANT = re.compile(
    rf"([-~!]?)(\|?)c(?:\[(0x[0-9a-f]+)\]|x\[({_REGISTER})\])"
    rf" ?\[(?:({_REGISTER})(?:\+({_HEX}))?|({_HEX}))\]{_SUFFIXES}(\|?){_SUFFIXES}"
)
_ADDRESS = re.compile(rf"([-~]?)(?:desc\[([^][]+)\]|([a-z]*))\[([^][]+)\]{_SUFFIXES}")
_LABEL = re.compile(r"`\((.+)\)")
_SYMBOL = re.compile(r"(?:fun@)?\d*@(?:lo|hi)?\(.+\)")
_NAME = re.compile(r"[A-Za-z0-9]\w*(?:\.\w+)*")
_SET = re.compile(r"\{(\d+(?:,\d+)*)\}")


class UnreadableOperandError(ValueError):
    """The text is no operand that is known; the reader says where it stands."""


def parse_operand(text: str) -> SassOperand:
    """The operand that nvdisasm wrote as `text`; UnreadableOperandError where it is none."""
    if (found := _DECORATED_REGISTER.fullmatch(text)) and bool(found[2]) == bool(found[5]):
        return _register_operand(found)
    if _INTEGER.fullmatch(text):
        return IntegerOperand(int(text, 16))
    if found := _ADDRESS.fullmatch(text):
        return _address(found, text)
    if (found := _CONSTANT.fullmatch(text)) and bool(found[2]) == bool(found[9]):
        return _constant(found)
    if found := _LABEL.fullmatch(text):
        return LabelOperand(found[1])
    if _FLOAT.fullmatch(text):
        return FloatOperand(text)
    if _SYMBOL.fullmatch(text):
        return SymbolOperand(text)
    if found := _SET.fullmatch(text):
        return SetOperand(tuple(map(int, found[1].split(","))))
    if _NAME.fullmatch(text):
        return NameOperand(text)
    return _indirect(text)


def _parse_register(text: str) -> SassRegister:
    """The register of that name, without decoration."""
    letters = text.rstrip("0123456789")
    if letters == text:
        return SassRegister(RegisterFile(text[:-1]), None)
    return SassRegister(RegisterFile(letters), int(text[len(letters) :]))


def _register_operand(found: re.Match[str]) -> RegisterOperand:
    prefix, bar, name, within, _, suffixes = found.groups()
    return RegisterOperand(_parse_register(name), _decoration(prefix, bar, within + suffixes))


def _decoration(prefix: str, bar: str, suffixes: str) -> Decoration:
    if not (prefix or bar or suffixes):
        return PLAIN
    return Decoration(prefix, bool(bar), tuple(suffixes.split(".")[1:]))


def _constant(found: re.Match[str]) -> ConstantOperand:
    prefix, bar, bank, table, register, added, offset, within, _, suffixes = found.groups()
    written = int(added or offset, 16) if added or offset else None
    if written is not None and not register:
        written &= _BANK_BYTES - 1  # the upper half of a bank is printed as if it lay before it
    return ConstantOperand(
        bank=int(bank, 16) if bank else _parse_register(table),
        register=_parse_register(register) if register else None,
        offset=written,
        decoration=_decoration(prefix, bar, within + suffixes),
    )


def _address(found: re.Match[str], text: str) -> AddressOperand:
    prefix, descriptor, space, inner, suffixes = found.groups()
    registers: list[RegisterOperand] = []
    offset = None
    for term in inner.split("+"):
        if offset is None and _INTEGER.fullmatch(term):
            offset = int(term, 16)
        else:
            registers.append(_address_register(term, text))
    return AddressOperand(
        registers=tuple(registers),
        offset=offset,
        space=space or "",
        descriptor=_address_register(descriptor, text) if descriptor else None,
        decoration=_decoration(prefix, "", suffixes),
    )


def _address_register(term: str, text: str) -> RegisterOperand:
    found = _DECORATED_REGISTER.fullmatch(term)
    if found is None:
        raise UnreadableOperandError(text)
    return _register_operand(found)


def _indirect(text: str) -> IndirectOperand:
    register, _, base = text.partition(" ")
    found = _DECORATED_REGISTER.fullmatch(register)
    if found is None or not base:
        raise UnreadableOperandError(text)
    target = parse_operand(base.strip())
    if not isinstance(target, LabelOperand | IntegerOperand | SymbolOperand):
        raise UnreadableOperandError(text)
    return IndirectOperand(_register_operand(found), target)
