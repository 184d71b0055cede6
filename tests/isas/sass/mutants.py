"""Kernels of machine code in which the meaning of one opcode is wrong, to see who notices.

A mutant changes what the meaning of an opcode comes to: the steps of every instruction of that
opcode, or of one of its spellings, in one way. `scripts/mutate-meanings` tries all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from kernelcast.ir import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Kernel,
    Operand,
    Register,
    Space,
    Vector,
)
from kernelcast.isas.ptx.steps import step

Steps = tuple[Instruction, ...]
Change = Callable[[Steps], Steps]
"""Makes the steps of one instruction wrong; steps in which it finds nothing to change stay."""

_WORD = re.compile(r"U?R\d+")
_PREDICATE = re.compile(r"U?P\d+")
_STORES = ("st", "red", "atom")
_ONE = Immediate(1)


@dataclass(frozen=True)
class Mutant:
    """What is broken, in one of the `KINDS`: an opcode, or one spelling of it, that is the opcode
    with all its modifiers."""

    target: str
    kind: str
    by_spelling: bool = False
    is_gross: bool = False

    def __str__(self) -> str:
        return f"{self.target}: {self.kind}"

    @property
    def grosser(self) -> Mutant | None:
        """What is wrong in more than the last bit, where there is such a way."""
        is_known = self.kind in GROSS_KINDS and not self.is_gross
        return replace(self, is_gross=True) if is_known else None

    def breaks(self, instruction: Instruction) -> bool:
        """Whether it is about this instruction."""
        return self.target == (instruction.name if self.by_spelling else instruction.opcode)

    def of(self, kernel: Kernel) -> Kernel:
        """The kernel, broken so; the same one where nothing in it can be."""
        meanings = tuple(map(self._broken, kernel.instructions, kernel.meanings))
        return kernel if meanings == kernel.meanings else replace(kernel, meanings=meanings)

    def spellings(self, kernel: Kernel) -> set[str]:
        """The spellings of the instructions that come to something else."""
        pairs = zip(kernel.instructions, kernel.meanings, strict=True)
        return {i.name for i, steps in pairs if self._broken(i, steps) != steps}

    def _broken(self, instruction: Instruction, steps: Steps) -> Steps:
        change = (GROSS_KINDS if self.is_gross else KINDS)[self.kind]
        return change(steps) if self.breaks(instruction) else steps


def mutants_of(kernel: Kernel, *, spellings: bool) -> list[Mutant]:
    """All that can be broken in a kernel, by opcode or by spelling."""
    return list(
        dict.fromkeys(
            Mutant(i.name if spellings else i.opcode, kind, spellings)
            for i, steps in zip(kernel.instructions, kernel.meanings, strict=True)
            for kind, change in KINDS.items()
            if change(steps) != steps
        )
    )


def _wrong_register(name: re.Pattern[str], *, last: bool, grossly: bool = False) -> Change:
    """The first register that an instruction writes, or the last of several, comes out wrong.

    A word is greater by one, or grossly wrong: its complement. A predicate is its complement, or
    grossly wrong: always true.
    """

    def change(steps: Steps) -> Steps:
        places = {r: n for n, s in enumerate(steps) for r in s.writes if name.fullmatch(r.name)}
        registers = list(places)[1 if last else 0 :]
        if not registers:
            return steps
        register = registers[-1 if last else 0]
        after = places[register] + 1
        writing = steps[after - 1]
        how: tuple[str, *tuple[Operand, ...]]
        if register.type == "pred":
            how = ("mov.pred", _ONE) if grossly else ("not.pred", register)
        else:
            how = ("not.b32", register) if grossly else ("add.u32", register, _ONE)
        operation, *sources = how
        wrong = _beside(writing, operation, register, *sources, guard=writing.guard)
        return (*steps[:after], wrong, *steps[after:])

    return change


def _without_stores(steps: Steps) -> Steps:
    """Nothing is stored; an atomic operation that returns something stays."""
    return tuple(s for s in steps if s.opcode not in ("st", "red"))


def _wrong_data(*, grossly: bool = False) -> Change:
    """What is stored, or goes into an atomic operation, is wrong in its lowest bit, or in all."""

    def change(steps: Steps) -> Steps:
        changed: list[Instruction] = []
        for s in steps:
            if s.opcode in _STORES:
                *others, data = s.operands
                first, *rest = data.elements if isinstance(data, Vector) else (data,)
                bits = 64 if "64" in s.modifiers[-1] else 32
                wrong = Register(f"t{s.index}.wrong", f"b{bits}")
                ones = Immediate((1 << bits) - 1) if grossly else _ONE
                changed.append(_beside(s, f"xor.b{bits}", wrong, first, ones))
                stored = Vector((wrong, *rest)) if isinstance(data, Vector) else wrong
                changed.append(_with(s, *others, stored))
            else:
                changed.append(s)
        return tuple(changed)

    return change


def _next_address(*opcodes: str) -> Change:
    """An access goes to the element behind the right one."""

    def moved(s: Instruction, operand: Operand) -> Operand:
        if isinstance(operand, Address):
            return replace(operand, offset=operand.offset + s.access_bytes)
        return operand

    def change(steps: Steps) -> Steps:
        return tuple(
            _with(s, *(moved(s, o) for o in s.operands))
            if s.opcode in opcodes and s.space is not Space.PARAM
            else s
            for s in steps
        )

    return change


def _wrong_way(steps: Steps) -> Steps:
    """Other lanes branch or exit than should; where all do, they exit instead of branching, and of
    several targets each is that of the lanes beside."""

    def turned(s: Instruction) -> Instruction:
        match s.opcode:
            case "bra" | "exit" if s.guard is not None:
                return replace(s, guard=replace(s.guard, negated=not s.guard.negated))
            case "brx" if len(s.operands) > 2:
                index, first, *others = s.operands
                return _with(s, index, *others, first)
            case "bra" | "brx":
                return _beside(s, "exit", guard=s.guard)
        return s

    return tuple(map(turned, steps))


def _without_waiting(steps: Steps) -> Steps:
    """Nobody waits at a barrier, or pauses."""
    return tuple(
        s for s in steps if s.opcode != "pause" and s.name not in ("bar.sync", "bar.arrive")
    )


def _wrong_vote(steps: Steps) -> Steps:
    """Every lane brings the opposite to a barrier that reduces."""
    changed: list[Instruction] = []
    for s in steps:
        if s.name.startswith("bar.red"):
            *others, predicate = s.operands
            wrong = Register(f"t{s.index}.wrong", "pred")
            changed.append(_beside(s, "not.pred", wrong, predicate))
            changed.append(_with(s, *others, wrong))
        else:
            changed.append(s)
    return tuple(changed)


def _beside(
    s: Instruction, name: str, *operands: Operand, guard: Guard | None = None
) -> Instruction:
    """Another step of the same instruction."""
    return step(s.index, name, operands, guard, s.line, s.location)


def _with(s: Instruction, *operands: Operand) -> Instruction:
    """The same step on other operands."""
    return _beside(s, s.name, *operands, guard=s.guard)


KINDS: Mapping[str, Change] = {
    "first word": _wrong_register(_WORD, last=False),
    "last word": _wrong_register(_WORD, last=True),
    "first predicate": _wrong_register(_PREDICATE, last=False),
    "last predicate": _wrong_register(_PREDICATE, last=True),
    "no store": _without_stores,
    "data": _wrong_data(),
    "load address": _next_address("ld"),
    "store address": _next_address(*_STORES),
    "way": _wrong_way,
    "wait": _without_waiting,
    "vote": _wrong_vote,
}
"""Ways to break an instruction, by name."""

GROSS_KINDS: Mapping[str, Change] = {
    "first word": _wrong_register(_WORD, last=False, grossly=True),
    "last word": _wrong_register(_WORD, last=True, grossly=True),
    "first predicate": _wrong_register(_PREDICATE, last=False, grossly=True),
    "last predicate": _wrong_register(_PREDICATE, last=True, grossly=True),
    "data": _wrong_data(grossly=True),
}
"""For what may be wrong in a last bit and harm nobody: the first guess of a division, or the lowest
bit of a barrier, which means nothing."""

_CONVERGENCE = "lanes reconverge by the order of the blocks"
_ORDER = "memory is accessed in the order of the instructions"
_COPIES = "copies are done at once"
_NO_END = "a copy is counted and taken back at once, by which no phase ends"

NOTHING_TO_BREAK: Mapping[str, str] = {
    "NOP": "does nothing",
    **dict.fromkeys(("BSSY", "BSYNC", "BREAK", "WARPSYNC", "ENDCOLLECTIVE"), _CONVERGENCE),
    "BMOV": _CONVERGENCE,
    **dict.fromkeys(("MEMBAR", "FENCE", "ERRBAR", "CGAERRBAR"), _ORDER),
    **dict.fromkeys(("CCTL", "CCTLL"), "caches hold nothing of their own"),
    **dict.fromkeys(("DEPBAR", "LDGDEPBAR"), _COPIES),
    **dict.fromkeys(("PREEXIT", "ACQBULK"), "launches follow one another"),
    "WARPGROUP": "products of warp groups are computed at once",
    "BRA.DIV: way": "its target does the same, for fewer lanes at a time",
    "BRA.CONV: way": "its target does the same, for all lanes at once",
    "SYNCS.ARRIVE.TRANS64.A1T0: first word": "this half of a token means nothing to others",
    "SYNCS.ARRIVE.TRANS64.RED.A0T1: load address": _NO_END,
    "ARRIVES.LDGSTSBAR.64.TRANSCNT: load address": _NO_END,
    "NANOSLEEP.WARP: wait": "a YIELD follows it",
    **dict.fromkeys(
        (
            "YIELD: wait",
            "SYNCS.PHASECHK.TRANS64: wait",
            "SYNCS.PHASECHK.TRANS64.TRYWAIT: wait",
        ),
        "loops that wait for others are found without it",
    ),
    "QSPC.E.D: first predicate": "a load and a store, or a loop of atomics, does the same",
    **{
        f"ATOM.E.CAST.SPIN.{form}: {kind}": "acts on memory of other blocks of a cluster"
        for form in ("STRONG.SM", "64.STRONG.SM")
        for kind in ("first word", "last word", "data", "store address")
    },
}
"""Opcodes without any step that could be broken, and mutants that make no difference: why."""
