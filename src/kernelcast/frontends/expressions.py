"""Arithmetic expressions of launches: `cdiv(n, 256)`, `(1 << 20) + 7`.

Python's parser reads them; of what it reads, numbers, given names, the functions of `FUNCTIONS`,
one comparison (1 or 0) and the operators of integers and floats are computed, all else is refused.
Length, depth and the size of every value are bounded, so no text can take long.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kernelcast.errors import InputError, NotFoundError

BLANK = "?"
"""Stands for a number that is still to be written."""

Number = int | float

_MAX_LENGTH = 1000
_MAX_DEPTH = 64
MAX_BITS = 128
"""Width of the largest integer that any step may give."""

_SPACE = re.compile(r"\s")
_FOREIGN = re.compile(r"[^\w\s.+\-*/%&|^~(),<>=!]", re.ASCII)
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_TRAILING_COMMA = re.compile(r",\s*(?=\))")
_TOKEN = re.compile(r"[\w.]+|\*\*|//|<<|>>|[<>=!]=|\S")
_BEFORE_VALUE = tuple("+-*/%&|^~(,<>=")


class BadError(Exception):
    """What is wrong, and at which character of the text."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


class UnknownNameError(BadError):
    """A name that is neither given nor a function."""


def evaluate(text: str, names: Mapping[str, Number], *, where: str = "") -> Number:
    """The value of an expression over `names`.

    Every error is an InputError that gives `where` and the column, counted from 1.
    """
    with located_errors(text, [*names, *FUNCTIONS], where=where) as inside:
        return _Calculation(inside, names).value(parsed(inside))


@contextmanager
def located_errors(
    text: str, known: Sequence[str], *, where: str = "", column: Callable[[int], int] = int
) -> Iterator[str]:
    """The text without space around it; a `BadError` about it becomes an InputError with its place.

    `known` are the names that an unknown one may have been meant for; `column` finds a character of
    the text by that of what was parsed, where that is not the text itself.
    """
    inside = text.strip()
    try:
        yield inside
    except BadError as error:
        place = _place(where, text, text.find(inside) + column(error.at))
        if isinstance(error, UnknownNameError):
            raise NotFoundError("name", error.what, known, where=place) from None
        raise InputError(error.what, where=place) from None


def split_expressions(text: str) -> list[str]:
    """Split at the commas outside parentheses: the texts of a list of expressions."""
    parts = [""]
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _place(where: str, text: str, at: int) -> str:
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return f"{where + ': ' if where else ''}{shown!r}, column {at + 1}"


def _bounded(value: Number, at: int) -> Number:
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise BadError(f"an integer of more than {MAX_BITS} bits", at)
        return int(value)  # a comparison's bool
    if not math.isfinite(value):
        raise BadError("the result is not a finite number", at)
    return value


def _power(base: Number, exponent: Number) -> Number:
    exact = isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1
    if exact and exponent * (int(base).bit_length() - 1) > MAX_BITS:
        raise OverflowError("the power is too large")
    value: Number | complex = base**exponent
    if isinstance(value, complex):
        raise ValueError("a root of a negative number")
    return value


def _shift_left(value: int, by: int) -> int:
    if by > MAX_BITS:
        raise OverflowError("the shift is too wide")
    return value << by


