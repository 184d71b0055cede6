"""From the words of a trace to a profile, chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import ExecutionError
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import Words
from kernelcast.ir import Kernel, Launch
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.isas.assembly import is_machine_code
from kernelcast.profiling import layout, summaries, tables
from kernelcast.profiling.counting import NOT_A_TRACE, OUT_OF_ARRAY, count_records
from kernelcast.profiling.critical_path import dependence_chain
from kernelcast.profiling.guards import active_threads
from kernelcast.profiling.loops import FixedArray
from kernelcast.profiling.paths import PathLog
from kernelcast.profiling.profile import AtomicMeetings, BlockSample, Profile
from kernelcast.profiling.rules import NO_RULES, AccessRules

_BITS_SET = np.bitwise_count(np.arange(16))
_MERGED_PAGES = 1 << 12
"""Pages of marks merged at once."""


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
    rules:
        What is counted for some machines only.
    """

    def __init__(
        self,
        kernel: Kernel,
        launch: Launch,
        memory: Memory,
        blocks: Sequence[int],
        *,
        is_observed: bool = False,
        rules: AccessRules = NO_RULES,
    ) -> None:
        self._kernel = kernel
        self._launch = launch
        self._memory = memory
        self._is_observed = is_observed
        self._rules = rules
        self._rows = tables.access_rows(kernel)
        self._instructions = tables.instruction_table(kernel, self._rows)
        self._blocks = tables.block_table(
            kernel, lanes_reconverge=is_observed or not is_machine_code(kernel)
        )
        self._executed = tables.executed_table(blocks)
        self._regions, pages = tables.region_table(memory)
        self._accesses = np.zeros(len(self._rows), layout.ACCESS)
        self._pages, self._marks = tables.line_marks(pages)
        self._memo = np.zeros(layout.MEMO_ENTRIES, layout.MEMO)
        self._warp_instructions = np.zeros((len(blocks), launch.warps_per_block), np.int64)
        self._states = tables.initial_states(self._executed, launch.warps_per_block, rules)
        self._log = PathLog(self._states[0])
        self._counted = tuple(
            FixedArray(table)
            for table in (
                self._instructions,
                self._blocks,
                self._executed,
                self._regions,
                self._accesses,
                self._pages,
                self._marks,
                self._memo,
                self._warp_instructions,
                self._log.entries,
                np.zeros(3 * WARP_LANES, np.int64),
                self._states,
            )
        )

    def split(self) -> ProfileBuilder:
        """An empty builder for another part of the run, which other blocks of it make up."""
        return ProfileBuilder(
            self._kernel,
            self._launch,
            self._memory,
            self._executed["index"].tolist(),
            is_observed=self._is_observed,
            rules=self._rules,
        )

    def merge(self, other: ProfileBuilder) -> None:
        """Take over what another part has counted; how the blocks were split changes nothing."""
        other._flush()
        for name in ("whole", "arrivals", "warps", "threads", "divergent", "passed"):
            self._blocks[name] += other._blocks[name]
        for name in ("counts", "tag_passes", "rounds", "turns"):
            self._accesses[name] += other._accesses[name]
        for name in ("matches", "values"):
            self._instructions[name] += other._instructions[name]
        self._states["added"] += other._states["added"]
        self._warp_instructions += other._warp_instructions
        self._log.merge(other._log)
        for name in ("requested", "block_distinct", "block_written"):
            self._regions[name] += other._regions[name]
        for name in ("is_read", "is_written"):
            self._regions[name] |= other._regions[name]
        for mine, theirs in zip(self._regions, other._regions, strict=True):
            if theirs["requested"]:
                self._merge_marks(mine, other)

    def _merge_marks(self, region: np.void, other: ProfileBuilder) -> None:
        """Add the sectors of an array that only another part has touched or written."""
        first = int(region["first_page"])
        theirs = other._pages[first : first + tables.page_count(region)]
        touched = first + np.flatnonzero(theirs)
        for start in range(0, len(touched), _MERGED_PAGES):
            places = touched[start : start + _MERGED_PAGES]
            their_rows = other._marks.reshape(-1, layout.PAGE_LINES)[other._pages[places]]
            my_marks, mine = self._marks.reshape(-1, layout.PAGE_LINES), self._use_pages(places)
            my_rows = my_marks[mine]
            new = their_rows & ~my_rows & (1 << layout.STAMP_SHIFT) - (1 << layout.EVER_SHIFT)
            my_marks[mine] = my_rows | new
            ever = new >> layout.EVER_SHIFT
            region["distinct"] += _BITS_SET[ever & 15].sum()
            region["written"] += _BITS_SET[ever >> layout.WRITTEN_SHIFT].sum()

    def _use_pages(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        """The numbers of pages, which are in use from now on."""
        unused = places[self._pages[places] == 0]
        state = self._states[0]
        self._pages[unused] = state["pages"] + 1 + np.arange(len(unused))
        state["pages"] += len(unused)
        return self._pages[places]

    def consume(self, words: Words) -> None:
        """Count the next part of the stream, which ends where a record ends.

        Raises `ExecutionError` where the words are not a trace of this kernel and launch.
        """
        stream = FixedArray(np.ascontiguousarray(words).view(np.int64))
        at = 0
        while at < len(words):
            at = count_records(stream, at, *self._counted)
            if at == OUT_OF_ARRAY:
                raise ExecutionError("the trace holds an access outside every array")
            if at == NOT_A_TRACE:
                raise ExecutionError("the words are not a trace of this kernel and launch")
            if at < len(words):
                self._log.thin()

    def distinct_sectors(self) -> NDArray[np.int64]:
        """Sectors touched so far of every array, in the order of the memory's regions."""
        return self._regions["distinct"].copy()

    def finish(self, *, executor: str = "", seconds: float = 0.0) -> Profile:
        """The profile of what was consumed.

        `executor` names who made the trace, in `seconds`.
        """
        self._flush()
        per_block = self._warp_instructions.sum(axis=1)
        executed, of = self._executed["index"].astype(np.int64), self._launch.blocks
        weight, less = summaries.neighbours_alike(executed, per_block, of)
        sample = BlockSample(
            blocks=len(executed),
            of=of,
            spread=less * summaries.spread(per_block, of),
            variation=summaries.variation(per_block),
            weight=weight,
        )
        kernel, scale = self._kernel, sample.scale
        warps, threads = self._instruction_counts()
        warps, threads = warps * scale, threads * scale
        accesses = summaries.access_profiles(self._rows, self._accesses, scale)
        path = self._log.median_path(self._executed, self._warp_instructions)
        chain = dependence_chain(kernel, path)
        is_branch = self._blocks["is_branch"] != 0
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
                kernel, threads, accesses, (self._blocks["passed"] * scale).tolist()
            ),
            branches=float((self._blocks["whole"] + self._blocks["warps"])[is_branch].sum())
            * scale,
            divergent_branches=float(self._blocks["divergent"].sum()) * scale,
            flops=summaries.flops(kernel, threads),
            different_values=summaries.different_values(self._instructions),
            chain_instructions=chain.instructions,
            chain_by_class=chain.by_class,
            atomics=self._atomics(layout.LANES_ADDED, layout.TURNS),
            merged_atomics=self._atomics(layout.MERGED, layout.MERGED_TURNS),
            seconds=seconds,
            executor=executor,
            rules=self._rules,
            executed_blocks=executed,
            block_instructions=per_block,
            representatives=self._log.representatives(
                kernel, self._executed, self._warp_instructions
            ),
        )

    def _flush(self) -> None:
        """Give the counts that the memo holds to their instructions."""
        met = self._memo[self._memo["hits"] > 0]
        counts = met["hits"][:, np.newaxis] * met["counts"]
        np.add.at(self._accesses["counts"], met["shape"] >> layout.SHAPE_ROW_BITS, counts)
        self._memo["hits"] = 0

    def _atomics(self, words: int, turns: int) -> AtomicMeetings:
        """What meets by word and by chunk, as two rows of `added` counted it, scaled."""
        added, scale = self._states[0]["added"], self._launch.blocks / len(self._executed)
        most, floats = (float(added[row].max()) * scale for row in (words, layout.FLOATS_ADDED))
        of_chunks = (turns, layout.SHARED_SECTORS, layout.REPEATED_TURNS, layout.DOUBLES)
        return AtomicMeetings(most, floats, *(added[row] * float(scale) for row in of_chunks))

    def _instruction_counts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        warps = np.zeros(len(self._kernel.instructions))
        threads = np.zeros(len(self._kernel.instructions))
        for block, row in zip(self._kernel.blocks, self._blocks, strict=True):
            together = block.end if row["reconvergence"] < 0 else block.start + row["reconvergence"]
            warps[block.start : together] = row["whole"] + row["arrivals"]
            warps[together : block.end] = row["whole"] + row["warps"]
            threads[block.start : block.end] = row["threads"]
        return warps, threads
