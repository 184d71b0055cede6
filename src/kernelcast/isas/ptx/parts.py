"""Instructions that amount to several steps: where they are cut, and what they need and give."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from kernelcast.ir import Instruction, Register
from kernelcast.isas.ptx.steps import is_temporary


def parts(steps: tuple[Instruction, ...]) -> list[tuple[Instruction, ...]]:
    """The steps, cut behind an access that is followed by one in another state space or width.

    An instruction of a kernel accesses one space in one width, so a copy from global to shared
    memory is a load and a store.
    """
    accesses = [
        (at, (step.space, step.access_bytes)) for at, step in enumerate(steps) if step.is_traced
    ]
    cuts = [0, *(at + 1 for (at, kind), (_, after) in pairwise(accesses) if kind != after)]
    return [steps[a:b] for a, b in pairwise([*cuts, len(steps)])]


def outer(registers: Iterable[Register]) -> tuple[Register, ...]:
    """The registers of the machine, each once: what only the steps know is left out."""
    return tuple(dict.fromkeys(r for r in registers if not is_temporary(r)))


def address_reads(steps: tuple[Instruction, ...]) -> tuple[Register, ...]:
    """The registers of the machine that decide on an access, by way of the steps before it: those
    that make up its address, and those of its guard."""
    wanted: set[Register] = set()
    for step in reversed(steps):
        wanted.update(step.address_reads)
        if step.op_class.is_memory and step.guard is not None:
            wanted.add(step.guard.register)
        if wanted.intersection(step.writes):
            wanted.update(step.reads)
    return outer(sorted(wanted, key=lambda r: r.name))
