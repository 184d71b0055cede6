"""Runs compiled kernels: prepares the context, drains the log, turns faults into errors."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernelcast.analysis.slicing import Needed
from kernelcast.errors import BudgetError, DeadlockError, ExecutionError
from kernelcast.execution.address_map import WARP_LANES
from kernelcast.execution.bulk import BulkCopies, Where
from kernelcast.execution.engine.context import SLOTS, Fault, RunResult, Slot
from kernelcast.execution.engine.jit import MachineCode, machine_code
from kernelcast.execution.engine.module import LoweredKernel, lower_kernel
from kernelcast.execution.engine.ptx import Ptx
from kernelcast.execution.engine.ptx.bulk_copies import MAX_OPERANDS
from kernelcast.execution.faults import memory_fault, place
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import Progress, Sink, Words
from kernelcast.ir import Instruction, Kernel, Launch
from kernelcast.toolchain.cache import Cache

LOG_BYTES = 8 << 20
"""Size of the log buffer; small enough to stay in the cache of a core's neighbourhood."""

STACK_BYTES = 1 << 30
"""Addresses set aside for the stack of compiled code, which keeps the registers of a long kernel
there, some KiB for each of its instructions; memory is taken only as far as it is used."""

_Callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_BulkCallback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *(ctypes.c_uint32,) * 4)


@dataclass(frozen=True, slots=True)
class EngineRun:
    """What a run did, besides its log and its effect on memory."""

    warp_instructions: int
    thread_instructions: int
    seconds: float
    compile_seconds: float


