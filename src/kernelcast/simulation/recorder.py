"""From the words of a trace to warp streams, part by part."""

from __future__ import annotations

import numpy as np

from kernelcast.errors import ExecutionError
from kernelcast.execution.trace import Words
from kernelcast.ir import Kernel, Launch
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling import tables
from kernelcast.profiling.loops import FixedArray
from kernelcast.profiling.rules import AccessRules
from kernelcast.simulation.recording_loop import (
    BLOCKS_TOGETHER,
    NOT_A_TRACE,
    RECORDING,
    ROOM,
    record,
)
from kernelcast.simulation.streams import WarpStreams, gathered

_FIRST_SEGMENTS = 1 << 12


class StreamRecorder:
    """Makes warp streams of a trace as it is made: a consumer of a run.

    Parameters
    ----------
    kernel, launch:
        What is executed.
    rules:
        What the requests are counted by.
    most_words:
        Most words to keep; what warps do after that is left out.
    most_of_warp:
        Most words of a warp, too. Without, one that goes on and on leaves no room for the others of
        its block, which go on after it.
    """

    def __init__(
        self,
        kernel: Kernel,
        launch: Launch,
        rules: AccessRules,
        most_words: int,
        most_of_warp: int | None = None,
    ) -> None:
        self._launch = launch
        self._most_words = most_words
        rows = tables.access_rows(kernel)
        self._table = FixedArray(tables.instruction_table(kernel, rows))
        self._blocks = len(kernel.blocks)
        self._scratch = FixedArray(np.zeros(2 * WARP_LANES, np.int64))
        self._states = FixedArray(
            tables.initial_states(tables.executed_table(()), launch.warps_per_block, rules)
        )
        self._recording = np.zeros(1, RECORDING)
        self._recording["most_of_warp"] = most_words if most_of_warp is None else most_of_warp
        self._kept = np.zeros((BLOCKS_TOGETHER * launch.warps_per_block, 2), np.int64)
        self._segments = np.zeros((_FIRST_SEGMENTS, 3), np.int64)
        # Pages that no word is written to cost nothing.
        self._words = np.empty(most_words + ROOM, np.int64)

    @property
    def is_full(self) -> bool:
        """Whether no more words fit, and what follows is left out."""
        return int(self._recording["words"][0]) > self._most_words

    def consume(self, words: Words) -> None:
        """Take the next part of the stream, which ends where a record ends.

        Raises `ExecutionError` where the words are not a trace of this kernel.
        """
        stream = FixedArray(np.ascontiguousarray(words).view(np.int64))
        at = 0
        while at < len(words) and not self.is_full:
            at = record(
                stream,
                at,
                self._table,
                self._blocks,
                self._scratch,
                self._segments,
                self._words,
                self._kept,
                self._states,
                self._recording,
            )
            if at == NOT_A_TRACE:
                raise ExecutionError("the words are not a trace of this kernel and launch")
            if at < len(words) and self._segment_count == len(self._segments):
                self._segments = np.concatenate([self._segments, np.zeros_like(self._segments)])

    def finish(self) -> WarpStreams:
        """The streams of what was consumed."""
        count, end = self._segment_count, int(self._recording["words"][0])
        segments, warps = self._segments[:count], self._launch.warps_per_block
        blocks = np.unique(segments[:, 0])
        owner = np.searchsorted(blocks, segments[:, 0]) * warps + segments[:, 1]
        lengths = np.diff(segments[:, 2], append=end)
        order = np.argsort(owner, kind="stable")
        sizes = np.bincount(owner, lengths, len(blocks) * warps).astype(np.int64)
        return WarpStreams(
            of=self._launch.blocks,
            warps=warps,
            blocks=blocks,
            starts=np.concatenate([[0], sizes.cumsum()]),
            words=gathered(self._words, segments[order, 2], lengths[order]),
            is_cut=self.is_full or bool(self._recording["left_out"][0]),
        )

    @property
    def _segment_count(self) -> int:
        return int(self._recording["segments"][0])
