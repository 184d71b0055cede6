# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop over the words of a trace, compiled: every number of a profile that is a plain sum.

Import this module only where a trace is to be counted: it loads machine code.

The tables that the loop reads and writes are few arrays, one row per thing, whose columns are
named below; everything of fixed size is in one record of `STATE`. Few and plain on purpose: the
compiler's time grows with every array that is handed on.
"""

from __future__ import annotations

import numpy as np

from kernelcast.execution.trace import ID_MASK, ID_SHIFT, KIND_SHIFT, RecordKind
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.profiling.compilation import array, compiled, inlined, inner

GLOBAL, SHARED, LOCAL, PARAM, CONST, GENERIC = range(6)
"""Codes of the state spaces; the first four are those a generic address can lead to."""
GENERIC_SPACES = 4

SPACE, WIDTH, EFFECT, FIRST_ROW, INSTRUCTION_COLUMNS = range(5)
"""Columns of `instructions`: space, bytes of a lane, READS | WRITES, first row of `accesses`.

A generic instruction has a row for each of the spaces it can lead to, any other has one.
"""
READS, WRITES = 1, 2

LENGTH, IS_BRANCH, NEXT, MEETING = range(4)
"""Columns of `blocks`: instructions, whether lanes can part at its end, the block that follows
where they do not branch or -1, and how many instructions come before lanes that arrived one by one
go on together: 0 where they meet at the start, -1 where they do not meet."""
ARRIVALS, WARPS, THREADS, DIVERGENT, PASSED, BLOCK_COLUMNS = range(4, 10)
"""Counts of a block: groups of lanes that came to it, groups that went on after the meeting, lanes,
groups that parted at its end, and lanes that went on to the block that follows."""

INDEX, PATH_SLOT, EXECUTED_COLUMNS = range(3)
"""Columns of `executed`: index of a block in the grid, slot of its first warp in the path log."""

START, END, FIRST_SECTOR = range(3)
"""Columns of `regions`: addresses, place of the first sector in `stamps`; then sums of sectors."""
REQUESTED, BLOCK_DISTINCT, DISTINCT, BLOCK_WRITTEN, WRITTEN, IS_READ, IS_WRITTEN = range(3, 10)
REGION_COLUMNS = 10

REQUESTS, LANES, SECTORS, LINES = range(4)
"""Columns of `accesses`, named as in `AccessProfile`."""
TRANSACTIONS_CC10, COALESCED_CC10, TRANSACTIONS_CC12, COALESCED_CC12, BYTES_CC12 = range(4, 9)
PASSES, PASSES_HALF_WARP, IDEAL_PASSES = range(9, 12)
_PATTERN_COLUMNS = 12
"""Columns that only the pattern of a request decides, not where it lies in memory."""
TAG_PASSES = 12
ACCESS_COLUMNS = 13

TOUCHED, STORED = range(2)
"""Rows of `stamps`: the last executed block, counted from 1, that touched or wrote a sector."""

LOG_SLOT, LOG_BLOCK, LOG_LANES, LOG_COLUMNS = range(4)
"""Columns of `log`: the paths of some warps, interleaved as they were executed."""

MAX_WARPS = 32
MAX_SLOTS = 8 * MAX_WARPS
MEMO_ENTRIES = 1024
ADDED_WORDS = 1 << 14
"""Counters of atomics by their word; words this many apart share one."""
LANES_ADDED, MERGED = range(2)
"""Rows of `added`: every lane counts, or those of a request once that all go to one word."""
MAX_LINES = 256
"""Most lines one request can touch: 32 lanes of 32 B of local memory, each word a line apart."""

_HASH_BITS = 9
_HASH_SLOTS = 1 << _HASH_BITS
_HASH_FACTOR = -7046029254386353131  # 2**64 / golden ratio, as a signed number

STATE = np.dtype(
    [
        ("ordinal", np.int64),  # of the block being read among the executed ones, -1 at first
        ("warp", np.int64),
        ("slot", np.int64),  # of the warp in the path log, -1 where it is not logged
        ("logged", np.int64),  # entries of the path log
        ("is_logged", np.int64, MAX_SLOTS),
        ("window", np.int64, (GENERIC_SPACES, 3)),  # start, end, what to subtract
        # Lanes that a warp executes together, the basic block that they were last in, and whether
        # some of them have gone on from there.
        ("group_count", np.int64, MAX_WARPS),
        ("group_mask", np.int64, (MAX_WARPS, 2 * WARP_LANES)),
        ("group_block", np.int64, (MAX_WARPS, 2 * WARP_LANES)),
        ("group_parted", np.int64, (MAX_WARPS, 2 * WARP_LANES)),
        # Requests seen before: shape, pattern and mask, -1 at first; their counts and lines.
        ("memo_key", np.int64, (MEMO_ENTRIES, 3)),
        ("memo_delta", np.int64, (MEMO_ENTRIES, WARP_LANES)),
        ("memo_counts", np.int64, (MEMO_ENTRIES, _PATTERN_COLUMNS)),
        ("memo_size", np.int64, MEMO_ENTRIES),
        ("memo_line", np.int64, (MEMO_ENTRIES, WARP_LANES)),
        ("memo_sectors", np.int64, (MEMO_ENTRIES, WARP_LANES)),
        ("added", np.int64, (2, ADDED_WORDS)),  # atomics on global memory, by word
        # The request being counted.
        ("address", np.int64, WARP_LANES),
        ("delta", np.int64, WARP_LANES),
        ("generic", np.int64, WARP_LANES),
        ("offset", np.int64, WARP_LANES),
        ("counts", np.int64, _PATTERN_COLUMNS),
        ("line", np.int64, MAX_LINES),
        ("line_sectors", np.int64, MAX_LINES),  # of the low half-warp; of the high, shifted by 4
        ("line_asked", np.int64, MAX_LINES),  # a bit for every bank of whose word a lane has asked
        ("lane_line", np.int64, WARP_LANES),  # place in `line` of the line that a lane asks for
        ("bank_load", np.int64, WARP_LANES),
        ("hash_key", np.int64, _HASH_SLOTS),  # -1 between uses
        ("hash_entry", np.int64, _HASH_SLOTS),
        ("hash_used", np.int64, _HASH_SLOTS),
        ("segment_bytes", np.int64, 16),  # bytes that move of a segment, by sectors asked for
    ]
)

NOT_A_TRACE, OUT_OF_ARRAY = -1, -2
"""What `count_records` returns instead of a position where the stream is broken."""

_WARP = int(RecordKind.WARP)
_BLOCK = int(RecordKind.BLOCK)
_AFFINE = int(RecordKind.AFFINE)
_ADDRESSES = int(RecordKind.ADDRESSES)
_FULL_MASK = (1 << WARP_LANES) - 1
_TAG_BANK_BITS = (0x2AFF, 0x3F2A)
"""Bits of a line's number whose parities name the bank of its tag, one of four.

