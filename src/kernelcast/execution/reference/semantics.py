"""The form in which the meaning of an instruction is given: a function of lane values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kernelcast.execution.reference.values import WIDTHS
from kernelcast.ir import Instruction, Vector


class UndefinedFormError(LookupError):
    """The instruction's modifiers or types have no meaning here."""


@dataclass(frozen=True, slots=True)
class Semantics:
    """What an instruction computes in every lane.

    `sources` and `results` are the types under which operands are read and results written.
    `function` maps the sources' values to the result's, a tuple where there are several.

    Some functions take more, in this order, before the sources: the active lanes
    (`takes_active`), and the carry flag (`takes_carry`). With `gives_carry` the last result is
    the new carry flag, with `gives_values` how many different values the lanes hold, for the trace.
    """

    sources: tuple[str, ...]
    results: tuple[str, ...]
    function: Callable[..., Any]
    takes_active: bool = False
    takes_carry: bool = False
    gives_carry: bool = False
    gives_values: bool = False


Definition = Callable[[Instruction], Semantics]
Definitions = Mapping[str, Definition]


@dataclass(frozen=True, slots=True)
class Modifiers:
    """An instruction's modifiers, taken apart: its types in order, and all other words."""

    types: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def type(self) -> str:
        """The only type."""
        if len(self.types) != 1:
            raise UndefinedFormError
        return self.types[0]

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def one_of(self, words: Collection[str], default: str = "") -> str:
        """The one word of `words` that is there; `default` where none is."""
        found = [w for w in self.words if w in words]
        if len(found) > 1 or not (found or default):
            raise UndefinedFormError
        return found[0] if found else default


def form(instruction: Instruction, allowed: Collection[str] = ()) -> Modifiers:
    """Take the modifiers apart; any word that is not `allowed` makes the form undefined."""
    types = tuple(m for m in instruction.modifiers if m in WIDTHS)
    words = tuple(m for m in instruction.modifiers if m not in WIDTHS)
    if not set(words) <= set(allowed):
        raise UndefinedFormError
    return Modifiers(types, words)


def source_count(instruction: Instruction) -> int:
    """Number of source operands, the elements of a vector counted singly."""
    return sum(len(o.elements) if isinstance(o, Vector) else 1 for o in instruction.operands[1:])
