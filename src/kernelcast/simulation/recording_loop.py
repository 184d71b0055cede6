# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop that turns a trace into the words of warp streams (see `streams`), compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.execution.trace import ID_MASK, ID_SHIFT, KIND_SHIFT, RECORD_WORDS, RecordKind
from kernelcast.ir.sizes import FULL_MASK, HALF_WARP_LANES, WARP_LANES
from kernelcast.isas.ptx.tries import bank_of_try
from kernelcast.profiling import layout
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.layout import (
    AT_ONCE,
    BY_WORD,
    CONST,
    GENERIC,
    GENERIC_SPACES,
    GLOBAL,
    IDEAL_PASSES,
    LANES,
    LOCAL,
    PARAM,
    PASSES,
    PASSES_HALF_WARP,
    READS,
    SHARED,
    WAITED_FOR,
    WRITES,
)
from kernelcast.profiling.loops import array, inlined, inner, lowest_bit, popcount
from kernelcast.profiling.patterns import count_pattern, count_rounds
from kernelcast.profiling.touches import count_tag_passes
from kernelcast.simulation.streams import (
    ACCESS,
    ARRIVALS_SHIFT,
    BLOCK_SHIFT,
    ENTER,
    ENTERED_LANES_SHIFT,
    IDEAL_SHIFT,
    INSTRUCTION_SHIFT,
    LANES_SHIFT,
    LINE,
    LINE_SHIFT,
    LINES_SHIFT,
    MBARRIER_MASK,
    MBARRIER_SHIFT,
    OFFSET_MASK,
    OFFSET_SHIFT,
    PASSES_SHIFT,
    SECTORS_SHIFT,
    SPACE_SHIFT,
    TAGS_SHIFT,
)

NOT_A_TRACE = -1
"""What the loop returns instead of a position where the words are no trace of the kernel."""

ROOM = 1 + 4 * (1 + 256)
"""Most words that one record of a trace becomes: an access that leads to all spaces."""

_bank_of_try = inlined(bank_of_try)

_WARP = int(RecordKind.WARP)
_BLOCK = int(RecordKind.BLOCK)
_AFFINE = int(RecordKind.AFFINE)
_ADDRESSES = int(RecordKind.ADDRESSES)
_HALVES = int(RecordKind.HALVES)
_VALUES = int(RecordKind.VALUES)
_AFFINE_WORDS = RECORD_WORDS[RecordKind.AFFINE]
_ADDRESSES_WORDS = RECORD_WORDS[RecordKind.ADDRESSES]
_HALVES_WORDS = RECORD_WORDS[RecordKind.HALVES]
_VALUES_WORDS = RECORD_WORDS[RecordKind.VALUES]
_ALL_LANES = (1 << WARP_LANES) - 1
_LINE_BITS_SHIFT = layout.LINE_SHIFT
_SECTOR_SHIFT = 5

MBARRIERS = 1 << 12
_BLOCK_SPREAD = 37
"""Sets barriers of blocks apart that run at the same time."""

BLOCKS_TOGETHER = 16
"""Blocks that may run in turns: those of the largest cluster."""

# Of a recording: words and segments so far; of what is being read the block, and which of the warps
# of the latest blocks it is; the most words of a warp, and whether one had more.
RECORDING = np.dtype(
    [
        ("words", np.int64),
        ("segments", np.int64),
        ("block", np.int64),
        ("place", np.int64),
        ("most_of_warp", np.int64),
        ("left_out", np.int64),
        # By barrier in shared memory of the latest blocks: whose, and how often somebody arrived.
        ("mbarriers", np.int64, (MBARRIERS, 2)),
    ]
)


@inlined
def _words_of(kind):
    """How many words the record of an access has."""
    if kind == _AFFINE:
        return np.int64(_AFFINE_WORDS)
    return np.int64(_HALVES_WORDS if kind == _HALVES else _ADDRESSES_WORDS)


@inlined
def _add_header(ident, space, lanes, passes, ideal, tags, lines, out, recording):
    """Add an ACCESS."""
    out[np.uint64(recording.words)] = (
        ACCESS
        | lines << LINES_SHIFT
        | ident << INSTRUCTION_SHIFT
        | lanes << LANES_SHIFT
        | passes << PASSES_SHIFT
        | ideal << IDEAL_SHIFT
        | tags << TAGS_SHIFT
        | space << SPACE_SHIFT
    )
    recording.words += 1


