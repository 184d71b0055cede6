"""Arithmetic expressions of launches: `cdiv(n, 256)`, `(1 << 20) + 7`.

    comparison := bit_or [("<" | "<=" | ">" | ">=" | "==" | "!=") bit_or]
    binary     := operands joined by | ^ & (<< >>) (+ -) (* / // %), loosest first
    unary      := ("-" | "+" | "~") unary | power
    power      := atom ["**" unary]
    atom       := number | name | name "(" comparison {"," comparison} ")" | "(" comparison ")"

Values and precedence are Python's; a comparison gives 1 or 0. Length, depth and the size of every
value are bounded, so no text can take long.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kernelcast.errors import InputError, NotFoundError

Number = int | float

MAX_LENGTH = 1000
MAX_DEPTH = 64
MAX_BITS = 128
"""Width of the largest integer that any step may give."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+"
    r"|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<symbol>\*\*|//|<<|>>|<=|>=|==|!=|[-+*/%&|^~(),<>]))",
    re.ASCII,
)
_LEADING_ZERO = re.compile(r"0[\d_]*[1-9]", re.ASCII)


class _BadError(Exception):
    """What is wrong, and at which character of the text."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


class _UnknownNameError(_BadError):
    """A name that is neither given nor a function."""


class _Token(NamedTuple):
    kind: str  # number, name, symbol or end
    text: str
    at: int


def evaluate(text: str, names: Mapping[str, Number], *, where: str = "") -> Number:
    """The value of an expression over `names`.

    Every error is an InputError that gives `where` and the column, counted from 1.
    """
    try:
        return _Parser(text, names).value()
    except _BadError as error:
        place = _place(where, text, error.at)
        if isinstance(error, _UnknownNameError):
            known = [*names, *FUNCTIONS]
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
            raise _BadError(f"an integer of more than {MAX_BITS} bits", at)
        return int(value)  # a comparison's bool
    if not math.isfinite(value):
        raise _BadError("the result is not a finite number", at)
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


_LEVELS: tuple[Mapping[str, Callable[..., Number]], ...] = (
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"<<": _shift_left, ">>": operator.rshift},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod},
)
_COMPARISONS: Mapping[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SIGNS: Mapping[str, Callable[..., Number]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
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


class _Parser:
    """Parses and computes in one pass over the tokens."""

    def __init__(self, text: str, names: Mapping[str, Number]) -> None:
        if len(text) > MAX_LENGTH:
            raise _BadError(f"an expression of more than {MAX_LENGTH} characters", MAX_LENGTH)
        self._tokens = _tokens(text)
        self._names = names
        self._next = 0
        self._depth = 0

    def value(self) -> Number:
        result = self._comparison()
        token = self._peek()
        if token.kind != "end":
            raise _BadError(f"unexpected {token.text!r}", token.at)
        return result

    def _comparison(self) -> Number:
        self._descend()
        left = self._binary(0)
        token = self._peek()
        if token.kind == "symbol" and token.text in _COMPARISONS:
            self._next += 1
            left = int(_COMPARISONS[token.text](left, self._binary(0)))
        self._depth -= 1
        return left

    def _binary(self, level: int) -> Number:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while (token := self._peek()).kind == "symbol" and token.text in _LEVELS[level]:
            self._next += 1
            right = self._binary(level + 1)
            left = _computed(_LEVELS[level][token.text], (left, right), token)
        return left

    def _unary(self) -> Number:
        self._descend()
        token = self._peek()
        if token.kind == "symbol" and token.text in _SIGNS:
            self._next += 1
            value = _computed(_SIGNS[token.text], (self._unary(),), token)
        else:
            value = self._power()
        self._depth -= 1
        return value

    def _power(self) -> Number:
        base = self._atom()
        token = self._peek()
        if token.kind == "symbol" and token.text == "**":
            self._next += 1
            return _computed(_power, (base, self._unary()), token)
        return base

    def _atom(self) -> Number:
        token = self._peek()
        self._next += 1
        if token.kind == "number":
            return _number(token)
        if token.kind == "name":
            if self._peek().text == "(":
                return self._call(token)
            if token.text in self._names:
                return _bounded(self._names[token.text], token.at)
            if token.text in FUNCTIONS:
                raise _BadError(f"expected '(' after {token.text}", token.at)
            raise _UnknownNameError(token.text, token.at)
        if token.text == "(":
            value = self._comparison()
            self._expect(")")
            return value
        found = f", found {token.text!r}" if token.text else " at the end"
        raise _BadError(f"expected a value{found}", token.at)

    def _call(self, name: _Token) -> Number:
        if name.text not in FUNCTIONS:
            raise _UnknownNameError(name.text, name.at)
        fewest, most, function = FUNCTIONS[name.text]
        self._expect("(")
        arguments: list[Number] = []
        while self._peek().text != ")" or arguments:
            arguments.append(self._comparison())
            if self._peek().text != ",":
                break
            self._next += 1
        self._expect(")")
        if not fewest <= len(arguments) <= most:
            wanted = fewest if fewest == most else f"{fewest} or more"
            raise _BadError(f"{name.text} takes {wanted}, not {len(arguments)} values", name.at)
        return _computed(function, arguments, name)

    def _expect(self, symbol: str) -> None:
        token = self._peek()
        if token.text != symbol:
            found = f", found {token.text!r}" if token.text else " at the end"
            raise _BadError(f"expected {symbol!r}{found}", token.at)
        self._next += 1

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _BadError("the expression is nested too deeply", self._peek().at)


def _tokens(text: str) -> list[_Token]:
    tokens = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise _BadError(f"unexpected {text[at]!r}", at)
        kind = str(match.lastgroup)
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        at = match.end()
    tokens.append(_Token("end", "", end))
    return tokens


def _number(token: _Token) -> Number:
    text = token.text
    try:
        if text[:2].lower() in ("0x", "0b"):
            return _bounded(int(text, 0), token.at)
        if text.replace("_", "").isdigit():
            if _LEADING_ZERO.fullmatch(text):
                raise _BadError("a leading zero means nothing here", token.at)
            return _bounded(int(text), token.at)
        return _bounded(float(text), token.at)
    except ValueError:
        raise _BadError(f"{text!r} is not a number", token.at) from None


def _computed(
    function: Callable[..., Number], arguments: Sequence[Number], token: _Token
) -> Number:
    try:
        return _bounded(function(*arguments), token.at)
    except ZeroDivisionError:
        raise _BadError("division by zero", token.at) from None
    except (ValueError, OverflowError) as error:
        raise _BadError(f"{token.text!r} cannot be computed: {error}", token.at) from None
    except TypeError:
        raise _BadError(f"{token.text!r} needs integers", token.at) from None
