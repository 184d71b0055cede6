"""From the words of a trace to a profile, chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import ExecutionError
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import Trace, Words
from kernelcast.ir import Kernel, Launch
from kernelcast.isas.assembly import is_machine_code
from kernelcast.profiling import counting as c
from kernelcast.profiling import summaries, tables
from kernelcast.profiling.critical_path import dependence_chain
from kernelcast.profiling.guards import active_threads
from kernelcast.profiling.profile import Profile, Sample, WarpPath

PATH_ENTRIES = 1 << 20
"""Most entries of the path log; where it is full, every second warp is dropped from it."""


def build_profile(trace: Trace) -> Profile:
    """The profile of a trace held whole.

    Raises `ExecutionError` where the words are not a trace of its kernel, launch and memory.
    """
    builder = ProfileBuilder(trace.kernel, trace.launch, trace.memory, trace.blocks)
    builder.consume(trace.words)
    return builder.finish(executor=trace.executor, seconds=trace.seconds)


class ProfileBuilder:
    """Counts a trace as it is made; `consume` is a sink for an executor.

    Parameters
    ----------
    kernel, launch, memory:
        What is executed, and on what.
    blocks:
        Linear indices of the blocks that are executed, ascending.
    is_observed:
        Whether the lanes of a record were seen to run together on a GPU, not put together by an
        executor of this package.
    """

    def __init__(
        self,
        kernel: Kernel,
        launch: Launch,
        memory: Memory,
        blocks: Sequence[int],
        *,
        is_observed: bool = False,
    ) -> None:
        self._kernel = kernel
        self._launch = launch
        self._memory = memory
        self._rows = tables.access_rows(kernel)
        self._instructions = tables.instruction_table(kernel, self._rows)
        self._blocks = tables.block_table(
            kernel, lanes_meet=is_observed or not is_machine_code(kernel)
        )
        self._executed = tables.executed_table(blocks)
        self._regions, sectors = tables.region_table(memory)
        self._accesses = np.zeros((len(self._rows), c.ACCESS_COLUMNS), np.int64)
        self._warp_instructions = np.zeros((len(blocks), launch.warps_per_block), np.int64)
        self._stamps = tables.sector_stamps(sectors)
        self._log = np.empty((PATH_ENTRIES, c.LOG_COLUMNS), np.int32)
        self._states = tables.initial_states(self._executed, launch.warps_per_block)

    def consume(self, words: Words) -> None:
        """Count the next part of the stream, which ends where a record ends.

        Raises `ExecutionError` where the words are not a trace of this kernel and launch.
        """
        stream = np.ascontiguousarray(words).view(np.int64)
        at = 0
        while at < len(stream):
            at = c.count_records(
                stream,
                at,
                self._instructions,
                self._blocks,
                self._executed,
                self._regions,
                self._accesses,
                self._warp_instructions,
                self._stamps,
                self._log,
                self._states,
            )
            if at == c.OUT_OF_ARRAY:
                raise ExecutionError("the trace holds an access outside every array")
            if at == c.NOT_A_TRACE:
                raise ExecutionError("the words are not a trace of this kernel and launch")
            if at < len(stream):
                self._thin_log()

    def distinct_sectors(self) -> NDArray[np.int64]:
        """Sectors touched so far of every array, in the order of the memory's regions."""
        return self._regions[:, c.DISTINCT].copy()

    def finish(self, *, executor: str = "", seconds: float = 0.0) -> Profile:
        """The profile of what was consumed.

        `executor` names who made the trace, in `seconds`.
        """
        per_block = self._warp_instructions.sum(axis=1)
        sample = Sample(
            blocks=len(self._executed),
            of=self._launch.blocks,
            spread=summaries.spread(per_block, self._launch.blocks),
        )
        kernel, scale = self._kernel, sample.scale
        warps, threads = self._instruction_counts()
        warps, threads = warps * scale, threads * scale
        accesses = summaries.access_profiles(self._rows, self._accesses.astype(np.float64) * scale)
        path = self._representative_path()
        chain = dependence_chain(kernel, path)
        is_branch = self._blocks[:, c.IS_BRANCH] != 0
        return Profile(
            kernel=kernel,
            launch=self._launch,
            sample=sample,
            counts=summaries.counts(kernel, warps, threads),
            accesses=accesses,
            footprints=summaries.footprints(self._memory, self._regions, sample),
            lines=summaries.lines(kernel, warps, threads, accesses),
            warp=path,
            instruction_warps=warps,
            instruction_threads=threads,
            instruction_active=active_threads(
                kernel, threads, accesses, (self._blocks[:, c.PASSED] * scale).tolist()
            ),
            branches=float(self._blocks[is_branch, c.WARPS].sum()) * scale,
            divergent_branches=float(self._blocks[:, c.DIVERGENT].sum()) * scale,
            flops=summaries.flops(kernel, threads),
            chain_instructions=chain.instructions,
            chain_by_class=chain.by_class,
            same_address_atomics=self._most_added(c.LANES_ADDED) * scale,
            merged_atomics=self._most_added(c.MERGED) * scale,
            seconds=seconds,
            executor=executor,
        )

    def _most_added(self, row: int) -> float:
        return float(self._states[0]["added"][row].max())

    def _instruction_counts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        warps = np.zeros(len(self._kernel.instructions))
        threads = np.zeros(len(self._kernel.instructions))
        for block, row in zip(self._kernel.blocks, self._blocks, strict=True):
            together = block.end if row[c.MEETING] < 0 else block.start + row[c.MEETING]
            warps[block.start : together] = row[c.ARRIVALS]
            warps[together : block.end] = row[c.WARPS]
            threads[block.start : block.end] = row[c.THREADS]
        return warps, threads

    def _thin_log(self) -> None:
        """Make room in the path log: drop every second warp, or stop where one is left."""
        state = self._states[0]
        is_logged = state["is_logged"]
        slots = np.flatnonzero(is_logged)
        if len(slots) > 1:
            is_logged[slots[1::2]] = 0
            log = self._log[: state["logged"]]
            kept = log[is_logged[log[:, c.LOG_SLOT]] != 0]
            self._log[: len(kept)] = kept
            state["logged"] = len(kept)
        else:
            is_logged[:] = 0
        if state["slot"] >= 0 and not is_logged[state["slot"]]:
            state["slot"] = -1

    def _representative_path(self) -> WarpPath:
        """Of the logged warps, the one nearest to the median instruction count of all."""
        totals = self._warp_instructions
        log = self._log[: self._states[0]["logged"]]
        slots = np.unique(log[:, c.LOG_SLOT])
        if not len(slots):
            nothing = np.zeros(0, np.int32)
            return WarpPath(block=-1, warp=-1, blocks=nothing, lanes=nothing)
        logged = np.flatnonzero(self._executed[:, c.PATH_SLOT] >= 0)
        ordinals = logged[slots // c.MAX_WARPS]
        warps = slots % c.MAX_WARPS
        distance = np.abs(totals[ordinals, warps] - np.median(totals))
        nearest = int(np.argmin(distance))
        entries = log[log[:, c.LOG_SLOT] == slots[nearest]]
        return WarpPath(
            block=int(self._executed[ordinals[nearest], c.INDEX]),
            warp=int(warps[nearest]),
            blocks=entries[:, c.LOG_BLOCK].copy(),
            lanes=entries[:, c.LOG_LANES].copy(),
            instructions=int(totals[ordinals[nearest], warps[nearest]]),
        )
