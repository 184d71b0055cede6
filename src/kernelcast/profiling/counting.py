# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop over the words of a trace, compiled: every number of a profile that is a plain sum."""

from __future__ import annotations

import numpy as np

from kernelcast.execution.trace import ID_MASK, ID_SHIFT, KIND_SHIFT, RecordKind
from kernelcast.ir.sizes import FULL_MASK, HALF_WARP_LANES, WARP_LANES
from kernelcast.profiling import layout
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.groups import begin_turn, end_turn, enter_block, enter_warp
from kernelcast.profiling.loops import array, inlined, popcount
from kernelcast.profiling.requests import RequestTables, record_lanes, record_rows
from kernelcast.profiling.touches import TouchedArrays

NOT_A_TRACE, OUT_OF_ARRAY = -1, -2
"""What `count_records` returns instead of a position where the stream is broken."""

_WARP = int(RecordKind.WARP)
_BLOCK = int(RecordKind.BLOCK)
_AFFINE = int(RecordKind.AFFINE)
_ADDRESSES = int(RecordKind.ADDRESSES)
_HALVES = int(RecordKind.HALVES)
_VALUES = int(RecordKind.VALUES)


@inlined
def _is_access(ident, instructions):
    """Whether there is such an instruction, and it accesses memory."""
    if ident >= len(instructions):
        return False
    instruction = instructions[np.uint64(ident)]
    return instruction.is_plain or instruction.bytes


@inlined
def _log_path(block, mask, log, state):
    """Note in the path log that a warp enters a block."""
    entry = log[state.logged]
    entry.slot, entry.block, entry.lanes = state.slot, block, popcount(mask)
    state.logged += 1


@compiled(
    np.int64,
    array(np.int64),
    np.int64,
    array(layout.INSTRUCTION),
    array(layout.BLOCK),
    array(layout.EXECUTED),
    array(layout.REGION),
    array(layout.ACCESS),
    array(np.int32),
    array(np.int64),
    array(layout.MEMO),
    array(np.int64, 2),
    array(layout.LOG_ENTRY),
    array(np.int64),
    array(layout.STATE),
)
def count_records(
    words,
    at,
    instructions,
    blocks,
    executed,
    regions,
    accesses,
    pages,
    marks,
    memo,
    warp_instructions,
    log,
    scratch,
    states,
):
    """Count the records of a stream from position `at` on.

    Returns the position of the first record not counted: the end of the stream, or earlier where
    the path log is full; NOT_A_TRACE or OUT_OF_ARRAY where the stream is broken.
    """
    state = states[0]
    tables = RequestTables(accesses, memo, TouchedArrays(regions, pages, marks))
    end = np.int64(len(words))
    # What a warp does block by block is held here, not in memory, until another one follows.
    warp, issued = state.warp, np.int64(0)
    together, last_block, was_left = begin_turn(warp, state)
    while at < end:
        header = words[np.uint64(at)]
        kind = header >> KIND_SHIFT
        ident = header >> ID_SHIFT & ID_MASK
        mask = header & FULL_MASK
        if state.ordinal < 0 and kind != _WARP:
            return NOT_A_TRACE
        if kind in (_AFFINE, _HALVES):
            following = at + (3 if kind == _AFFINE else 4)
            if following > end or not _is_access(ident, instructions):
                return NOT_A_TRACE
            base, stride = words[np.uint64(at + 1)], words[np.uint64(at + 2)]
            apart = HALF_WARP_LANES * stride
            if kind == _HALVES:
                apart = words[np.uint64(at + 3)] - base
            if not record_rows(
                instructions[np.uint64(ident)],
                mask,
                base,
                stride,
                apart,
                scratch,
                tables,
                state,
            ):
                return OUT_OF_ARRAY
            at = following
        elif kind == _ADDRESSES:
            following = at + 1 + WARP_LANES
            if following > end or not _is_access(ident, instructions):
                return NOT_A_TRACE
            if not record_lanes(
                instructions[np.uint64(ident)],
                mask,
                words[at + 1 : following],
                scratch,
                tables,
                state,
            ):
                return OUT_OF_ARRAY
            at = following
        elif kind == _BLOCK:
            if ident >= len(blocks):
                return NOT_A_TRACE
            if state.slot >= 0:
                if state.logged == len(log):
                    break
                _log_path(ident, mask, log, state)
            together, last_block, was_left, executes = enter_block(
                ident, mask, together, last_block, was_left, blocks, state
            )
            issued += executes
            at += 1
        elif kind == _WARP:
            end_turn(warp, together, last_block, was_left, issued, warp_instructions, state)
            warps = warp_instructions.shape[1]
            if at + 2 > end or not enter_warp(ident, words[at + 1], executed, warps, state):
                return NOT_A_TRACE
            warp, issued = state.warp, np.int64(0)
            together, last_block, was_left = begin_turn(warp, state)
            at += 2
        elif kind == _VALUES:
            if at + 2 > end or ident >= len(instructions):
                return NOT_A_TRACE
            instruction = instructions[np.uint64(ident)]
            instruction.matches += 1
            instruction.values += words[np.uint64(at + 1)]
            at += 2
        else:
            return NOT_A_TRACE
    end_turn(warp, together, last_block, was_left, issued, warp_instructions, state)
    return at