Those that explain best the column of tag lookups in the tables that gpu-benches' gpu-strides
(github.com/RRZE-HPC/gpu-benches, 1038c5d) measured on an A100: 4 % off in the mean. Its strides
settle the low eight bits; its rows that lie 16 KiB apart leave some choice of the higher ones.
"""
_PERIOD = 256
"""Shifting all addresses of a request by this many bytes changes none of its counts: no segment
is larger, nor is a row of banks."""


@inner
def _popcount(bits):
    bits = bits - ((bits >> 1) & 0x55555555)
    bits = (bits & 0x33333333) + ((bits >> 2) & 0x33333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F
    return ((bits * 0x01010101) >> 24) & 0xFF


@inner
def _hash_slot(key, state):
    """The slot that holds `key`, or the empty one where it belongs."""
    keys = state.hash_key
    slot = (key * _HASH_FACTOR) >> (64 - _HASH_BITS) & (_HASH_SLOTS - 1)
    while keys[slot] != key and keys[slot] != -1:
        slot = (slot + 1) & (_HASH_SLOTS - 1)
    return slot


@inner
def _bank_passes(mask, words, group_lanes, banks, state):
    """Passes in which `banks` banks of 4 B serve `words` words of every lane, group by group."""
    keys, used_slots, load, address = (
        state.hash_key,
        state.hash_used,
        state.bank_load,
        state.address,
    )
    passes = 0
    for first in range(0, WARP_LANES, group_lanes):
        worst = 0
        used = 0
        for bank in range(banks):
            load[bank] = 0
        for lane in range(first, first + group_lanes):
            if (mask >> lane) & 1:
                for j in range(words):
                    word = (address[lane] >> 2) + j
                    slot = _hash_slot(word, state)
                    if keys[slot] == -1:
                        keys[slot] = word
                        used_slots[used] = slot
                        used += 1
                        bank = word & (banks - 1)
                        load[bank] += 1
                        worst = max(worst, load[bank])
        for i in range(used):
            keys[used_slots[i]] = -1
        passes += worst
    return passes


@inner
def _count_shared(mask, width, state):
    counts = state.counts
    words = max(width >> 2, 1)
    group_lanes = max(WARP_LANES // words, 8)
    half_warp = np.int64(16)
    counts[PASSES] = _bank_passes(mask, words, group_lanes, np.int64(32), state)
    counts[PASSES_HALF_WARP] = _bank_passes(mask, words, half_warp, half_warp, state)
    counts[IDEAL_PASSES] = _active_groups(mask, group_lanes)


@inner
def _active_groups(mask, group_lanes):
    groups = np.int64(0)
    for first in range(0, WARP_LANES, group_lanes):
        groups += (mask >> first) & ((1 << group_lanes) - 1) != 0
    return groups


@inner
def _count_line_passes(mask, width, lines, state):
    """Count the passes of a load from global memory, whose lines are known.

    A line is a row of banks. All lanes ask for aligned units of one width, which are the same or
    apart: the first bank of each stands for the others.
    """
    address, load, asked = state.address, state.bank_load, state.line_asked
    words = max(width >> 2, 1)
    group_lanes = max(WARP_LANES // words, 8)
    ideal = _active_groups(mask, group_lanes)
    state.counts[IDEAL_PASSES] = ideal
    state.counts[PASSES] = ideal
    if lines == 1:
        return
    passes = np.int64(0)
    for first in range(0, WARP_LANES, group_lanes):
        for i in range(lines):
            asked[i] = 0
        for bank in range(WARP_LANES):
            load[bank] = 0
        worst = np.int64(0)
        for lane in range(first, first + group_lanes):
            line = state.lane_line[lane]
            bank = address[lane] >> 2 & (WARP_LANES - 1)
            is_new = (mask >> lane) & ~(asked[line] >> bank) & 1
            asked[line] |= is_new << bank
            load[bank] += is_new
            worst = max(worst, load[bank])
        passes += worst
    state.counts[PASSES] = passes


@inlined
def _tag_passes(entry, base_line, state):
    """Passes in which four banks of tags look up the lines of a remembered request."""
    lines = state.memo_size[entry]
    if lines <= 1:
        return lines
    known = state.memo_line[entry]
    loads = np.int64(0)  # of the four banks, 16 bits each
    for i in range(lines):
        line = base_line + known[i]
        parity = (line & _TAG_BANK_BITS[0]) | (line & _TAG_BANK_BITS[1]) << 16
        parity ^= parity >> 8
        parity ^= parity >> 4
        parity ^= parity >> 2
        parity ^= parity >> 1
        loads += np.int64(1) << ((parity & 1) << 4 | (parity >> 16 & 1) << 5)
    return max(max(loads & 0xFF, loads >> 16 & 0xFF), max(loads >> 32 & 0xFF, loads >> 48 & 0xFF))


@inner
def _count_transactions_cc10(mask, width, state):
    """Add the transactions of one word per lane; return whether all half-warps were coalesced."""
    address = state.address
    all_coalesced = True
    for first in range(0, WARP_LANES, 16):
        half = (mask >> first) & 0xFFFF
        if half == 0:
            continue
        coalesced = width in (4, 8, 16)
        segment = np.int64(-1)
        for k in range(16):
            if (half >> k) & 1:
                start = address[first + k] - k * width
                if segment == -1:
                    segment = start
                coalesced = coalesced and start == segment and start & (16 * width - 1) == 0
        if not coalesced:
            state.counts[TRANSACTIONS_CC10] += _popcount(half)
            all_coalesced = False
        else:
            state.counts[TRANSACTIONS_CC10] += 2 if width == 16 else 1
    return all_coalesced


@inner
def _count_segments_cc12(half, width, state):
    """Add the segments of one line that a half-warp asks for by the bits of `half`."""
    if half == 0:
        return
    counts = state.counts
    segment_sectors = min(width, 4)  # segments of 32 B for 1 B, 64 B for 2 B, 128 B from 4 B on
    for first in range(0, 4, segment_sectors):
        asked = half & (((1 << segment_sectors) - 1) << first)
        counts[TRANSACTIONS_CC12] += asked != 0
        counts[BYTES_CC12] += state.segment_bytes[asked]


@inner
def _count_lines(mask, width, is_local, state):
    """Fill counts, `line` and `line_sectors` of a request; return how many lines it has."""
    address, offset, counts = state.address, state.offset, state.counts
    line, line_sectors = state.line, state.line_sectors
    words = 1
    if is_local:
        words = max(width >> 2, 1)
        width = min(width, 4)
        for lane in range(WARP_LANES):
            offset[lane] = address[lane]
    lines = 0
    all_coalesced = True
    for j in range(words):
        previous = np.int64(-1)
        entry = 0
        for lane in range(WARP_LANES):
            if (mask >> lane) & 1 == 0:
                continue
            if is_local:
                word = (offset[lane] >> 2) + j
                address[lane] = (word << 7) + (lane << 2) + (offset[lane] & 3)
            if address[lane] >> 7 != previous:
                previous = address[lane] >> 7
                slot = _hash_slot(previous, state)
                if state.hash_key[slot] == -1:
                    state.hash_key[slot] = previous
                    state.hash_entry[slot] = lines
                    state.hash_used[lines] = slot
                    line[lines] = previous
                    line_sectors[lines] = 0
                    lines += 1
                entry = state.hash_entry[slot]
            state.lane_line[lane] = entry
            line_sectors[entry] |= 1 << ((address[lane] >> 5) & 3) + (lane >> 4 << 2)
        coalesced = _count_transactions_cc10(mask, width, state)
        all_coalesced = all_coalesced and coalesced
    for i in range(lines):
        state.hash_key[state.hash_used[i]] = -1
        low, high = line_sectors[i] & 15, line_sectors[i] >> 4
        counts[SECTORS] += _popcount(low | high)
        _count_segments_cc12(low, width, state)
        _count_segments_cc12(high, width, state)
        line_sectors[i] = low | high
    halves = (mask & 0xFFFF != 0) + (mask >> 16 != 0)
    counts[LINES] = lines
    counts[COALESCED_CC10] = all_coalesced
    counts[COALESCED_CC12] = counts[TRANSACTIONS_CC12] == halves
    return lines


@inner
def _count_request(mask, width, space, effect, state):
    """Fill `counts` from `address`; return how many lines of global memory stand in `line`."""
    counts = state.counts
    for column in range(_PATTERN_COLUMNS):
        counts[column] = 0
    counts[REQUESTS] = 1
    counts[LANES] = _popcount(mask)
    if space == SHARED:
        _count_shared(mask, width, state)
    elif space in (GLOBAL, LOCAL):
        lines = _count_lines(mask, width, space == LOCAL, state)
        if space == GLOBAL and effect == READS:
            _count_line_passes(mask, width, lines, state)
        return lines if space == GLOBAL else 0
    return 0


@inlined
def _stamp(sectors, first, stamps, stamp, sums, in_block, in_sample):
    """Stamp some sectors of a line, and count those that are new to the block and the sample."""
    while sectors:
        lowest = sectors & -sectors
        at = first + (lowest >> 1) - (lowest >> 3)  # of the bits 1, 2, 4, 8 the numbers 0 to 3
        before = stamps[at]
        stamps[at] = stamp
        sums[in_block] += before != stamp
        sums[in_sample] += before == 0
        sectors ^= lowest


@inlined
def _touch(line, sectors, region, effect, regions, stamps, ordinal):
    """Mark some sectors of a line as touched; return its region, or -1 where there is none."""
    address = line << 7
    if not (regions[region, START] <= address < regions[region, END]):
        region = len(regions) - 1
        while region >= 0 and address < regions[region, START]:
            region -= 1
        if region < 0 or address >= regions[region, END]:
            return -1
    if effect & READS:
        regions[region, IS_READ] = 1
    if effect & WRITES:
        regions[region, IS_WRITTEN] = 1
    first = regions[region, FIRST_SECTOR] + ((address - regions[region, START]) >> 5)
    _stamp(sectors, first, stamps[TOUCHED], ordinal + 1, regions[region], BLOCK_DISTINCT, DISTINCT)
    if effect & WRITES:
        _stamp(sectors, first, stamps[STORED], ordinal + 1, regions[region], BLOCK_WRITTEN, WRITTEN)
    regions[region, REQUESTED] += _popcount(sectors)
    return region


@inner
def _relative_pattern(mask, state):
    """Fill `delta` with the way from the first active lane's address; return that, and a hash."""
    address, delta = state.address, state.delta
    base = address[_popcount((mask & -mask) - 1)]
    hashed = np.int64(0)
    for lane in range(WARP_LANES):
        delta[lane] = (address[lane] - base) * ((mask >> lane) & 1)
        hashed += delta[lane] * (2 * lane + 1)
    return base, hashed


