"""Operands of PTX, read in the scope they stand in (PTX ISA 9.0, section 6)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kernelcast.errors import ParseError
from kernelcast.ir import (
    Address,
    Immediate,
    Negated,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from kernelcast.isas.ptx.declarations import RegisterNames
from kernelcast.isas.ptx.literals import literal

_AXES = ("x", "y", "z", "w")
_SPECIAL = frozenset(
    [
        *(f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in _AXES),
        *(f"{name}.{axis}" for name in ("clusterid", "nclusterid") for axis in _AXES),
        *(f"cluster_{name}.{axis}" for name in ("ctaid", "nctaid") for axis in _AXES),
        *("cluster_ctarank", "cluster_nctarank", "is_explicit_cluster"),
        *("laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid"),
        *(f"lanemask_{relation}" for relation in ("eq", "le", "lt", "ge", "gt")),
        *("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi"),
        *(f"pm{n}" for n in range(8)),
        *(f"pm{n}_64" for n in range(8)),
        *(f"envreg{n}" for n in range(32)),
        *("total_smem_size", "aggr_smem_size", "dynamic_smem_size", "current_graph_exec"),
        *(f"reserved_smem_offset_{part}" for part in ("begin", "end", "cap", "0", "1")),
    ]
)

_NUMBERED = re.compile(r"(.*?)(0|[1-9]\d*)")
_PAIR = re.compile(r"[\w$%]+\s*\|\s*[\w$%]+")
_BASE_AND_OFFSET = re.compile(r"([A-Za-z_$%][\w$.]*)\s*(?:([+-])\s*(.+))?")


@dataclass(slots=True)
class KernelNames:
    """Names of one whole kernel: registers, and symbols with the place of their first use."""

    registers: set[str] = field(default_factory=set)
    symbols: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Scope:
    """The names that one pair of braces declares, and where to look for the others.

    Registers of the outermost scope keep their names; those of every other scope, of which there
    is one for each inlined call, carry its number. `symbols` maps a variable or parameter to its
    unique name, `tables` a table of branch targets to its labels.
    """

    number: int
    parent: Scope | None
    names: KernelNames
    registers: dict[str, Register] = field(default_factory=dict)
    ranges: dict[str, RegisterNames] = field(default_factory=dict)
    symbols: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)
    decoded: dict[str, Operand] = field(default_factory=dict)

    def declare(self, names: RegisterNames) -> None:
        """Add declared registers; they hide those further out."""
        self.decoded.clear()
        if names.length is None:
            self.registers[names.name] = self._register(names.name, names.type)
        else:
            self.ranges[names.name] = names

    def register(self, name: str) -> Register | None:
        """The register of this name, here or further out."""
        scope: Scope | None = self
        numbered = _NUMBERED.fullmatch(name)
        while scope is not None:
            if (known := scope.registers.get(name)) is not None:
                return known
            if (
                numbered
                and (names := scope.ranges.get(numbered[1]))
                and names.length is not None
                and int(numbered[2]) < names.length
            ):
                return scope.registers.setdefault(name, scope._register(name, names.type))
            scope = scope.parent
        return None

    def symbol(self, name: str) -> str | None:
        """The unique name of a variable or parameter, here or further out."""
        scope: Scope | None = self
        while scope is not None:
            if (known := scope.symbols.get(name)) is not None:
                return known
            scope = scope.parent
        return None

    def table(self, name: str) -> list[str] | None:
        """The labels of a table of branch targets, here or further out."""
        scope: Scope | None = self
        while scope is not None:
            if (known := scope.tables.get(name)) is not None:
                return known
            scope = scope.parent
        return None

    def _register(self, name: str, type_: str) -> Register:
        unique = name.removeprefix("%")
        if self.number:
            unique = f"{unique}.{self.number}"
        while unique in self.names.registers:  # `%t` and `t` are two names
            unique += "_"
        self.names.registers.add(unique)
        return Register(unique, type_)


def operand(text: str, scope: Scope, where: str) -> Operand:
    """Read one operand; raises ParseError, located `where`, if it is none."""
    known = scope.decoded.get(text)
    if known is None and text != "_":
        known = scope.decoded[text] = _read(text, scope, where)
    return known


def _symbol(name: str, scope: Scope, where: str) -> str:
    """The unique name of the variable called `name`."""
    unique = scope.symbol(name)
    if unique is None:
        kind = "register" if name.startswith("%") else "name"
        raise ParseError(f"unknown {kind} {name!r}", where=where)
    scope.names.symbols.setdefault(unique, where)
    return unique


def _read(text: str, scope: Scope, where: str) -> Operand:
    first = text[:1]
    if first == "[" and text[-1] == "]":
        return _address(text[1:-1].strip(), scope, where)
    if first == "{" and text[-1] == "}":
        vector = _vector(text[1:-1].split(","), scope, where)
        return vector if len(vector.elements) > 1 else vector.elements[0]
    if _PAIR.fullmatch(text):
        return _vector(text.split("|"), scope, where)
    if first == "!":
        register = scope.register(text[1:].strip())
        if register is None:
            raise ParseError(f"unknown predicate {text[1:].strip()!r}", where=where)
        return Negated(register)
    if (value := literal(text)) is not None:
        return value
    if (register := scope.register(text)) is not None:
        return register
    if first == "%" and text[1:] in _SPECIAL:
        return SpecialRegister(text[1:])
    if found := _BASE_AND_OFFSET.fullmatch(text):
        return Symbol(_symbol(found[1], scope, where), _offset(found, where))
    if not text:
        raise ParseError("expected an operand", where=where)
    if "\n" in text:
        raise ParseError(f"expected ',' or ';' after {text.split(chr(10))[0]!r}", where=where)
    raise ParseError(f"expected an operand, found {text[:40]!r}", where=where)


def _vector(pieces: list[str], scope: Scope, where: str) -> Vector:
    elements = [operand(piece.strip(), scope, where) for piece in pieces]
    for piece, element in zip(pieces, elements, strict=True):
        if not (element is None or isinstance(element, Register | Immediate)):
            raise ParseError(f"expected a register or number, found {piece!r}", where=where)
    return Vector(tuple(e for e in elements if e is None or isinstance(e, Register | Immediate)))


def _address(text: str, scope: Scope, where: str) -> Address:
    if found := _BASE_AND_OFFSET.fullmatch(text):
        register = scope.register(found[1])
        if register is not None:
            return Address(register, _offset(found, where))
        return Address(Symbol(_symbol(found[1], scope, where)), _offset(found, where))
    value = literal(text)
    if value is None or value.type:
        raise ParseError(f"expected an address, found '[{text[:40]}]'", where=where)
    return Address(None, value.value)


def _offset(found: re.Match[str], where: str) -> int:
    """The constant behind `base+`, 0 where there is none."""
    if found[3] is None:
        return 0
    value = literal(found[3].strip())
    if value is None or value.type:
        raise ParseError(f"expected a constant offset, found {found[3]!r}", where=where)
    return -value.value if found[2] == "-" else value.value
