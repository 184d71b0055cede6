"""What bulk copies read and write, for every executor: their accesses, checked, and the copying.

See `isas/ptx/bulk.py` for the steps. A copy accesses memory 32 times 16 bytes at a time; of a tile
the aligned units of 16 bytes in global memory that hold some of it, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from kernelcast.errors import ExecutionError
from kernelcast.execution.address_map import PARAM_WINDOW, WINDOW_BYTES
from kernelcast.execution.bursts import consecutive
from kernelcast.execution.faults import memory_fault, place
from kernelcast.execution.memory import Memory
from kernelcast.execution.tiles import Box, box_at, burst_of, swizzled_units
from kernelcast.execution.trace import Words
from kernelcast.ir import Instruction, Kernel, Launch, Space
from kernelcast.ir.tensor_map import TENSOR_MAP_BYTES, TensorLayout, unpack
from kernelcast.isas.ptx.bulk import UNIT_BYTES

Bytes = NDArray[np.uint8]

_WORD, _SIGN = 0xFFFF_FFFF, 0x8000_0000

_TILE_ALIGN_BYTES = 128
"""Alignment of a tile in shared memory (PTX ISA 9.0, section 5.5)."""


@dataclass(frozen=True, slots=True)
class Where:
    """The thread that starts a copy, its block's index in the grid, and the shared memory of all
    blocks of its cluster, by rank."""

    block: int
    thread: int
    shared: Sequence[Bytes]

    def of(self, start: int) -> tuple[Bytes, int] | None:
        """The memory that an address leads to, and the offset there; None where no block has it."""
        rank, offset = divmod(start, WINDOW_BYTES)
        return (self.shared[rank], offset) if rank < len(self.shared) else None


@dataclass(frozen=True)
class BulkCopies:
    """The bulk copies of a launch."""

    kernel: Kernel
    launch: Launch
    memory: Memory
    _layouts: dict[int, TensorLayout] = field(default_factory=dict)

    def perform(
        self, step: Instruction, operands: Sequence[int], where: Where, *, moves: bool
    ) -> Words:
        """Do a step of a copy for one thread, given its operands behind the first.

        Returns the records of its accesses. Memory is left alone unless it `moves`.
        Raises ExecutionError where the copy is not allowed.
        """
        side, kind, own, other = step.modifiers[:4]
        copy: _Linear | _Tile
        if kind == "linear":
            copy = _Linear(self, step, where, own, other, operands)
        else:
            copy = _Tile(self, step, where, own, operands)
        records = copy.records()
        if side == "write" and moves:
            copy.move()
        return records

    def layout(self, address: int) -> TensorLayout | None:
        """The tensor map at a generic address, which is a parameter."""
        known = self._layouts.get(address)
        if known is None:
            start = address - PARAM_WINDOW
            if not 0 <= start <= self.memory.parameters.size - TENSOR_MAP_BYTES:
                return None
            found = unpack(self.memory.parameters[start : start + TENSOR_MAP_BYTES].tobytes())
            if found is None:
                return None
            known = self._layouts[address] = found
        return known


class _Copy:
    """One step of a copy, as it checks its accesses."""

    def __init__(self, copies: BulkCopies, step: Instruction, where: Where, own: str) -> None:
        self.copies = copies
        self.memory = copies.memory
        self.step = step
        self.where = where
        self.own = Space(own)
        self.writes = step.modifiers[0] == "write"

    def fault(self, address: int) -> ExecutionError:
        """The error for an access that is not allowed."""
        copies, where = self.copies, self.where
        instruction = copies.kernel.instructions[self.step.index]
        return memory_fault(
            copies.kernel,
            copies.launch,
            copies.memory,
            instruction,
            where.block,
            where.thread,
            address,
        )

    def error(self, what: str, hint: str) -> ExecutionError:
        """The error for a copy that cannot be."""
        copies, where = self.copies, self.where
        instruction = copies.kernel.instructions[self.step.index]
        at = place(copies.kernel, copies.launch, instruction, where.block, where.thread)
        return ExecutionError(what, where=at, hint=hint)

    def check_shared(self, start: int, end: int, align_bytes: int) -> None:
        """Refuse what is not in the block's shared memory."""
        found = self.where.of(start)
        if start % align_bytes:
            raise self.error(
                f"a copy of this kind at {start:#x} of shared memory, not at a multiple of "
                f"{align_bytes} bytes",
                "align the buffer",
            )
        if found is None:
            raise self.fault(start)
        shared, offset = found
        beyond = shared.size // UNIT_BYTES * UNIT_BYTES - offset
        if offset + end - start > shared.size:
            raise self.fault(start + max(beyond, 0))

    def check_global(self, start: int, end: int, *, writes: bool) -> None:
        """Refuse what does not lie in one array, or may not be written."""
        region = self.memory.region_at(start)
        if region is None or (writes and not region.writable):
            raise self.fault(start)
        if end > region.end:
            raise self.fault(max(start, start + (region.end - start) // UNIT_BYTES * UNIT_BYTES))


class _Linear(_Copy):
    """A copy of consecutive bytes."""

    def __init__(
        self,
        copies: BulkCopies,
        step: Instruction,
        where: Where,
        own: str,
        other: str,
        operands: Sequence[int],
    ) -> None:
        super().__init__(copies, step, where, own)
        self.to, self.source, self.size_bytes = operands
        self.from_space = Space(other)
        self.start = self.to if self.writes else self.source

    def records(self) -> Words:
        """The step's own accesses."""
        if self.size_bytes % UNIT_BYTES:
            raise self.error(
                f"a bulk copy of {self.size_bytes} bytes",
                f"copy a multiple of {UNIT_BYTES} bytes",
            )
        end = self.start + self.size_bytes
        if self.size_bytes and self.own is Space.SHARED:
            self.check_shared(self.start, end, UNIT_BYTES)
        elif self.size_bytes:
            if self.start % UNIT_BYTES:
                raise self.fault(self.start)
            self.check_global(self.start, end, writes=self.writes)
        return consecutive(self.size_bytes // UNIT_BYTES).at(self.step.index, self.start)

    def move(self) -> None:
        """Copy the bytes."""
        self._view(self.own, self.to)[:] = self._view(self.from_space, self.source)

    def _view(self, space: Space, start: int) -> Bytes:
        if space is Space.SHARED:
            found = self.where.of(start)
            assert found is not None  # as its accesses have been checked
            shared, offset = found
            return shared[offset : offset + self.size_bytes]
        return self.memory.bytes_at(start, self.size_bytes)


class _Tile(_Copy):
    """A copy of a box of a tensor, those of its elements that lie outside being zero."""

    def __init__(
        self,
        copies: BulkCopies,
        step: Instruction,
        where: Where,
        own: str,
        operands: Sequence[int],
    ) -> None:
        super().__init__(copies, step, where, own)
        address, self.shared, *words = operands
        layout = copies.layout(address)
        if layout is None:
            raise self.error(
                f"no tensor map at {address:#x}",
                "let the argument of the parameter describe a tensor with its box",
            )
        if len(words) != len(layout.extents):
            raise self.error(
                f"a copy in {len(words)} dimensions of a tensor of {len(layout.extents)}",
                "give the tensor map as many dimensions",
            )
        self.layout = layout
        self.box = box_at(layout, tuple((w & _WORD ^ _SIGN) - _SIGN for w in words))

    def records(self) -> Words:
        """The step's own accesses."""
        if self.own is Space.SHARED:
            size_bytes = self.layout.box_bytes
            self.check_shared(self.shared, self.shared + size_bytes, _TILE_ALIGN_BYTES)
            return consecutive(size_bytes // UNIT_BYTES).at(self.step.index, self.shared)
        if self.box is None:
            return np.empty(0, np.uint64)
        self.check_global(self.box.first, self.box.end, writes=self.writes)
        return burst_of(self.layout, self.box).at(self.step.index, self.box.first)

    def move(self) -> None:
        """Copy the box, to or from the order in which it lies in shared memory."""
        layout, box = self.layout, self.box
        found = self.where.of(self.shared)
        assert found is not None  # as its accesses have been checked
        own, offset = found
        units = swizzled_units(offset, layout.box_bytes, layout.swizzle_bytes or UNIT_BYTES)
        whole = own.size // UNIT_BYTES * UNIT_BYTES
        shared = own[:whole].reshape(-1, UNIT_BYTES)
        shape = (*reversed(layout.box), layout.element_bytes)
        if self.own is Space.GLOBAL:
            if box is not None:
                self._tensor(box)[:] = shared[units].reshape(shape)[_inside(box)]
            return
        tile = np.zeros(shape, np.uint8)
        if box is not None:
            tile[_inside(box)] = self._tensor(box)
        shared[units] = tile.reshape(-1, UNIT_BYTES)

    def _tensor(self, box: Box) -> Bytes:
        """What of the box lies in the tensor, in global memory, element by element."""
        layout = self.layout
        steps = (layout.element_bytes, *layout.strides_bytes)
        return as_strided(
            self.memory.bytes_at(box.first, box.end - box.first),
            (*reversed(box.counts), layout.element_bytes),
            (*reversed(steps), 1),
        )


def _inside(box: Box) -> tuple[slice, ...]:
    return tuple(slice(a, b) for a, b in zip(box.low, box.high, strict=True))[::-1]
