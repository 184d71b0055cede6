"""Expressions of C as CUDA C++ that means the same.

Arrays of several dimensions are linear in a kernel. A function of `math.h` takes `double` in C,
whatever it is given, where C++ would choose by its argument.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kernelcast.frontends.c.functions import MATHEMATICAL
from kernelcast.frontends.c.nodes import Node, kind
from kernelcast.frontends.c.types import CType

_SIMPLE = re.compile(r"\w+|\([^()]*\)")
_WORDS = {"restrict": "__restrict__", "_Bool": "bool"}
_WORD = re.compile(r"\b(restrict|_Bool)\b")


def expression(node: Node, types: Mapping[str, CType]) -> str:
    """An expression, or a declaration without its semicolon."""
    return _WORD.sub(lambda match: _WORDS[match[0]], str(_generator(types).visit(node)))


def _generator(types: Mapping[str, CType]) -> Any:
    from pycparser.c_generator import CGenerator

    class Generator(CGenerator):  # type: ignore[misc]
        """Writes as pycparser does, but for what C++ reads otherwise."""

        def visit_ArrayRef(self, node: Node) -> str:  # noqa: N802
            subscripts: list[Node] = []
            base = node
            while kind(base) == "ArrayRef":
                subscripts.insert(0, base.subscript)
                base = base.name
            found = types.get(base.name) if kind(base) == "ID" else None
            texts = [self.visit(each) for each in subscripts]
            if found is None or len(found.dims) < 2:
                inner = str(self._parenthesize_unless_simple(base))
                return inner + "".join(f"[{text}]" for text in texts)
            lengths = [self.visit(dim) for dim in found.dims[1:]]
            index = _linear(texts, lengths)
            if len(texts) < len(found.dims):
                rest = " * ".join(_factor(length) for length in lengths[len(texts) - 1 :])
                return f"({base.name} + {_factor(index)} * {rest})"
            return f"{base.name}[{index}]"

        def visit_FuncCall(self, node: Node) -> str:  # noqa: N802
            name = getattr(node.name, "name", "")
            if name not in MATHEMATICAL or node.args is None:
                return str(super().visit_FuncCall(node))
            given = [
                self.visit(each)
                if _scalar_of(each, types) == "double"
                else f"(double) {self._parenthesize_unless_simple(each)}"
                for each in node.args.exprs
            ]
            return f"{name}({', '.join(given)})"

    return Generator(reduce_parentheses=True)


def _linear(subscripts: list[str], lengths: list[str]) -> str:
    text = subscripts[0]
    for subscript, length in zip(subscripts[1:], lengths, strict=False):
        text = f"{_factor(text)} * {_factor(length)} + {subscript}"
    return text


def _factor(text: str) -> str:
    return text if _SIMPLE.fullmatch(text) else f"({text})"


_RANKS = ("int", "unsigned", "long", "unsigned long", "float", "double")


def _scalar_of(node: Node, types: Mapping[str, CType]) -> str:
    """The type of an expression after C's usual conversions; `int` for all small integers."""
    match kind(node):
        case "Constant":
            return _constant_type(node)
        case "ID":
            return _promoted(types[node.name].scalar) if node.name in types else "int"
        case "ArrayRef":
            return _scalar_of(node.name, types)
        case "Cast":
            names = getattr(node.to_type.type.type, "names", ["int"])
            return _promoted(" ".join(names))
        case "FuncCall":
            name = getattr(node.name, "name", "")
            if name in MATHEMATICAL:
                return "double"
            return "float" if name.removesuffix("f") in MATHEMATICAL else "int"
        case "BinaryOp" if node.op in ("<", "<=", ">", ">=", "==", "!=", "&&", "||"):
            return "int"
        case "TernaryOp":
            return _wider(_scalar_of(node.iftrue, types), _scalar_of(node.iffalse, types))
        case "BinaryOp":
            return _wider(_scalar_of(node.left, types), _scalar_of(node.right, types))
        case "UnaryOp" | "Assignment":
            return _scalar_of(node.expr if kind(node) == "UnaryOp" else node.lvalue, types)
    return "int"


def _constant_type(node: Node) -> str:
    if node.type in ("float", "double"):
        return "float" if node.value[-1] in "fF" and not node.value.startswith("0x") else "double"
    return "int"


def _promoted(scalar: str) -> str:
    return scalar if scalar in _RANKS else "long" if "long" in scalar else "int"


def _wider(a: str, b: str) -> str:
    return max(a, b, key=_RANKS.index)
