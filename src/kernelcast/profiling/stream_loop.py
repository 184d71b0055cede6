# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop that turns a trace into the words of access streams (see `streams`), compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.execution.trace import ID_MASK, ID_SHIFT, KIND_SHIFT, RECORD_WORDS, RecordKind
from kernelcast.ir.sizes import FULL_MASK, HALF_WARP_LANES, SECTOR_BYTES, WARP_LANES
from kernelcast.profiling import layout
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.layout import GENERIC, GENERIC_SPACES, LOCAL, WRITES
from kernelcast.profiling.loops import array, inlined, inner, lowest_bit, popcount
from kernelcast.profiling.stream_layout import MOST_LINES, ROOM, SEGMENT_SHIFT, STREAM_STATE
from kernelcast.profiling.streams import FIRST_BIT, LINE_SHIFT, PARTIAL_SHIFT, ROW_SHIFT

NOT_A_TRACE, OUTSIDE = -1, -2
"""What the loops return instead of a position where the stream is broken, or an address is none."""

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
_HALF_MASK = (1 << HALF_WARP_LANES) - 1

_SECTOR_SHIFT = SECTOR_BYTES.bit_length() - 1
_LINE_SECTORS_SHIFT = layout.LINE_SHIFT - _SECTOR_SHIFT
_COVERED = (1 << SECTOR_BYTES) - 1
_LOCAL_SECTOR_LANES = 8
_FIRST = 1 << FIRST_BIT
_ADDRESS_BITS = 47


@inlined
def _words_of(kind):
    """How many words the record of an access has."""
    if kind == _AFFINE:
        return np.int64(_AFFINE_WORDS)
    return np.int64(_HALVES_WORDS if kind == _HALVES else _ADDRESSES_WORDS)


@inlined
def _is_outside(address):
    """Whether an address has no line in a word of the stream."""
    return address >> _ADDRESS_BITS != 0


@inlined
def _add(line, sector, covered, depth, first, end, tag, out, state):
    """Add a sector to the lines of a request, of which the last `depth` are looked at for its own.

    Returns where the lines end then.
    """
    at, stop = end - 1, max(first, end - depth)
    while at >= stop and out[np.uint64(at)] >> LINE_SHIFT != line:
        at -= 1
    if at < stop:
        at = end
        out[np.uint64(at)] = line << LINE_SHIFT | tag
        for i in range(4):
            state.covered[np.uint64(at - first), i] = 0
        end += 1
    out[np.uint64(at)] |= np.int64(1) << sector
    state.covered[np.uint64(at - first), np.uint64(sector)] |= covered
    return end


@inlined
def _mark_partial(first, end, out, state):
    """Mark the sectors of a store that it does not cover whole."""
    for at in range(first, end):
        for sector in range(4):
            is_partial = state.covered[np.uint64(at - first), sector] != _COVERED
            asked = out[np.uint64(at)] >> sector & 1
            out[np.uint64(at)] |= (asked & is_partial) << PARTIAL_SHIFT + sector


@inner
def _add_lanes(mask, width, depth, lanes, tag, first, out, state):
    """Add the lines of a request to arrays lane by lane; return their end, or OUTSIDE."""
    end = first
    bits = (np.int64(1) << width) - 1
    rest = mask
    while rest:
        address = lanes[np.uint64(lowest_bit(rest))]
        rest &= rest - 1
        if _is_outside(address):
            return np.int64(OUTSIDE)
        covered = bits << (address & SECTOR_BYTES - 1) & _COVERED
        line = address >> layout.LINE_SHIFT
        end = _add(line, address >> 5 & 3, covered, depth, first, end, tag, out, state)
    return end


@inlined
def _add_range(base, stride, lanes, width, writes, tag, first, out):
    """Add the lines of consecutive lanes whose addresses leave out no sector; return their end.

    These are all sectors from the first to the last. Of a store whose lanes leave no gap, only
    those two can be covered in part, else all are.
    """
    last = base + (lanes - 1) * stride
    low, high = min(base, last), max(base, last)
    if _is_outside(low | high):
        return np.int64(OUTSIDE)
    low_line, high_line = low >> layout.LINE_SHIFT, high >> layout.LINE_SHIFT
    low_at, high_at = low >> _SECTOR_SHIFT & 3, high >> _SECTOR_SHIFT & 3
    from_low, to_high = np.int64(15) << low_at & 15, np.int64(15) >> 3 - high_at
    low_partial = np.int64(writes and low & SECTOR_BYTES - 1 != 0) << low_at
    high_partial = np.int64(writes and (high & SECTOR_BYTES - 1) + width < SECTOR_BYTES) << high_at
    has_gaps = writes and lanes > 1 and abs(stride) > width
    end = first + high_line - low_line + 1
    for at in range(first, end):
        line = low_line + (at - first) if stride >= 0 else high_line - (at - first)
        asked, partial = np.int64(15), np.int64(0)
        if line == low_line:
            asked, partial = from_low, low_partial
        if line == high_line:
            asked, partial = asked & to_high, partial | high_partial
        partial = asked if has_gaps else partial
        out[np.uint64(at)] = line << LINE_SHIFT | tag | partial << PARTIAL_SHIFT | asked
    return end