@inner
def _add_counted(instruction, ident, space, mask, lanes, out, state, recording):
    """Add a request of one space whose lanes are listed, counting its pattern."""
    lines = count_pattern(mask, instruction, space, lanes, state)
    if space == LOCAL:
        lines = state.counts[layout.LINES]
    passes, ideal, tags = state.counts[PASSES], state.counts[IDEAL_PASSES], np.int64(0)
    if state.counts_half_warps and space == SHARED and instruction.turns == BY_WORD:
        passes, ideal = state.counts[PASSES_HALF_WARP], np.int64(2)
    if space == GLOBAL and instruction.effect == READS and state.tag_bank_bits[0]:
        tags = count_tag_passes(lines, state)
    if space == GLOBAL and instruction.effect == (READS | WRITES):
        tags, passes = count_rounds(mask, lanes, state)
    if space == SHARED and instruction.turns == AT_ONCE:
        _add_tries(instruction, ident, mask, lanes, passes, out, recording)
        return
    _add_header(ident, space, state.counts[LANES], passes, ideal, tags, lines, out, recording)
    offset = lanes[np.uint64(lowest_bit(mask))] & OFFSET_MASK
    for i in range(lines):
        out[np.uint64(recording.words + i)] = (
            LINE
            | state.line_sectors[i] << SECTORS_SHIFT
            | offset << OFFSET_SHIFT
            | state.line[i] << LINE_SHIFT
        )
    recording.words += lines


@inlined
def _add_tries(instruction, ident, mask, lanes, passes, out, recording):
    """Add what lanes try to swap in shared memory: the words of those whose turn it is."""
    header, taken, tried = recording.words, np.int64(0), np.int64(0)
    rest = mask
    while rest:
        address = lanes[np.uint64(lowest_bit(rest))]
        rest &= rest - 1
        bit = np.int64(1) << _bank_of_try(address, instruction.bytes)
        if taken & bit == 0:
            out[np.uint64(header + 1 + tried)] = LINE | address >> 2 << LINE_SHIFT
            tried += 1
        taken |= bit
    zero = np.int64(0)
    _add_header(
        ident, np.int64(SHARED), popcount(mask), passes, passes, zero, tried, out, recording
    )
    recording.words += tried


@inlined
def _is_plain_row(instruction, mask, stride, base):
    """Whether all lanes access words in a row, from the start of a line on, 4 B to 16 B each."""
    return (
        mask == _ALL_LANES
        and stride == instruction.bytes
        and 4 <= stride <= 16
        and base & layout.LINE_BYTES - 1 == 0
        and instruction.effect != (READS | WRITES)
    )


@inlined
def _add_plain_row(instruction, ident, space, base, out, state, recording):
    """Add a request of such a row: lines that are touched whole, and no conflict."""
    count = np.int64(1) << instruction.shift
    is_load = space == GLOBAL and instruction.effect == READS
    passes = count if space == SHARED or is_load else np.int64(0)
    lines = count if space == GLOBAL else np.int64(0)
    tags = np.int64(is_load and state.tag_bank_bits[0] != 0)
    _add_header(ident, space, np.int64(WARP_LANES), passes, passes, tags, lines, out, recording)
    first = base >> _LINE_BITS_SHIFT
    for i in range(lines):
        out[np.uint64(recording.words + i)] = (
            LINE | np.int64(15) << SECTORS_SHIFT | first + i << LINE_SHIFT
        )
    recording.words += lines


@inner
def _add_constants(ident, space, mask, lanes, out, recording):
    """Add a load of constants: its lines, and as passes how many words lanes want of them."""
    header = recording.words
    lines, wanted = np.int64(0), np.int64(0)
    rest = mask
    while rest:
        address = lanes[np.uint64(lowest_bit(rest))]
        wanted += 1
        named = address >> _LINE_BITS_SHIFT
        sectors = np.int64(1) << (address >> _SECTOR_SHIFT & 3)
        place = np.int64(0)
        while place < lines and out[np.uint64(header + 1 + place)] >> LINE_SHIFT != named:
            place += 1
        if place == lines:
            lines += 1
            out[np.uint64(header + lines)] = LINE | named << LINE_SHIFT
        out[np.uint64(header + 1 + place)] |= sectors << SECTORS_SHIFT
        among = rest
        while among:
            lane = lowest_bit(among)
            among &= among - 1
            if lanes[np.uint64(lane)] == address:
                rest &= ~(np.int64(1) << lane)
    zero = np.int64(0)
    _add_header(ident, space, popcount(mask), wanted, zero, zero, lines, out, recording)
    recording.words += lines


@inner
def _add_mbarrier(instruction, ident, mask, address, out, recording):
    """Add an access to a barrier in shared memory: which, and how many arrivals came before."""
    one = np.int64(1)
    _add_header(ident, np.int64(SHARED), popcount(mask), one, one, np.int64(0), one, out, recording)
    barrier = address >> 3 & MBARRIER_MASK
    place = np.uint64(barrier + recording.block * _BLOCK_SPREAD & MBARRIERS - 1)
    known = recording.mbarriers[place]
    whose = recording.block << ARRIVALS_SHIFT | barrier + 1
    if known[0] != whose:
        known[0], known[1] = whose, 0
    out[np.uint64(recording.words)] = LINE | barrier << MBARRIER_SHIFT | known[1] << ARRIVALS_SHIFT
    recording.words += 1
    known[1] += instruction.mbarrier == WAITED_FOR


@inner
def _add_generic(instruction, ident, mask, lanes, scratch, out, state, recording):
    """Add a request for every space that lanes lead to."""
    rest = mask
    for space in range(GENERIC_SPACES):
        asked = np.int64(0)
        among = rest
        while among:
            lane = lowest_bit(among)
            among &= among - 1
            address = lanes[np.uint64(lane)]
            is_inside = state.window[space, 0] <= address < state.window[space, 1]
            asked |= np.int64(is_inside) << lane
            scratch[np.uint64(lane)] = address - state.window[space, 2]
        rest &= ~asked
        if asked:
            _add_counted(instruction, ident, space, asked, scratch, out, state, recording)


