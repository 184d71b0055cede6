# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The loop over the words of a trace, compiled: accesses that nothing orders, and unwritten bytes.

Within a block, warps are ordered by vector clocks (Flanagan and Freund: FastTrack, PLDI 2009,
sections 2 and 3), a warp being a thread of theirs: `clocks[w, v]` is the last of warp v's epochs
that comes before what w does now. A barrier joins the clocks of all warps that arrive at it, a
fence those of all warps that pass fences. Cells keep the last writer and the last two readers.

Blocks are ordered by nothing, unless the one that came first passed a fence afterwards and the
other looked at what threads had agreed to meet at, an atomic or a volatile access.
"""

from __future__ import annotations

import numpy as np

from kernelcast.checking import layout
from kernelcast.checking.layout import (
    AGREED,
    AGREED_BIT,
    ARRIVAL,
    BARRIERS,
    DIVERGENT_BARRIER,
    ELSEWHERE,
    GENERIC,
    GLOBAL,
    INSTRUCTION_MASK,
    MOST_FINDINGS,
    MOST_WARPS,
    PAUSES,
    RACE_OF_BLOCKS,
    RACE_OF_WARPS,
    READ_THEN_WRITE,
    READS,
    SAME_VALUE,
    SHARED,
    SYNCHRONISES,
    THREAD_BITS,
    THREAD_MASK,
    UNWRITTEN_GLOBAL,
    UNWRITTEN_SHARED,
    WAITS,
    WRITE_THEN_READ,
    WRITE_THEN_WRITE,
    WRITES,
)
from kernelcast.execution.trace import ID_MASK, ID_SHIFT, KIND_SHIFT, RecordKind
from kernelcast.ir.sizes import FULL_MASK, HALF_WARP_LANES, WARP_LANES
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.loops import array, inner, lowest_bit

_WARP = int(RecordKind.WARP)
_BLOCK = int(RecordKind.BLOCK)
_AFFINE = int(RecordKind.AFFINE)
_HALVES = int(RecordKind.HALVES)
_VALUES = int(RecordKind.VALUES)

# Rows of `barriers`, beside the clocks that those who arrived had.
_ARRIVED, _RELEASED = 0, 1


@inner
def _instruction(place):
    return (place >> THREAD_BITS) & INSTRUCTION_MASK


@inner
def _note(kind, order, place, other, other_block, address, size, findings, state):
    """Count a finding with those alike: of the same kind, between the same two instructions."""
    for at in range(state.findings):
        known = findings[at]
        if (
            known.kind == kind
            and known.order == order
            and _instruction(known.place) == _instruction(place)
            and _instruction(known.other) == _instruction(other)
        ):
            known.count += 1
            return
    if state.findings == MOST_FINDINGS:
        return
    new = findings[state.findings]
    state.findings += 1
    new.kind, new.order, new.place, new.other = kind, order, place, other
    new.block, new.other_block = state.block, other_block
    new.address, new.bytes, new.count = address, size, 1


@inner
def _join(warp, others, clocks):
    for at in range(MOST_WARPS):
        clocks[warp, at] = max(clocks[warp, at], others[at])


@inner
def _release(warp, others, clocks, state):
    """Let others know what a warp has done until now: what it does next is a new epoch."""
    for at in range(MOST_WARPS):
        others[at] = max(others[at], clocks[warp, at])
    clocks[warp, warp] += 1
    state.newest = max(state.newest, clocks[warp, warp])


@inner
def _begin_block(block, clocks, barriers, generations, sites, waiting, fenced, state):
    """Forget the block before: its epochs are older than any of this one's."""
    state.block = block
    state.base = state.newest + 1
    state.newest = state.base + 1
    state.acquired = 0
    for warp in range(MOST_WARPS):
        waiting[warp, 0] = -1
        fenced[warp] = state.base
        for other in range(MOST_WARPS):
            clocks[warp, other] = state.base
        clocks[warp, warp] = state.base + 1
    for barrier in range(BARRIERS):
        generations[barrier] = 0
        sites[barrier, 0] = -1
        for warp in range(MOST_WARPS):
            barriers[_ARRIVED, barrier, warp] = 0
            barriers[_RELEASED, barrier, warp] = 0


@inner
def _end_turn(clocks, barriers, generations, sites, waiting, findings, state):
    """A turn of a warp ends: if lanes wait, the warp arrives at their barrier."""
    if state.block < 0 or not state.pending or state.paused:
        return
    warp, barrier = state.warp, state.barrier
    _release(warp, barriers[_ARRIVED, barrier], clocks, state)
    place = state.waited_at << THREAD_BITS | warp * WARP_LANES
    waiting[warp, 0], waiting[warp, 1], waiting[warp, 2] = barrier, generations[barrier], place
    if state.site >= 0:
        if sites[barrier, 0] < 0:
            sites[barrier, 0], sites[barrier, 1] = state.site, place
        elif sites[barrier, 0] != state.site:
            _note(
                DIVERGENT_BARRIER,
                0,
                place,
                sites[barrier, 1],
                state.block,
                barrier,
                0,
                findings,
                state,
            )
    state.pending = 0