@inlined
def _memo_entry(shape, pattern, mask, is_affine, state):
    """Where the counts of a pattern stand or would, and whether they do."""
    hashed = ((shape * 31 + pattern) * 31 + mask) * _HASH_FACTOR
    entry = hashed >> 40 & (MEMO_ENTRIES - 1)
    key = state.memo_key[entry]
    is_known = key[0] == shape and key[1] == pattern and key[2] == mask
    if is_known and not is_affine:
        known, delta = state.memo_delta[entry], state.delta
        differing = np.int64(0)
        for lane in range(WARP_LANES):
            differing |= known[lane] ^ delta[lane]
        is_known = differing == 0
    return entry, is_known


@inlined
def _count_added(mask, is_affine, base, stride, state):
    """Count the lanes of an atomic by the word that each goes to, and once where that is one."""
    first = np.int64(-1)
    is_one = True
    for lane in range(WARP_LANES):
        if mask >> lane & 1:
            address = base + lane * stride if is_affine else state.address[lane]
            word = address >> 2 & (ADDED_WORDS - 1)
            first = word if first < 0 else first
            is_one = is_one and word == first
            state.added[LANES_ADDED, word] += 1
            state.added[MERGED, word] += 1
    if is_one:
        state.added[MERGED, first] -= _popcount(mask) - 1


