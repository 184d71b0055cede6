"""Expressions of a written trace: arithmetic of integers over all threads of a block at once.

Python's parser reads them; of what it reads, whole numbers, names, comparisons and the operators of
integers are computed, all else is refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import NotFoundError, ParseError

ThreadValues = NDArray[np.int64]
"""A value of every thread of a block, by warp and lane; or one for all of them."""

_MOST_CHARACTERS = 400
_MOST_BITS = 62
_MOST_SHIFT = 63

_OPERATORS: Mapping[type, Callable[..., ThreadValues]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder,
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift,
    ast.RShift: np.right_shift,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.USub: np.negative,
    ast.Invert: np.invert,
}


@dataclass(frozen=True)
class Expression:
    """A text that stands for a number of every thread; `where` is its file and line."""

    text: str
    where: str
    tree: ast.expr = field(repr=False)

    @classmethod
    def read(cls, text: str, where: str) -> Expression:
        """Parse; ParseError where the text is no expression."""
        text = text.strip()
        if not text or len(text) > _MOST_CHARACTERS:
            raise ParseError(
                f"an expression of {len(text)} characters",
                where=where,
                hint=f"write 1 to {_MOST_CHARACTERS}",
            )
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise ParseError(f"{text!r} is no expression", where=where) from None
        return cls(text, where, tree)

    def value(self, names: Mapping[str, ThreadValues]) -> ThreadValues:
        """Its value; NotFoundError or ParseError where it has none."""
        try:
            with np.errstate(all="raise"):
                return np.asarray(self._of(self.tree, names), np.int64)
        except (FloatingPointError, OverflowError):
            raise ParseError(f"{self.text!r} cannot be computed", where=self.where) from None

    def number(self, names: Mapping[str, ThreadValues]) -> int:
        """Its value, one for all threads; ParseError where they differ."""
        found = np.unique(self.value(names))
        if len(found) != 1:
            raise ParseError(f"{self.text!r} differs between threads", where=self.where)
        return int(found[0])

    def _of(self, node: ast.expr, names: Mapping[str, ThreadValues]) -> ThreadValues:
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return self._constant(number)
            case ast.Name(id=name):
                if name not in names:
                    raise NotFoundError("name", name, names, where=self.where)
                return names[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self._computed(op, self._of(left, names), self._of(right, names))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._of(left, names), self._of(right, names))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._of(operand, names))
        raise ParseError(f"{ast.unparse(node)!r} is no arithmetic of integers", where=self.where)

    def _constant(self, number: int) -> ThreadValues:
        if number.bit_length() > _MOST_BITS:
            raise ParseError(f"{number} has more than {_MOST_BITS} bits", where=self.where)
        return np.asarray(number, np.int64)

    def _computed(self, op: ast.operator, left: ThreadValues, right: ThreadValues) -> ThreadValues:
        is_shift = isinstance(op, ast.LShift | ast.RShift)
        if is_shift and not np.all((right >= 0) & (right <= _MOST_SHIFT)):
            raise ParseError(f"{self.text!r} shifts too far", where=self.where)
        return np.asarray(_OPERATORS[type(op)](left, right), np.int64)
