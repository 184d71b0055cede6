"""Logic, shifts and bit fields (PTX ISA 9.0, sections 9.7.1, 9.7.7 and 9.7.8)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelcast.execution.reference.semantics import (
    Definition,
    Definitions,
    Semantics,
    UndefinedFormError,
    form,
    source_count,
)
from kernelcast.execution.reference.values import Lanes, exact, width_of
from kernelcast.ir import Instruction


def _lookup(a: Lanes, b: Lanes, c: Lanes, table: Lanes) -> Lanes:
    """Bit by bit, the bit of `table` that the three bits number: a is 4, b is 2, c is 1."""
    lut = int(table[0])
    result = np.zeros_like(a)
    for minterm in range(8):
        if lut >> minterm & 1:
            result |= (
                (a if minterm & 4 else ~a) & (b if minterm & 2 else ~b) & (c if minterm & 1 else ~c)
            )
    return result


def _extract(a: int, position: int, length: int, width: int, *, signed: bool) -> int:
    """`bfe`: `length` bits from `position` on, filled up with zeros or the field's sign."""
    position, length = position & 0xFF, length & 0xFF
    pattern = a & (1 << width) - 1
    field = pattern >> position & (1 << length) - 1
    if signed and length:
        sign = pattern >> min(position + length - 1, width - 1) & 1
        kept = max(min(length, width - position), 0)
        field |= -sign << kept
    return field


def _insert(a: int, b: int, position: int, length: int, width: int) -> int:
    """`bfi`: b with `length` bits from `position` on taken from the low end of a."""
    position, length = position & 0xFF, length & 0xFF
    hole = ((1 << length) - 1) << position & (1 << width) - 1
    return b & ~hole | a << position & hole


def _highest(a: int, width: int, *, shift_amount: bool) -> int:
    """`bfind`: where the highest bit lies that is no sign bit; all ones where there is none."""
    if a < 0:
        a = ~a
    if a == 0:
        return 0xFFFF_FFFF
    position = a.bit_length() - 1
    return width - 1 - position if shift_amount else position


_PICKS: dict[str, Callable[[int, int], int]] = {
    "f4e": lambda n, i: n + i,
    "b4e": lambda n, i: (n - i) % 8,
    "rc8": lambda n, i: n,
    "ecl": lambda n, i: max(n, i),
    "ecr": lambda n, i: min(n, i),
    "rc16": lambda n, i: (n & 1) * 2 + (i & 1),
}
"""Which byte of the pair each mode of `prmt` puts at place i, by the selector's low two bits."""


def _permute(a: int, b: int, selector: int, mode: str) -> int:
    """`prmt`: four bytes of the eight in b and a; by default a selector's bit 3 spreads a sign."""
    pair = (a | b << 32).to_bytes(8, "little")
    result = 0
    for i in range(4):
        if mode:
            byte = pair[_PICKS[mode](selector & 3, i)]
        else:
            nibble = selector >> 4 * i & 15
            byte = pair[nibble & 7]
            if nibble & 8:
                byte = 0xFF if byte & 0x80 else 0
        result |= byte << 8 * i
    return result


def _extend(a: int, width: int, *, wrap: bool, signed: bool) -> int:
    """`szext`: the low `width` bits of a, extended by their sign or by zeros to 32."""
    width = width & 31 if wrap else min(width, 32)
    if width == 0:
        return 0
    field = a & (1 << width) - 1
    return field - (1 << width) if signed and field >> (width - 1) else field


def _mask(position: int, length: int, *, wrap: bool) -> int:
    """`bmsk`: `length` ones from `position` on."""
    if wrap:
        position, length = position & 31, length & 31
    else:
        position, length = min(position, 32), min(length, 32)
    return ((1 << length) - 1) << position


def _each(function: Callable[..., int]) -> Callable[..., Lanes]:
    """Apply a function of plain integers in every lane."""

    def lanewise(*values: Lanes) -> Lanes:
        return np.array(
            [function(*lane) for lane in zip(*(v.tolist() for v in values), strict=True)], object
        )

    return lanewise


def _bits(instruction: Instruction, *words: str) -> tuple[str, int]:
    name = form(instruction, words).type
    if name not in ("b16", "b32", "b64", "u32", "s32", "u64", "s64", "u16", "s16"):
        raise UndefinedFormError
    return name, width_of(name)


def _logic(function: Callable[..., Lanes]) -> Definition:
    def define(instruction: Instruction) -> Semantics:
        name = form(instruction).type
        if name not in ("pred", "b16", "b32", "b64"):
            raise UndefinedFormError
        return Semantics((name,) * source_count(instruction), (name,), function)

    return define


