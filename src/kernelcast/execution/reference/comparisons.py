"""Comparison and selection (PTX ISA 9.0, section 9.7.6)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelcast.execution.reference.floats import flushed
from kernelcast.execution.reference.semantics import (
    Definitions,
    Modifiers,
    Semantics,
    UndefinedFormError,
    form,
    source_count,
)
from kernelcast.execution.reference.values import Lanes, bits_type, is_float
from kernelcast.ir import Instruction

_Relation = Callable[[Lanes, Lanes], Lanes]


def _unordered(a: Lanes, b: Lanes) -> Lanes:
    return np.isnan(a) | np.isnan(b)


_RELATIONS: dict[str, _Relation] = {
    "eq": lambda a, b: a == b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_INTEGER: dict[str, _Relation] = {
    **_RELATIONS,
    "ne": lambda a, b: a != b,
    "lo": _RELATIONS["lt"],
    "ls": _RELATIONS["le"],
    "hi": _RELATIONS["gt"],
    "hs": _RELATIONS["ge"],
}
_FLOAT: dict[str, _Relation] = {
    **_RELATIONS,
    "ne": lambda a, b: (a != b) & ~_unordered(a, b),
    "equ": lambda a, b: (a == b) | _unordered(a, b),
    "neu": lambda a, b: a != b,
    "ltu": lambda a, b: (a < b) | _unordered(a, b),
    "leu": lambda a, b: (a <= b) | _unordered(a, b),
    "gtu": lambda a, b: (a > b) | _unordered(a, b),
    "geu": lambda a, b: (a >= b) | _unordered(a, b),
    "num": lambda a, b: ~_unordered(a, b),
    "nan": _unordered,
}
_BOOLEAN: dict[str, _Relation] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_WORDS = {*_INTEGER, *_FLOAT, *_BOOLEAN, "ftz"}


def _relation(found: Modifiers, type_name: str) -> _Relation:
    """Compare two values of a type; the result is of booleans."""
    relations = _FLOAT if is_float(type_name) else _INTEGER
    relation = relations[found.one_of({*_INTEGER, *_FLOAT})]
    if type_name == "pred" or (type_name.endswith("16x2") and not is_float(type_name)):
        raise UndefinedFormError
    if "ftz" not in found:
        return relation
    return lambda a, b: relation(flushed(type_name, a), flushed(type_name, b))


def _combination(found: Modifiers, instruction: Instruction) -> _Relation | None:
    """How the comparison and a third operand, a predicate, are combined, if they are."""
    if source_count(instruction) == 2:
        return None
    return _BOOLEAN[found.one_of(_BOOLEAN)]


def _setp(instruction: Instruction) -> Semantics:
    """p = (a cmp b) op c and q = !(a cmp b) op c; of packed halves p and q are the two results."""
    found = form(instruction, _WORDS)
    name = found.type
    relation, combine = _relation(found, name), _combination(found, instruction)

    def function(a: Lanes, b: Lanes, c: Lanes | None = None) -> tuple[Lanes, Lanes]:
        holds = np.asarray(relation(a, b), bool)
        p, q = holds if holds.ndim == 2 else (holds, ~holds)
        return (p, q) if combine is None or c is None else (combine(p, c), combine(q, c))

    sources = (name, name) if combine is None else (name, name, "pred")
    return Semantics(sources, ("pred", "pred"), function)


def _set(instruction: Instruction) -> Semantics:
    """All ones for true, or 1.0 where the destination is a float."""
    found = form(instruction, _WORDS)
    if len(found.types) != 2:
        raise UndefinedFormError
    result, name = found.types
    relation, combine = _relation(found, name), _combination(found, instruction)
    if name.endswith("x2") and not result.endswith("x2"):
        result = {"u32": "u16x2", "s32": "s16x2"}[result]

    def function(a: Lanes, b: Lanes, c: Lanes | None = None) -> Lanes:
        holds = np.asarray(relation(a, b), bool)
        if combine is not None and c is not None:
            holds = combine(holds, c)
        return holds.astype(np.float32) if is_float(result) else -holds.astype(np.int64)

    sources = (name, name) if combine is None else (name, name, "pred")
    return Semantics(sources, (result,), function)


def _selp(instruction: Instruction) -> Semantics:
    name = bits_type(form(instruction).type)
    return Semantics((name, name, "pred"), (name,), lambda a, b, p: np.where(p, a, b))


def _slct(instruction: Instruction) -> Semantics:
    found = form(instruction, ("ftz",))
    if len(found.types) != 2 or found.types[1] not in ("s32", "f32"):
        raise UndefinedFormError
    name, by = bits_type(found.types[0]), found.types[1]

    def function(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
        return np.where((flushed(by, c) if "ftz" in found else c) >= 0, a, b)

    return Semantics((name, name, by), (name,), function)


DEFINITIONS: Definitions = {"setp": _setp, "set": _set, "selp": _selp, "slct": _slct}