@inner
def _begin_turn(warp, clocks, barriers, generations, sites, waiting, state):
    """A warp goes on: what waited at a barrier has been released, and knows what others did."""
    state.warp = warp
    state.last_instruction = -1
    state.basic_block = -1
    state.pending, state.paused = 0, 0
    barrier = waiting[warp, 0]
    if barrier < 0:
        return
    if waiting[warp, 1] == generations[barrier]:
        generations[barrier] += 1
        sites[barrier, 0] = -1
        for at in range(MOST_WARPS):
            barriers[_RELEASED, barrier, at] = barriers[_ARRIVED, barrier, at]
            barriers[_ARRIVED, barrier, at] = 0
    _join(warp, barriers[_RELEASED, barrier], clocks)
    waiting[warp, 0] = -1


@inner
def _pass_events(until, blocks, events, clocks, barriers, fenced, fences, state):
    """Do what stands in the basic block before an instruction: fences and arrivals."""
    if state.basic_block < 0:
        return
    warp = state.warp
    end = blocks[state.basic_block].end_event
    while state.event < end and events[state.event].at < until:
        event = events[state.event]
        if event.kind == ARRIVAL:
            _release(warp, barriers[_ARRIVED, event.barrier], clocks, state)
        else:
            _meet(clocks, fenced, state)
            fences[state.block] += 1
        state.event += 1


@inner
def _meet(clocks, fenced, state):
    """Be ordered with all warps of the block that did the same before."""
    _join(state.warp, fenced, clocks)
    _release(state.warp, fenced, clocks, state)


@inner
def _leave_basic_block(blocks, findings, state):
    """The end of a basic block: its lanes may wait, or the turn ends."""
    if state.basic_block < 0:
        return
    block = blocks[state.basic_block]
    state.paused = block.end == PAUSES
    if block.end != WAITS:
        return
    mask = state.mask
    if state.pending and state.site >= 0 and block.site >= 0 and state.site != block.site:
        first = np.int64(lowest_bit(mask))
        thread = state.warp * WARP_LANES + first
        place = block.last << THREAD_BITS | thread
        other = state.waited_at << THREAD_BITS | state.warp * WARP_LANES
        _note(DIVERGENT_BARRIER, 0, place, other, state.block, block.barrier, 0, findings, state)
    state.pending |= mask
    state.barrier, state.site, state.waited_at = block.barrier, block.site, block.last


@inner
def _is_before(clock, place, clocks, state):
    """Whether an access to shared memory comes before what the warp does now."""
    warp = (place & THREAD_MASK) // WARP_LANES
    return clock <= clocks[state.warp, warp]


@inner
def _reader_beside(cell, effect, clocks, state):
    """The place of a read that a write is not ordered with; 0 where there is none."""
    for clock, reader in ((cell.read, cell.reader), (cell.read_too, cell.other_reader)):
        is_agreed = reader & AGREED_BIT and effect & AGREED
        if clock > state.base and not is_agreed and not _is_before(clock, reader, clocks, state):
            return reader
    return 0


@inner
def _access_shared(address, step, place, cells, clocks, findings, state):
    """An access of a lane to shared memory."""
    first = address >> state.shared_shift
    end = (address + step.bytes + (1 << state.shared_shift) - 1) >> state.shared_shift
    clock = clocks[state.warp, state.warp]
    block, effect, size = state.block, step.effect, step.bytes
    for at in range(first, end):
        cell = cells[at]
        was_written = cell.written > state.base
        if effect & READS and not was_written:
            _note(UNWRITTEN_SHARED, 0, place, place, block, address, size, findings, state)
        if was_written and not _is_before(cell.written, cell.writer, clocks, state):
            agreed = cell.writer & AGREED_BIT and effect & AGREED
            is_same = effect & SAME_VALUE and _instruction(cell.writer) == _instruction(place)
            if effect & WRITES and not agreed and not is_same:
                _note(
                    RACE_OF_WARPS,
                    WRITE_THEN_WRITE,
                    place,
                    cell.writer,
                    block,
                    address,
                    size,
                    findings,
                    state,
                )
            elif effect & READS and not effect & AGREED:
                _note(
                    RACE_OF_WARPS,
                    WRITE_THEN_READ,
                    place,
                    cell.writer,
                    block,
                    address,
                    size,
                    findings,
                    state,
                )
        if effect & WRITES:
            reader = _reader_beside(cell, effect, clocks, state)
            if reader:
                _note(
                    RACE_OF_WARPS,
                    READ_THEN_WRITE,
                    place,
                    reader,
                    block,
                    address,
                    size,
                    findings,
                    state,
                )
            cell.written = clock
            cell.writer = place | (AGREED_BIT if effect & AGREED else 0)
        elif effect & READS:
            agreed_bit = AGREED_BIT if effect & AGREED else 0
            _remember_reader(cell, clock, place | agreed_bit, state)


