"""One thread of a run: the buffers that its compiled code works on, and what that calls."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import ToolError
from kernelcast.execution.address_map import WINDOW_BYTES
from kernelcast.execution.bulk import BulkCopies, Where
from kernelcast.execution.consumers import Consumer
from kernelcast.execution.engine.context import (
    FIRST_OF_OWN,
    SLOTS,
    TIMER_BITS,
    Fault,
    RunResult,
    Slot,
)
from kernelcast.execution.engine.held_traces import HeldTraces
from kernelcast.execution.engine.jit import HostCode
from kernelcast.execution.engine.module import LoweredKernel
from kernelcast.execution.engine.ptx.bulk_copies import MAX_OPERANDS
from kernelcast.execution.engine.stops import deadlock, fault_error, over_budget, too_much
from kernelcast.execution.memory import Memory, Region
from kernelcast.execution.system_calls import Caller, call_system
from kernelcast.execution.trace import Progress, Words
from kernelcast.ir import Instruction, Kernel, Launch
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.isas.ptx.steps import SYSTEM

_LOG_BYTES = 1 << 20
"""Size of the log buffer: what is written is read again by who follows, from the core's own
second-level cache. Where several blocks run, each has its part, of `_FEWEST_LOG_BYTES` or more."""
_FEWEST_LOG_BYTES = 1 << 14

_UNLOGGED_INSTRUCTIONS = 1 << 20
"""Warp instructions between two looks at the budget where nobody follows: some milliseconds. Of
several blocks that run, each has its part of them."""

_STACK_BYTES = 1 << 30
"""Addresses set aside for the stack of compiled code, which keeps the registers of a long kernel
there, some KiB for each of its instructions; memory is taken only as far as it is used."""

_Callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_TouchCallback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint64)
_BulkCallback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *(ctypes.c_uint32,) * 4)


@dataclass
class WorkQueue:
    """What all threads of a run share: the launch, its code, and the blocks still to be claimed.

    Threads claim blocks in ascending order, so that a block may wait for what an earlier one does,
    and those of a cluster at once: `blocks` holds them cluster by cluster. Of clusters, each thread
    runs as many at a time as it has `seats`, and it executes no more than `most` warp instructions.
    What the `unseen` among the blocks do is in nobody's trace. `last` is the block after which none
    is to go on.
    """

    kernel: Kernel
    launch: Launch
    memory: Memory
    lowered: LoweredKernel
    code: HostCode
    budget: int
    blocks: NDArray[np.uint64]
    seats: int = 1
    most: int | None = None
    unseen: frozenset[int] = frozenset()
    progress: Progress | None = None
    next_block: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(1, np.uint64))
    last: float = math.inf
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def order(self) -> tuple[int, ...]:
        """The blocks that are seen, in the order in which they are claimed, where some may end
        before others; these are all executed by one thread."""
        if self.seats == 1:
            return ()
        return tuple(block for block in self.blocks.tolist() if block not in self.unseen)

    def end_with(self, block: float) -> None:
        """Let no block after this one go on; -1 ends all."""
        with self._lock:
            self.last = min(self.last, block)
            self.next_block[0] = len(self.blocks)

    def is_over(self, block: int) -> bool:
        """Whether a block is not to go on."""
        return block > self.last

    @property
    def unclaimed(self) -> int:
        """How many blocks no thread has claimed."""
        return max(len(self.blocks) - int(self.next_block[0]), 0)

    def tell_progress(self) -> None:
        """Tell the share of blocks that are done, or being executed by now."""
        if self.progress is not None:
            with self._lock:
                begun = len(self.blocks) - self.unclaimed
                running = self.seats * self.kernel.cluster_blocks
                self.progress(max(begun - running, 0) / len(self.blocks))


def _aligned(size_bytes: int) -> NDArray[np.uint8]:
    """Zeroed bytes that start at a multiple of 64."""
    raw = np.zeros(size_bytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size_bytes]


class Worker:
    """A thread that executes blocks, and its buffers, which compiled code may touch as long as it
    runs. What goes wrong is its `error`, in block `error_block`."""

    def __init__(self, work: WorkQueue, consumers: Sequence[Consumer]) -> None:
        self.work = work
        self.consumers = consumers
        self.ranks = work.kernel.cluster_blocks
        self.places = work.seats * self.ranks
        self.log_bytes = max(_LOG_BYTES // self.places, min(_LOG_BYTES, _FEWEST_LOG_BYTES))
        self.error: BaseException | None = None
        self.slots = np.zeros(SLOTS, np.uint64)
        self.logs = np.zeros((self.places, 0), np.uint64)
        self.bulk_copies = BulkCopies(work.kernel, work.launch, work.memory)
        self.operands = _aligned(8 * WARP_LANES * MAX_OPERANDS).view(np.uint64)
        self._keep: list[NDArray[np.generic]] = []
        self._pointer(Slot.OPERANDS, self.operands)
        self._callbacks: list[Any] = [
            _Callback(self._drain),
            _BulkCallback(self._copy),
            _TouchCallback(self._touch),
        ]
        self._set_memory()
        self._set_launch()
        self._set_warps()
        self._set_log()
        self._set_callbacks()
        self._set_places()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kernelcast engine")

    def start(self) -> None:
        """Begin to execute blocks.

        Always in a thread of its own, so that an interrupt reaches the caller's: Python would raise
        it in whatever Python code runs next, which may be the entry of `_drain`, where ctypes drops
        it. Raises ToolError where the system has no addresses left for its stack.
        """
        usual = threading.stack_size(_STACK_BYTES)
        try:
            self._thread.start()
        except RuntimeError:
            self._ended.set()
            raise ToolError(
                f"the system refuses a thread its {_STACK_BYTES >> 20} MiB of addresses",
                hint="raise the limit on virtual memory (ulimit -v)",
            ) from None
        finally:
            threading.stack_size(usual)

    def join(self, seconds: float | None = None) -> bool:
        """Wait until it has ended, or for some time; tells whether it has."""
        # `Thread.join` takes a thread for ended where an interrupt came while it waited.
        if not self._ended.wait(seconds):
            return False
        # They hold the worker, and so the addresses of its memory, until Python looks for cycles.
        self._callbacks.clear()
        return True

    @property
    def block(self) -> int:
        """Linear index of the block that runs, or ran last."""
        return self.get(Slot.BLOCK_INDEX)

    def get(self, slot: Slot) -> int:
        """Read a slot."""
        return int(self.slots[slot])

    def set(self, slot: Slot, value: int) -> None:
        """Write a slot."""
        self.slots[slot] = np.uint64(value & (1 << 64) - 1)

    def _pointer(self, slot: Slot, array: NDArray[np.generic]) -> None:
        self._keep.append(array)
        self.set(slot, array.ctypes.data)

    def _set_memory(self) -> None:
        memory, kernel, launch = self.work.memory, self.work.kernel, self.work.launch
        self.set(Slot.GLOBAL_DELTA, memory.host_delta)
        apart = WINDOW_BYTES if self.ranks > 1 else max(memory.shared_bytes, 64)
        apart = -(-apart // 64) * 64
        self.shared = _aligned(self.places * apart).reshape(self.places, apart)
        self._pointer(Slot.SHARED, self.shared)
        self._pointer(Slot.SHARED_OF_CLUSTER, self.shared)
        self.set(Slot.SHARED_BYTES, memory.shared_bytes)
        self.set(Slot.SHARED_DYNAMIC_BYTES, launch.smem_bytes)
        warp_bytes = WARP_LANES * memory.local_bytes
        self._pointer(
            Slot.LOCAL_OF_BLOCK,
            _aligned(max(self.places * launch.warps_per_block * warp_bytes, 64)),
        )
        self.set(Slot.LOCAL_BYTES, memory.local_bytes)
        parameters = _aligned(max(memory.parameters.size, 64))
        parameters[: memory.parameters.size] = memory.parameters
        self._pointer(Slot.PARAM, parameters)
        self.set(Slot.PARAM_BYTES, memory.parameters.size)
        regions = [
            (r.address, r.size_bytes, int(r.writable), self._filled_pieces(r))
            for r in memory.regions
        ]
        self._pointer(Slot.REGIONS, np.array(regions or [(0, 0, 0, 0)], np.uint64))
        self.set(Slot.REGION_COUNT, len(regions))
        # A guess that no address fits: the first access of every instruction searches.
        guesses = np.tile(np.array([1 << 63, 64], np.uint64), max(len(kernel.instructions), 1))
        self._pointer(Slot.GUESSES, guesses)
        addresses = [memory.symbols[v.name] for v in kernel.variables]
        self._pointer(Slot.SYMBOLS, np.array(addresses or [0], np.uint64))

    def _filled_pieces(self, region: Region) -> int:
        """Where it stands which pieces of an array are filled; 0 where all are."""
        filled = self.work.memory.filled_pieces(region)
        if filled is None:
            return 0
        self._keep.append(filled)
        return filled.ctypes.data

    def _set_launch(self) -> None:
        work, launch = self.work, self.work.launch
        self._pointer(Slot.BLOCKS, work.blocks)
        self.set(Slot.BLOCK_COUNT, len(work.blocks))
        self._pointer(Slot.NEXT_BLOCK, work.next_block)
        self.set(Slot.CLUSTER_BLOCKS, self.ranks)
        self.set(Slot.SEATS, work.seats)
        self.set(Slot.SEATS_TAKEN, work.seats)
        self._pointer(Slot.SEAT_STATES, np.zeros(work.seats, np.int32))
        axes = (Slot.CLUSTER_X, Slot.CLUSTER_Y, Slot.CLUSTER_Z)
        for slot, value in zip(axes, work.kernel.cluster, strict=True):
            self.set(slot, value)
        timers = work.memory.timers
        self.set(Slot.FIRST_CYCLE, timers.first_cycle)
        self.set(Slot.CYCLES, round(timers.cycles * (1 << TIMER_BITS)))
        self.set(Slot.FIRST_NS, timers.first_ns)
        self.set(Slot.NS, round(timers.ns * (1 << TIMER_BITS)))
        dimensions = zip(
            (Slot.GRID_X, Slot.GRID_Y, Slot.GRID_Z, Slot.BLOCK_X, Slot.BLOCK_Y, Slot.BLOCK_Z),
            (*launch.grid, *launch.block),
            strict=True,
        )
        for slot, value in dimensions:
            self.set(slot, value)

    def _set_warps(self) -> None:
        launch = self.work.launch
        warps = launch.warps_per_block
        x, y, _ = launch.block
        linear = np.arange(warps * WARP_LANES).reshape(warps, WARP_LANES)
        threads = np.stack([linear % x, linear // x % y, linear // (x * y)], axis=1)
        table = _aligned(threads.size * 4)
        table.view(np.int32)[:] = threads.ravel()
        self._pointer(Slot.THREADS, table)
        exists = linear < launch.threads_per_block
        masks = (exists * (1 << np.arange(WARP_LANES, dtype=np.uint64))).sum(axis=1)
        self._pointer(Slot.MASKS, masks.astype(np.uint32))
        every = self.places * warps
        self._pointer(Slot.STATE, _aligned(every * self.work.lowered.state_bytes))
        self._pointer(Slot.STATUS, np.zeros(every, np.int32))
        self._pointer(Slot.WAITING_AT, np.zeros(every, np.uint64))
        self._pointer(Slot.ARRIVED_AT_CLUSTER, np.zeros(every, np.int32))
        self.set(Slot.WARPS, warps)

    def _set_log(self) -> None:
        """Where nobody follows, there is no log; its position counts instructions instead."""
        if not self.consumers:
            self.set(Slot.LOG_LIMIT, _UNLOGGED_INSTRUCTIONS // self.places)
            return
        words = (self.log_bytes + self.work.lowered.headroom_bytes) // 8
        self.logs = np.zeros((self.places, words), np.uint64)
        self.set(Slot.IS_FOLLOWED, 1)
        self.set(Slot.LOG, self.log.ctypes.data)
        self.set(Slot.LOG_LIMIT, self.log.ctypes.data + self.log_bytes)

    def _set_places(self) -> None:
        """What every block that runs has of its own when it starts."""
        launch, memory = self.work.launch, self.work.memory
        warps = launch.warps_per_block
        steps = {
            Slot.SHARED: self.shared.shape[1],
            Slot.LOCAL_OF_BLOCK: warps * WARP_LANES * memory.local_bytes,
            Slot.STATE: warps * self.work.lowered.state_bytes,
            Slot.STATUS: 4 * warps,
            Slot.WAITING_AT: 8 * warps,
            Slot.ARRIVED_AT_CLUSTER: 4 * warps,
            Slot.PLACE: 1,
        }
        if self.consumers:
            steps |= dict.fromkeys((Slot.LOG, Slot.LOG_LIMIT), 8 * self.logs.shape[1])
        own = np.tile(self.slots[FIRST_OF_OWN:], (self.places, 1))
        places = np.arange(self.places, dtype=np.uint64)
        for slot, step in steps.items():
            own[:, slot - FIRST_OF_OWN] += places * np.uint64(step)
        ranks = places % np.uint64(self.ranks)
        own[:, Slot.RANK - FIRST_OF_OWN] = ranks
        of_cluster = (places - ranks) * np.uint64(self.shared.shape[1])
        own[:, Slot.SHARED_OF_CLUSTER - FIRST_OF_OWN] += of_cluster
        self._pointer(Slot.PLACES, own)
        self._held = HeldTraces(self.work.kernel, self.work.order if self.consumers else ())

    @property
    def log(self) -> Words:
        """The log of the block that runs."""
        log: Words = self.logs[self.get(Slot.PLACE)]
        return log

    def _set_callbacks(self) -> None:
        slots = (Slot.DRAIN, Slot.BULK, Slot.TOUCH)
        for slot, callback in zip(slots, self._callbacks, strict=True):
            # `ctypes.cast` would make the callback hold itself.
            self.set(slot, ctypes.c_void_p.from_buffer(callback).value or 0)

    def _drain(self, _context: int) -> int:
        """Called by the compiled code when the log is full; non-zero stops it.

        It gets the context so that LLVM knows that the slots may change; they are `self.slots`.
        """
        return self._stops_with(self._look_up)

    def _look_up(self) -> bool:
        """Hand over the log, and see whether the block may go on."""
        work, block = self.work, self.block
        if work.is_over(block):
            return False
        self._flush()
        in_round = self.get(Slot.WARP_INSTRUCTIONS) - self.get(Slot.ROUND_START)
        executed = self.get(Slot.EXECUTED) + in_round
        if executed > work.budget:
            raise over_budget(work.kernel, block, executed, work.budget)
        of_all = self.get(Slot.WARP_INSTRUCTIONS)
        if work.most is not None and of_all > work.most:
            raise too_much(work.kernel, of_all, work.most)
        work.tell_progress()
        return True

    def _touch(self, _context: int, address: int) -> int:
        """Called by the compiled code for an address in a piece that is not filled yet."""

        def fill() -> bool:
            self.work.memory.touch(address)
            return True

        return self._stops_with(fill)

    def _copy(self, _context: int, position: int, number: int, mask: int, moves: int) -> int:
        """Called by the compiled code for a step of a bulk copy, or one that calls the system;
        non-zero stops it."""
        return self._stops_with(lambda: self._copied(position, number, mask, moves=bool(moves)))

    def _stops_with(self, call: Callable[[], bool]) -> int:
        """What a call of the compiled code answers; an error stops it and is kept."""
        try:
            return int(not call())
        except BaseException as error:
            self.error = error
            return 1

    def _copied(self, position: int, number: int, mask: int, *, moves: bool) -> bool:
        step = self.work.kernel.steps(position)[number]
        if step.opcode == SYSTEM:
            return self._called(step, mask)
        operands = self.operands.reshape(MAX_OPERANDS, WARP_LANES)[: len(step.operands) - 1]
        first = self.get(Slot.PLACE) - self.get(Slot.RANK)
        of_cluster = self.shared[first : first + self.ranks, : self.work.memory.shared_bytes]
        shared = list(of_cluster)
        first_thread = self.get(Slot.WARP) * WARP_LANES
        for lane in range(WARP_LANES):
            if mask >> lane & 1:
                where = Where(self.block, first_thread + lane, shared)
                values = operands[:, lane].tolist()
                self._append(self.bulk_copies.perform(step, values, where, moves=moves))
        return True

    def _called(self, step: Instruction, mask: int) -> bool:
        """Let lanes call the system, one after the other; results take the place of the first
        operands."""
        operands = self.operands.reshape(MAX_OPERANDS, WARP_LANES)
        work, first_thread = self.work, self.get(Slot.WARP) * WARP_LANES
        for lane in range(WARP_LANES):
            if mask >> lane & 1:
                start = self.get(Slot.LOCAL) + lane * work.memory.local_bytes
                caller = Caller(
                    work.kernel,
                    work.launch,
                    work.memory,
                    self.block,
                    first_thread + lane,
                    memoryview(ctypes.string_at(start, work.memory.local_bytes)),
                )
                values = operands[: len(step.operands) - 1, lane].tolist()
                operands[0, lane] = call_system(step, values, caller)
        return True

    def _append(self, records: Words) -> None:
        """Append records to the log."""
        if not self.consumers:
            return
        start = self.log.ctypes.data
        end = (self.get(Slot.LOG) - start) // 8 + records.size
        if 8 * end > self.log_bytes:
            self._flush()
            end = records.size
        if 8 * end > self.log_bytes:
            self._hand_out(records)
            return
        self.log[end - records.size : end] = records
        self.set(Slot.LOG, start + 8 * end)

    def _flush(self) -> None:
        if not self.consumers:
            self.set(Slot.LOG, 0)
            return
        used = (self.get(Slot.LOG) - self.log.ctypes.data) // 8
        if used or self.get(Slot.CLUSTER_IS_DONE):
            self._hand_out(self.log[:used])
        self.set(Slot.LOG, self.log.ctypes.data)

    def _hand_out(self, words: Words) -> None:
        """Let the consumers have words; where several blocks run, those of one when it is over."""
        if self.places == 1:
            self._consume(words)
            return
        if self.block in self.work.unseen:
            return
        self._held.add(self.block, words)
        if self.get(Slot.CLUSTER_IS_DONE):
            for part in self._held.end(self.block):
                self._consume(part)

    def _consume(self, words: Words) -> None:
        for consumer in self.consumers:
            consumer.consume(words)

    def _run(self) -> None:
        """Execute blocks until none is left, or one goes wrong."""
        try:
            result = RunResult(self.work.code.run(self.slots.ctypes.data))
            if self.error is None:
                self._finish(result)
        except BaseException as error:
            self.error = error
        if self.error is not None:
            self.work.end_with(self.block)
        self._ended.set()

    def _finish(self, result: RunResult) -> None:
        """Hand over the rest of the log, and raise why the compiled code stopped early."""
        work = self.work
        self._flush()
        if result is RunResult.DEADLOCK:
            raise deadlock(work.kernel, self.block)
        if result is not RunResult.DONE and not work.is_over(self.block):
            raise self._fault()

    def _fault(self) -> BaseException:
        return fault_error(
            self.work.kernel,
            self.work.launch,
            self.work.memory,
            Fault(self.get(Slot.FAULT)),
            self.get(Slot.FAULT_INSTRUCTION),
            self.block,
            self.get(Slot.WARP) * WARP_LANES + self.get(Slot.FAULT_LANE),
            self.get(Slot.FAULT_ADDRESS),
        )