def run_engine(
    kernel: Kernel,
    launch: Launch,
    memory: Memory,
    blocks: Sequence[int],
    *,
    budget: int,
    sink: Sink,
    needed: Needed | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> EngineRun:
    """Execute blocks of a launch, giving the log to `sink` in chunks that end with a record.

    The chunks are views that are valid during the call only. `budget` limits the warp
    instructions of a block. Where only the trace counts, `needed` says what has to be computed for
    it. `progress` is told the share of blocks done whenever a chunk is complete.
    Raises UnsupportedError where the engine cannot lower an instruction, and the subclasses of
    ExecutionError where the kernel goes wrong.
    """
    started = time.perf_counter()
    lowered = lower(kernel, needed)
    code = machine_code(lowered.ir, cache)
    ready = time.perf_counter()
    session = _Session(kernel, launch, memory, blocks, lowered, code, budget, sink, progress)
    session.run()
    return EngineRun(
        session.get(Slot.WARP_INSTRUCTIONS),
        session.get(Slot.THREAD_INSTRUCTIONS),
        time.perf_counter() - ready,
        ready - started,
    )


@lru_cache(maxsize=8)
def lower(kernel: Kernel, needed: Needed | None = None) -> LoweredKernel:
    """LLVM IR of a kernel, kept for the next run: a pilot is followed by its sample."""
    return lower_kernel(kernel, Ptx(), needed)


def _aligned(size_bytes: int) -> NDArray[np.uint8]:
    """Zeroed bytes that start at a multiple of 64."""
    raw = np.zeros(size_bytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size_bytes]


class _Session:
    """The buffers of one run; they live as long as the compiled code may touch them."""

    def __init__(
        self,
        kernel: Kernel,
        launch: Launch,
        memory: Memory,
        blocks: Sequence[int],
        lowered: LoweredKernel,
        code: MachineCode,
        budget: int,
        sink: Sink,
        progress: Progress | None,
    ) -> None:
        self.kernel, self.launch, self.memory = kernel, launch, memory
        self.budget, self.sink, self.code = budget, sink, code
        self.blocks, self.progress = np.asarray(blocks), progress
        self.error: BaseException | None = None
        self.interrupted = False
        self.result = RunResult.STOPPED
        self.slots = np.zeros(SLOTS, np.uint64)
        self.log = np.zeros((LOG_BYTES + lowered.headroom_bytes) // 8, np.uint64)
        self.drain = _Callback(self._drain)
        self.bulk = _BulkCallback(self._copy)
        self.bulk_copies = BulkCopies(kernel, launch, memory)
        self.operands = _aligned(8 * WARP_LANES * MAX_OPERANDS).view(np.uint64)
        self._keep: list[NDArray[np.generic]] = []
        self._set_memory()
        self._set_launch(blocks)
        self._set_warps(lowered)
        self.set(Slot.DRAIN, ctypes.cast(self.drain, ctypes.c_void_p).value or 0)
        self.set(Slot.BULK, ctypes.cast(self.bulk, ctypes.c_void_p).value or 0)
        self._pointer(Slot.OPERANDS, self.operands)
        self.set(Slot.LOG, self.log.ctypes.data)
        self.set(Slot.LOG_LIMIT, self.log.ctypes.data + LOG_BYTES)

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
        memory, kernel = self.memory, self.kernel
        self.set(Slot.GLOBAL_DELTA, memory.host_delta)
        self.shared = _aligned(max(memory.shared_bytes, 64))
        self._pointer(Slot.SHARED, self.shared)
        self.set(Slot.SHARED_BYTES, memory.shared_bytes)
        self.set(Slot.SHARED_DYNAMIC_BYTES, self.launch.smem_bytes)
        warp_bytes = WARP_LANES * memory.local_bytes
        local = _aligned(max(self.launch.warps_per_block * warp_bytes, 64))
        self._pointer(Slot.LOCAL_OF_BLOCK, local)
        self.set(Slot.LOCAL_BYTES, memory.local_bytes)
        parameters = _aligned(max(memory.parameters.size, 64))
        parameters[: memory.parameters.size] = memory.parameters
        self._pointer(Slot.PARAM, parameters)
        self.set(Slot.PARAM_BYTES, memory.parameters.size)
        regions = [(r.address, r.size_bytes, int(r.writable)) for r in memory.regions]
        self._pointer(Slot.REGIONS, np.array(regions or [(0, 0, 0)], np.uint64))
        self.set(Slot.REGION_COUNT, len(regions))
        # A guess that no address fits: the first access of every instruction searches.
        guesses = np.tile(np.array([1 << 63, 64], np.uint64), max(len(kernel.instructions), 1))
        self._pointer(Slot.GUESSES, guesses)
        addresses = [memory.symbols[v.name] for v in kernel.variables]
        self._pointer(Slot.SYMBOLS, np.array(addresses or [0], np.uint64))

    def _set_launch(self, blocks: Sequence[int]) -> None:
        launch = self.launch
        self._pointer(Slot.BLOCKS, np.array(blocks, np.uint64))
        self.set(Slot.BLOCK_COUNT, len(blocks))
        dimensions = zip(
            (Slot.GRID_X, Slot.GRID_Y, Slot.GRID_Z, Slot.BLOCK_X, Slot.BLOCK_Y, Slot.BLOCK_Z),
            (*launch.grid, *launch.block),
            strict=True,
        )
        for slot, value in dimensions:
            self.set(slot, value)

    def _set_warps(self, lowered: LoweredKernel) -> None:
        warps = self.launch.warps_per_block
        x, y, _ = self.launch.block
        linear = np.arange(warps * WARP_LANES).reshape(warps, WARP_LANES)
        threads = np.stack([linear % x, linear // x % y, linear // (x * y)], axis=1)
        table = _aligned(threads.size * 4)
        table.view(np.int32)[:] = threads.ravel()
        self._pointer(Slot.THREADS, table)
        exists = linear < self.launch.threads_per_block
        masks = (exists * (1 << np.arange(WARP_LANES, dtype=np.uint64))).sum(axis=1)
        self._pointer(Slot.MASKS, masks.astype(np.uint32))
        self._pointer(Slot.STATE, _aligned(warps * lowered.state_bytes))
        self._pointer(Slot.STATUS, np.zeros(warps, np.int32))
        self._pointer(Slot.WAITING_AT, np.zeros(warps, np.uint64))
        self.set(Slot.WARPS, warps)

    def _drain(self, _context: int) -> int:
        """Called by the compiled code when the log is full; non-zero stops it.

        It gets the context so that LLVM knows that the slots may change; they are `self.slots`.
        """
        try:
            if self.interrupted:
                return 1
            self._flush()
            self._check_budget()
            if self.progress is not None:
                done = np.searchsorted(self.blocks, self.get(Slot.BLOCK_INDEX))
                self.progress(float(done) / len(self.blocks))
        except BaseException as error:
            self.error = error
            return 1
        return 0

    def _copy(self, _context: int, position: int, number: int, mask: int, moves: int) -> int:
        """Called by the compiled code for a step of a bulk copy; non-zero stops it."""
        try:
            step = self.kernel.steps(position)[number]
            operands = self.operands.reshape(MAX_OPERANDS, WARP_LANES)[: len(step.operands) - 1]
            shared = self.shared[: self.memory.shared_bytes]
            first_thread = self.get(Slot.WARP) * WARP_LANES
            for lane in range(WARP_LANES):
                if mask >> lane & 1:
                    where = Where(self.get(Slot.BLOCK_INDEX), first_thread + lane, shared)
                    values = operands[:, lane].tolist()
                    self._log(self.bulk_copies.perform(step, values, where, moves=bool(moves)))
        except BaseException as error:
            self.error = error
            return 1
        return 0

    def _log(self, records: Words) -> None:
        """Append records to the log."""
        start = self.log.ctypes.data
        end = (self.get(Slot.LOG) - start) // 8 + records.size
        if 8 * end > LOG_BYTES:
            self._flush()
            end = records.size
        if 8 * end > LOG_BYTES:
            self.sink(records)
            return
        self.log[end - records.size : end] = records
        self.set(Slot.LOG, start + 8 * end)

    def _flush(self) -> None:
        used = (self.get(Slot.LOG) - self.log.ctypes.data) // 8
        if used:
            self.sink(self.log[:used])
        self.set(Slot.LOG, self.log.ctypes.data)

    def _check_budget(self) -> None:
        executed = self.get(Slot.WARP_INSTRUCTIONS) - self.get(Slot.BLOCK_START)
        if executed > self.budget:
            raise BudgetError(
                f"block {self.get(Slot.BLOCK_INDEX)} may never end: stopped after {executed:.3g} "
                f"warp instructions, a block's budget is {self.budget:.3g}",
                where=f"kernel {self.kernel.label or self.kernel.name}",
                hint="check the exits of its loops, or raise --budget",
            )

    def run(self) -> None:
        """Run to the end; raises what went wrong."""
        self._call_and_wait()
        if self.error is not None:
            raise self.error
        if self.result is RunResult.STOPPED:
            raise self._fault()
        if self.result is RunResult.DEADLOCK:
            raise DeadlockError(
                f"all warps of block {self.get(Slot.BLOCK_INDEX)} wait at barriers that not all "
                "threads reach",
                where=f"kernel {self.kernel.label or self.kernel.name}",
                hint="make every thread of the block reach the barrier",
            )
        self._flush()

    def _call_and_wait(self) -> None:
        """Call the compiled code in a thread, so that an interrupt always reaches this one.

        Python would raise it in whatever Python code runs next, which may be the entry of `_drain`,
        where ctypes drops it.
        """
        thread = threading.Thread(target=self._call, name="kernelcast engine")
        usual = threading.stack_size(STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(usual)
        try:
            thread.join()
        except BaseException:
            self.interrupted = True
            thread.join()
            raise

    def _call(self) -> None:
        self.result = RunResult(self.code.run(self.slots.ctypes.data))

    def _fault(self) -> ExecutionError:
        fault = Fault(self.get(Slot.FAULT))
        instruction = self.kernel.instructions[self.get(Slot.FAULT_INSTRUCTION)]
        block = self.get(Slot.BLOCK_INDEX)
        thread = self.get(Slot.WARP) * WARP_LANES + self.get(Slot.FAULT_LANE)
        if fault in (Fault.OUTSIDE, Fault.MISALIGNED, Fault.READ_ONLY):
            address = self.get(Slot.FAULT_ADDRESS)
            return memory_fault(
                self.kernel, self.launch, self.memory, instruction, block, thread, address
            )
        return self._stop(fault, instruction, block, thread)

    def _stop(
        self, fault: Fault, instruction: Instruction, block: int, thread: int
    ) -> ExecutionError:
        where = place(self.kernel, self.launch, instruction, block, thread)
        if fault is Fault.TRAP:
            return ExecutionError(
                "the kernel stopped itself (trap or failed assertion)",
                where=where,
                hint="check the condition it asserts",
            )
        if fault is Fault.NO_TARGET:
            return ExecutionError(
                "a branch by index has no target for its index",
                where=where,
                hint="check the index",
            )
        return ExecutionError(
            "lanes of one warp wait at different barriers",
            where=where,
            hint="let a whole warp reach the same barrier",
        )
