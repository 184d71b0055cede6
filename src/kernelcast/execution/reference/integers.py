"""Integer arithmetic (PTX ISA 9.0, sections 9.7.1 and 9.7.2).

Operands are exact integers; whatever a function returns wraps to the result's width.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelcast.execution.reference.semantics import (
    Definition,
    Definitions,
    Modifiers,
    Semantics,
    UndefinedFormError,
    form,
    source_count,
)
from kernelcast.execution.reference.values import Lanes, exact, is_float, limits, width_of
from kernelcast.ir import Instruction

_PACKED = ("u16x2", "s16x2")


def _divided(a: Lanes, b: Lanes) -> Lanes:
    """Quotient toward zero; all ones where the divisor is zero."""
    divisor = np.where(b == 0, 1, b)
    quotient = abs(a) // abs(divisor)
    return np.where(b == 0, -1, np.where((a < 0) != (b < 0), -quotient, quotient))


def _remainder(a: Lanes, b: Lanes) -> Lanes:
    """What is left of `divided`; the dividend where the divisor is zero."""
    return np.where(b == 0, a, a - _divided(a, b) * b)


def _absolute_difference(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """c + |a - b|."""
    total: Lanes = c + abs(a - b)
    return total


def _dot_bytes(a: Lanes, b: Lanes, c: Lanes, a_type: str, b_type: str) -> Lanes:
    """c plus the products of the four bytes of a and b."""
    for at in range(4):
        c = c + _field(a, 8 * at, 8, a_type) * _field(b, 8 * at, 8, b_type)
    return c


def _dot_halves(a: Lanes, b: Lanes, c: Lanes, a_type: str, b_type: str, start: int) -> Lanes:
    """c plus the products of the two halves of a and two bytes of b from bit `start` on."""
    for at in range(2):
        c = c + _field(a, 16 * at, 16, a_type) * _field(b, start + 8 * at, 8, b_type)
    return c


def _field(value: Lanes, start: int, width: int, type_name: str) -> Lanes:
    """Bits of a value as a signed or unsigned number."""
    field = value >> start & (1 << width) - 1
    return field - ((field >> (width - 1)) << width) if type_name[0] == "s" else field


def _integer_type(instruction: Instruction, *words: str, packed: bool = False) -> Modifiers:
    found = form(instruction, words)
    if is_float(found.type) or found.type == "pred" or (found.type in _PACKED and not packed):
        raise UndefinedFormError
    return found


def _elementwise(function: Callable[..., Lanes], *, packed: bool = False) -> Definition:
    def define(instruction: Instruction) -> Semantics:
        found = _integer_type(instruction, packed=packed)
        return Semantics((found.type,) * source_count(instruction), (found.type,), function)

    return define


def _sum(sign: int) -> Definition:
    """`add` and `sub`, with `.sat` for s32 and `.cc` for the carry or borrow."""

    def define(instruction: Instruction) -> Semantics:
        found = _integer_type(instruction, "sat", "cc", packed=True)
        name = found.type
        if "cc" in found:
            return _with_carry(name, sign, takes=False, gives=True)
        if "sat" in found:
            if name != "s32":
                raise UndefinedFormError
            return Semantics(
                (name, name), (name,), lambda a, b: np.clip(a + sign * b, *limits("s32"))
            )
        return Semantics((name, name), (name,), lambda a, b: a + sign * b)

    return define


def _carried_sum(sign: int) -> Definition:
    def define(instruction: Instruction) -> Semantics:
        found = _integer_type(instruction, "cc")
        return _with_carry(found.type, sign, takes=True, gives="cc" in found)

    return define


def _with_carry(type_name: str, sign: int, *, takes: bool, gives: bool) -> Semantics:
    """d = a ± (b + CC); the flag out is the carry, or the borrow of a difference."""
    width = width_of(type_name)
    bits = f"u{width}"

    def function(*values: Lanes) -> Lanes | tuple[Lanes, Lanes]:
        a, b = (exact(v) for v in values[-2:])
        carry = values[0].astype(int) if takes else 0
        total = a + sign * (b + carry)
        return (total, (total >> width & 1).astype(bool)) if gives else total

    results = (bits, "pred") if gives else (bits,)
    return Semantics((bits, bits), results, function, takes_carry=takes, gives_carry=gives)


def _product(instruction: Instruction) -> Semantics:
    """`mul` and `mad` with `.lo`, `.hi` or `.wide`; `.sat` for `mad.hi.s32`; `.cc` and `madc`."""
    found = _integer_type(instruction, "lo", "hi", "wide", "sat", "cc")
    part = found.one_of(("lo", "hi", "wide"))
    name, width = found.type, width_of(found.type)
    takes, gives = instruction.opcode == "madc", "cc" in found
    if takes or gives:
        if part == "wide":
            raise UndefinedFormError
        return _product_with_carry(name, part, takes, gives)
    result = f"{name[0]}{2 * width}" if part == "wide" else name
    if width_of(result) > 64:
        raise UndefinedFormError

    def function(a: Lanes, b: Lanes, c: Lanes | int = 0) -> Lanes:
        product = exact(a) * exact(b)
        total = (product >> width if part == "hi" else product) + c
        return np.clip(total, *limits(name)) if "sat" in found else total

    if "sat" in found and (part, name, instruction.opcode) != ("hi", "s32", "mad"):
        raise UndefinedFormError
    addends = (result,) if instruction.opcode == "mad" else ()
    return Semantics((name, name, *addends), (result,), function)


def _product_with_carry(type_name: str, part: str, takes: bool, gives: bool) -> Semantics:
    width = width_of(type_name)
    bits = f"u{width}"

    def function(*values: Lanes) -> Lanes | tuple[Lanes, Lanes]:
        a, b, c = (exact(v) for v in values[-3:])
        carry = values[0].astype(int) if takes else 0
        product = (a * b >> width if part == "hi" else a * b) & (1 << width) - 1
        total = product + c + carry
        return (total, (total >> width & 1).astype(bool)) if gives else total

    results = (bits, "pred") if gives else (bits,)
    return Semantics(
        (type_name, type_name, bits), results, function, takes_carry=takes, gives_carry=gives
    )


def _product24(instruction: Instruction) -> Semantics:
    """`mul24` and `mad24`: the product of the low 24 bits, its low or high 32 of 48 bits."""
    found = _integer_type(instruction, "lo", "hi")
    name = found.type
    if name not in ("u32", "s32"):
        raise UndefinedFormError
    shift = 16 if found.one_of(("lo", "hi")) == "hi" else 0

    def function(a: Lanes, b: Lanes, c: Lanes | int = 0) -> Lanes:
        return (_field(a, 0, 24, name) * _field(b, 0, 24, name) >> shift) + c

    return Semantics((name,) * source_count(instruction), (name,), function)


def _dot(instruction: Instruction) -> Semantics:
    found = form(instruction, ("lo", "hi"))
    if len(found.types) != 2:
        raise UndefinedFormError
    a_type, b_type = found.types
    result = "s32" if "s" in (a_type[0], b_type[0]) else "u32"
    if instruction.opcode == "dp4a":
        return Semantics(
            (a_type, b_type, result),
            (result,),
            lambda a, b, c: _dot_bytes(a, b, c, a_type, b_type),
        )
    start = 0 if found.one_of(("lo", "hi")) == "lo" else 16
    return Semantics(
        (a_type, b_type, result),
        (result,),
        lambda a, b, c: _dot_halves(a, b, c, a_type, b_type, start),
    )


def _byte_differences(instruction: Instruction) -> Semantics:
    """`vabsdiff4` of unsigned bytes: |a - b| of each, or with `.add` c plus all of them."""
    found = form(instruction, ("add",))
    if found.types != ("u32",) * 3:
        raise UndefinedFormError

    def function(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
        total = c if "add" in found else 0 * c
        for at in range(0, 32, 8):
            difference: Lanes = abs(_field(a, at, 8, "u8") - _field(b, at, 8, "u8"))
            total = total + (difference if "add" in found else difference << at)
        return total

    return Semantics(("u32",) * 3, ("u32",), function)


DEFINITIONS: Definitions = {
    "add": _sum(1),
    "sub": _sum(-1),
    "addc": _carried_sum(1),
    "subc": _carried_sum(-1),
    "mul": _product,
    "mad": _product,
    "madc": _product,
    "mul24": _product24,
    "mad24": _product24,
    "div": _elementwise(_divided),
    "rem": _elementwise(_remainder),
    "abs": _elementwise(abs),
    "neg": _elementwise(lambda a: -a),
    "min": _elementwise(np.minimum, packed=True),
    "max": _elementwise(np.maximum, packed=True),
    "sad": _elementwise(_absolute_difference),
    "dp4a": _dot,
    "dp2a": _dot,
    "vabsdiff4": _byte_differences,
}