@inner
def _add_local(mask, width, lanes, tag, first, out, state):
    """Add the lines of a request to local memory lane by lane; return their end, or OUTSIDE."""
    end = first
    bits = (np.int64(1) << min(width, 4)) - 1
    rest = mask
    while rest:
        lane = lowest_bit(rest)
        rest &= rest - 1
        address = lanes[np.uint64(lane)]
        if _is_outside(address):
            return np.int64(OUTSIDE)
        covered = bits << 4 * (lane % _LOCAL_SECTOR_LANES) + (address & 3)
        for j in range(max(width >> 2, 1)):
            line = (address >> 2) + j
            sector = lane // _LOCAL_SECTOR_LANES
            end = _add(line, sector, covered, MOST_LINES, first, end, tag, out, state)
    return end


@inner
def _add_local_words(mask, address, width, writes, tag, first, out):
    """The same where all lanes have the same address."""
    if _is_outside(address):
        return np.int64(OUTSIDE)
    asked, partial = np.int64(0), np.int64(0)
    for sector in range(WARP_LANES // _LOCAL_SECTOR_LANES):
        lanes = mask >> _LOCAL_SECTOR_LANES * sector & (1 << _LOCAL_SECTOR_LANES) - 1
        asked |= np.int64(lanes != 0) << sector
        is_whole = lanes == (1 << _LOCAL_SECTOR_LANES) - 1 and width >= 4
        partial |= np.int64(lanes != 0 and writes and not is_whole) << sector
    end = first + max(width >> 2, 1)
    for at in range(first, end):
        line = (address >> 2) + (at - first)
        out[np.uint64(at)] = line << LINE_SHIFT | tag | partial << PARTIAL_SHIFT | asked
    return end


@inlined
def _is_run(mask):
    """Whether the lanes of a mask follow each other."""
    shifted = mask >> lowest_bit(mask)
    return shifted & shifted + 1 == 0


@inlined
def _add_halves(mask, stride, lanes, width, writes, tag, first, out):
    """Add the lines of two half-warps whose lanes follow each other by the same stride.

    Returns their end, OUTSIDE, or `first` where that is not how the lanes lie, or lines are shared.
    """
    low, high = mask & _HALF_MASK, mask >> HALF_WARP_LANES
    if low == 0 or high == 0 or abs(stride) > SECTOR_BYTES:
        return first
    if not (_is_run(low) and _is_run(high)):
        return first
    one, other = lanes[lowest_bit(low)], lanes[HALF_WARP_LANES + lowest_bit(high)]
    if one == other and low == high:
        return _add_range(one, stride, popcount(low), width, writes, tag, first, out)
    last, other_last = one + (popcount(low) - 1) * stride, other + (popcount(high) - 1) * stride
    is_apart = max(one, last) >> layout.LINE_SHIFT < min(other, other_last) >> layout.LINE_SHIFT
    is_apart |= max(other, other_last) >> layout.LINE_SHIFT < min(one, last) >> layout.LINE_SHIFT
    if not is_apart:
        return first
    end = _add_range(one, stride, popcount(low), width, writes, tag, first, out)
    if end < 0:
        return end
    return _add_range(other, stride, popcount(high), width, writes, tag, end, out)


@inlined
def _add_request(row, instruction, space, mask, kind, base, stride, lanes, scratch, out, state):
    """Add a request in one space; False where an address is none."""
    first, width, tag = state.words, instruction.bytes, row << ROW_SHIFT
    is_affine, end = kind == _AFFINE, state.words
    writes = instruction.effect == WRITES
    if is_affine and space == LOCAL and stride == 0:
        end = _add_local_words(mask, base, width, writes, tag, first, out)
    elif is_affine and space != LOCAL and abs(stride) <= SECTOR_BYTES and _is_run(mask):
        start = base + lowest_bit(mask) * stride
        end = _add_range(start, stride, popcount(mask), width, writes, tag, first, out)
    elif kind == _HALVES and space != LOCAL:
        end = _add_halves(mask, stride, lanes, width, writes, tag, first, out)
    if end == first:
        if is_affine:
            lanes = scratch
            for lane in range(WARP_LANES):
                lanes[lane] = base + lane * stride
        if space == LOCAL:
            end = _add_local(mask, width, lanes, tag, first, out, state)
        else:
            # Along an affine request lines only ascend, or descend.
            depth = np.int64(1) if is_affine else np.int64(WARP_LANES)
            end = _add_lanes(mask, width, depth, lanes, tag, first, out, state)
        if writes:
            _mark_partial(first, end, out, state)
    if end < first:
        return False
    out[np.uint64(first)] |= _FIRST
    state.words = end
    return True


@inner
def _add_generic(instruction, mask, kind, base, stride, lanes, scratch, row_numbers, out, state):
    """Add a request for every space that lanes lead to; False where an address is none."""
    rest, inside = mask, scratch[WARP_LANES:]
    for space in range(GENERIC_SPACES):
        row, asked, subtract = row_numbers[instruction.row + space], np.int64(0), np.int64(0)
        among = rest
        while among:
            lane = lowest_bit(among)
            among &= among - 1
            address = base + lane * stride if kind == _AFFINE else lanes[np.uint64(lane)]
            is_inside = state.window[space, 0] <= address < state.window[space, 1]
            subtract = state.window[space, 2]
            asked |= np.int64(is_inside) << lane
            inside[np.uint64(lane)] = address - subtract
        rest &= ~asked
        if (
            asked
            and row >= 0
            and not _add_request(
                row,
                instruction,
                space,
                asked,
                kind,
                base - subtract,
                stride,
                inside,
                scratch,
                out,
                state,
            )
        ):
            return False
    return True


@inlined
def _add_access(instruction, mask, kind, base, stride, lanes, scratch, row_numbers, out, state):
    """Add an access to memory that is streamed; False where an address is none."""
    if instruction.space == GENERIC:
        return _add_generic(
            instruction, mask, kind, base, stride, lanes, scratch, row_numbers, out, state
        )
    row = row_numbers[np.uint64(instruction.row)]
    return (row < 0 or mask == 0) or _add_request(
        row,
        instruction,
        instruction.space,
        mask,
        kind,
        base,
        stride,
        lanes,
        scratch,
        out,
        state,
    )


@inner
def _close_block(blocks, ends, segments, spare, out, state):
    """Put the words of the block that was read in the order of its warps; note where they end."""
    start, end, count = state.closed_words, state.words, state.segments
    place = ends[state.closed_blocks]
    for warp in range(len(place)):
        place[warp] = 0
    segments[count] = end
    for i in range(count):
        warp = segments[i] >> SEGMENT_SHIFT
        place[warp] += _position(segments[i + 1]) - _position(segments[i])
    at = start
    for warp in range(len(place)):
        place[warp], at = at, at + place[warp]
    if not state.is_sorted:
        for i in range(start, end):
            spare[i - start] = out[i]
    for i in range(count):
        warp = segments[i] >> SEGMENT_SHIFT
        first, last = _position(segments[i]), _position(segments[i + 1])
        if not state.is_sorted:
            for j in range(last - first):
                out[place[warp] + j] = spare[first - start + j]
        place[warp] += last - first
    blocks[state.closed_blocks] = state.block
    state.closed_blocks += 1
    state.closed_words = end
    state.segments = 0
    state.is_sorted = 1


@inlined
def _position(segment):
    return segment & (np.int64(1) << SEGMENT_SHIFT) - 1


@inlined
def _end_segment(kept, segments, state):
    """Note how many words the warp of the last segment has by now."""
    if state.segments:
        last = segments[state.segments - 1]
        kept[last >> SEGMENT_SHIFT] += state.words - _position(last)


@inlined
def _enter_warp(warp, block, kept, blocks, ends, segments, spare, out, state):
    """Begin a segment; False where block or warp are none that may follow."""
    if warp >= ends.shape[1] or block < state.block:
        return False
    _end_segment(kept, segments, state)
    if block > state.block:
        kept[:] = 0
        if state.block >= 0:
            _close_block(blocks, ends, segments, spare, out, state)
        if state.closed_blocks == len(blocks):
            return False
        state.block = block
    last = state.segments - 1
    if last >= 0 and _position(segments[last]) == state.words:
        last -= 1
    state.segments = last + 2
    state.is_sorted &= last < 0 or segments[last] >> SEGMENT_SHIFT < warp
    segments[last + 1] = warp << SEGMENT_SHIFT | state.words
    state.stop = state.words + max(0, state.most_of_warp - kept[warp])
    return True


@compiled(
    np.int64,
    array(np.int64),
    np.int64,
    array(layout.INSTRUCTION),
    array(np.int64),
    array(np.int64),
    array(np.int64),
    array(np.int64),
    array(np.int64),
    array(np.int64, 2),
    array(np.int64),
    array(np.int64),
    array(np.int64),
    array(STREAM_STATE),
)
def stream_records(
    words,
    at,
    instructions,
    row_numbers,
    scratch,
    entered,
    kept,
    blocks,
    ends,
    segments,
    spare,
    out,
    states,
):
    """Add the records of a trace from position `at` on.

    Parameters
    ----------
    words, at, instructions:
        The trace, a position in it, and `layout.INSTRUCTION` of every instruction.
    row_numbers:
        For every row that the instructions name that of the stream, -1 for none.
    scratch:
        Room for the addresses of three requests.
    entered:
        Output: how often each basic block was entered.
    kept:
        Scratch: words so far of every warp of the block that is being read.
    blocks, ends:
        Output: the blocks closed so far, and for each where the words of its warps end.
    segments, spare:
        Scratch: room for the segments and for the words of a block.
    out:
        Output: the words, as signed numbers.

    Returns the position of the first record not added: the end of the trace, or earlier where
    `out`, `segments` or `spare` may have no room for what it adds; NOT_A_TRACE or OUTSIDE where the
    trace is broken.
    """
    state = states[0]
    while at < len(words):
        header = words[np.uint64(at)]
        kind = header >> KIND_SHIFT
        ident = header >> ID_SHIFT & ID_MASK
        if kind in (_AFFINE, _ADDRESSES, _HALVES):
            following = at + _words_of(kind)
            if following > len(words) or ident >= len(instructions) or state.block < 0:
                return NOT_A_TRACE
            instruction = instructions[np.uint64(ident)]
            if instruction.bytes == 0:
                return NOT_A_TRACE
            if state.words >= state.stop:
                state.is_cut = 1
                at = following
                continue
            if state.words + ROOM > len(out):
                return at
            base, stride, lanes = words[np.uint64(at + 1)], np.int64(0), scratch
            if kind == _ADDRESSES:
                lanes = words[at + 1 : at + 1 + WARP_LANES]
            else:
                stride = words[np.uint64(at + 2)]
            if kind == _HALVES:
                lanes = scratch[2 * WARP_LANES :]
                for lane in range(HALF_WARP_LANES):
                    lanes[lane] = base + lane * stride
                    lanes[lane + HALF_WARP_LANES] = words[np.uint64(at + 3)] + lane * stride
            mask = header & FULL_MASK
            if not _add_access(
                instruction, mask, kind, base, stride, lanes, scratch, row_numbers, out, state
            ):
                return OUTSIDE
            at = following
        elif kind == _BLOCK:
            if ident >= len(entered):
                return NOT_A_TRACE
            entered[np.uint64(ident)] += 1
            at += 1
        elif kind == _WARP:
            if at + 2 > len(words):
                return NOT_A_TRACE
            if state.segments + 2 > len(segments):
                return at
            if state.words - state.closed_words > len(spare):
                return at
            block = words[np.uint64(at + 1)]
            if not _enter_warp(ident, block, kept, blocks, ends, segments, spare, out, state):
                return NOT_A_TRACE
            at += 2
        elif kind == _VALUES:
            if at + _VALUES_WORDS > len(words):
                return NOT_A_TRACE
            at += _VALUES_WORDS
        else:
            return NOT_A_TRACE
    return at


@compiled(
    None,
    array(np.int64),
    array(np.int64, 2),
    array(np.int64),
    array(np.int64),
    array(np.int64),
    array(STREAM_STATE),
)
def close_last(blocks, ends, segments, spare, out, states):
    """Close the block that was read last."""
    _close_block(blocks, ends, segments, spare, out, states[0])


@compiled(None, array(np.int64), array(np.int64), array(np.int64), array(np.int64), array(np.int64))
def copy_parts(source, starts, ends, targets, out):
    """Copy parts of an array to places in another."""
    for i in range(len(starts)):
        for j in range(ends[i] - starts[i]):
            out[targets[i] + j] = source[starts[i] + j]
