"""Declarations of PTX: registers, parameters, variables (PTX ISA 9.0, sections 5.1 to 5.4)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from kernelcast.errors import ParseError
from kernelcast.isas.ptx.lexer import split_arguments
from kernelcast.isas.ptx.literals import literal, single_precision
from kernelcast.isas.ptx.opcodes import TYPE_BYTES

_OPAQUE_BYTES = dict.fromkeys(("texref", "samplerref", "surfref"), 8)
_SIZES = {**TYPE_BYTES, **_OPAQUE_BYTES}
_STATE_SPACES = frozenset(("reg", "param", "global", "const", "shared", "local"))
_LINKAGE = frozenset(("extern", "visible", "weak", "common"))
_VECTORS = {"v2": 2, "v4": 4}

_NAME = r"[A-Za-z_$%][\w$]*"
_QUALIFIER = re.compile(r"\s*\.(?:align\s+(\d+)|attribute\s*\((?:[^()]|\([^()]*\))*\)|(\w+))")
_REGISTER = re.compile(rf"({_NAME}?)\s*(?:<\s*(\d+)\s*>)?")
_VARIABLE = re.compile(rf"({_NAME})\s*((?:\[[^\]]*\]\s*)*)(?:=\s*(.*))?", re.DOTALL)


class RegisterNames(NamedTuple):
    """Registers declared together: `name` alone, or `name0` to `name(length-1)`."""

    name: str
    length: int | None
    type: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """A variable or a `.param`; `size_bytes` is 0 for an array without a length.

    `initial` holds the bytes it starts with, None where they contain addresses.
    """

    name: str
    type: str
    space: str
    size_bytes: int
    align_bytes: int
    line: int
    is_array: bool = False
    is_pointer: bool = False
    is_extern: bool = False
    initial: bytes | None = b""


class _Qualifiers(NamedTuple):
    """The dotted words before the names, and the names' text."""

    space: str
    type: str
    elements: int
    align_bytes: int | None
    is_pointer: bool
    is_extern: bool
    names: str


def parse_registers(text: str, where: str) -> list[RegisterNames]:
    """Read a `.reg` statement, for example `.reg .b32 %r<25>`."""
    qualifiers = _qualifiers(text, where)
    names = []
    for piece in split_arguments(qualifiers.names):
        found = _REGISTER.fullmatch(piece)
        if found is None or not piece:
            raise ParseError(f"expected a register name, found {piece[:40]!r}", where=where)
        length = None if found[2] is None else int(found[2])
        names.append(RegisterNames(found[1], length, qualifiers.type))
    return names


def parse_variables(text: str, line: int, where: str) -> list[Declaration]:
    """Read a variable statement, for example `.shared .align 4 .b8 tile[1024]`.

    Formal parameters read the same way; `.ptr` and what follows it describe the array pointed to.
    """
    qualifiers = _qualifiers(text, where)
    element_bytes = _SIZES[qualifiers.type] * qualifiers.elements
    declarations = []
    for piece in split_arguments(qualifiers.names):
        found = _VARIABLE.fullmatch(piece)
        if found is None:
            raise ParseError(f"expected a variable name, found {piece[:40]!r}", where=where)
        name, dimensions, initialiser = found.groups()
        values = _initial_values(initialiser, where) if initialiser else []
        initial = _encode(values, qualifiers.type, where)
        size_bytes = element_bytes * _length(dimensions, where)
        # `a[] = {...}` is as long as its values.
        if dimensions and not size_bytes:
            size_bytes = len(values) * _SIZES[qualifiers.type]
        if initial:
            initial = initial.ljust(size_bytes, b"\0")
        declarations.append(
            Declaration(
                name=name,
                type=qualifiers.type,
                space=qualifiers.space,
                size_bytes=size_bytes,
                align_bytes=qualifiers.align_bytes or element_bytes,
                line=line,
                is_array=bool(dimensions),
                is_pointer=qualifiers.is_pointer,
                is_extern=qualifiers.is_extern,
                initial=initial,
            )
        )
    return declarations


def align_up(offset_bytes: int, align_bytes: int) -> int:
    """The least multiple of `align_bytes` that is not below `offset_bytes`."""
    return -(-offset_bytes // align_bytes) * align_bytes


def _qualifiers(text: str, where: str) -> _Qualifiers:
    space = type_ = ""
    elements = 1
    align_bytes = None
    is_pointer = is_extern = False
    position = 0
    while found := _QUALIFIER.match(text, position):
        position = found.end()
        align, word = found.groups()
        if align is not None:
            if not is_pointer:
                align_bytes = int(align)
        elif word == "ptr":
            is_pointer = True
        elif word in _LINKAGE:
            is_extern |= word == "extern"
        elif word in _STATE_SPACES:
            space = space or word
        elif word in _VECTORS:
            elements = _VECTORS[word]
        elif word in _SIZES:
            type_ = word
        elif word is not None:
            raise ParseError(f"unknown directive or type '.{word}'", where=where)
    if not type_:
        raise ParseError(f"expected a type in {text.strip()[:40]!r}", where=where)
    return _Qualifiers(space, type_, elements, align_bytes, is_pointer, is_extern, text[position:])


def _length(dimensions: str, where: str) -> int:
    """Number of elements; 0 where a dimension is left open."""
    lengths = []
    for piece in re.findall(r"\[\s*([^\]]*?)\s*\]", dimensions):
        length = literal(piece) if piece else None
        if piece and length is None:
            raise ParseError(f"expected a number of elements, found {piece!r}", where=where)
        lengths.append(length.value if length else 0)
    return math.prod(lengths)


def _initial_values(text: str, where: str) -> list[str]:
    """The values of an initialiser in memory order; rows of an array have full length."""
    text = text.strip()
    if not text.startswith("{"):
        return [text]
    if not text.endswith("}"):
        raise ParseError("expected '}' at the end of the initialiser", where=where)
    inner = text[1:-1]
    if "{" not in inner:
        return [piece.strip() for piece in inner.split(",") if piece.strip()]
    return [v for piece in split_arguments(inner) for v in _initial_values(piece, where)]


def _encode(values: list[str], type_: str, where: str) -> bytes | None:
    """Little-endian bytes of the values; None where one is an address."""
    size_bytes = _SIZES[type_]
    encoded = bytearray()
    for text in values:
        value = literal(text)
        if value is None:
            if re.match(r"[A-Za-z_$%]|0[xX][fF]+\(", text):
                return None
            raise ParseError(f"expected a number, found {text[:40]!r}", where=where)
        if value.type == "f64" and type_ == "f32":
            value = single_precision(value.value)
        mask = (1 << 8 * size_bytes) - 1
        encoded += (value.value & mask).to_bytes(size_bytes, "little")
    return bytes(encoded)