@inner
def _remember_reader(cell, clock, place, state):
    """Keep the last reads of two warps."""
    warp = state.warp
    is_same = cell.read <= state.base or (cell.reader & THREAD_MASK) // WARP_LANES == warp
    if is_same:
        cell.read, cell.reader = clock, place
    else:
        cell.read_too, cell.other_reader = cell.read, cell.reader
        cell.read, cell.reader = clock, place


@inner
def _region_of(address, regions, state):
    """The array that holds an address; -1 where none does."""
    known = regions[state.region]
    if known.start <= address < known.end:
        return state.region
    low, high = 0, len(regions)
    while low < high:
        middle = (low + high) >> 1
        if regions[middle].end <= address:
            low = middle + 1
        else:
            high = middle
    if low == len(regions) or address < regions[low].start:
        return -1
    state.region = low
    return low


@inner
def _look_at_written(address, step, place, region, written, findings, state):
    """Whether bytes that are read hold something; those that are written do from now on."""
    first = address - state.first_address
    if step.effect & READS and region.starts_empty:
        for at in range(first, first + step.bytes):
            if not (written[at >> 3] >> np.uint8(at & 7)) & 1:
                _note(
                    UNWRITTEN_GLOBAL,
                    0,
                    place,
                    place,
                    state.block,
                    address,
                    step.bytes,
                    findings,
                    state,
                )
                break
    if step.effect & WRITES and region.starts_empty:
        for at in range(first, first + step.bytes):
            written[at >> 3] |= np.uint8(1 << (at & 7))


@inner
def _are_ordered(other, passed, fences, state):
    """Whether an access of another block, after which it passed a fence, comes before this one."""
    return state.acquired and fences[other - 1] > passed


@inner
def _access_global(address, step, place, regions, cells, written, fences, findings, state):
    """An access of a lane to global memory."""
    number = _region_of(address, regions, state)
    if number < 0:
        return
    region = regions[number]
    _look_at_written(address, step, place, region, written, findings, state)
    if not state.checks_blocks:
        return
    effect, block, size = step.effect, state.block, step.bytes
    me = block + 1
    shift = state.global_shift
    first = region.first_cell + ((address - region.start) >> shift)
    end = region.first_cell + ((address - region.start + size + (1 << shift) - 1) >> shift)
    for at in range(first, end):
        cell = cells[at]
        writer = cell.writer
        if writer and writer != me and not _are_ordered(writer, cell.fences, fences, state):
            is_agreed = cell.write_place & AGREED_BIT
            is_same = effect & SAME_VALUE and _instruction(cell.write_place) == _instruction(place)
            if effect & WRITES and not is_same and not (is_agreed and effect & AGREED):
                _note(
                    RACE_OF_BLOCKS,
                    WRITE_THEN_WRITE,
                    place,
                    cell.write_place,
                    writer - 1,
                    address,
                    size,
                    findings,
                    state,
                )
            elif effect & READS and not effect & AGREED and not is_agreed:
                _note(
                    RACE_OF_BLOCKS,
                    WRITE_THEN_READ,
                    place,
                    cell.write_place,
                    writer - 1,
                    address,
                    size,
                    findings,
                    state,
                )
        if effect & WRITES and not effect & AGREED:
            other, other_place = cell.first_reader, cell.first_place
            if other == me:
                other, other_place = cell.last_reader, cell.last_place
            if other and other != me and not _are_ordered(other, 0, fences, state):
                _note(
                    RACE_OF_BLOCKS,
                    READ_THEN_WRITE,
                    place,
                    other_place,
                    other - 1,
                    address,
                    size,
                    findings,
                    state,
                )
        if state.together and state.acquired and not effect & AGREED:
            # What blocks that are seen later did before they met may come before it.
            continue
        if effect & WRITES:
            cell.writer = me
            cell.write_place = place | (AGREED_BIT if effect & AGREED else 0)
            cell.fences = fences[block]
        elif effect & READS and not effect & AGREED:
            if not cell.first_reader:
                cell.first_reader, cell.first_place = me, place
            cell.last_reader, cell.last_place = me, place


