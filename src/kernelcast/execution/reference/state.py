"""What changes while a kernel is interpreted: the blocks, their warps, and the trace so far."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.address_map import GLOBAL_BASE
from kernelcast.execution.bulk import BulkCopies
from kernelcast.execution.clusters import Arrival
from kernelcast.execution.memory import Memory
from kernelcast.execution.reference.values import Lanes, unsigned, width_of
from kernelcast.execution.trace import ID_SHIFT, KIND_SHIFT, RecordKind
from kernelcast.ir import Dim3, Instruction, Kernel, Launch, Register, Space
from kernelcast.ir.sizes import WARP_LANES

CLUSTER_BARRIER = -1

ALL_LANES = (1 << WARP_LANES) - 1


@lru_cache(maxsize=1024)
def lanes_of(mask: int) -> NDArray[np.bool_]:
    """A mask as booleans, one per lane."""
    return np.array([mask >> lane & 1 for lane in range(WARP_LANES)], bool)


@dataclass
class RunState:
    """One execution: what runs, on what memory, and what has been traced."""

    kernel: Kernel
    launch: Launch
    memory: Memory
    trace: array[int] = field(default_factory=lambda: array("Q"))
    warp_instructions: int = 0
    thread_instructions: int = 0

    def __post_init__(self) -> None:
        self.parameters = memoryview(self.memory.parameters.tobytes())
        self.symbols = self.memory.symbols
        self.global_base = GLOBAL_BASE
        self.words: array[int] = self.trace
        self.bulk_copies = BulkCopies(self.kernel, self.launch, self.memory)
        self.shared_variables = frozenset(
            v.name for v in self.kernel.variables if v.space is Space.SHARED
        )

    @cached_property
    def buffer(self) -> memoryview:
        """All of device memory, filled."""
        self.memory.fill()
        return self.memory.buffer

    def record(self, kind: RecordKind, ident: int, mask: int, *words: int) -> None:
        """Append a record to what the block that runs has traced."""
        self.words.append(kind << KIND_SHIFT | ident << ID_SHIFT | mask)
        self.words.extend(words)


@dataclass(frozen=True, slots=True)
class BarrierWait:
    """Lanes of a warp that wait at a barrier, to go on at the basic block `resume`.

    `barrier` is `CLUSTER_BARRIER` where they wait for the cluster. `threads` is the barrier's
    thread count, None for all of the block. `votes` are the lanes that
    hold true in a reduction; when the barrier completes, `release` is called with the number of
    such votes and of all lanes that voted, in all its warps.
    """

    instruction: Instruction
    barrier: int
    threads: int | None
    mask: int
    resume: int
    votes: int = 0
    release: Callable[[int, int], None] | None = None


class BlockState:
    """A block of the grid while it runs; `cluster` are the blocks that run with it, by rank."""

    def __init__(self, run: RunState, index: int, cluster: list[BlockState], rank: int) -> None:
        self.index = index
        self.cluster, self.rank = cluster, rank
        self.position = _coordinates(index, run.launch.grid)
        self.words: array[int] = array("Q")
        self.executed = 0  # warp instructions
        self.shared = bytearray(run.memory.shared_bytes)
        self.arrivals: Counter[int] = Counter()
        self.warps = [Warp(run, self, w) for w in range(run.launch.warps_per_block)]


class Warp:
    """A warp: its registers, its lanes' local memory, and where its lanes are.

    `pending` maps a basic block to the mask of lanes that are to enter it; `pauses` tells that it
    has some because the warp ended its turn early. `rounds` counts those of loops that wait which
    the lanes of `spinning`, and no others, have begun in succession, and `iterations` those of
    loops in which blocks may see each other's work, in this turn.
    """

    def __init__(self, run: RunState, block: BlockState, index: int) -> None:
        self.block = block
        self.index = index
        self.first_thread = index * WARP_LANES
        threads = min(run.launch.threads_per_block - self.first_thread, WARP_LANES)
        self.pending: dict[int, int] = {0: (1 << threads) - 1}
        self.waiting: list[BarrierWait] = []
        self.pauses = False
        self.arrival = Arrival.NONE
        self.spinning = 0
        self.rounds = 0
        self.iterations = 0
        self.carry = np.zeros(WARP_LANES, bool)
        self.local = [bytearray(run.memory.local_bytes) for _ in range(WARP_LANES)]
        self.registers: dict[str, Lanes] = {}
        self.instructions = 0

    @property
    def is_alive(self) -> bool:
        """Whether any lane has not exited."""
        return bool(self.pending or self.waiting)

    @property
    def alive(self) -> int:
        """The lanes that have not exited."""
        return reduce(or_, (*self.pending.values(), *(w.mask for w in self.waiting)), 0)

    def register(self, register: Register) -> Lanes:
        """The bits of a register; one that was never written holds zero."""
        bits = self.registers.get(register.name)
        if bits is None:
            bits = np.zeros(WARP_LANES, unsigned(width_of(register.type)))
            self.registers[register.name] = bits
        return bits


def _coordinates(index: int, extent: Dim3) -> Dim3:
    """The three coordinates of a linear index, x running fastest."""
    x, y, _ = extent
    return index % x, index // x % y, index // (x * y)
