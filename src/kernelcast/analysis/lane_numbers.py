"""Integer arithmetic of PTX with numbers of lanes: 32 bits with their sign, 64 bits, predicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

WORD_BITS = 32
_WORD_MASK = (1 << WORD_BITS) - 1
LaneNumbers = NDArray[np.int64]

_Exact = Callable[[Sequence[LaneNumbers], tuple[str, ...]], "LaneNumbers | None"]


_OneOrMore = TypeVar("_OneOrMore", int, LaneNumbers)


def wrapped(numbers: _OneOrMore) -> _OneOrMore:
    """A number, or those of lanes, as the lowest 32 bits, with their sign."""
    return (numbers + (1 << 31)) % (1 << WORD_BITS) - (1 << 31)


def computed(
    opcode: str, modifiers: tuple[str, ...], values: Sequence[LaneNumbers]
) -> LaneNumbers | None:
    """What an instruction computes of known numbers; None of one that is not integer arithmetic."""
    kind = modifiers[-1] if modifiers else ""
    rule = _EXACT.get(opcode)
    if rule is None or kind not in _TYPES or "hi" in modifiers:
        return None
    if kind == "u64" and opcode in _BY_SIGN and any((value < 0).any() for value in values):
        return None
    # What a wide product is added to has 64 bits.
    words = 2 if "wide" in modifiers else len(values)
    found = rule([*(_as(v, kind) for v in values[:words]), *values[words:]], modifiers)
    becomes = modifiers[-2] if opcode == "cvt" else "" if opcode == "setp" else kind
    is_word = becomes[1:] == str(WORD_BITS) and "wide" not in modifiers
    return wrapped(found) if found is not None and is_word else found


_TYPES = frozenset(("u32", "s32", "b32", "u64", "s64", "b64", "pred"))
_BY_SIGN = frozenset(("shr", "div", "rem", "min", "max", "setp"))
"""They need the sign of a number, which the upper half of those without one would have here."""


def _as(lanes: LaneNumbers, kind: str) -> LaneNumbers:
    return lanes & _WORD_MASK if kind == "u32" else lanes


def _selected(values: Sequence[LaneNumbers], _: tuple[str, ...]) -> LaneNumbers:
    return np.where(values[2] != 0, values[0], values[1])


def _compared(values: Sequence[LaneNumbers], modifiers: tuple[str, ...]) -> LaneNumbers | None:
    compare, combine = _COMPARISONS.get(modifiers[0]), modifiers[1]
    if compare is None:
        return None
    found = compare(values[0], values[1]).astype(np.int64)
    if len(values) == 2:
        return found
    other = (values[2] != 0).astype(np.int64)
    return _COMBINED[combine](found, other) if combine in _COMBINED else None


_COMPARISONS: Mapping[str, Callable[[LaneNumbers, LaneNumbers], NDArray[np.bool_]]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_COMBINED: Mapping[str, Callable[[LaneNumbers, LaneNumbers], LaneNumbers]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _shifted(
    values: Sequence[LaneNumbers], modifiers: tuple[str, ...], *, left: bool
) -> LaneNumbers:
    bits = int(modifiers[-1][1:])
    wanted = values[1] & _WORD_MASK
    by = np.minimum(wanted, bits - 1)
    if left:
        return np.where(wanted >= bits, 0, values[0] << by)
    gone = 0 if modifiers[-1][0] == "u" else values[0] >> bits - 1
    return np.where(wanted >= bits, gone, values[0] >> by)


def _negation(values: Sequence[LaneNumbers], modifiers: tuple[str, ...]) -> LaneNumbers:
    return values[0] ^ 1 if modifiers[-1] == "pred" else ~values[0]


def _division(values: Sequence[LaneNumbers], _: tuple[str, ...]) -> LaneNumbers | None:
    """Towards 0, as in C."""
    a, b = values
    return None if (b == 0).any() else np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


def _rest(values: Sequence[LaneNumbers], modifiers: tuple[str, ...]) -> LaneNumbers | None:
    quotient = _division(values, modifiers)
    return None if quotient is None else values[0] - quotient * values[1]


_EXACT: Mapping[str, _Exact] = {
    "mov": lambda v, _: v[0],
    "cvt": lambda v, m: v[0] if m[-2] in _TYPES else None,
    "add": lambda v, _: v[0] + v[1],
    "sub": lambda v, _: v[0] - v[1],
    "neg": lambda v, _: -v[0],
    "abs": lambda v, _: np.abs(v[0]),
    "mul": lambda v, _: v[0] * v[1],
    "mad": lambda v, _: v[0] * v[1] + v[2],
    "min": lambda v, _: np.minimum(v[0], v[1]),
    "max": lambda v, _: np.maximum(v[0], v[1]),
    "and": lambda v, _: v[0] & v[1],
    "or": lambda v, _: v[0] | v[1],
    "xor": lambda v, _: v[0] ^ v[1],
    "not": _negation,
    "shl": lambda v, m: _shifted(v, m, left=True),
    "shr": lambda v, m: _shifted(v, m, left=False),
    "div": _division,
    "rem": _rest,
    "selp": _selected,
    "setp": _compared,
}
