"""Literals and constant expressions of PTX (PTX ISA 9.0, section 4.5)."""

from __future__ import annotations

import ast
import operator
import re
import struct
from collections.abc import Callable, Mapping

from kernelcast.ir import Immediate
from kernelcast.ir.sizes import WARP_LANES

_WARP_SIZE_NAME = "WARP_SZ"
_WIDEST_SHIFT = 64

_DIGITS = r"(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9]\d*)U?"
_INTEGER = re.compile(rf"-?\s*{_DIGITS}")
_FLOAT_BITS = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_DECIMAL = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")
_PLAIN_INTEGER = re.compile(rf"\b{_DIGITS}\b")

_OPERATORS: Mapping[type[ast.AST], Callable[..., int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: lambda a, b: a << min(b, _WIDEST_SHIFT),
    ast.RShift: lambda a, b: a >> min(b, _WIDEST_SHIFT),
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


def literal(text: str) -> Immediate | None:
    """Read a number, or an expression of integers; None where the text is neither."""
    if _INTEGER.fullmatch(text):
        return Immediate(_integer(text))
    if bits := _FLOAT_BITS.fullmatch(text):
        single, double = bits.groups()
        return Immediate(int(single, 16), "f32") if single else Immediate(int(double, 16), "f64")
    if _DECIMAL.fullmatch(text):
        (value,) = struct.unpack("<Q", struct.pack("<d", float(text)))
        return Immediate(value, "f64")
    if text == _WARP_SIZE_NAME:
        return Immediate(WARP_LANES)
    value = _expression(text)
    return None if value is None else Immediate(value)


def single_precision(bits: int) -> Immediate:
    """The f32 literal of the f64 literal with these bits, rounded to nearest even."""
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return Immediate(int.from_bytes(packed, "little"), "f32")


def _integer(text: str) -> int:
    digits = text.rstrip("U").replace(" ", "")
    sign, digits = (-1, digits[1:]) if digits[0] == "-" else (1, digits)
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    return sign * int(digits, 8 if octal else 0)


def _expression(text: str) -> int | None:
    """Evaluate an expression of integers with + - * << >> & | ^ ~ and brackets."""
    plain = _PLAIN_INTEGER.sub(lambda found: str(_integer(found.group())), text)
    if not re.fullmatch(r"[\d\s()+\-*<>&|^~]+", plain):
        return None
    try:
        return _fold(ast.parse(plain.strip(), mode="eval").body)
    except (SyntaxError, LookupError, ValueError):
        return None


def _fold(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_fold(left), _fold(right))
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_fold(operand))
    raise ValueError("not an expression of integers")
