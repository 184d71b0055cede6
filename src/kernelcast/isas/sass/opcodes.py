"""What each base opcode is: the table of `opcodes.toml`, typed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from kernelcast.ir import OpClass, Space
from kernelcast.isas.sass.instruction import SassInstruction


class Latency(StrEnum):
    """How consumers are kept away from a result until it is there."""

    FIXED = "fixed"  # by stall counts
    SCOREBOARD = "scoreboard"


class Writes(StrEnum):
    """Which leading operands an opcode writes; the table says what each means."""

    RESULT = "result"
    PREDICATES = "predicates"
    PREDICATE = "predicate"
    VOTE = "vote"
    FIRST = "first"
    NONE = "none"


class MeaningStatus(StrEnum):
    """How far the meaning of an opcode is known."""

    PROVED = "proved"
    UNSUPPORTED = "unsupported"


ModifierWords = tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]
"""Pairs of modifiers that must be there and of words by operand; the first that fits decides."""


@dataclass(frozen=True, slots=True)
class Opcode:
    """One row of the table."""

    name: str
    op_class: OpClass
    pipe: str
    latency: Latency
    exceptions: Mapping[str, Latency]
    writes: Writes
    words: ModifierWords
    meaning: MeaningStatus
    space: Space | None

    def latency_on(self, target: str) -> Latency:
        """Fixed or guarded, on chips of a target such as `sm_90a`."""
        return self.exceptions.get(target.rstrip("af"), self.latency)

    def words_of(self, modifiers: tuple[str, ...]) -> tuple[int, ...]:
        """Registers that operands take; operands past the end take one."""
        dotted = f".{'.'.join(modifiers)}."
        for needed, words in self.words:
            if all(f".{n}." in dotted for n in needed):
                return words
        return ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many instructions the table knows, and the opcodes it does not, with their counts."""

    total: int
    known: int
    proved: int
    unknown: Mapping[str, int]
    unsupported: Mapping[str, int]

    @property
    def known_share(self) -> float:
        """Share of instructions whose opcode is in the table."""
        return self.known / self.total if self.total else 1.0

    @property
    def proved_share(self) -> float:
        """Share of instructions whose opcode's meaning is proved."""
        return self.proved / self.total if self.total else 1.0


def opcode(name: str) -> Opcode | None:
    """The row of a base opcode; None where the table does not know it."""
    return opcode_table().get(name)


@lru_cache(maxsize=1)
def opcode_table() -> Mapping[str, Opcode]:
    """All rows by name."""
    text = files(__package__).joinpath("opcodes.toml").read_text("utf-8")
    rows: dict[str, Opcode] = {}
    for group in tomllib.loads(text)["group"]:
        for name in group["opcodes"].split():
            assert name not in rows, name
            rows[name] = _row(name, group)
    return MappingProxyType(rows)


def coverage(instructions: Iterable[SassInstruction]) -> Coverage:
    """How much of some code the table knows."""
    total = known = proved = 0
    unknown: dict[str, int] = {}
    unsupported: dict[str, int] = {}
    for instruction in instructions:
        total += 1
        row = opcode(instruction.opcode)
        if row is None:
            unknown[instruction.opcode] = unknown.get(instruction.opcode, 0) + 1
            continue
        known += 1
        if row.meaning is MeaningStatus.PROVED:
            proved += 1
        else:
            unsupported[instruction.opcode] = unsupported.get(instruction.opcode, 0) + 1
    return Coverage(total, known, proved, unknown, unsupported)


def _row(name: str, group: Mapping[str, Any]) -> Opcode:
    return Opcode(
        name=name,
        op_class=OpClass(group["class"]),
        pipe=group["pipe"],
        latency=Latency(group.get("latency", "fixed")),
        exceptions={target: Latency(word) for target, word in group.get("except", {}).items()},
        writes=Writes(group.get("writes", "result")),
        words=tuple(
            (tuple(needed.split()), tuple(map(int, counts.split())))
            for needed, counts in group.get("words", {}).items()
        ),
        meaning=MeaningStatus(group.get("meaning", "proved")),
        space=Space(group["space"]) if "space" in group else None,
    )
