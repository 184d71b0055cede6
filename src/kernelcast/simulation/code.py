"""A kernel as the simulation reads it: every instruction with its pipe, cycles and waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kernelcast.ir import (
    CompareAndSwap,
    Immediate,
    Instruction,
    Kernel,
    MbarrierUse,
    OpClass,
    Register,
    Space,
)
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.isas.assembly import assembled_class, loads_constant
from kernelcast.profiling.tables import access_rows
from kernelcast.simulation import layout
from kernelcast.simulation.constants import IN_STREAM, LINE_BYTES, NOT_NAMED
from kernelcast.simulation.layout import CODE

_KINDS = {
    OpClass.LOAD: layout.LOAD,
    OpClass.STORE: layout.STORE,
    OpClass.ATOMIC: layout.ATOMIC,
    OpClass.SHUFFLE: layout.SHUFFLE,
    OpClass.ASYNC_COPY: layout.GROUP_COPIES,
}
_MBARRIER_KINDS: Mapping[MbarrierUse | None, int] = {
    MbarrierUse.ARRIVES: layout.SIGNAL,
    MbarrierUse.COMPLETES: layout.SIGNAL,
    MbarrierUse.WAITS: layout.AWAIT,
}
_SWAPS: Mapping[CompareAndSwap | None, int] = {
    None: 0,
    CompareAndSwap.FETCHES: layout.FETCHES,
    CompareAndSwap.TRIES: layout.TRIES,
}
_ACCESSES = (
    layout.LOAD,
    layout.STORE,
    layout.ATOMIC,
    layout.COPY,
    layout.SIGNAL,
    layout.AWAIT,
)
_QUEUED = (*_ACCESSES, layout.SHUFFLE)
_NEAR = (Space.SHARED, Space.CONST, Space.PARAM)
_BARRIER_OPCODES = ("bar", "barrier")
_WAITS = "wait"
_ARRIVES = frozenset({"arrive", "arv"})
"""What makes a barrier one that nobody waits at, in PTX and in machine code."""


@dataclass(frozen=True, slots=True)
class ClassTiming:
    """What instructions of a class ask of an SM.

    `pipe` is the one of `simulation.layout` that they go to, `interval` the cycles for which it is
    busy, and `latency` those from issue to the use of the result. Where they stand `in_latch` until
    the pipe takes them, they do so where memory instructions enter their queue, which none does
    meanwhile. Of a load that computes, `computing` are those from what it loads to its result.
    `slots` of its scheduler go to it, which dispatches nothing else for `holds` cycles more.
    """

    pipe: int
    interval: float
    latency: float
    in_latch: bool = False
    computing: float = 0.0
    slots: int = 1
    holds: int = 0


@dataclass(frozen=True)
class IssueTables:
    """The tables of a kernel: `layout.CODE` by instruction, bounds of basic blocks, registers.

    `registers` counts those that a scoreboard has to know; 0 where the code says itself when it
    issues.
    """

    kernel: Kernel = field(repr=False)
    table: NDArray[np.void] = field(repr=False)
    bounds: NDArray[np.int64] = field(repr=False)
    operands: NDArray[np.int32] = field(repr=False)
    registers: int


def issue_tables(
    kernel: Kernel,
    class_timing: Callable[[OpClass, Instruction], ClassTiming],
    *,
    same_warp_cycles: Callable[[Instruction], int],
    pairs: Mapping[int, int],
    obeys_control: bool = True,
    assembled: bool = True,
) -> IssueTables:
    """The tables of a kernel.

    Parameters
    ----------
    class_timing:
        What an instruction of a class asks of the machine.
    same_warp_cycles:
        The least cycles from an instruction to the next one of its warp, where the code does not
        say more.
    pairs:
        Instructions that issue with the one before, by the index of the second.
    obeys_control:
        Whether warps issue when the code says, where it does; else by a scoreboard of registers.
    assembled:
        Whether code that is not the machine's is issued as its assembler would leave it.
    """
    has_control = obeys_control and all(i.control is not None for i in kernel.instructions)
    numbers = _register_numbers(kernel.instructions)
    table = np.zeros(len(kernel.instructions), CODE)
    rows = _first_rows(kernel)
    first_of_pairs = frozenset(pairs.values())
    operands: list[int] = []
    bases: dict[tuple[Register, ...], int] = {}
    for instruction, row in zip(kernel.instructions, table, strict=True):
        op_class = assembled_class(instruction, kernel) if assembled else instruction.op_class
        kind = _kind(instruction, kernel) if op_class is not None else layout.NOTHING
        timing = class_timing(op_class or OpClass.OTHER, instruction)
        row["kind"] = kind
        row["pipe"] = layout.MEMORY_QUEUE if kind in _QUEUED else timing.pipe
        row["door"] = layout.MEMORY_QUEUE if timing.in_latch else row["pipe"]
        row["interval"], row["latency"] = timing.interval, timing.latency
        row["computing"] = timing.computing
        row["slots"], row["holds"] = timing.slots, timing.holds
        row["jumps"] = _jumps(instruction)
        is_first, is_last = _ends_of_parts(kernel.instructions, instruction.index)
        row["pairs"] = instruction.index in first_of_pairs or not is_last
        least = same_warp_cycles(instruction)
        row["stall"] = max(least, instruction.issue_cycles)
        row["reason"] = _reason(kind, instruction)
        row["throttle"] = _throttle(kind, timing, instruction)
        row["bytes"] = instruction.access_bytes
        row["row"] = rows.get(instruction.index, 0)
        row["is_generic"] = instruction.space is Space.GENERIC
        row["after_copies"] = instruction.traits.mbarrier is MbarrierUse.COMPLETES
        row["address"] = -1 if instruction.code_offset is None else instruction.code_offset
        row["constant"] = _constant_line(instruction)
        row["names_constant"] = row["constant"] != NOT_NAMED and not loads_constant(instruction)
        row["swap"] = _SWAPS[instruction.traits.swap]
        row["based_on"] = bases.setdefault(instruction.address_reads, len(bases))
        _set_barrier(row, instruction, kernel)
        _set_control(row, instruction if has_control else None, is_first, is_last)
        _set_reads(row, instruction)
        row["first_read"] = len(operands)
        operands += [numbers[r] for r in instruction.reads]
        row["end_read"] = len(operands)
        if kind != layout.COPY:
            operands += [numbers[r] for r in instruction.writes]
        row["end_written"] = len(operands)
    bounds = np.array([(b.start, b.end) for b in kernel.blocks], np.int64).reshape(-1, 2)
    return IssueTables(
        kernel,
        table,
        bounds,
        np.array(operands or [0], np.int32),
        0 if has_control else len(numbers),
    )


def _constant_line(instruction: Instruction) -> int:
    """The line of constants that an instruction reads, as `constants` has it."""
    if instruction.traits.indexes_constants:
        return IN_STREAM
    return NOT_NAMED if instruction.constant is None else instruction.constant // LINE_BYTES


def _register_numbers(instructions: Sequence[Instruction]) -> dict[Register, int]:
    named = chain.from_iterable((*i.reads, *i.writes) for i in instructions)
    return {register: number for number, register in enumerate(dict.fromkeys(named))}


def _ends_of_parts(instructions: Sequence[Instruction], index: int) -> tuple[bool, bool]:
    """Whether an instruction is the first, and the last, of those that the machine's is made of.

    These issue together.
    """
    own = instructions[index].code_offset
    if own is None:
        return True, True
    before = instructions[index - 1].code_offset if index else None
    after = instructions[index + 1].code_offset if index + 1 < len(instructions) else None
    return before != own, after != own


def _first_rows(kernel: Kernel) -> dict[int, int]:
    """By instruction, the first of its rows."""
    found: dict[int, int] = {}
    for number, row in enumerate(access_rows(kernel)):
        found.setdefault(row.instruction.index, number)
    return found


def _jumps(instruction: Instruction) -> int:
    """Whether an instruction may lead elsewhere, and how."""
    if instruction.op_class is not OpClass.BRANCH:
        return 0
    return layout.INDIRECT if instruction.traits.is_indirect else layout.DIRECT


def _kind(instruction: Instruction, kernel: Kernel) -> int:
    if instruction.traits.exits:
        return layout.EXIT
    if (barrier := _barrier_step(instruction, kernel)) is not None:
        words = {m.lower() for m in barrier.modifiers}
        goes_on = not _ARRIVES.isdisjoint(words) and _WAITS not in words
        return layout.ARRIVE if goes_on else layout.SYNCHRONISE
    if (use := instruction.traits.mbarrier) in _MBARRIER_KINDS:
        return _MBARRIER_KINDS[use]
    if instruction.op_class is OpClass.LOAD:
        if instruction.space in (Space.CONST, Space.PARAM):
            return layout.CONSTANT
        return layout.COPY if instruction.traits.is_copy else layout.LOAD
    return _KINDS.get(instruction.op_class, layout.ARITHMETIC)


def _reason(kind: int, instruction: Instruction) -> int:
    """Why those wait that need its result, as profilers name it."""
    if kind in (*_ACCESSES, layout.GROUP_COPIES):
        is_near = instruction.space in _NEAR
        return layout.SHORT_SCOREBOARD if is_near else layout.LONG_SCOREBOARD
    if instruction.control is not None and instruction.control.result_counter is None:
        return layout.WAIT
    has_own_unit = instruction.op_class in (OpClass.SFU, OpClass.CONVERT, OpClass.SHUFFLE)
    is_short = has_own_unit or instruction.control is not None
    return layout.SHORT_SCOREBOARD if is_short else layout.WAIT


def _throttle(kind: int, timing: ClassTiming, instruction: Instruction) -> int:
    """Why it waits while its pipe is busy: profilers tell the queue's two ends apart.

    Special functions wait in the one that is near, as does what stands in its latch.
    """
    if timing.pipe == layout.SFU_PIPE or timing.in_latch:
        return layout.MIO_THROTTLE
    if kind not in _QUEUED:
        return layout.MATH_PIPE
    is_far = instruction.space in (Space.GLOBAL, Space.LOCAL, Space.GENERIC)
    return layout.LG_THROTTLE if is_far else layout.MIO_THROTTLE


def _barrier_step(instruction: Instruction, kernel: Kernel) -> Instruction | None:
    """Of what an instruction does, the step at which warps of a block meet."""
    if instruction.op_class is not OpClass.BARRIER:
        return None
    for step in kernel.steps(instruction.index):
        if step.opcode.lower() in _BARRIER_OPCODES and "warp" not in step.modifiers:
            return step
    return None


def _set_barrier(row: np.void, instruction: Instruction, kernel: Kernel) -> None:
    """Which barrier, and how many warps meet there; one that is computed is taken for the first."""
    step = _barrier_step(instruction, kernel)
    if step is None:
        return
    numbers = [o.value for o in step.operands if isinstance(o, Immediate)]
    row["barrier"] = numbers[0] % layout.BARRIERS if numbers else 0
    row["barrier_warps"] = numbers[1] // WARP_LANES if len(numbers) > 1 else 0


def _set_reads(row: np.void, instruction: Instruction) -> None:
    if (control := instruction.control) and control.bank_reads:
        row["reads"] = control.bank_reads
        row["reads_after_others"] = control.bank_reads_after_others


def _set_control(
    row: np.void, instruction: Instruction | None, is_first: bool, is_last: bool
) -> None:
    """What the code says of issuing: waits come before the first part, the rest after the last."""
    row["result_counter"] = row["sources_counter"] = row["waits_most"] = -1
    control = instruction.control if instruction else None
    if control is None:
        return
    if is_last:
        if control.result_counter is not None:
            row["result_counter"] = control.result_counter
        if control.sources_counter is not None:
            row["sources_counter"] = control.sources_counter
        row["yields"] = control.yields
    row["sources_cycles"] = control.sources_cycles
    if not is_first:
        return
    for counter, outstanding in control.waits:
        if outstanding:
            row["waits_most"], row["outstanding"] = counter, outstanding
        else:
            row["waits"] |= 1 << counter
