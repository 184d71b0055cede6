"""Spills and reloads of a basic block by furthest next use.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 6.4 and Algorithm 6.4, after L. A. Belady: A study of replacement algorithms for a
virtual-storage computer. IBM Systems Journal 5, 1966. Every value has one definition, so that it is
stored once at most, when it is first evicted while it is still needed.

Algorithm 6.4, as printed, asks for the next use of m, which is a number of registers; meant is that
of w, the value that is evicted. It starts at k = 64 registers, where its section 3.2 has 63, which
is what a thread of a Fermi may have; and it spills only what is not in S, though S holds what was
spilled already: a value that was reloaded is in S and needs no second store.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kernelcast.errors import InputError
from kernelcast.ir import Instruction, Kernel, Register

PRINTED_REGISTERS = 64
"""k as Algorithm 6.4 begins."""

_PREDICATE = "pred"


@dataclass(frozen=True, slots=True)
class SpillCode:
    """Stores and loads that a block needs: pairs of the place they stand before and the value."""

    stores: tuple[tuple[int, Register], ...]
    reloads: tuple[tuple[int, Register], ...]

    @property
    def accesses(self) -> int:
        """Accesses to memory."""
        return len(self.stores) + len(self.reloads)


@dataclass(frozen=True, slots=True)
class LeastSpills:
    """Stores and reloads in the code of a kernel whose threads have so many `registers`."""

    registers: int
    stores: int
    reloads: int


def least_spills(kernel: Kernel, registers: int) -> LeastSpills:
    """Algorithm 6.4 on every basic block, a value of any width in one register.

    What is live from one block to the next is not counted. InputError as `spills_of_block`.
    """
    found = [
        spills_of_block(kernel.instructions[block.start : block.end], registers)
        for block in kernel.blocks
    ]
    return LeastSpills(
        registers, sum(len(code.stores) for code in found), sum(len(code.reloads) for code in found)
    )


def spills_of_block(
    instructions: Sequence[Instruction], registers: int = PRINTED_REGISTERS
) -> SpillCode:
    """Algorithm 6.4 on straight code; places count from 0, predicates have registers of their own.

    What the block reads first is in memory at its beginning, as in the thesis, whose set of values
    in registers begins empty: loading it the first time is no reload.

    InputError where one instruction needs more registers than there are.
    """
    uses, definitions = _uses(instructions), set[Register]()
    held: set[Register] = set()
    seen: set[Register] = set()
    stored: set[Register] = set()
    stores: list[tuple[int, Register]] = []
    reloads: list[tuple[int, Register]] = []

    def limit(place: int, at: int, most: int) -> None:
        """LIMIT(W, S, I, m): keep what is used soonest from `at` on."""
        ranked = sorted(held, key=lambda value: (_next_use(uses, value, at), value.name))
        for value in ranked[most:]:
            held.remove(value)
            needed = _next_use(uses, value, at) < math.inf
            if needed and value in definitions and value not in stored:
                stores.append((place, value))
                stored.add(value)

    for at, instruction in enumerate(instructions):
        read = set(_values(instruction.reads))
        written = set(_values(instruction.writes))
        if max(len(read), len(written)) > registers:
            raise InputError(f"{instruction} needs more than {registers} registers")
        missing = read - held
        reloads += [(at, value) for value in sorted(missing & seen, key=lambda v: v.name)]
        held |= read
        limit(at, at, registers)
        limit(at, at + 1, registers - len(written - held))
        held |= written
        definitions |= written
        stored -= written
        seen |= read | written
    return SpillCode(tuple(stores), tuple(reloads))


def _values(registers: Sequence[Register]) -> list[Register]:
    return [register for register in registers if register.type != _PREDICATE]


def _uses(instructions: Sequence[Instruction]) -> dict[Register, list[int]]:
    found: defaultdict[Register, list[int]] = defaultdict(list)
    for at, instruction in enumerate(instructions):
        for register in dict.fromkeys(_values(instruction.reads)):
            found[register].append(at)
    return dict(found)


def _next_use(uses: dict[Register, list[int]], value: Register, at: int) -> float:
    """Instructions from `at` to the next that reads the value, infinite where none does."""
    places = uses.get(value, [])
    found = bisect_left(places, at)
    return places[found] - at if found < len(places) else math.inf
