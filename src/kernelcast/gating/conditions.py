"""Conditions on quantities: `time < 2 ms and bank_conflicts == 0`.

The arithmetic is that of launches (`frontends.expressions`), over intervals: a quantity that is not
known exactly has a least and a greatest value, and a comparison that both decide alike is decided.
Else it cannot be told. `and`, `or` and `not` follow Kleene's strong logic of three values.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from kernelcast.errors import NotFoundError
from kernelcast.frontends.expressions import BadError, UnknownNameError, located_errors, parsed

Dimension = tuple[int, int]
"""Exponents of second and byte."""

_NUMBER: Dimension = (0, 0)
_TIME: Dimension = (1, 0)
_BYTES: Dimension = (0, 1)
_RATE: Dimension = (-1, 1)
_FREQUENCY: Dimension = (-1, 0)

_BYTE_UNITS = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_BINARY_UNITS = {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
UNITS: Mapping[str, tuple[float, Dimension]] = {
    "s": (1.0, _TIME),
    "ms": (1e-3, _TIME),
    "us": (1e-6, _TIME),
    "ns": (1e-9, _TIME),
    **{name: (size, _BYTES) for name, size in (_BYTE_UNITS | _BINARY_UNITS).items()},
    **{f"{name}/s": (size, _RATE) for name, size in (_BYTE_UNITS | _BINARY_UNITS).items()},
    "Hz": (1.0, _FREQUENCY),
    "kHz": (1e3, _FREQUENCY),
    "MHz": (1e6, _FREQUENCY),
    "GHz": (1e9, _FREQUENCY),
    "%": (0.01, _NUMBER),
    "k": (1e3, _NUMBER),
    "M": (1e6, _NUMBER),
    "G": (1e9, _NUMBER),
    "T": (1e12, _NUMBER),
}
"""Units that may stand behind a number, in SI units."""
_SOME_UNITS = "times are in s, ms, us or ns, bytes in B to TB or TiB, rates in GB/s"

_DIMENSIONS = {
    _NUMBER: "a number",
    _TIME: "a time",
    _BYTES: "bytes",
    _RATE: "bytes per second",
    _FREQUENCY: "a frequency",
}
_KEYWORDS = frozenset({"and", "or", "not"})
_WITH_UNIT = re.compile(
    r"(?<![\w.])((?>\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?+)\s*(%|(?!and\b|or\b|not\b)[A-Za-z]+(?:/s\b)?)"
)
_FUNCTIONS = ("min", "max", "abs")
_WHERE = "condition"


class BoundStatus(StrEnum):
    """What became of a bound."""

    HOLDS = "holds"
    BROKEN = "broken"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Interval:
    """A value between a least and a greatest; `dimension` is None for a number as typed, which
    fits every dimension."""

    low: float
    value: float
    high: float
    dimension: Dimension | None = None

    @staticmethod
    def exactly(value: float, dimension: Dimension | None = None) -> Interval:
        """A value that is known."""
        return Interval(value, value, value, dimension)

    @staticmethod
    def unknown(dimension: Dimension) -> Interval:
        """A value of which nothing is known."""
        return Interval(-math.inf, math.nan, math.inf, dimension)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a condition, all of which must hold, and the quantities that it names."""

    text: str
    verdict: BoundStatus
    names: tuple[str, ...]


def together(verdicts: Sequence[BoundStatus]) -> BoundStatus:
    """Of bounds that must all hold: broken where one is, else in doubt where one is."""
    for verdict in (BoundStatus.BROKEN, BoundStatus.CANNOT_TELL):
        if verdict in verdicts:
            return verdict
    return BoundStatus.HOLDS


def judge(text: str, quantities: Mapping[str, Interval]) -> list[Clause]:
    """What becomes of every clause of a condition.

    InputError with the column for what is no condition, for an unknown name or unit, and for
    quantities of unlike dimensions.
    """
    numbers = _Units.of(text.strip())
    known = [*quantities, *_FUNCTIONS]
    with located_errors(text, known, where=_WHERE, column=numbers.column) as inside:
        _refuse_unknown_units(inside)
        tree = parsed(numbers.text, _KEYWORDS)
        judgement = _Judgement({**quantities, **numbers.values})
        found = []
        for node in _clauses(tree):
            names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
            first, last = numbers.column(node.col_offset), numbers.column(node.end_col_offset or 0)
            named = tuple(dict.fromkeys(n for n in names if n in quantities))
            try:
                verdict = judgement.verdict(node)
            except RecursionError:
                raise BadError("the condition is nested too deeply", node.col_offset) from None
            found.append(Clause(inside[first:last].strip(), verdict, named))
        return found


def _refuse_unknown_units(text: str) -> None:
    for match in _WITH_UNIT.finditer(text):
        if match[2] not in UNITS:
            where = f"{_WHERE}: {text!r}, column {match.start(2) + 1}"
            raise NotFoundError("unit", match[2], UNITS, where=where, otherwise=_SOME_UNITS)


