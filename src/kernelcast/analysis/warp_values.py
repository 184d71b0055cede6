"""Which addresses the lanes of any warp of a launch ask for, as far as code alone tells.

What registers hold is followed along all paths (`lane_arithmetic`, `lane_registers`). Where two of
them meet, or a loop comes round, values that differ by as much in every lane keep their lanes, as
long as all lanes come from the same side; what lanes wrote that went different ways before is each
lane's own (`divergence`). Grains can only shrink on the way, so that the search ends.

Machine code is followed through its meaning, as PTX is.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from kernelcast.analysis.divergence import WarpPaths
from kernelcast.analysis.lane_arithmetic import (
    ANYTHING_UNIFORM,
    MaybeValue,
    WarpValue,
    both_words,
    result,
    uniform,
)
from kernelcast.analysis.lane_numbers import wrapped
from kernelcast.analysis.lane_registers import LaneRegisters
from kernelcast.ir import (
    Address,
    Array,
    Guard,
    Immediate,
    Instruction,
    Kernel,
    Launch,
    OpClass,
    Operand,
    Register,
    Space,
    SpecialRegister,
    Symbol,
    TensorMap,
    Vector,
    arrays_in,
)
from kernelcast.ir.sizes import WARP_LANES


@dataclass(frozen=True, slots=True)
class WarpAccess:
    """An access to memory; `address` is None where code alone does not tell it."""

    instruction: int
    space: Space
    access_bytes: int
    is_load: bool
    address: WarpValue | None


def accesses_of_warp(kernel: Kernel, launch: Launch) -> tuple[WarpAccess, ...]:
    """Every access to global and shared memory in the code, in the lanes of any warp.

    Scalars of the launch are known, arrays begin at multiples of 256 bytes.
    """
    return _PathSearch(kernel, launch).run()


def thread_indices(launch: Launch) -> Mapping[str, WarpValue]:
    """tid.x, tid.y and tid.z of the warps of a block."""
    x, y, _ = launch.block
    threads = np.arange(launch.warps_per_block * WARP_LANES, dtype=np.int64)
    extents = {"x": threads % x, "y": threads // x % y, "z": threads // (x * y)}
    return {f"tid.{axis}": WarpValue(at.reshape(-1, WARP_LANES)) for axis, at in extents.items()}


def array_labels(launch: Launch) -> Mapping[int, str]:
    """What the arrays are called that a launch gives as arguments, by their place."""
    return {
        at: next(arrays_in(label, value))[0]
        for at, (label, value) in enumerate(launch.args.items())
        if isinstance(value, Array | TensorMap)
    }


_WORD_BYTES = 4


@dataclass(frozen=True)
class _GuardedLanes:
    """Registers in the lanes of a guard."""

    registers: LaneRegisters
    guard: Guard | None


class _PathSearch:
    def __init__(self, kernel: Kernel, launch: Launch) -> None:
        self._kernel = kernel
        self._special = dict(thread_indices(launch))
        for axis, blocks, threads in zip("xyz", launch.grid, launch.block, strict=True):
            self._special[f"ctaid.{axis}"] = uniform(0, int(blocks > 1), natural=True)
            self._special[f"nctaid.{axis}"] = uniform(blocks)
            self._special[f"ntid.{axis}"] = uniform(threads)
        self._special["laneid"] = WarpValue(np.arange(WARP_LANES, dtype=np.int64)[np.newaxis])
        self._offsets = {p.name: p.offset_bytes for p in kernel.parameters}
        self._parameters: dict[int, MaybeValue] = {}
        values = tuple(launch.args.values())
        labels = array_labels(launch)
        for at, parameter in enumerate(kernel.parameters):
            given = values[at] if at < len(values) else None
            label = parameter.shown
            if parameter.is_pointer or not isinstance(given, int | float | None):
                known: MaybeValue = replace(uniform(0), array=labels.get(at, label))
            else:
                known = uniform(given) if isinstance(given, int) else ANYTHING_UNIFORM
            self._parameters[parameter.offset_bytes] = known
        for word in kernel.constants.launch_words if kernel.constants else ():
            if word.name in self._special:
                self._parameters[word.offset_bytes] = self._special[word.name]
        self._paths = WarpPaths(kernel)
        self._ends_of: dict[int, set[int]] = {}
        for end, backs in self._paths.returns.items():
            for caller in chain.from_iterable(backs.values()):
                self._ends_of.setdefault(caller, set()).add(end)
        self._divergent: set[int] = set()
        self._apart: Mapping[int, Set[Register]] = {}
        self._found: dict[int, WarpAccess] = {}

    def run(self) -> tuple[WarpAccess, ...]:
        """Follow all paths until nothing changes, and no more branches divide lanes."""
        while True:
            before = len(self._divergent)
            starts = self._followed()
            if len(self._divergent) == before:
                break
            self._apart = self._paths.apart(self._divergent)
        for block, registers in starts.items():
            self._after(block, registers, note=True)
        return tuple(self._found[index] for index in sorted(self._found))

    def _followed(self) -> Mapping[int, LaneRegisters]:
        """What is known where blocks begin."""
        starts: dict[int, LaneRegisters] = {0: LaneRegisters()}
        ends: dict[int, LaneRegisters] = {}
        pending = {0}
        while pending:
            block = min(pending)
            pending.remove(block)
            ends[block] = self._after(block, starts[block])
            # What a caller holds is known again behind its call.
            pending |= self._ends_of.get(block, frozenset()) & ends.keys()
            for successor in self._kernel.blocks[block].successors:
                arriving = self._arriving(block, successor, ends)
                if arriving is None:
                    continue
                before = starts.get(successor)
                apart = self._apart.get(successor, frozenset())
                merged = (
                    arriving.without(apart) if before is None else before.joined(arriving, apart)
                )
                if before is None or not merged.is_like(before):
                    starts[successor] = merged
                    pending.add(successor)
        return starts

    def _arriving(
        self, block: int, successor: int, ends: Mapping[int, LaneRegisters]
    ) -> LaneRegisters | None:
        """What is known when one block has led to another; where a function comes back, what it has
        not changed is as its caller left it."""
        returns = self._paths.returns.get(block)
        if returns is None:
            return ends[block]
        found = None
        for caller in returns.get(successor, ()):
            if caller in ends:
                written = self._paths.calls[caller].written
                of_caller = ends[caller].with_of(ends[block], written)
                found = of_caller if found is None else found.joined(of_caller, written)
        return found

    def _after(self, block: int, before: LaneRegisters, *, note: bool = False) -> LaneRegisters:
        registers = before.copy()
        at = self._kernel.blocks[block]
        for index in range(at.start, at.end):
            # What an instruction does under a guard it reads in the lanes of that guard.
            lanes = _GuardedLanes(registers, self._kernel.instructions[index].guard)
            for step in self._kernel.steps(index):
                if note and step.op_class.is_memory:
                    self._note(step, lanes)
                self._write(step, lanes)
        if len(at.successors) > 1 and not self._is_uniform(at.end - 1, registers):
            self._divergent.add(block)
        return registers

    def _is_uniform(self, branch: int, registers: LaneRegisters) -> bool:
        """Whether all lanes take a branch alike."""
        last = self._kernel.steps(branch)[-1] if self._kernel.steps(branch) else None
        if last is None or last.op_class is not OpClass.BRANCH:
            return False
        read = [last.guard.register] if last.guard else []
        read += [operand for operand in last.operands if isinstance(operand, Register)]
        values = [registers.value(register) for register in read]
        return all(value is not None and value.is_uniform for value in values)

    def _note(self, step: Instruction, lanes: _GuardedLanes) -> None:
        if step.space not in (Space.GLOBAL, Space.SHARED, Space.GENERIC):
            return
        address = self._address(step, lanes)
        space = step.space
        if space is Space.GENERIC:
            space = Space.GLOBAL
        is_load = step.op_class is OpClass.LOAD
        self._found[step.index] = WarpAccess(step.index, space, step.access_bytes, is_load, address)

    def _address(self, step: Instruction, lanes: _GuardedLanes) -> MaybeValue:
        given = next((o for o in step.operands if isinstance(o, Address)), None)
        if given is None:
            return None
        base = uniform(0) if given.base is None else self._value(given.base, lanes)
        return None if base is None else replace(base, lanes=base.lanes + given.offset)

    def _write(self, step: Instruction, lanes: _GuardedLanes) -> None:
        if not step.writes:
            return
        value = self._result(step, lanes)
        match step.operands[0] if step.operands else None:
            case Vector(elements=(Register() | None as low, Register() | None as high)):
                lanes.registers.write_pair(low, high, value, step.guard)
            case target:
                for register in step.writes:
                    known = value if register == target else None
                    lanes.registers.write(register, known, step.guard)

    def _value(self, operand: Operand, lanes: _GuardedLanes) -> MaybeValue:
        match operand:
            case Register():
                return lanes.registers.value(operand, lanes.guard)
            case Immediate(value=value, type=""):
                return uniform(wrapped(value) if value >= 1 << 31 else value)
            case SpecialRegister(name=name):
                return self._special.get(name)
            case Symbol(offset=offset):
                return uniform(offset)
            case Vector(elements=(Register() as low, Register() as high)):
                return lanes.registers.pair(low, high, lanes.guard)
        return None

    def _result(self, step: Instruction, lanes: _GuardedLanes) -> MaybeValue:
        if step.op_class.is_memory:
            return self._loaded(step, lanes)
        values = [self._value(operand, lanes) for operand in step.operands[1:]]
        return result(step.opcode, step.modifiers, values)

    def _loaded(self, step: Instruction, lanes: _GuardedLanes) -> MaybeValue:
        if step.space is not Space.PARAM:
            address = self._address(step, lanes) if step.op_class is OpClass.LOAD else None
            return ANYTHING_UNIFORM if address is not None and address.is_uniform else None
        given = next((o for o in step.operands if isinstance(o, Address)), None)
        if given is None or isinstance(given.base, Register):
            return None
        base = self._offsets.get(given.base.name, 0) if isinstance(given.base, Symbol) else 0
        at = base + given.offset
        found = self._parameters.get(at, ANYTHING_UNIFORM)
        upper = self._parameters.get(at + _WORD_BYTES)
        if step.access_bytes == 2 * _WORD_BYTES and upper is not None:
            return both_words(found, upper)
        return found