def _cnot(instruction: Instruction) -> Semantics:
    name, _ = _bits(instruction)
    return Semantics((name,), (name,), lambda a: (a == 0).astype(np.int64))


def _lop3(instruction: Instruction) -> Semantics:
    name, _ = _bits(instruction)
    return Semantics((name, name, name, "u32"), (name,), _lookup)


def _shift(function: Callable[[Lanes, Lanes], Lanes]) -> Definition:
    def define(instruction: Instruction) -> Semantics:
        name, width = _bits(instruction)
        return Semantics(
            (name, "u32"), (name,), lambda a, n: function(exact(a), np.minimum(exact(n), width))
        )

    return define


def _funnel(instruction: Instruction) -> Semantics:
    """`shf`: the pair b:a shifted left (its high half) or right (its low half)."""
    found = form(instruction, ("l", "r", "wrap", "clamp"))
    left = found.one_of(("l", "r")) == "l"
    wrap = found.one_of(("wrap", "clamp")) == "wrap"
    if found.type != "b32":
        raise UndefinedFormError

    def function(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
        amount = c & 31 if wrap else np.minimum(c, 32)
        pair = exact(b) << 32 | exact(a)
        return pair << exact(amount) >> 32 if left else pair >> exact(amount)

    return Semantics(("b32", "b32", "u32"), ("b32",), function)


def _counting(function: Callable[[int, int], int]) -> Definition:
    """Functions of one value and its width whose result is a u32."""

    def define(instruction: Instruction) -> Semantics:
        name, width = _bits(instruction)
        return Semantics((name,), ("u32",), _each(lambda a: function(a, width)))

    return define


def _brev(instruction: Instruction) -> Semantics:
    name, width = _bits(instruction)
    return Semantics((name,), (name,), _each(lambda a: int(f"{a:0{width}b}"[::-1], 2)))


def _bfind(instruction: Instruction) -> Semantics:
    name, width = _bits(instruction, "shiftamt")
    shift_amount = "shiftamt" in instruction.modifiers
    return Semantics(
        (name,), ("u32",), _each(lambda a: _highest(a, width, shift_amount=shift_amount))
    )


def _bfe(instruction: Instruction) -> Semantics:
    name, width = _bits(instruction)
    signed = name[0] == "s"
    return Semantics(
        (name, "u32", "u32"),
        (name,),
        _each(lambda a, position, length: _extract(a, position, length, width, signed=signed)),
    )


def _bfi(instruction: Instruction) -> Semantics:
    name, width = _bits(instruction)
    return Semantics(
        (name, name, "u32", "u32"),
        (name,),
        _each(lambda a, b, position, length: _insert(a, b, position, length, width)),
    )


def _prmt(instruction: Instruction) -> Semantics:
    found = form(instruction, _PICKS)
    mode = found.words[0] if found.words else ""
    return Semantics(
        ("b32", "b32", "b32"), ("b32",), _each(lambda a, b, c: _permute(a, b, c, mode))
    )


def _szext(instruction: Instruction) -> Semantics:
    found = form(instruction, ("wrap", "clamp"))
    wrap, signed = "wrap" in found, found.type[0] == "s"
    return Semantics(
        (found.type, "u32"),
        (found.type,),
        _each(lambda a, width: _extend(a, width, wrap=wrap, signed=signed)),
    )


def _bmsk(instruction: Instruction) -> Semantics:
    wrap = "wrap" in form(instruction, ("wrap", "clamp"))
    return Semantics(
        ("u32", "u32"), ("b32",), _each(lambda position, length: _mask(position, length, wrap=wrap))
    )


DEFINITIONS: Definitions = {
    "and": _logic(lambda a, b: a & b),
    "or": _logic(lambda a, b: a | b),
    "xor": _logic(lambda a, b: a ^ b),
    "not": _logic(lambda a: ~a),
    "cnot": _cnot,
    "lop3": _lop3,
    "shl": _shift(lambda a, n: a << n),
    "shr": _shift(lambda a, n: a >> n),
    "shf": _funnel,
    "popc": _counting(lambda a, width: a.bit_count()),
    "clz": _counting(lambda a, width: width - a.bit_length()),
    "brev": _brev,
    "bfind": _bfind,
    "bfe": _bfe,
    "bfi": _bfi,
    "prmt": _prmt,
    "szext": _szext,
    "bmsk": _bmsk,
}
