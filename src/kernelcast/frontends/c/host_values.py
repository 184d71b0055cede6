"""What the host computes before it launches: expressions over numbers that are known."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from kernelcast.errors import LaunchError
from kernelcast.frontends.c.functions import MATHEMATICAL
from kernelcast.frontends.c.loops import integer
from kernelcast.frontends.c.nodes import Node, kind, names_in, place
from kernelcast.frontends.c.types import CType
from kernelcast.frontends.expressions import Number

_OPERATORS: Mapping[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_OF_INTEGERS: Mapping[str, Callable[[int, int], int]] = {
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_LIMITS = {"int": 31, "long": 63}


def host_value(node: Node, values: Mapping[str, Number], types: Mapping[str, CType]) -> Number:
    """The value of an expression of C.

    LaunchError where it uses what is not known, divides by zero, or leaves the range of `int`
    or, where a wider variable is in it, of `long`.
    """
    match kind(node):
        case "Constant":
            return _constant(node)
        case "ID":
            if node.name not in values:
                raise LaunchError(
                    f"{node.name} is not given",
                    where=str(place(node)),
                    hint=f"give it with --size {node.name}=VALUE",
                )
            return values[node.name]
        case "Cast":
            value = host_value(node.expr, values, types)
            names = getattr(node.to_type.type.type, "names", ["int"])
            return value if {"float", "double"} & set(names) else int(value)
        case "UnaryOp" if node.op in ("-", "+", "!"):
            value = host_value(node.expr, values, types)
            return {"-": -value, "+": value, "!": int(not value)}[node.op]
        case "TernaryOp":
            holds = host_value(node.cond, values, types)
            return host_value(node.iftrue if holds else node.iffalse, values, types)
        case "BinaryOp":
            return _computed(node, values, types)
        case "FuncCall":
            return _called(node, values, types)
    raise LaunchError("the host cannot know this value", where=str(place(node)))


def _constant(node: Node) -> Number:
    if "int" in node.type:
        return integer(node.value)
    if node.type in ("float", "double"):
        text = node.value.rstrip("fFlL")
        return float.fromhex(text) if text.lower().startswith("0x") else float(text)
    raise LaunchError(f"{node.value} is no number", where=str(place(node)))


def _computed(node: Node, values: Mapping[str, Number], types: Mapping[str, CType]) -> Number:
    left = host_value(node.left, values, types)
    if node.op in ("&&", "||"):
        if bool(left) == (node.op == "||"):
            return int(bool(left))
        return int(bool(host_value(node.right, values, types)))
    right = host_value(node.right, values, types)
    if node.op in ("/", "%"):
        value = _divided(node, left, right)
    elif node.op in _OPERATORS:
        value = _OPERATORS[node.op](left, right)
    elif node.op in _OF_INTEGERS and isinstance(left, int) and isinstance(right, int):
        value = _OF_INTEGERS[node.op](left, right)
    else:
        raise LaunchError(f"{node.op} is not computed here", where=str(place(node)))
    value = int(value) if isinstance(value, bool) else value
    if isinstance(value, int):
        _check_range(node, value, types)
    return value


def _divided(node: Node, left: Number, right: Number) -> Number:
    if right == 0:
        raise LaunchError("a division by zero", where=str(place(node)), hint="change the sizes")
    if isinstance(left, int) and isinstance(right, int):
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if node.op == "/" else left - right * quotient
    return left / right


def _check_range(node: Node, value: int, types: Mapping[str, CType]) -> None:
    """LaunchError where an integer leaves the range of its type: C wraps it, or says nothing."""
    used = [types[name] for name in names_in(node) if name in types]
    is_wide = any("long" in t.scalar for t in used)
    is_unsigned = any(t.is_unsigned for t in used)
    bits = _LIMITS["long" if is_wide else "int"] + is_unsigned
    low = 0 if is_unsigned else -(1 << bits)
    if not low <= value < 1 << bits:
        word = ("unsigned " if is_unsigned else "") + ("long" if is_wide else "int")
        raise LaunchError(
            f"{value} leaves the range of {word}",
            where=str(place(node)),
            hint="give smaller sizes, or declare them long",
        )


def _called(node: Node, values: Mapping[str, Number], types: Mapping[str, CType]) -> Number:
    name = getattr(node.name, "name", "")
    base = name if name in MATHEMATICAL else name.removesuffix("f")
    known: dict[str, Callable[..., Number]] = {"fmax": max, "fmin": min, "abs": abs, "fabs": abs}
    function = known.get(base) or getattr(math, base, None)
    if function is None:
        raise LaunchError(f"{name} is not computed here", where=str(place(node)))
    given = [host_value(each, values, types) for each in node.args.exprs]
    found: Number = function(*given)
    return float(found) if base != "abs" else found
