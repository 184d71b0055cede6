"""What was found wrong in a launch: of which kind, where in the source, by which threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from kernelcast.ir import Launch, Location


class MisuseKind(StrEnum):
    """What is wrong."""

    OUT_OF_BOUNDS = "out of bounds"
    MISALIGNED = "misaligned access"
    UNINITIALISED = "uninitialised read"
    SHARED_RACE = "race on shared memory"
    GLOBAL_RACE = "race between blocks"
    DIVERGENT_BARRIER = "divergent barrier"
    STOPPED = "stopped"


Tool = Literal["memcheck", "initcheck", "racecheck", "synccheck"]

TOOLS: Mapping[MisuseKind, Tool] = {
    MisuseKind.OUT_OF_BOUNDS: "memcheck",
    MisuseKind.MISALIGNED: "memcheck",
    MisuseKind.UNINITIALISED: "initcheck",
    MisuseKind.SHARED_RACE: "racecheck",
    MisuseKind.GLOBAL_RACE: "racecheck",
    MisuseKind.DIVERGENT_BARRIER: "synccheck",
    MisuseKind.STOPPED: "memcheck",
}
"""The tool of compute-sanitizer that looks for it; races between blocks none of them does."""


@dataclass(frozen=True, slots=True)
class ThreadPlace:
    """A thread at an instruction: block by its linear index in the grid, thread by its coordinates
    in the block; `location` is None where the code does not tell it."""

    location: Location | None
    instruction: str
    block: int
    thread: tuple[int, int, int]


@dataclass(frozen=True)
class Misuse:
    """Something wrong in a launch, `count` times between the same instructions.

    `place` is where it showed, `other` the earlier access or the other barrier. Both are None where
    it is no matter of one thread. `hint` says what to do.
    """

    kind: MisuseKind
    what: str
    hint: str
    kernel: str
    launch: Launch
    place: ThreadPlace | None = None
    other: ThreadPlace | None = None
    count: int = 1