@inlined
def _record_request(
    row, mask, is_affine, base, stride, width, space, effect, accesses, regions, stamps, state
):
    """Count one request in one space; False where it leaves every array.

    Affine requests are `base + lane * stride`; the addresses of others stand in `address`. Every
    pattern is counted once and remembered, since a loop repeats few of them.
    """
    if effect == READS | WRITES and space == GLOBAL:
        _count_added(mask, is_affine, base, stride, state)
    pattern = stride
    if not is_affine:
        base, pattern = _relative_pattern(mask, state)
    base_line = base >> 8 << 1
    shape = (base & (_PERIOD - 1)) | width << 8 | space << 16 | np.int64(is_affine) << 20
    shape |= effect << 21
    entry, is_known = _memo_entry(shape, pattern, mask, is_affine, state)
    if not is_known:
        state.memo_key[entry, 0] = shape
        state.memo_key[entry, 1] = pattern
        state.memo_key[entry, 2] = mask
        for lane in range(WARP_LANES):
            if is_affine:
                state.address[lane] = base + lane * stride
            else:
                state.memo_delta[entry, lane] = state.delta[lane]
        lines = _count_request(mask, width, space, effect, state)
        state.memo_size[entry] = lines
        for column in range(_PATTERN_COLUMNS):
            state.memo_counts[entry, column] = state.counts[column]
        for i in range(lines):
            state.memo_line[entry, i] = state.line[i] - base_line
            state.memo_sectors[entry, i] = state.line_sectors[i]
    for column in range(_PATTERN_COLUMNS):
        accesses[row, column] += state.memo_counts[entry, column]
    if effect == READS:
        accesses[row, TAG_PASSES] += _tag_passes(entry, base_line, state)
    region = np.int64(0)
    for i in range(state.memo_size[entry]):
        line = base_line + state.memo_line[entry, i]
        sectors = state.memo_sectors[entry, i]
        region = _touch(line, sectors, region, effect, regions, stamps, state.ordinal)
        if region < 0:
            return False
    return True


