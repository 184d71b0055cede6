"""The consumer that checks a launch while it is executed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kernelcast.checking import layout
from kernelcast.checking.loop import check_records
from kernelcast.checking.misuses import Misuse, MisuseKind, ThreadPlace
from kernelcast.checking.tables import Table, code_tables
from kernelcast.checking.written import WrittenBytes, lazy_bytes
from kernelcast.errors import (
    DeadlockError,
    ExecutionError,
    MemoryFaultError,
    MisalignedError,
)
from kernelcast.execution.address_map import GLOBAL_BASE, SHARED_WINDOW, WINDOW_BYTES
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import Words
from kernelcast.ir import Kernel, Launch

_NEWEST_CLOCK = 1 << 30
"""Clocks begin anew before they leave a 32-bit number."""

_FENCE = "put __syncthreads() between them"
_BETWEEN_BLOCKS = "use an atomic, or a kernel of its own for what comes after"


class AccessChecker:
    """Checks every access of a launch. It sees all blocks in order, from one thread.

    `written` knows which bytes of global memory hold something; without it all do. Of blocks that
    ran `together` one may read what another wrote that is seen later.
    """

    def __init__(
        self,
        kernel: Kernel,
        launch: Launch,
        memory: Memory,
        written: WrittenBytes | None = None,
        *,
        together: bool = False,
    ) -> None:
        self._kernel, self._launch, self._memory = kernel, launch, memory
        self._seen_early = written if together else None
        code = code_tables(kernel)
        self._instructions, self._steps = code.instructions, code.steps
        self._blocks, self._events = code.blocks, code.events
        self._bits = np.zeros(1, np.uint8) if written is None else written.bits
        checks_blocks = code.writes_global and launch.blocks > 1
        shift = code.finest[layout.GLOBAL]
        self._regions, cells = _regions(memory, written, shift)
        size_bytes = layout.GLOBAL_CELL.itemsize * (cells if checks_blocks else 1)
        self._cells = lazy_bytes(size_bytes).view(layout.GLOBAL_CELL)
        shared = (memory.shared_bytes >> code.finest[layout.SHARED]) + 1
        self._shared = np.zeros(shared, layout.SHARED_CELL)
        self._fences = np.zeros(launch.blocks, np.int32)
        warps = layout.MOST_WARPS
        self._clocks = np.zeros((warps, warps), np.int64)
        self._barriers = np.zeros((2, layout.BARRIERS, warps), np.int64)
        self._generations = np.zeros(layout.BARRIERS, np.int64)
        self._sites = np.zeros((layout.BARRIERS, 2), np.int64)
        self._waiting = np.full((warps, 3), -1, np.int64)
        self._fenced = np.zeros(warps, np.int64)
        self._lanes = np.zeros(32, np.int64)
        self._found = np.zeros(layout.MOST_FINDINGS, layout.FINDING)
        self._states = np.zeros(1, layout.STATE)
        state = self._states[0]
        state["block"] = state["basic_block"] = -1
        state["shared_shift"], state["global_shift"] = code.finest[layout.SHARED], shift
        state["checks_blocks"], state["together"] = checks_blocks, together
        # Of a cluster other blocks may access it, which are looked at one after the other.
        state["checks_shared"] = kernel.cluster_blocks == 1
        state["first_address"] = GLOBAL_BASE
        state["shared_window"], state["window_bytes"] = SHARED_WINDOW, WINDOW_BYTES

    def consume(self, words: Words) -> None:
        """The next words of the stream."""
        state = self._states[0]
        if state["newest"] > _NEWEST_CLOCK:
            self._begin_clocks_anew()
        check_records(
            words.view(np.int64),
            self._instructions,
            self._steps,
            self._blocks,
            self._events,
            self._regions,
            self._shared,
            self._cells,
            self._bits,
            self._fences,
            self._clocks,
            self._barriers,
            self._generations,
            self._sites,
            self._waiting,
            self._fenced,
            self._lanes,
            self._found,
            self._states,
        )

    def _begin_clocks_anew(self) -> None:
        """Only epochs of the block that runs are ever compared; forgetting them misses little."""
        self._shared[:] = 0
        for clocks in (self._clocks, self._barriers, self._fenced):
            clocks[:] = 0
        self._states["base"] = self._states["newest"] = 0

    def misuses(self) -> Iterator[Misuse]:
        """What has been found so far; of shared memory that a race leaves unwritten, the race."""
        all_found = self._found[: int(self._states[0]["findings"])]
        races = all_found[all_found["kind"] == layout.RACE_OF_WARPS]
        racing = {self._instruction(int(p)) for side in ("place", "other") for p in races[side]}
        for found in all_found:
            is_shared = found["kind"] == layout.UNWRITTEN_SHARED
            is_effect = is_shared and self._instruction(int(found["place"])) in racing
            if not is_effect and not self._was_written_later(found):
                yield self._misuse(found)

    def _was_written_later(self, found: np.void) -> bool:
        """Whether a read came before its write only because blocks are seen one after the other."""
        if self._seen_early is None or found["kind"] != layout.UNWRITTEN_GLOBAL:
            return False
        return self._seen_early.hold(int(found["address"]), int(found["bytes"]))

    def misuse_of(self, error: ExecutionError) -> Misuse:
        """What stopped the launch."""
        kind = MisuseKind.STOPPED
        what, hint, place, other = error.what, error.hint, None, None
        if error.at is not None:
            instruction, block, thread = error.at
            place = self._place(instruction << layout.THREAD_BITS | thread, block)
        if isinstance(error, MisalignedError):
            kind = MisuseKind.MISALIGNED
        elif isinstance(error, MemoryFaultError):
            kind = MisuseKind.OUT_OF_BOUNDS
        elif isinstance(error, DeadlockError):
            kind = MisuseKind.DIVERGENT_BARRIER
            places = [int(p) for barrier, _, p in self._waiting if barrier >= 0]
            block = int(self._states[0]["block"])
            if places:
                place = self._place(places[0], block)
                others = [p for p in places if self._instruction(p) != self._instruction(places[0])]
                other = self._place(others[0], block) if others else None
        return Misuse(kind, what, hint, self._label(), self._launch, place, other)

    def _misuse(self, found: np.void) -> Misuse:
        number = int(found["kind"])
        place = self._place(int(found["place"]), int(found["block"]))
        other: ThreadPlace | None = self._place(int(found["other"]), int(found["other_block"]))
        size, address = int(found["bytes"]), int(found["address"])
        match number:
            case layout.RACE_OF_WARPS:
                kind, hint = MisuseKind.SHARED_RACE, _FENCE
                what = _race(found, f"shared memory at {address:#x}")
            case layout.RACE_OF_BLOCKS:
                kind, hint = MisuseKind.GLOBAL_RACE, _BETWEEN_BLOCKS
                what = _race(found, self._array(address))
            case layout.DIVERGENT_BARRIER:
                kind = MisuseKind.DIVERGENT_BARRIER
                what = "threads of one block wait at different barriers"
                hint = "let all threads of the block reach the same __syncthreads()"
            case _:
                kind, other = MisuseKind.UNINITIALISED, None
                where = f"shared memory at {address:#x}"
                if number == layout.UNWRITTEN_GLOBAL:
                    where = self._array(address)
                what = f"reads {size} bytes of {where} that nobody has written"
                hint = "write them first, or do not read them"
        count = int(found["count"])
        return Misuse(kind, what, hint, self._label(), self._launch, place, other, count)

    def _label(self) -> str:
        return self._kernel.shown

    def _array(self, address: int) -> str:
        region = self._memory.region_at(address)
        if region is None:
            return f"global memory at {address:#x}"
        return f"{region.label} at byte {address - region.address}"

    def _instruction(self, place: int) -> int:
        return place >> layout.THREAD_BITS & layout.INSTRUCTION_MASK

    def _place(self, place: int, block: int) -> ThreadPlace:
        instruction = self._kernel.instructions[self._instruction(place)]
        thread = place & layout.THREAD_MASK
        x, y, _ = self._launch.block
        coordinates = (thread % x, thread // x % y, thread // (x * y))
        return ThreadPlace(instruction.location, instruction.name, block, coordinates)


def _race(found: np.void, where: str) -> str:
    """What the access that came last does, beside the other."""
    this, other = {
        layout.WRITE_THEN_READ: ("reads", "writes"),
        layout.READ_THEN_WRITE: ("writes", "reads"),
        layout.WRITE_THEN_WRITE: ("writes", "writes, too"),
    }[int(found["order"])]
    return (
        f"{this} {int(found['bytes'])} bytes of {where} that another thread {other}, in any order"
    )


def _regions(memory: Memory, written: WrittenBytes | None, shift: int) -> tuple[Table, int]:
    """The arrays of global memory, and how many cells they have together."""
    table = np.zeros(max(len(memory.regions), 1), layout.REGION)
    cells = 0
    for row, region in zip(table, memory.regions, strict=False):
        starts_empty = written is not None and written.is_empty_at_first(region.address)
        row["start"], row["end"] = region.address, region.end
        row["first_cell"], row["starts_empty"] = cells, starts_empty
        cells += (region.size_bytes >> shift) + 1
    return table, cells
