"""Blocks of a cooperative launch by themselves, so that a few of them can be sampled.

`grid.sync` adds to a word of the launch's workspace and waits until the highest bit of it turns,
which the last block to arrive does (`cooperative_groups/details/sync.h`). Alone, a block turns the
bit when it arrives, and goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from kernelcast.ir import Address, Guard, Immediate, Instruction, Kernel, Register, Vector
from kernelcast.isas.ptx.steps import Steps

_ARRIVAL = "atom.add.u32"
_BARRIER_OFFSET = 4
"""Where the word stands in the workspace."""
_TURN = 1 << 31


@lru_cache(maxsize=64)
def alone(kernel: Kernel) -> Kernel:
    """The kernel with blocks that wait for no other; they have to run one after the other."""
    words = kernel.constants.launch_words if kernel.constants is not None else ()
    places = {word.name: word.offset_bytes for word in words}
    meanings = (_alone(kernel.steps(i.index), places) for i in kernel.instructions)
    return replace(kernel, meanings=tuple(meanings))


def _alone(steps: tuple[Instruction, ...], places: Mapping[str, int]) -> tuple[Instruction, ...]:
    found: list[Instruction] = []
    for step in steps:
        found += _turning(step, places) if _may_arrive(step) else [step]
    return tuple(found)


def _may_arrive(step: Instruction) -> bool:
    if step.name != _ARRIVAL:
        return False
    place = step.operands[1]
    return isinstance(place, Address) and place.offset == _BARRIER_OFFSET


def _turning(step: Instruction, places: Mapping[str, int]) -> list[Instruction]:
    """An addition that turns the bit instead, where it is to the word of the workspace."""
    x = _Beside(step.index, step.guard, step.line, step.location)
    target, place, _ = step.operands
    assert isinstance(place, Address)
    low, high = (
        x.let("ld.param.b32", Address(None, places[f"workspace_{half}"]))
        for half in ("low", "high")
    )
    workspace = x.temporary("b64")
    x.do("mov.b64", workspace, Vector((low, high)))
    arrives = x.let("setp.eq.u64", place.base, workspace)
    adds = x.let("not.pred", arrives)
    x.steps.append(_guarded(step, x.both(step.guard, adds)))
    x.do("atom.xor.b32", target, place, Immediate(_TURN), guard=x.both(step.guard, arrives))
    return x.steps


def _guarded(step: Instruction, guard: Guard) -> Instruction:
    reads = step.reads if step.guard is None else step.reads[1:]
    return replace(step, guard=guard, reads=(guard.register, *reads))


class _Beside(Steps):
    """Steps beside those that the instruction has already."""

    def temporary(self, type: str) -> Register:
        """A register that no other instruction and no other step uses."""
        made = super().temporary(type)
        return Register(f"{made.name}.alone", made.type)
