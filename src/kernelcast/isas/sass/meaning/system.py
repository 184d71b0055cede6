"""Calls of the system, which functions that stand in for it make: `printf`, `malloc`, assertions.

Their arguments are in R4 and the registers behind it, 64-bit ones in pairs; so is the result.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.ir import Register
from kernelcast.isas.ptx.steps import SYSTEM
from kernelcast.isas.sass.flow import FAILED_ASSERTION
from kernelcast.isas.sass.meaning.lift import SassLift

SYSTEM_CALL = "SYSTEM"
"""No opcode of a chip: its modifier is what is called."""

_FIRST = 4

SYSTEM_FUNCTIONS: Mapping[str, tuple[tuple[int, ...], int]] = {
    "vprintf": ((2, 2), 1),  # format, arguments; how many there were
    "malloc": ((2,), 2),
    "free": ((2,), 0),
    FAILED_ASSERTION: ((2, 2, 1, 2), 0),  # message, file, line, function
}
"""The words of each argument, and of the result. A 64-bit argument begins at an even register."""


def _call(x: SassLift) -> None:
    """`SYSTEM.name`."""
    (name,) = x.native.modifiers
    sizes, result_words = SYSTEM_FUNCTIONS[name]
    at, values = _FIRST, []
    for words in sizes:
        at += at % words
        if words == 2:
            values.append(x.pack((_word(at), _word(at + 1))))
        else:
            values.append(x.let("cvt.u64.u32", _word(at)))
        at += words
    result = x.let(f"{SYSTEM}.{name.strip('_')}.b64", *values)
    low, high = x.halves(result)
    for place, half in enumerate((low, high)[:result_words]):
        x.do("mov.b32", _word(_FIRST + place), half)


def _word(number: int) -> Register:
    return Register(f"R{number}", "b32")


MEANINGS = {SYSTEM_CALL: _call}