@inlined
def _record_access(instruction, mask, is_affine, base, stride, accesses, regions, stamps, state):
    """Count one access, a generic one by the spaces that its lanes lead to."""
    space = instruction[SPACE]
    width = instruction[WIDTH]
    effect = instruction[EFFECT]
    row = instruction[FIRST_ROW]
    last = space
    lanes = mask
    subtract = np.int64(0)
    generic = state.generic
    if space == GENERIC:
        space = 0
        last = GENERIC_SPACES - 1
        for lane in range(WARP_LANES):
            generic[lane] = base + lane * stride if is_affine else state.address[lane]
    in_array = True
    while space <= last:
        if instruction[SPACE] == GENERIC:
            lanes = np.int64(0)
            for lane in range(WARP_LANES):
                inside = state.window[space, 0] <= generic[lane] < state.window[space, 1]
                lanes |= np.int64(inside) << lane
            lanes &= mask
            subtract = state.window[space, 2]
            if not is_affine:
                for lane in range(WARP_LANES):
                    state.address[lane] = generic[lane] - subtract
        if lanes:
            in_array = in_array and _record_request(
                row,
                lanes,
                is_affine,
                base - subtract,
                stride,
                width,
                space,
                effect,
                accesses,
                regions,
                stamps,
                state,
            )
        space += 1
        row += 1
    return in_array


