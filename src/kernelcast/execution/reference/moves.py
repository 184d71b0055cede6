"""Moves and conversions of addresses (PTX ISA 9.0, section 9.7.9: `mov`, `cvta`, `isspacep`)."""

from __future__ import annotations

from functools import reduce

import numpy as np

from kernelcast.execution.address_map import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    WINDOW_BYTES,
)
from kernelcast.execution.reference.semantics import (
    Definitions,
    Semantics,
    UndefinedFormError,
    form,
)
from kernelcast.execution.reference.values import WIDTHS, Lanes, bits_type, exact
from kernelcast.ir import Instruction, Vector

_WINDOWS = {
    "global": 0,
    "const": 0,
    "shared": SHARED_WINDOW,
    "shared::cta": SHARED_WINDOW,
    "shared::cluster": SHARED_WINDOW,
    "local": LOCAL_WINDOW,
    "param": PARAM_WINDOW,
    "param::entry": PARAM_WINDOW,
}
"""Where each space begins in generic addresses."""


def _mov(instruction: Instruction) -> Semantics:
    name = bits_type(form(instruction).type)
    target, *sources = instruction.operands
    if isinstance(target, Vector):
        part, count = _part(name, len(target.elements))
        return Semantics(
            (name,), (f"b{part}",) * count, lambda a: tuple(a >> i * part for i in range(count))
        )
    if sources and isinstance(sources[0], Vector):
        part, count = _part(name, len(sources[0].elements))
        return Semantics((f"b{part}",) * count, (name,), lambda *parts: _joined(parts, part))
    return Semantics((name,), (name,), lambda a: a)


def _part(name: str, count: int) -> tuple[int, int]:
    width = WIDTHS[name] // count
    if f"b{width}" not in WIDTHS:
        raise UndefinedFormError
    return width, count


def _joined(parts: tuple[Lanes, ...], width: int) -> Lanes:
    """Parts side by side, the first one lowest."""
    return reduce(
        lambda high, low: high << width | exact(low), reversed(parts), np.array(0, object)
    )


def _cvta(instruction: Instruction) -> Semantics:
    """To a generic address, or with `.to` from one."""
    found = form(instruction, ("to", *_WINDOWS))
    window = _WINDOWS[found.one_of(_WINDOWS)]
    shift = -window if "to" in found else window
    return Semantics((found.type,), (found.type,), lambda a: a + shift)


def _isspacep(instruction: Instruction) -> Semantics:
    """Whether a generic address lies in a space; the parameters' window is part of global."""
    found = form(instruction, [w for w in _WINDOWS if w != "const"])
    space = found.words[0]

    def inside(window: int, a: Lanes) -> Lanes:
        return (a >= window) & (a < window + WINDOW_BYTES)

    def function(a: Lanes) -> Lanes:
        if space == "global":
            return ~(inside(SHARED_WINDOW, a) | inside(LOCAL_WINDOW, a))
        return inside(_WINDOWS[space], a)

    return Semantics(("u64",), ("pred",), function)


def _createpolicy(instruction: Instruction) -> Semantics:
    """A cache policy changes no value; its register holds zero."""
    return Semantics((), ("b64",), lambda: np.zeros(32, np.int64))


DEFINITIONS: Definitions = {
    "mov": _mov,
    "cvta": _cvta,
    "isspacep": _isspacep,
    "createpolicy": _createpolicy,
}
