# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop over the words of a trace, compiled: every number of a profile that is a plain sum."""

from __future__ import annotations

import numpy as np

from kernelcast.execution.trace import ID_MASK, ID_SHIFT, KIND_SHIFT, RECORD_WORDS, RecordKind
from kernelcast.ir.sizes import FULL_MASK, HALF_WARP_LANES, WARP_LANES
from kernelcast.profiling import layout
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.groups import enter_block, enter_warp
from kernelcast.profiling.loops import array, popcount
from kernelcast.profiling.requests import record_access

NOT_A_TRACE, OUT_OF_ARRAY = -1, -2
"""What `count_records` returns instead of a position where the stream is broken."""

_WARP = int(RecordKind.WARP)
_BLOCK = int(RecordKind.BLOCK)
_AFFINE = int(RecordKind.AFFINE)
_ADDRESSES = int(RecordKind.ADDRESSES)
_HALVES = int(RecordKind.HALVES)
_WORDS = tuple(RECORD_WORDS.get(kind, 1) for kind in range(_HALVES + 1))  # type: ignore[call-overload]


@compiled(
    np.int64,
    array(np.int64),
    np.int64,
    array(layout.INSTRUCTION),
    array(layout.BLOCK),
    array(layout.EXECUTED),
    array(layout.REGION),
    array(layout.ACCESS),
    array(layout.MARK),
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
    marks,
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
    warps = warp_instructions.shape[1]
    while at < len(words):
        header = words[at]
        kind = header >> KIND_SHIFT
        ident = header >> ID_SHIFT & ID_MASK
        mask = header & FULL_MASK
        if state.ordinal < 0 and kind != _WARP:
            return NOT_A_TRACE
        if kind in (_AFFINE, _ADDRESSES, _HALVES):
            is_affine = kind == _AFFINE
            following = at + _WORDS[kind]
            if following > len(words) or ident >= len(instructions):
                return NOT_A_TRACE
            instruction = instructions[np.uint64(ident)]
            if instruction.bytes == 0:
                return NOT_A_TRACE
            base = np.int64(0)
            stride = np.int64(0)
            lanes = scratch
            if is_affine:
                base = words[at + 1]
                stride = words[at + 2]
            elif kind == _ADDRESSES:
                lanes = words[at + 1 : at + 1 + WARP_LANES]
            else:
                lanes = scratch[2 * WARP_LANES :]
                for lane in range(HALF_WARP_LANES):
                    lanes[lane] = words[at + 1] + lane * words[at + 2]
                    lanes[lane + HALF_WARP_LANES] = words[at + 3] + lane * words[at + 2]
            if not record_access(
                instruction,
                mask,
                is_affine,
                base,
                stride,
                lanes,
                scratch,
                accesses,
                regions,
                marks,
                state,
            ):
                return OUT_OF_ARRAY
            at = following
        elif kind == _BLOCK:
            if ident >= len(blocks):
                return NOT_A_TRACE
            if state.slot >= 0:
                logged = state.logged
                if logged == len(log):
                    return at
                log[logged].slot = state.slot
                log[logged].block = ident
                log[logged].lanes = popcount(mask)
                state.logged = logged + 1
            enter_block(ident, mask, blocks, warp_instructions, state)
            at += 1
        elif kind == _WARP:
            if at + 2 > len(words) or not enter_warp(ident, words[at + 1], executed, warps, state):
                return NOT_A_TRACE
            at += 2
        else:
            return NOT_A_TRACE
    return at