@inlined
def _take(group, came, block, masks, last, parted, blocks):
    """Some lanes of a group go from the block that they were in to another."""
    left = last[group]
    if left >= 0 and blocks[left, IS_BRANCH]:
        blocks[left, DIVERGENT] += came != masks[group] and not parted[group]
        blocks[left, PASSED] += _popcount(came) * (blocks[left, NEXT] == block)
    parted[group] = 1
    masks[group] &= ~came


@inner
def _regroup(block, mask, blocks, state):
    """Lanes of several groups, or some of one, come to a block; return how many groups they are.

    Where they meet in the block they are one group from then on, else they stay what they are.
    """
    warp = state.warp
    masks, last = state.group_mask[warp], state.group_block[warp]
    parted = state.group_parted[warp]
    known = state.group_count[warp]
    count = known
    unseen = mask
    for group in range(known):
        came = masks[group] & mask
        if came:
            _take(group, came, block, masks, last, parted, blocks)
            unseen &= ~came
            masks[count], last[count], parted[count] = came, block, 0
            count += 1
    if unseen:
        masks[count], last[count], parted[count] = unseen, block, 0
        count += 1
    arrivals = count - known
    if blocks[block, MEETING] >= 0:
        count = known + 1
        masks[known] = mask
    kept = 0
    for group in range(count):
        if masks[group]:
            masks[kept], last[kept], parted[kept] = masks[group], last[group], parted[group]
            kept += 1
    state.group_count[warp] = kept
    return arrivals


