"""The words of a written trace: every block walks its path once, all warps side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import InputError
from kernelcast.execution.trace import ID_SHIFT, KIND_SHIFT, RecordKind, Words
from kernelcast.ir import Instruction, Space
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.traces.stored import StoredTrace, TraceHead
from kernelcast.traces.written.expressions import Expression, ThreadValues
from kernelcast.traces.written.program import (
    PathBranch,
    PathLoop,
    PathStatement,
    PathStep,
    WrittenTrace,
)
from kernelcast.traces.written.reader import thread_names

_MAKER = "written"
_MOST_WORDS = 1 << 27
_MOST_WORDS_OF_BLOCK = 1 << 22
_LANE_BITS = np.uint64(1) << np.arange(WARP_LANES, dtype=np.uint64)
_NOWHERE = -1

_LaneMask = NDArray[np.bool_]
"""By warp and lane."""


def stored_trace(trace: WrittenTrace) -> StoredTrace:
    """A written trace as one that lies in a file."""
    blocks = tuple(range(trace.launch.blocks))
    head = TraceHead(trace.kernel, trace.launch, blocks, trace.regions)
    return StoredTrace(head, _MAKER, lambda: _words(trace))


def _words(trace: WrittenTrace) -> Iterator[Words]:
    total = 0
    for block in range(trace.launch.blocks):
        words = _BlockWalk.of(trace, block).words()
        total += len(words)
        if total > _MOST_WORDS:
            raise InputError(
                f"the trace has more than {_MOST_WORDS} words",
                where=trace.where,
                hint="use a smaller grid, or shorter loops",
            )
        yield words


@dataclass
class _BlockWalk:
    """One block on its path: where every lane is, and what its warps have done so far."""

    trace: WrittenTrace
    block: int
    names: dict[str, ThreadValues]
    at: NDArray[np.int64]
    parts: list[tuple[NDArray[np.bool_], Words]] = field(default_factory=list)
    length: int = 0

    @classmethod
    def of(cls, trace: WrittenTrace, block: int) -> _BlockWalk:
        numbers = {name: np.asarray(value, np.int64) for name, value in trace.names.items()}
        names = numbers | thread_names(trace.launch, block)
        warps = trace.launch.warps_per_block
        return cls(trace, block, names, np.full((warps, WARP_LANES), _NOWHERE))

    def words(self) -> Words:
        """The records of all warps, one warp behind the other."""
        shape = (len(self.at), WARP_LANES)
        lanes = np.broadcast_to(self.names["thread"] < self.trace.launch.threads_per_block, shape)
        self._follow(self.trace.path, lanes)
        self._check_end(lanes)
        rows = []
        for warp in range(len(self.at)):
            rows.append(_header(RecordKind.WARP, warp, 0, self.block))
            rows += [part[warp] for does, part in self.parts if does[warp]]
        return np.concatenate(rows)

    def _follow(self, statements: Sequence[PathStatement], lanes: _LaneMask) -> None:
        for statement in statements:
            match statement:
                case PathStep(block, where):
                    self._enter(block, where, lanes)
                case PathBranch(condition, body):
                    chosen = lanes & (self._value(condition) != 0)
                    if chosen.any():
                        self._follow(body, chosen)
                case PathLoop():
                    self._repeat(statement, lanes)

    def _repeat(self, loop: PathLoop, lanes: _LaneMask) -> None:
        outer = self.names.get(loop.name)
        for turn in range(loop.count.number(self.names)):
            if loop.name:
                self.names[loop.name] = np.asarray(turn, np.int64)
            self._follow(loop.body, lanes)
        if outer is not None:
            self.names[loop.name] = outer
        elif loop.name:
            self.names.pop(loop.name, None)

    def _enter(self, block: int, where: str, lanes: _LaneMask) -> None:
        self._check_flow(block, where, lanes)
        self.at[lanes] = block
        header = _headers(RecordKind.BLOCK, block, lanes)
        self._add(lanes, header, where)
        bounds = self.trace.kernel.blocks[block]
        for instruction in self.trace.kernel.instructions[bounds.start : bounds.end]:
            if instruction.index in self.trace.accesses:
                self._access(instruction, lanes, where)

    def _access(self, instruction: Instruction, lanes: _LaneMask, where: str) -> None:
        access = self.trace.accesses[instruction.index]
        if access.condition is not None:
            lanes = lanes & (self._value(access.condition) != 0)
        address = np.broadcast_to(self._value(access.address), lanes.shape)
        self._check_address(instruction, access.address, address, lanes)
        header = _headers(RecordKind.ADDRESSES, instruction.index, lanes)
        words = np.hstack([header, np.where(lanes, address, 0).astype(np.uint64)])
        self._add(lanes, words, where)

    def _add(self, lanes: _LaneMask, words: Words, where: str) -> None:
        """Records of all warps, a row each; those without lanes leave none."""
        self.parts.append((np.asarray(lanes.any(axis=1)), words))
        self.length += words.size
        if self.length > _MOST_WORDS_OF_BLOCK:
            raise InputError(
                f"a block does more than {_MOST_WORDS_OF_BLOCK} words",
                where=where,
                hint="use fewer turns",
            )

    def _value(self, expression: Expression) -> ThreadValues:
        return expression.value(self.names)

    def _check_flow(self, block: int, where: str, lanes: _LaneMask) -> None:
        """The path goes where the code can go."""
        for before in np.unique(self.at[lanes]):
            if before == _NOWHERE:
                allowed: tuple[int, ...] = (0,)
            else:
                allowed = self.trace.kernel.blocks[before].successors
            if block in allowed:
                continue
            warp = int(np.argwhere(lanes & (self.at == before))[0][0])
            raise InputError(
                f"the path contradicts the code: warp {warp} of block {self.block} enters "
                f"{self.trace.labels[block]!r} {self._left(int(before))}",
                where=where,
                hint=f"possible: {', '.join(self.trace.labels[b] for b in allowed) or 'nothing'}",
            )

    def _left(self, before: int) -> str:
        if before == _NOWHERE:
            return "first"
        last = self.trace.kernel.instructions[self.trace.kernel.blocks[before].end - 1]
        return f"from {self.trace.labels[before]!r}, behind instruction {last.index} ({last.name})"

    def _check_end(self, lanes: _LaneMask) -> None:
        """Every lane has come to an end of the code."""
        ends = [b.index for b in self.trace.kernel.blocks if self._may_end(b.end - 1)]
        missing = np.argwhere(lanes & ~np.isin(self.at, ends))
        if len(missing):
            warp, lane = map(int, missing[0])
            raise InputError(
                f"the path contradicts the code: warp {warp} of block {self.block} ends "
                f"{self._left(int(self.at[warp, lane]))}",
                where=self.trace.where,
                hint="let every path end at EXIT",
            )

    def _may_end(self, index: int) -> bool:
        return self.trace.kernel.instructions[index].traits.exits

    def _check_address(
        self, instruction: Instruction, text: Expression, address: ThreadValues, lanes: _LaneMask
    ) -> None:
        """Every access lies in one array, or in the shared memory of its block, and is aligned."""
        width = instruction.access_bytes
        inside = np.zeros(lanes.shape, bool)
        for start, end in self._extents(instruction):
            inside |= (address >= start) & (address + width <= end)
        wrong = lanes & ~(inside & (address % width == 0))
        if not wrong.any():
            return
        warp, lane = map(int, np.argwhere(wrong)[0])
        raise InputError(
            f"{text.text!r} is {int(address[warp, lane])} in lane {lane} of warp {warp}, block "
            f"{self.block}: instruction {instruction.index} ({instruction.name}) accesses "
            f"{width} bytes there, outside every array or not aligned",
            where=text.where,
            hint="correct the address, or the size of the array",
        )

    def _extents(self, instruction: Instruction) -> list[tuple[int, int]]:
        resources = self.trace.kernel.resources
        if instruction.space is Space.SHARED:
            return [(0, resources.static_shared_bytes)]
        if instruction.space is Space.LOCAL:
            return [(0, 1 << 16)]
        return [(region.address, region.end) for region in self.trace.regions]


def _headers(kind: RecordKind, ident: int, lanes: _LaneMask) -> Words:
    """The header of a record of every warp, a row each."""
    masks: Words = (lanes * _LANE_BITS).sum(axis=1, dtype=np.uint64)
    return (masks | np.uint64(int(kind) << KIND_SHIFT | ident << ID_SHIFT))[:, None]


def _header(kind: RecordKind, ident: int, mask: int, word: int) -> Words:
    return np.array([int(kind) << KIND_SHIFT | ident << ID_SHIFT | mask, word], np.uint64)
