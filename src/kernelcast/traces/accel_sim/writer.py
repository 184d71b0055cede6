"""The blocks of a trace out of its words, line by line as Accel-Sim's tracer lists them.

A mask there is of the lanes whose guard holds. The words tell it of accesses. Of an EXIT it is the
lanes that are not seen again, of a branch those that go on elsewhere than behind it. Every other
instruction gets all lanes of its basic block, whatever its guard says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

from kernelcast.errors import InputError
from kernelcast.execution.trace import (
    ID_MASK,
    ID_SHIFT,
    KIND_SHIFT,
    RECORD_WORDS,
    RecordKind,
    Words,
    lane_addresses,
)
from kernelcast.ir import BasicBlock, Dim3, Kernel
from kernelcast.traces.accel_sim.line import line_of
from kernelcast.traces.stored import TraceHead

_LOW_32 = (1 << 32) - 1
_WHOLE_WARP = frozenset({"CONV", "DIV", "U"})
"""Modifiers of branches that are not taken lane by lane."""


class BlockWriter:
    """Takes the words of a trace as a sink; holds those of one block at a time."""

    def __init__(self, file: IO[str], head: TraceHead, grid: Dim3, version: int) -> None:
        self.entered: Counter[int] = Counter()
        """How often a warp entered each basic block, so far."""
        self._file = file
        self._kernel = head.kernel
        self._lines = [line_of(i, version) for i in head.kernel.instructions]
        self._blocks = [whole_instructions(head.kernel, b) for b in head.kernel.blocks]
        self._warps = head.launch.warps_per_block
        self._place = {block: number for number, block in enumerate(head.blocks)}
        self._grid = grid
        self._block = self._warp = -1
        self._held: dict[int, list[int]] = {}

    def consume(self, words: Words) -> None:
        """The next words, which end with a record; InputError where a block comes in parts."""
        stream = words.tolist()
        at = 0
        while at < len(stream):
            kind = RecordKind(stream[at] >> KIND_SHIFT)
            if kind is RecordKind.WARP:
                self._enter(stream[at + 1], stream[at] >> ID_SHIFT & ID_MASK)
            else:
                self._held[self._warp] += stream[at : at + RECORD_WORDS[kind]]
            at += RECORD_WORDS[kind]

    def finish(self) -> None:
        """Write the last block; InputError where some are missing."""
        self._write_block()
        if self._place:
            raise InputError(f"{len(self._place)} blocks of the trace are missing")

    def _enter(self, block: int, warp: int) -> None:
        if block != self._block:
            self._write_block()
            self._block = block
        self._warp = warp
        self._held.setdefault(warp, [])

    def _write_block(self) -> None:
        if not self._held:
            return
        number = self._place.pop(self._block, None)
        if number is None:
            raise InputError(f"block {self._block} is not of this trace, or comes in parts")
        x, y, z = _position(number, self._grid)
        self._file.write(f"\n#BEGIN_TB\n\nthread block = {x},{y},{z}\n")
        for warp in range(self._warps):
            lines = list(self._instructions(self._held.pop(warp, [])))
            self._file.write(f"\nwarp = {warp}\ninsts = {len(lines)}\n")
            self._file.writelines(lines)
        self._file.write("\n#END_TB\n")

    def _instructions(self, stream: Sequence[int]) -> Iterator[str]:
        """The lines of a warp."""
        visits = _visits(stream)
        for visit, diverged in zip(visits, _diverged(self._kernel, visits), strict=True):
            self.entered[visit.block] += 1
            indices = self._blocks[visit.block]
            for index in indices:
                line = self._lines[index]
                if line.width:
                    yield line.with_addresses(*visit.accesses.get(index, (0, ())))
                else:
                    yield line.without_addresses(diverged if index == indices[-1] else visit.lanes)


class _Visit(NamedTuple):
    """A basic block that a warp entered; `accesses` has active lanes and the addresses of all, by
    instruction."""

    block: int
    lanes: int
    accesses: dict[int, tuple[int, Sequence[int]]]


def _visits(stream: Sequence[int]) -> list[_Visit]:
    """What a warp did, in order."""
    visits: list[_Visit] = []
    at = 0
    while at < len(stream):
        kind = RecordKind(stream[at] >> KIND_SHIFT)
        ident, lanes = stream[at] >> ID_SHIFT & ID_MASK, stream[at] & _LOW_32
        if kind is RecordKind.BLOCK:
            visits.append(_Visit(ident, lanes, {}))
        elif kind is not RecordKind.VALUES:
            addresses = lane_addresses(kind, stream[at + 1 : at + RECORD_WORDS[kind]])
            visits[-1].accesses.setdefault(ident, (lanes, addresses))
        at += RECORD_WORDS[kind]
    return visits


def _diverged(kernel: Kernel, visits: Sequence[_Visit]) -> list[int]:
    """The lanes that executed the last instruction of every visit."""
    found: list[int] = []
    bound: dict[int, int] = {}  # lanes by the block that they enter next
    for block, lanes, _ in reversed(visits):
        found.append(lanes & ~_staying(kernel, kernel.blocks[block], bound))
        bound = {to: left for to, some in bound.items() if (left := some & ~lanes)}
        bound[block] = bound.get(block, 0) | lanes
    found.reverse()
    return found


def _staying(kernel: Kernel, block: BasicBlock, bound: dict[int, int]) -> int:
    """The lanes that the guard of the last instruction of a block switches off."""
    last = kernel.instructions[block.end - 1]
    if last.opcode == "EXIT":
        return sum(bound.values())
    is_choice = len(block.successors) > 1 and _WHOLE_WARP.isdisjoint(last.modifiers)
    return bound.get(block.index + 1, 0) if last.opcode == "BRA" and is_choice else 0


def whole_instructions(kernel: Kernel, block: BasicBlock) -> list[int]:
    """The instructions of a block; of those that are parts of one, the first."""
    found: list[int] = []
    last: int | None = None
    for instruction in kernel.instructions[block.start : block.end]:
        if last is None or instruction.code_offset != last:
            found.append(instruction.index)
        last = instruction.code_offset
    return found


def _position(number: int, grid: Dim3) -> Dim3:
    x, y, _ = grid
    return number % x, number // x % y, number // (x * y)
