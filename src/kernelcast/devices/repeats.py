"""Launches that are made again and again, and change nothing any more.

Programs that measure themselves repeat a launch hundreds of times. Where one has left memory as it
was before it, the same launch will again, as long as nobody else writes to memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelcast.ir import Kernel, SpecialRegister
from kernelcast.isas.ptx.steps import SYSTEM

_TIMERS = ("clock", "globaltimer")


@dataclass
class RepeatedLaunch:
    """The last launch, how often it has been executed without a break, and whether once more would
    change nothing.

    Memory is compared after the second and third time, the fourth and fifth, the eighth and ninth,
    and so on.
    """

    _key: object = None
    _count: int = 0
    _digest: bytes = b""
    _is_settled: bool = False

    def are_settled(self, key: object) -> bool:
        """Whether a launch leaves memory as it is."""
        return self._is_settled and key == self._key

    def executed(self, key: object, digest: Callable[[], bytes]) -> None:
        """Note a launch; `digest` is asked of what memory holds now."""
        if key != self._key:
            self._key, self._count, self._is_settled = key, 0, False
        self._count += 1
        if self._count > 1 and not self._count & self._count - 1:
            self._digest = digest()
        elif self._count > 2 and not self._count - 1 & self._count - 2:
            self._is_settled = digest() == self._digest

    def disturbed(self) -> None:
        """Somebody else may have written to memory."""
        self._key, self._is_settled = None, False


def does_the_same_again(kernel: Kernel) -> bool:
    """Whether what a kernel does follows from memory and parameters: it asks nothing of the system,
    and no timer."""
    return not any(
        step.opcode == SYSTEM
        or any(isinstance(o, SpecialRegister) and o.name.startswith(_TIMERS) for o in step.operands)
        for instruction in kernel.instructions
        for step in kernel.steps(instruction.index)
    )
