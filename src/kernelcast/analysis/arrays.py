"""Which arrays the accesses of a kernel may lead into.

An address is made from a pointer, a parameter or a variable, and stays in the array of the pointer
whatever is added to it, as C demands. What comes out of memory may be an offset, or a pointer to
anywhere where nothing else is one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache

from kernelcast.analysis.cfg import layout_order
from kernelcast.analysis.liveness import live_in
from kernelcast.ir import (
    Address,
    BasicBlock,
    Guard,
    Instruction,
    Kernel,
    OpClass,
    Register,
    Space,
    Symbol,
)

_CHOICES = frozenset(("selp", "slct", "min", "max"))

_Origin = frozenset[str] | None
"""The arrays of the pointers in a value: none in a number; None where it may be any pointer."""

_NUMBER: _Origin = frozenset()


def arrays_of_accesses(kernel: Kernel, pointers: Mapping[int, str]) -> Mapping[int, frozenset[str]]:
    """For the accesses, by index, of which it is known: the arrays they may lead into.

    `pointers` names the array of a pointer among the parameters, by its offset in their block.
    """
    return _arrays_of_accesses(kernel, tuple(sorted(pointers.items())))


@lru_cache(maxsize=128)
def _arrays_of_accesses(
    kernel: Kernel, pointers: tuple[tuple[int, str], ...]
) -> Mapping[int, frozenset[str]]:
    """`arrays_of_accesses`, kept: a launch is executed several times, and so are its like."""
    origins = _Origins(kernel, dict(pointers))
    alive = [frozenset(register.name for register in live) for live in live_in(kernel)]
    at_start = {0: _KnownRegisters()}
    # Where paths join, all of them come first.
    order = layout_order([block.successors for block in kernel.blocks])
    rank = {index: at for at, index in enumerate(order)}
    pending = [0]
    while pending:
        block = kernel.blocks[order[heapq.heappop(pending)]]
        state = origins.after(block, at_start[block.index])
        for successor, all_known in _on_each_edge(kernel, block, state):
            known = all_known.only(alive[successor])
            before = at_start.get(successor)
            merged = known if before is None or known == before else before.merged(known)
            if merged != before:
                at_start[successor] = merged
                if rank[successor] not in pending:
                    heapq.heappush(pending, rank[successor])
    for index, state in at_start.items():
        origins.after(kernel.blocks[index], state, note=True)
    return {index: arrays for index, arrays in origins.found.items() if arrays}


@dataclass
class _KnownRegisters:
    """What is known of registers, by name; one of which nothing is known holds a number.

    `some` says more of a register in the lanes in which a predicate holds, or does not hold. What
    it holds of one register is never changed, but replaced, so that copies share it.
    """

    all: dict[str, _Origin] = field(default_factory=dict)
    some: dict[str, Mapping[Guard, _Origin]] = field(default_factory=dict)

    def copy(self) -> _KnownRegisters:
        return _KnownRegisters(dict(self.all), dict(self.some))

    def only(self, registers: Set[str]) -> _KnownRegisters:
        """What is known of some registers."""
        return _KnownRegisters(
            {r: self.all[r] for r in registers & self.all.keys()},
            {r: self.some[r] for r in registers & self.some.keys()},
        )

    def of(self, register: str, guard: Guard | None) -> _Origin:
        """What a register holds in the lanes of a guard."""
        if guard is not None and guard in (known := self.some.get(register, _NOTHING)):
            return known[guard]
        return self.all.get(register, _NUMBER)

    def write(self, register: Register, origin: _Origin, guard: Guard | None) -> None:
        """Note what is written to a register in the lanes of a guard."""
        if register.type == "pred":
            self._forget(register)
        else:
            self._write(register.name, origin, guard)

    def _write(self, register: str, origin: _Origin, guard: Guard | None) -> None:
        others = None if guard is None else self.of(register, _others(guard))
        before = self.all.pop(register, _NUMBER)
        self.some.pop(register, None)
        if guard is not None:
            self.some[register] = {guard: origin, _others(guard): others}
            origin = _either((before, origin))
        if origin != _NUMBER:
            self.all[register] = origin

    def _forget(self, predicate: Register) -> None:
        """Drop what is known of the lanes of a predicate that changes."""
        for register, known in list(self.some.items()):
            kept = {guard: at for guard, at in known.items() if guard.register != predicate}
            if not kept:
                del self.some[register]
            elif len(kept) < len(known):
                self.some[register] = kept

    def where(self, guard: Guard) -> _KnownRegisters:
        """What is known if the guard holds in all lanes."""
        found = self.copy()
        for register, known in self.some.items():
            if guard in known:
                found._write(register, known[guard], None)
        return found

    def merged(self, other: _KnownRegisters) -> _KnownRegisters:
        """What is known where two paths join."""
        found = _KnownRegisters()
        for register in self.all.keys() | other.all:
            one, two = self.all.get(register, _NUMBER), other.all.get(register, _NUMBER)
            found.all[register] = one if one == two else _either((one, two))
        for register in self.some.keys() | other.some:
            guards = self.some.get(register, _NOTHING).keys() | other.some.get(register, _NOTHING)
            known = {g: _either((self.of(register, g), other.of(register, g))) for g in guards}
            usual = found.of(register, None)
            if more := {guard: at for guard, at in known.items() if at != usual}:
                found.some[register] = more
        return found


_NOTHING: Mapping[Guard, _Origin] = {}


def _others(guard: Guard) -> Guard:
    return replace(guard, negated=not guard.negated)


def _on_each_edge(
    kernel: Kernel, block: BasicBlock, state: _KnownRegisters
) -> Iterator[tuple[int, _KnownRegisters]]:
    """The blocks that follow, and what is known there: a branch tells of its predicate."""
    steps = kernel.steps(block.end - 1) if block.end > block.start else ()
    guard = steps[-1].guard if steps and steps[-1].op_class is OpClass.BRANCH else None
    # A branch may ask for more than the guard of its instruction.
    if guard is None or guard != kernel.instructions[block.end - 1].guard:
        yield from ((successor, state) for successor in block.successors)
        return
    falls_through = len(block.successors) > 1 or steps[-1].traits.exits
    if falls_through:
        first, *targets = block.successors
        yield first, state.where(_others(guard))
        yield from ((target, state.where(guard)) for target in targets)
    else:
        yield from ((successor, state) for successor in block.successors)


def _either(origins: Iterable[_Origin]) -> _Origin:
    """One of several values: a number, which may be a pointer out of memory, or a pointer."""
    distinct = set(origins)
    if len(distinct) == 1:
        return distinct.pop()
    return None if _NUMBER in distinct else _together(distinct)


def _together(origins: Iterable[_Origin]) -> _Origin:
    """What is computed from several values."""
    arrays: set[str] = set()
    for origin in origins:
        if origin is None:
            return None
        arrays |= origin
    return frozenset(arrays)


class _Origins:
    """Values followed from step to step."""

    def __init__(self, kernel: Kernel, pointers: Mapping[int, str]) -> None:
        self._kernel = kernel
        self._offsets = {p.name: p.offset_bytes for p in kernel.parameters}
        self._variables = {v.name for v in kernel.variables if v.space is Space.GLOBAL}
        self._pointers = dict(pointers)
        words = kernel.constants.addresses if kernel.constants else ()
        self._pointers |= {w.offset_bytes: name_of_variable(w.variable) for w in words}
        self.found: dict[int, _Origin] = {}

    def after(
        self, block: BasicBlock, state: _KnownRegisters, *, note: bool = False
    ) -> _KnownRegisters:
        """What is known of the registers behind a block."""
        state = state.copy()
        for index in range(block.start, block.end):
            guard = self._kernel.instructions[index].guard
            for step in self._kernel.steps(index):
                if note and step.op_class.is_memory and step.space is not Space.PARAM:
                    self._note(step, state, guard)
                result = self._result(step, state, guard)
                for register in step.writes:
                    state.write(register, result, step.guard)
        return state

    def _note(self, step: Instruction, state: _KnownRegisters, guard: Guard | None) -> None:
        is_tile = "tile" in step.modifiers  # its address is that of a map
        found = self._of_operands(step, state, guard, step.address_reads)
        origin = None if is_tile else found or None
        if step.index in self.found:
            origin = _together((origin, self.found[step.index]))
        self.found[step.index] = origin

    def _result(self, step: Instruction, state: _KnownRegisters, guard: Guard | None) -> _Origin:
        if step.op_class.is_memory:
            return self._parameter(step) if step.space is Space.PARAM else _NUMBER
        if step.op_class is OpClass.OTHER:
            return None if step.opcode == "unknown" else _NUMBER
        if step.opcode in _CHOICES:
            values = (o for o in step.operands[1:3] if isinstance(o, Register))
            return _either(state.of(r.name, guard) for r in values)
        return self._of_operands(step, state, guard, step.reads)

    def _of_operands(
        self,
        step: Instruction,
        state: _KnownRegisters,
        guard: Guard | None,
        registers: Iterable[Register],
    ) -> _Origin:
        """What some registers and the variables named by a step are together."""
        names = (o.base if isinstance(o, Address) else o for o in step.operands)
        variables = {
            name_of_variable(o.name)
            for o in names
            if isinstance(o, Symbol) and o.name in self._variables
        }
        origins = [state.of(r.name, guard) for r in registers if r.type != "pred"]
        return _together((frozenset(variables), *origins))

    def _parameter(self, step: Instruction) -> _Origin:
        """What is loaded from the parameters; of a stored kernel, whose operands are text, nothing
        is known."""
        address = next((o for o in step.operands if isinstance(o, Address)), None)
        if address is None:
            return None
        start = address.offset
        if isinstance(address.base, Symbol):
            start += self._offsets.get(address.base.name, 0) + address.base.offset
        elif address.base is not None:
            return None
        end = start + step.access_bytes
        return frozenset(a for at, a in self._pointers.items() if at < end and start < at + 8)


def name_of_variable(name: str) -> str:
    """What a variable is called among the arrays, apart from arguments of its name."""
    return f"&{name}"