def _cdiv(dividend: Number, divisor: Number) -> Number:
    """Division rounded up."""
    return -(-dividend // divisor)


_OPERATORS: Mapping[type[ast.operator], Callable[..., Number]] = {
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.LShift: _shift_left,
    ast.RShift: operator.rshift,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[..., Number]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_SIGNS: Mapping[type[ast.unaryop], Callable[..., Number]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_MANY = 64
FUNCTIONS: Mapping[str, tuple[int, int, Callable[..., Number]]] = {
    "min": (2, _MANY, min),
    "max": (2, _MANY, max),
    "abs": (1, 1, abs),
    "ceil": (1, 1, math.ceil),
    "floor": (1, 1, math.floor),
    "round": (1, 1, round),
    "log2": (1, 1, math.log2),
    "sqrt": (1, 1, math.sqrt),
    "cdiv": (2, 2, _cdiv),
}
"""Fewest and most arguments of every function, and the function."""


@dataclass(frozen=True, slots=True)
class _Calculation:
    """Computes a tree over names; `text` is what the tree was parsed from."""

    text: str
    names: Mapping[str, Number]

    def value(self, node: ast.expr, depth: int = 0) -> Number:
        if depth > _MAX_DEPTH:
            raise BadError("the expression is nested too deeply", node.col_offset)
        below = depth + 1
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return _bounded(number, node.col_offset)
            case ast.Name(id=name):
                return self._named(name, node.col_offset)
            case ast.UnaryOp(op=op) if type(op) in _SIGNS:
                operand = self.value(node.operand, below)
                return self._computed(_SIGNS[type(op)], [operand], node.col_offset)
            case ast.BinOp():
                return self._chain(node, below)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                pair = [self.value(left, below), self.value(right, below)]
                return self._computed(_COMPARISONS[type(op)], pair, self._after(left))
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                return self._call(name, node, below)
        raise self._refusal(node)

    def _chain(self, node: ast.BinOp, depth: int) -> Number:
        """`a + b - c ...`, however long: such a tree grows to the left and is no deeper nesting."""
        steps = [node]
        while isinstance(steps[-1].left, ast.BinOp):
            steps.append(steps[-1].left)
        result = self.value(steps[-1].left, depth)
        for step in reversed(steps):
            pair = [result, self.value(step.right, depth)]
            result = self._computed(_OPERATORS[type(step.op)], pair, self._after(step.left))
        return result

    def _named(self, name: str, at: int) -> Number:
        if name in self.names:
            return _bounded(self.names[name], at)
        if name in FUNCTIONS:
            raise BadError(f"expected '(' after {name}", at)
        raise UnknownNameError(name, at)

    def _call(self, name: str, node: ast.Call, depth: int) -> Number:
        if name not in FUNCTIONS and name in self.names:
            raise BadError(f"{name} is a number, not a function", node.col_offset)
        if name not in FUNCTIONS:
            raise UnknownNameError(name, node.col_offset)
        fewest, most, function = FUNCTIONS[name]
        if not fewest <= len(node.args) <= most:
            wanted = fewest if fewest == most else f"{fewest} or more"
            what = f"{name} takes {wanted}, not {len(node.args)} values"
            raise BadError(what, node.col_offset)
        arguments = [self.value(argument, depth) for argument in node.args]
        return self._computed(function, arguments, node.col_offset)

    def _computed(
        self, function: Callable[..., Number], operands: Sequence[Number], at: int
    ) -> Number:
        try:
            return _bounded(function(*operands), at)
        except ZeroDivisionError:
            raise BadError("division by zero", at) from None
        except (ValueError, OverflowError) as error:
            what = f"{_token(self.text, at)!r} cannot be computed: {error}"
            raise BadError(what, at) from None
        except TypeError:
            raise BadError(f"{_token(self.text, at)!r} needs integers", at) from None

    def _after(self, node: ast.expr) -> int:
        """Where the operator behind an operand stands, which may be in parentheses."""
        at = node.end_col_offset or 0
        while self.text[at] in ") \t\r\n\f\v":
            at += 1
        return at

    def _refusal(self, node: ast.expr) -> BadError:
        """Why a node is none of those that are computed."""
        match node:
            case ast.Attribute(value=before):
                return BadError("unexpected '.'", self._after(before))
            case ast.Compare(left=left, ops=[op, *_], comparators=[second, *_]):
                at = self._after(second if type(op) in _COMPARISONS else left)
                return BadError(f"unexpected {_token(self.text, at)!r}", at)
        return BadError("this is not arithmetic", node.col_offset)


def parsed(text: str, keywords: Collection[str] = ()) -> ast.expr:
    """The tree of a text; what no tree may be made of is refused before Python's parser sees it.

    Of Python's keywords only those named may stand in it.
    """
    if len(text) > _MAX_LENGTH:
        raise BadError(f"an expression of more than {_MAX_LENGTH} characters", _MAX_LENGTH)
    if foreign := _FOREIGN.search(text):
        raise BadError(f"unexpected {foreign[0]!r}", foreign.start())
    for word in _WORD.finditer(text):
        if keyword.iskeyword(word[0]) and word[0] not in keywords:
            raise BadError(f"{word[0]!r} cannot be a name here", word.start())
    _check_parentheses(text)
    if comma := _TRAILING_COMMA.search(text):
        raise BadError("expected a value, found ')'", comma.end())
    try:
        with warnings.catch_warnings(action="error"):  # `1if`, which Python is going to refuse
            return ast.parse(_SPACE.sub(" ", text), mode="eval").body
    except SyntaxError as error:
        raise _not_python(text, error) from None
    except (ValueError, MemoryError, RecursionError):
        raise BadError("the expression is nested too deeply", 0) from None


def _check_parentheses(text: str) -> None:
    """Refuse what is nested too deeply for Python's parser, or not closed."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            raise BadError("unexpected ')'", at)
        if depth > _MAX_DEPTH:
            raise BadError("the expression is nested too deeply", at)
    if depth:
        what = "a value" if text.endswith(_BEFORE_VALUE) else "')'"
        raise BadError(f"expected {what} at the end", len(text))


def _not_python(text: str, error: SyntaxError) -> BadError:
    """What Python's parser says, in the words of this module."""
    at = (error.offset or len(text) + 1) - 1
    if "literal" in error.msg:
        at = max(word.start() for word in _TOKEN.finditer(text) if word.start() <= at)
        zero = "leading zero" in error.msg
        what = (
            "a leading zero means nothing here" if zero else f"{_token(text, at)!r} is not a number"
        )
    elif "comma" in error.msg:
        what = "an operator or a comma is missing"
    elif text[:at].rstrip().endswith(_BEFORE_VALUE) or not text[:at]:
        found = f", found {_token(text, at)!r}" if text[at:] else " at the end"
        what = f"expected a value{found}"
    else:
        what = f"unexpected {_token(text, at)!r}" if text[at:] else "unexpected end"
    return BadError(what, at)


def _token(text: str, at: int) -> str:
    """The number, name or symbol that begins at a character."""
    match = _TOKEN.match(text, at)
    return match[0] if match else ""