@inlined
def _add_access(instruction, ident, kind, mask, words, at, scratch, out, state, recording):
    """Add an access of a warp."""
    base, lanes = words[np.uint64(at + 1)], scratch
    if kind == _AFFINE:
        stride = words[np.uint64(at + 2)]
        space = instruction.space
        is_simple = space in (GLOBAL, SHARED) and not state.counts_half_warps
        is_simple = is_simple and not instruction.mbarrier
        if is_simple and _is_plain_row(instruction, mask, stride, base):
            _add_plain_row(instruction, ident, space, base, out, state, recording)
            return
        for lane in range(WARP_LANES):
            lanes[lane] = base + lane * stride
    elif kind == _HALVES:
        stride, other = words[np.uint64(at + 2)], words[np.uint64(at + 3)]
        for lane in range(HALF_WARP_LANES):
            lanes[lane] = base + lane * stride
            lanes[lane + HALF_WARP_LANES] = other + lane * stride
    else:
        lanes = words[at + 1 : at + 1 + WARP_LANES]
    if instruction.mbarrier:
        address = lanes[np.uint64(lowest_bit(mask))]
        _add_mbarrier(instruction, ident, mask, address, out, recording)
    elif instruction.space in (CONST, PARAM):
        _add_constants(ident, instruction.space, mask, lanes, out, recording)
    elif instruction.space == GENERIC:
        _add_generic(instruction, ident, mask, lanes, scratch[WARP_LANES:], out, state, recording)
    else:
        _add_counted(instruction, ident, instruction.space, mask, lanes, out, state, recording)


@compiled(
    np.int64,
    array(np.int64),
    np.int64,
    array(layout.INSTRUCTION),
    np.int64,
    array(np.int64),
    array(np.int64, 2),
    array(np.int64),
    array(np.int64, 2),
    array(layout.STATE),
    array(RECORDING),
)
def record(words, at, instructions, blocks, scratch, segments, out, kept, states, recordings):
    """Add the records of a trace from `at` on to the streams of its warps.

    Parameters
    ----------
    words:
        The trace, as signed numbers.
    instructions, blocks:
        The table of the memory instructions, and how many basic blocks there are.
    scratch:
        Room for the addresses of two requests.
    segments, out:
        Output: the words, and of every part of them that is one warp's, in order, the block, the
        warp and where it begins.
    kept:
        Of every warp of the latest blocks, 1 + its block, and how many words of it are kept.

    Returns the position of the first record not added: the end of the trace, or earlier where
    `out` or `segments` may have no room for what it adds; NOT_A_TRACE where the trace is broken.
    """
    state, recording = states[0], recordings[0]
    while at < len(words):
        if recording.words + ROOM > len(out):
            return at
        header = words[np.uint64(at)]
        kind = header >> KIND_SHIFT
        ident = header >> ID_SHIFT & ID_MASK
        mask = header & FULL_MASK
        before = recording.words
        is_kept = kept[np.uint64(recording.place), 1] < recording.most_of_warp
        if kind == _BLOCK:
            if ident >= blocks:
                return NOT_A_TRACE
            if is_kept:
                out[np.uint64(recording.words)] = (
                    ENTER | ident << BLOCK_SHIFT | popcount(mask) << ENTERED_LANES_SHIFT
                )
                recording.words += 1
            recording.left_out |= not is_kept
            at += 1
        elif kind in (_AFFINE, _ADDRESSES, _HALVES):
            following = at + _words_of(kind)
            if following > len(words) or ident >= len(instructions):
                return NOT_A_TRACE
            instruction = instructions[np.uint64(ident)]
            if instruction.bytes and mask and is_kept:
                _add_access(
                    instruction, ident, kind, mask, words, at, scratch, out, state, recording
                )
            at = following
        elif kind == _WARP:
            if at + 2 > len(words):
                return NOT_A_TRACE
            if recording.segments == len(segments):
                return at
            place = np.uint64(recording.segments)
            segments[place, 0] = words[np.uint64(at + 1)]
            segments[place, 1] = ident
            segments[place, 2] = recording.words
            recording.segments += 1
            recording.block = words[np.uint64(at + 1)]
            warps = np.int64(len(kept)) // BLOCKS_TOGETHER
            if ident >= warps:
                return NOT_A_TRACE
            recording.place = recording.block % BLOCKS_TOGETHER * warps + ident
            whose = kept[np.uint64(recording.place)]
            if whose[0] != recording.block + 1:
                whose[0], whose[1] = recording.block + 1, 0
            at += 2
        elif kind == _VALUES:
            if at + _VALUES_WORDS > len(words):
                return NOT_A_TRACE
            at += _VALUES_WORDS  # the mean of all executions counts
        else:
            return NOT_A_TRACE
        kept[np.uint64(recording.place), 1] += recording.words - before
    return at
