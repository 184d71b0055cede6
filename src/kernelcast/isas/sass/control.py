"""Control codes: what the compiler tells the issue logic with every instruction.

Bits 105 to 125 of the 128-bit encoding, from the lowest: stall count (4 bits), yield (1, on where
the bit is 0), write barrier (3), read barrier (3), wait mask (6), reuse flags (4). Barrier 7 means
none. Layout of Volta and later (Jia et al. 2018, section 2.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

BARRIERS = 6
"""Scoreboards of a warp, also called dependence counters."""

_FIRST_BIT = 105
_NO_BARRIER = 7


@dataclass(frozen=True, slots=True)
class ControlCode:
    """One instruction's control code.

    The next instruction of the warp issues at least `stall_cycles` later. `write_barrier` is the
    scoreboard released when the result is written, `read_barrier` the one released when the
    sources have been read. The instruction itself issues once every scoreboard of `waits` is free.
    Bit s of `reuse_mask` keeps source slot s in the operand cache.
    """

    stall_cycles: int
    yields: bool
    write_barrier: int | None
    read_barrier: int | None
    waits: tuple[int, ...]
    reuse_mask: int

    @property
    def issue_cycles(self) -> int:
        """Cycles before the same warp may issue again, if nothing else holds it.

        A yield gives the next cycle to another warp (Huerta et al. 2025, section 4.1).
        """
        return max(self.stall_cycles, 2 if self.yields else 1)

    def __str__(self) -> str:
        waits = "".join(str(b) if b in self.waits else "-" for b in range(BARRIERS))
        read = "-" if self.read_barrier is None else self.read_barrier
        write = "-" if self.write_barrier is None else self.write_barrier
        yields = "Y" if self.yields else "-"
        return f"B{waits}:R{read}:W{write}:{yields}:S{self.stall_cycles:02d}"


def control_code(encoding: int) -> ControlCode:
    """The control code of a 128-bit encoding."""
    return _decode(encoding >> _FIRST_BIT & 0x1FFFFF)


@lru_cache(maxsize=1 << 14)
def _decode(bits: int) -> ControlCode:
    wait_mask = bits >> 11 & 0x3F
    return ControlCode(
        stall_cycles=bits & 0xF,
        yields=not bits >> 4 & 1,
        write_barrier=_barrier(bits >> 5 & 7),
        read_barrier=_barrier(bits >> 8 & 7),
        waits=tuple(b for b in range(BARRIERS) if wait_mask >> b & 1),
        reuse_mask=bits >> 17 & 0xF,
    )


def _barrier(number: int) -> int | None:
    return None if number == _NO_BARRIER else number