def _clauses(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        return [clause for part in tree.values for clause in _clauses(part)]
    return [tree]


@dataclass(frozen=True, slots=True)
class _Units:
    """A condition in which names stand for numbers with units, and the way back to its columns.

    `moves` are the places behind such names, in the changed text and in the given one.
    """

    text: str
    values: Mapping[str, Interval]
    moves: tuple[tuple[int, int], ...]

    @staticmethod
    def of(text: str) -> _Units:
        parts: list[str] = []
        values: dict[str, Interval] = {}
        moves: list[tuple[int, int]] = []
        done = length = 0
        for match in _WITH_UNIT.finditer(text):
            factor, dimension = UNITS.get(match[2], (math.nan, _NUMBER))
            name = f"_{len(values)}"
            values[name] = Interval.exactly(float(match[1]) * factor, dimension)
            parts += [text[done : match.start()], name]
            length += match.start() - done + len(name)
            done = match.end()
            moves.append((length, done))
        return _Units("".join([*parts, text[done:]]), values, tuple(moves))

    def column(self, at: int) -> int:
        """The character of the given text at one of the changed text."""
        before = [(new, old) for new, old in self.moves if new <= at]
        new, old = before[-1] if before else (0, 0)
        return old + at - new


_CORNERS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}
_NEGATED = {
    BoundStatus.HOLDS: BoundStatus.BROKEN,
    BoundStatus.BROKEN: BoundStatus.HOLDS,
    BoundStatus.CANNOT_TELL: BoundStatus.CANNOT_TELL,
}


@dataclass(frozen=True, slots=True)
class _Judgement:
    """Decides a tree over quantities."""

    quantities: Mapping[str, Interval]

    def verdict(self, node: ast.expr) -> BoundStatus:
        match node:
            case ast.BoolOp(op=ast.And(), values=parts):
                return together([self.verdict(part) for part in parts])
            case ast.BoolOp(op=ast.Or(), values=parts):
                return _NEGATED[together([_NEGATED[self.verdict(part)] for part in parts])]
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return _NEGATED[self.verdict(part)]
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                pairs = zip(sides, ops, sides[1:], strict=False)
                return together([self._comparison(a, op, b) for a, op, b in pairs])
        raise BadError("a comparison is expected", node.col_offset)

    def _comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> BoundStatus:
        a, b = self.interval(left), self.interval(right)
        _common(a, b, right)
        match op:
            case ast.Lt():
                return _less(a, b, equal=False)
            case ast.LtE():
                return _less(a, b, equal=True)
            case ast.Gt():
                return _less(b, a, equal=False)
            case ast.GtE():
                return _less(b, a, equal=True)
            case ast.Eq():
                return _equal(a, b)
            case ast.NotEq():
                return _NEGATED[_equal(a, b)]
        raise BadError("this is no comparison of numbers", right.col_offset)

    def interval(self, node: ast.expr) -> Interval:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return Interval.exactly(float(number))
            case ast.Name(id=name) if name in self.quantities:
                return self.quantities[name]
            case ast.Name(id=name):
                raise UnknownNameError(name, node.col_offset)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                a = self.interval(operand)
                return Interval(-a.high, -a.value, -a.low, a.dimension)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _CORNERS:
                return self._computed(op, self.interval(left), self.interval(right), right)
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as parts, keywords=[]):
                return self._called(name, node, [self.interval(part) for part in parts])
        raise BadError("this is not arithmetic", node.col_offset)

    def _called(self, name: str, node: ast.Call, parts: Sequence[Interval]) -> Interval:
        if name not in _FUNCTIONS:
            raise UnknownNameError(name, node.col_offset)
        if name == "abs":
            (a,) = parts if len(parts) == 1 else (None,)
            if a is None:
                raise BadError("abs takes 1 value", node.col_offset)
            least = 0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
            return Interval(least, abs(a.value), max(abs(a.low), abs(a.high)), a.dimension)
        dimension = parts[0].dimension
        for part, written in zip(parts[1:], node.args[1:], strict=True):
            dimension = _common(Interval(0, 0, 0, dimension), part, written)
        choose = min if name == "min" else max
        low, value, high = (
            choose(getattr(part, end) for part in parts) for end in ("low", "value", "high")
        )
        return Interval(low, value, high, dimension)

    def _computed(self, op: ast.operator, a: Interval, b: Interval, node: ast.expr) -> Interval:
        if isinstance(op, ast.Div) and b.low <= 0 <= b.high:
            raise BadError("division by zero", node.col_offset)
        compute = _CORNERS[type(op)]
        ends = [compute(x, y) for x, y in product((a.low, a.high), (b.low, b.high))]
        corners = [end for end in ends if not math.isnan(end)] or [-math.inf, math.inf]
        dimension = _common(a, b, node) if isinstance(op, ast.Add | ast.Sub) else _times(op, a, b)
        return Interval(min(corners), compute(a.value, b.value), max(corners), dimension)


def _less(a: Interval, b: Interval, *, equal: bool) -> BoundStatus:
    """`a < b`, or `a <= b`."""
    if a.high < b.low or (equal and a.high == b.low):
        return BoundStatus.HOLDS
    if a.low > b.high or (not equal and a.low == b.high):
        return BoundStatus.BROKEN
    return BoundStatus.CANNOT_TELL


def _equal(a: Interval, b: Interval) -> BoundStatus:
    if a.low > b.high or a.high < b.low:
        return BoundStatus.BROKEN
    is_known = a.low == a.high == b.low == b.high
    return BoundStatus.HOLDS if is_known else BoundStatus.CANNOT_TELL


def _common(a: Interval, b: Interval, node: ast.expr) -> Dimension | None:
    """The dimension of two sides of a comparison or sum."""
    if a.dimension is not None and b.dimension is not None and a.dimension != b.dimension:
        words = [_DIMENSIONS.get(d, "another unit") for d in (a.dimension, b.dimension)]
        raise BadError(f"{words[0]} beside {words[1]}", node.col_offset)
    return a.dimension if a.dimension is not None else b.dimension


def _times(op: ast.operator, a: Interval, b: Interval) -> Dimension | None:
    if a.dimension is None and b.dimension is None:
        return None
    sign = -1 if isinstance(op, ast.Div) else 1
    left, right = a.dimension or _NUMBER, b.dimension or _NUMBER
    return left[0] + sign * right[0], left[1] + sign * right[1]
