"""From the words of a trace to access streams, chunk by chunk and in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import ExecutionError, UnsupportedError
from kernelcast.execution.blocks import Span, first_of
from kernelcast.execution.trace import Words
from kernelcast.ir import Kernel, Launch, Space
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling import tables
from kernelcast.profiling.loops import FixedArray
from kernelcast.profiling.stream_layout import ROOM, STREAM_STATE
from kernelcast.profiling.stream_loop import (
    NOT_A_TRACE,
    OUTSIDE,
    close_last,
    copy_parts,
    stream_records,
)
from kernelcast.profiling.streams import ROW_MASK, AccessStreams
from kernelcast.profiling.tables import AccessRow

_Int64s = NDArray[np.int64]

_STREAMED = (Space.GLOBAL, Space.LOCAL)
_SCRATCH_WORDS = 1 << 16
"""Room for a block to begin with."""


class StreamBuilder:
    """Makes streams of a trace as it is made; `consume` is a sink for an executor.

    Parameters
    ----------
    kernel, launch:
        What is executed.
    spans:
        Which blocks of the grid.
    most_words:
        Most words to keep: the streams hold the first blocks that fit whole.
    most_of_warp:
        Most words of a warp, but for those of its last access; what it asks for afterwards is left
        out.

    Raises UnsupportedError where the kernel has more memory instructions than words can name.
    """

    def __init__(
        self,
        kernel: Kernel,
        launch: Launch,
        spans: Sequence[Span],
        most_words: int,
        most_of_warp: int | None = None,
    ) -> None:
        self._kernel, self._launch, self._spans = kernel, launch, tuple(spans)
        self._most_words, self._most_of_warp = most_words, most_of_warp
        blocks = sum(map(len, spans))
        self._rows, row_numbers = _streamed_rows(kernel)
        self._blocks = np.empty(blocks, np.int64)
        self._ends = np.empty((blocks, launch.warps_per_block), np.int64)
        self._state = np.zeros(1, STREAM_STATE)
        self._state["window"] = tables.generic_windows()
        self._state["block"] = -1
        self._state["is_sorted"] = 1
        # Of a block there is never more than fits.
        self._state["most_of_warp"] = 2 * most_words if most_of_warp is None else most_of_warp
        self._entered = np.zeros(len(kernel.blocks), np.int64)
        self._fixed = tuple(
            FixedArray(table)
            for table in (
                tables.instruction_table(kernel, tables.access_rows(kernel)),
                row_numbers,
                np.zeros(3 * WARP_LANES, np.int64),
                self._entered,
                np.zeros(launch.warps_per_block, np.int64),
            )
        )
        self._results = FixedArray(self._blocks), FixedArray(self._ends)
        self._segments = np.empty(_SCRATCH_WORDS, np.int64)
        self._spare = np.empty(_SCRATCH_WORDS, np.int64)
        # Pages that no word is written to cost nothing.
        self._words = np.empty(most_words + ROOM, np.int64)
        self._parts = [self]

    def split(self) -> StreamBuilder:
        """An empty builder for other blocks of the run."""
        return StreamBuilder(
            self._kernel, self._launch, self._spans, self._most_words, self._most_of_warp
        )

    def merge(self, other: StreamBuilder) -> None:
        """Take over what another part has; how the blocks were split changes nothing."""
        self._parts += other._parts

    @property
    def entered(self) -> NDArray[np.int64]:
        """How often warps have entered each basic block."""
        return sum((part._entered for part in self._parts), np.zeros((), np.int64))

    @property
    def in_use(self) -> int:
        """Words so far, of all parts."""
        return sum(part._own_words for part in self._parts)

    @property
    def is_full(self) -> bool:
        """Whether no more words fit, and what follows is left out."""
        return self._own_words > self._most_words

    def consume(self, words: Words) -> None:
        """Take the next part of the stream, which ends where a record ends.

        Raises `ExecutionError` where the words are not a trace of this kernel and launch.
        """
        stream = FixedArray(np.ascontiguousarray(words).view(np.int64))
        at = 0
        while at < len(words) and not self.is_full:
            at = stream_records(
                stream,
                at,
                *self._fixed,
                *self._results,
                self._segments,
                self._spare,
                self._words,
                self._state,
            )
            if at == OUTSIDE:
                raise ExecutionError("the trace holds an address that no memory has")
            if at == NOT_A_TRACE:
                raise ExecutionError("the words are not a trace of this kernel and launch")
            if at < len(words):
                self._grow()

    def finish(self) -> AccessStreams:
        """The streams of what was consumed: of the first blocks that fit whole.

        Once only: the words are given away.
        """
        for part in self._parts:
            part._close()
        held = np.concatenate([part._blocks[: part._closed] for part in self._parts])
        lengths = np.concatenate([part._lengths() for part in self._parts])
        order = np.argsort(held)
        chosen = np.concatenate([np.array(span.blocks) for span in self._spans])
        count = _fitting(held[order], chosen, lengths[order].sum(axis=1), self._most_words)
        kept = order[:count]
        starts = np.concatenate([[0], lengths[kept].cumsum()])
        places = np.full(len(held), -1)
        places[kept] = starts[: -1 : lengths.shape[1]]
        return AccessStreams(
            of=self._launch.blocks,
            warps=self._launch.warps_per_block,
            blocks=chosen[:count],
            starts=starts,
            words=self._joined(places, int(starts[-1])).view(np.uint64),
            rows=self._rows,
            spans=first_of(self._spans, count),
            is_cut=any(part._state["is_cut"][0] for part in self._parts),
        )

    def _joined(self, places: _Int64s, total: int) -> _Int64s:
        """All words, those of every block of every part from its place on; -1 leaves it out."""
        if len(self._parts) == 1:
            return self._words[:total]
        words, first = np.empty(total, np.int64), 0
        for part in self._parts:
            own = places[first : first + part._closed]
            kept = own >= 0
            ends = part._ends[: part._closed, -1]
            starts = np.concatenate([[0], ends])[:-1]
            copy_parts(part._words, starts[kept], ends[kept], own[kept], words)
            # Many launches need no more memory at a time than here.
            part._words = words[:0]
            first += part._closed
        return words

    @property
    def _own_words(self) -> int:
        return int(self._state["words"][0])

    @property
    def _closed(self) -> int:
        return int(self._state["closed_blocks"][0])

    @property
    def _pending(self) -> int:
        """Words of the block that is being read."""
        return self._own_words - int(self._state["closed_words"][0])

    def _grow(self) -> None:
        """Make room for what comes next."""
        if int(self._state["segments"][0]) + 2 > len(self._segments):
            more = np.empty_like(self._segments)
            self._segments = np.concatenate([self._segments, more])
        self._make_spare()

    def _make_spare(self) -> None:
        if self._pending > len(self._spare):
            self._spare = np.empty(2 * self._pending, np.int64)

    def _close(self) -> None:
        """Close the last block, but not one that was left out."""
        if self._state["segments"][0] and not self.is_full:
            self._make_spare()
            close_last(*self._results, self._segments, self._spare, self._words, self._state)

    def _lengths(self) -> _Int64s:
        """Words of every warp, by block."""
        ends = self._ends[: self._closed]
        return np.diff(ends.ravel(), prepend=0).reshape(ends.shape)


def _streamed_rows(kernel: Kernel) -> tuple[tuple[AccessRow, ...], _Int64s]:
    """The rows of the streams, and for every row that is counted which of them it is, or -1."""
    every = tables.access_rows(kernel)
    rows = tuple(row for row in every if row.space in _STREAMED)
    if len(rows) > ROW_MASK + 1:
        raise UnsupportedError(
            f"{len(rows)} kinds of access are too many to tell apart",
            where=f"kernel {kernel.shown}",
        )
    is_streamed = np.array([row.space in _STREAMED for row in every], np.bool_)
    return rows, np.where(is_streamed, is_streamed.cumsum() - 1, -1)


def _fitting(held: _Int64s, chosen: _Int64s, lengths: _Int64s, most_words: int) -> int:
    """How many of the chosen blocks, all from the first on, are held and fit together.

    Raises ExecutionError where another one is held.
    """
    if not np.isin(held, chosen).all():
        raise ExecutionError("the words are not a trace of this kernel and launch")
    fits = (held == chosen[: len(held)]) & (lengths.cumsum() <= most_words)
    return len(fits) if fits.all() else int(np.argmin(fits))
