"""What is not made a kernel, and why."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcast.errors import UnsupportedError
from kernelcast.frontends.c.nodes import Node, Place, place


@dataclass(frozen=True, slots=True)
class RefusedLoop:
    """A loop, or a part of a file, that no kernel is made of: where, why, and what would help."""

    where: Place
    function: str
    reason: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.where}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class RefusedError(UnsupportedError):
    """Why a loop becomes no kernel; raised where that is found, caught where loops are listed."""

    def __init__(self, node: Node, reason: str, hint: str = "") -> None:
        self.place = place(node)
        super().__init__(reason, where=str(self.place), hint=hint)

    def of(self, function: str) -> RefusedLoop:
        """The refusal of a loop of a function."""
        return RefusedLoop(self.place, function, self.what, self.hint)