@inlined
def _enter_block(block, mask, blocks, warp_instructions, state):
    """Count one BLOCK record."""
    warp = state.warp
    arrivals = np.int64(1)
    if state.group_count[warp] == 1 and state.group_mask[warp, 0] == mask:
        left = state.group_block[warp, 0]
        blocks[left, PASSED] += _popcount(mask) * (blocks[left, NEXT] == block)
        state.group_block[warp, 0] = block
        state.group_parted[warp, 0] = 0
    else:
        arrivals = _regroup(block, mask, blocks, state)
    meeting = blocks[block, MEETING]
    apart = meeting if meeting >= 0 else blocks[block, LENGTH]
    together = np.int64(1) if meeting >= 0 else arrivals
    blocks[block, ARRIVALS] += arrivals
    blocks[block, WARPS] += together
    blocks[block, THREADS] += _popcount(mask)
    executed = apart * arrivals + (blocks[block, LENGTH] - apart) * together
    warp_instructions[state.ordinal, warp] += executed


@inner
def _enter_warp(warp, index, executed, warps, state):
    """Go to a warp; False where launch or sample do not hold it."""
    if warp >= warps:
        return False
    if state.ordinal < 0 or executed[state.ordinal, INDEX] != index:
        low = 0
        high = len(executed)
        while low < high:
            middle = (low + high) >> 1
            if executed[middle, INDEX] < index:
                low = middle + 1
            else:
                high = middle
        if low == len(executed) or executed[low, INDEX] != index:
            return False
        state.ordinal = low
        for i in range(warps):
            state.group_count[i] = 0
    state.warp = warp
    slot = executed[state.ordinal, PATH_SLOT] + warp
    state.slot = slot if slot >= warp and state.is_logged[slot] else -1
    return True


_TABLE = array(np.int64, 2)
_TABLE32 = array(np.int32, 2)


@compiled(
    np.int64,
    array(np.int64),
    np.int64,
    _TABLE,
    _TABLE,
    _TABLE,
    _TABLE,
    _TABLE,
    _TABLE,
    _TABLE32,
    _TABLE32,
    array(STATE),
)
def count_records(
    words,
    at,
    instructions,
    blocks,
    executed,
    regions,
    accesses,
    warp_instructions,
    stamps,
    log,
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
        mask = header & _FULL_MASK
        if state.ordinal < 0 and kind != _WARP:
            return NOT_A_TRACE
        if kind in (_AFFINE, _ADDRESSES):
            is_affine = kind == _AFFINE
            following = at + 3 if is_affine else at + 1 + WARP_LANES
            if following > len(words) or ident >= len(instructions):
                return NOT_A_TRACE
            instruction = instructions[ident]
            if instruction[WIDTH] == 0:
                return NOT_A_TRACE
            base = np.int64(0)
            stride = np.int64(0)
            if is_affine:
                base = words[at + 1]
                stride = words[at + 2]
            else:
                for lane in range(WARP_LANES):
                    state.address[lane] = words[at + 1 + lane]
            if not _record_access(
                instruction, mask, is_affine, base, stride, accesses, regions, stamps, state
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
                log[logged, LOG_SLOT] = state.slot
                log[logged, LOG_BLOCK] = ident
                log[logged, LOG_LANES] = _popcount(mask)
                state.logged = logged + 1
            _enter_block(ident, mask, blocks, warp_instructions, state)
            at += 1
        elif kind == _WARP:
            if at + 2 > len(words) or not _enter_warp(ident, words[at + 1], executed, warps, state):
                return NOT_A_TRACE
            at += 2
        else:
            return NOT_A_TRACE
    return at