@inner
def _step_of(ident, address, instructions, steps, state):
    """The access of an instruction that a record is of: they follow each other, but those that no
    lane makes leave no record."""
    instruction = instructions[ident]
    if not instruction.steps:
        return -1
    if ident != state.last_instruction:
        state.cursor = 0
    state.last_instruction = ident
    is_global = address >= state.first_address
    for tried in range(instruction.steps):
        at = (state.cursor + tried) % instruction.steps
        space = steps[instruction.first_step + at].space
        if space == GENERIC or (space == GLOBAL) == is_global:
            state.cursor = at + 1
            return instruction.first_step + at
    return -1


@inner
def _list_lanes(kind, words, at, lanes):
    """Write the addresses of all lanes of a record, as `trace` says they stand in it."""
    if kind in (_AFFINE, _HALVES):
        stride = words[at + 2]
        start, second = words[at + 1], words[at + 1] + HALF_WARP_LANES * stride
        if kind == _HALVES:
            second = words[at + 3]
        for lane in range(HALF_WARP_LANES):
            lanes[lane] = start + lane * stride
            lanes[HALF_WARP_LANES + lane] = second + lane * stride
        return 4 if kind == _HALVES else 3
    for lane in range(WARP_LANES):
        lanes[lane] = words[at + 1 + lane]
    return 1 + WARP_LANES


@compiled(
    None,
    array(np.int64),
    array(layout.INSTRUCTION),
    array(layout.STEP),
    array(layout.BLOCK),
    array(layout.EVENT),
    array(layout.REGION),
    array(layout.SHARED_CELL),
    array(layout.GLOBAL_CELL),
    array(np.uint8),
    array(np.int32),
    array(np.int64, 2),
    array(np.int64, 3),
    array(np.int64),
    array(np.int64, 2),
    array(np.int64, 2),
    array(np.int64),
    array(np.int64),
    array(layout.FINDING),
    array(layout.STATE),
)
def check_records(
    words,
    instructions,
    steps,
    blocks,
    events,
    regions,
    shared,
    cells,
    written,
    fences,
    clocks,
    barriers,
    generations,
    sites,
    waiting,
    fenced,
    lanes,
    findings,
    states,
):
    """Look at the records of a stream, and note what is wrong in `findings`.

    `fences` counts those that each block of the grid has passed. `barriers` holds the clocks of
    those who arrived at each barrier and of those last released, `sites` where they wait, `waiting`
    at which barrier each warp does, in which of its generations.
    """
    state = states[0]
    at = 0
    while at < len(words):
        header = words[at]
        kind = (header >> KIND_SHIFT) & 0xFF
        ident = (header >> ID_SHIFT) & ID_MASK
        if kind == _WARP:
            _pass_events(np.int64(1) << 40, blocks, events, clocks, barriers, fenced, fences, state)
            _leave_basic_block(blocks, findings, state)
            _end_turn(clocks, barriers, generations, sites, waiting, findings, state)
            if words[at + 1] != state.block:
                _begin_block(
                    words[at + 1], clocks, barriers, generations, sites, waiting, fenced, state
                )
            _begin_turn(ident, clocks, barriers, generations, sites, waiting, state)
            at += 2
            continue
        mask = header & FULL_MASK
        if kind == _BLOCK:
            _pass_events(np.int64(1) << 40, blocks, events, clocks, barriers, fenced, fences, state)
            _leave_basic_block(blocks, findings, state)
            state.pending &= ~mask
            state.mask, state.basic_block = mask, ident
            state.event = blocks[ident].first_event
            state.last_instruction = -1
            at += 1
            continue
        if kind == _VALUES:
            at += 2
            continue
        at += _list_lanes(kind, words, at, lanes)
        _pass_events(ident, blocks, events, clocks, barriers, fenced, fences, state)
        rest = mask
        if not rest:
            continue
        number = _step_of(ident, lanes[np.int64(lowest_bit(rest))], instructions, steps, state)
        if number < 0:
            continue
        step = steps[number]
        if step.effect & SYNCHRONISES:
            _meet(clocks, fenced, state)
            continue
        while rest:
            lane = np.int64(lowest_bit(rest))
            rest &= rest - 1
            address = lanes[lane]
            place = ident << THREAD_BITS | state.warp * WARP_LANES + lane
            space = step.space
            if space == GENERIC:
                space = ELSEWHERE
                if address >= state.first_address:
                    space = GLOBAL
                elif 0 <= address - state.shared_window < state.window_bytes:
                    space, address = SHARED, address - state.shared_window
            if space == SHARED and state.checks_shared:
                _access_shared(address, step, place, shared, clocks, findings, state)
            elif space == GLOBAL:
                if step.effect & AGREED:
                    state.acquired = 1
                _access_global(
                    address, step, place, regions, cells, written, fences, findings, state
                )
