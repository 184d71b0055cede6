"""What each opcode of SASS does, in steps of PTX."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernelcast.isas.sass.meaning import control, memory, moves
from kernelcast.isas.sass.meaning.lift import Lift

Meaning = Callable[[Lift], None]

MEANINGS: Mapping[str, Meaning] = {
    **moves.MEANINGS,
    **memory.MEANINGS,
    **control.MEANINGS,
}
