# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""A request to memory: its way through the SM and its share of the chip, compiled.

Every stage serves one request after the other, and is known by the cycle from which it is free: the
addresses of a scheduler's requests, the load/store unit of the SM, its banks of tags and data, the
way to the L2 cache, and the DRAM. Latencies are those of an idle machine, to which the waits for
these stages add.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.hierarchy.caches.l1 import load_l1, store_l1
from kernelcast.hierarchy.caches.layout import ALLOCATES_L1, ASKS_L1, IS_LOCAL, LOCAL_BIT
from kernelcast.ir.sizes import SECTOR_BYTES, WORD_BYTES
from kernelcast.profiling.layout import GLOBAL, LINE_BYTES, LINE_SECTORS, LOCAL, SHARED
from kernelcast.profiling.loops import HASH_FACTOR, inlined, inner, popcount
from kernelcast.simulation.layout import (
    ARRIVE,
    ATOMIC,
    COPY,
    IN_FLIGHT,
    LOAD,
    MEMORY_QUEUE,
    STORE,
    SYNCHRONISE,
)
from kernelcast.simulation.streams import (
    IDEAL_MASK,
    IDEAL_SHIFT,
    LANES_MASK,
    LANES_SHIFT,
    LINE_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
    MOVED_MASK,
    MOVED_SHIFT,
    PASSES_MASK,
    PASSES_SHIFT,
    SECTORS_MASK,
    SECTORS_SHIFT,
    SPACE_MASK,
    SPACE_SHIFT,
    TAGS_MASK,
    TAGS_SHIFT,
)

_DRAM, _L1 = range(2)
_SECTOR_BYTES = 32.0
_LINE_SECTORS = float(LINE_SECTORS)
_LINE_BITS = (1 << LOCAL_BIT) - 1
_FLIGHT_SHIFT = 64 - IN_FLIGHT.bit_length() + 1
_SETTLING = 4096.0
"""Cycles until the load on the DRAM is what it has been so far."""
_MOST_USED = 0.97
"""Of its throughput, where what follows waits for what came before in any case."""
_SIDE_SHIFT = 5
"""Two to this many lines, 4 KiB, lie in one partition of the L2 cache."""
_SM_BITS = 16
_DRAWN_BITS = 32
_WAITS = 1 << 40
"""Sets what is drawn for waits apart from what is for latencies."""
_UNIFORM_WIDTH = 12.0**0.5
"""Of an interval, in standard deviations of what is anywhere in it."""


class MemoryStages(NamedTuple):
    """When the stages of all SMs are free; the last columns of the queues are their places."""

    pipes: Any  # by SM, scheduler and pipe
    queues: Any  # by SM, scheduler: when each entry is free
    queue_at: Any
    addresses: Any  # by SM and scheduler
    lsu: Any  # by group of SMs
    data: Any  # by SM
    misses: Any  # by group of SMs: when each miss register is free
    miss_at: Any
    flying: Any  # by SM and hash: what was asked for last
    fills: Any  # by SM, in a ring: what is yet to take its place in the L1 cache
    fills_at: Any  # by SM: the first of these, and how many there are
    channels: Any  # by channel of the DRAM, where writes wait for theirs, too
    reading: Any  # by channel, where they do not: the L2 cache keeps them
    leaving: Any  # by SM: when it has sent what it stores, and asked for what its L1 cache lacks
    stored: Any  # by SM and place of its store buffer: the line there, and its sectors
    pages: Any  # of global memory: when each is in the TLB, -1 where it is not
    translated: Any  # those that are there, in the order in which they came, -1 for none
    owed: Any  # by row: sectors that the DRAM and the L2 cache are yet to be asked for
    rows: Any
    fetched: Any  # instructions
    constants: Any
    l1: Any
    system: Any


@inlined
def _enter_banks(
    sm,
    scheduler,
    now,
    address_cycles,
    unit_cycles,
    bank_cycles,
    held_cycles,
    is_near,
    stages,
    hardware,
):
    """A request gets its addresses, and then the banks; returns from when on it has either.

    The next one of the scheduler gets its addresses when this one has the banks, and until then
    it holds its place in the queue. Where the way to memory is apart, those that are not near go
    there past the banks, and the others stay in the SM.
    """
    start = max(np.float64(now), stages.addresses[sm, scheduler])
    begun = start
    if not (hardware.memory_apart and is_near):
        group = sm // hardware.memory_group
        begun = max(start, stages.lsu[group])
        stages.lsu[group] = begun + unit_cycles
    if not hardware.memory_apart or is_near:
        begun = max(begun, stages.data[sm])
        stages.data[sm] = begun + bank_cycles
    stages.addresses[sm, scheduler] = max(start + address_cycles, begun)
    place = stages.queue_at[sm, scheduler]
    stages.queues[sm, scheduler, place] = max(start + held_cycles, begun)
    place = place + 1 if place + 1 < hardware.queue else 0
    stages.queue_at[sm, scheduler] = place
    stages.pipes[sm, scheduler, MEMORY_QUEUE] = stages.queues[sm, scheduler, place]
    return start, begun


@inlined
def _look_up(at, cycles, clock):
    """The slices of the L2 cache take one request after the other; returns from when on."""
    begins = max(at, clock.l2_slices_free)
    clock.l2_slices_free = begins + cycles
    clock.l2_slices_busy += cycles
    return begins


@inlined
def cross(at, sectors, clock, hardware):
    """Sectors of a line go from the L2 cache to the SM; returns from when on."""
    moved = _SECTOR_BYTES * max(sectors, hardware.least_sectors) / hardware.l2_rate
    moved = max(moved, hardware.l2_request_cycles)
    begins = max(_look_up(at, hardware.l2_request_cycles, clock), clock.l2_free)
    clock.l2_free = begins + moved
    clock.l2_busy += moved
    return begins


@inlined
def _send(at, sectors, first, clock, hardware):
    """Sectors of a line go from the SM to the L2 cache; returns from when on.

    The first of them takes the way `first` cycles.
    """
    if hardware.l2_write_first == 0.0:
        return cross(at, sectors, clock, hardware)
    further = max(sectors, hardware.least_sectors) - 1.0
    moved = first + further * hardware.l2_write_cycles
    if hardware.l2_write_shared:
        begins = max(_look_up(at, hardware.l2_change_cycles, clock), clock.l2_free)
        clock.l2_free = begins + moved
        clock.l2_busy += moved
        return begins
    begins = max(_look_up(at, hardware.l2_change_cycles, clock), clock.l2_write_free)
    clock.l2_write_free = begins + moved
    clock.l2_write_busy += moved
    return begins


@inlined
def _line_cycles(hardware):
    """Cycles of the way to the L2 cache for a whole line."""
    return hardware.l2_write_first + (_LINE_SECTORS - 1.0) * hardware.l2_write_cycles


@inlined
def _owe_l1(row_number, share, sectors, stages):
    """Of some sectors, those that an L1 cache lacks; what is left is owed."""
    owed = stages.owed[np.uint64(row_number), _L1] + share * sectors
    due = np.floor(owed + 1e-9)
    stages.owed[np.uint64(row_number), _L1] = owed - due
    return due


@inlined
def _owe(word, row_number, stages):
    """Note what the DRAM is to move for a line that was asked for."""
    row = stages.rows[np.uint64(row_number)]
    noted = word >> MOVED_SHIFT & MOVED_MASK
    owed = row.dram_noted * (noted - 1)
    if noted == 0:
        owed = row.dram * popcount(word >> SECTORS_SHIFT & SECTORS_MASK)
    stages.owed[np.uint64(row_number), _DRAM] += owed


@inlined
def _hold_back(sm, latest, stages, hardware):
    """What cannot leave the SM keeps what comes after it from doing so, until `latest`."""
    if hardware.memory_apart:
        group = sm // hardware.memory_group
        stages.lsu[group] = max(stages.lsu[group], latest)
    else:
        stages.data[sm] = max(stages.data[sm], latest)


@inlined
def _registers_of(sectors, hardware):
    """Miss registers that a line takes: one, or where sectors are counted one for each."""
    return popcount(sectors) if hardware.in_flight else np.int64(1)


@inlined
def _registers_free(group, count, stages, hardware):
    """From when on so many miss registers are free."""
    last = stages.miss_at[group] + count - 1
    size = hardware.miss_registers
    return stages.misses[group, np.uint64(last if last < size else last - size)]


@inlined
def _take_registers(group, count, until, stages, hardware):
    """Take so many miss registers."""
    place = stages.miss_at[group]
    for _ in range(count):
        stages.misses[group, np.uint64(place)] = until
        place = place + 1 if place + 1 < hardware.miss_registers else 0
    stages.miss_at[group] = place


@inlined
def _channel_of(line, hardware):
    """The channel of the DRAM that a line lies in."""
    return np.uint64((line >> hardware.channel_shift) % hardware.channels)


@inlined
def _read_channel(line, taken, stages, clock, hardware):
    """When the channel of the DRAM that a line lies in, by a hash of its address, can read it.

    What comes late, by a way that others wait for, leaves the channel to those before.
    """
    chunk = np.uint64((line >> hardware.channel_shift) * HASH_FACTOR) >> np.uint64(_DRAWN_BITS)
    channel = np.uint64(np.int64(chunk) % hardware.reading_channels)
    free = max(np.float64(clock.now), stages.reading[channel])
    stages.reading[channel] = free + taken * hardware.reading_channels
    return free


@inlined
def _drawn(place, sm):
    """A number from 0 to 1 that a place in memory has, seen from an SM."""
    key = np.uint64((place << _SM_BITS | sm) * HASH_FACTOR)
    key ^= key >> np.uint64(_DRAWN_BITS)
    key = np.uint64(np.int64(key) * HASH_FACTOR)
    return (np.float64(key >> np.uint64(_DRAWN_BITS)) + 0.5) * 2.0**-_DRAWN_BITS


@inlined
def _exponential(place, sm):
    """The same with the exponential distribution whose mean is 1."""
    return -np.log(_drawn(place, sm))


@inlined
def _move_owed(row_number, line, sm, at, is_write, stages, clock, hardware):
    """Let a line's channel of the DRAM move what is owed, in whole sectors.

    Returns from when on, or -1 for none. What it does for other SMs meanwhile is part of the wait.
    """
    due = np.floor(stages.owed[np.uint64(row_number), _DRAM] + 1e-9)
    if due < 1.0:
        return -1.0
    stages.owed[np.uint64(row_number), _DRAM] -= due
    taken = due * stages.rows[np.uint64(row_number)].dram_cycles
    channel = _channel_of(line, hardware)
    begins = max(at, stages.channels[channel])
    stages.channels[channel] = begins + taken * hardware.channels
    if hardware.reading_channels and not is_write:
        begins = max(begins, _read_channel(line, taken, stages, clock, hardware))
    clock.dram_busy += taken
    if is_write:
        clock.dram_writing += taken
    wait = _contended(begins, is_write, clock, hardware)
    if hardware.dram_spread > 0.0:
        wait *= _exponential(line >> _SIDE_SHIFT | _WAITS, sm)
    return begins + wait


@inlined
def _contended(now, is_write, clock, hardware):
    """How long an access waits at the DRAM on average, among those of SMs that are not simulated.

    V. Volkov 2016, section 6.4: at the share u of its throughput, latency grows by b u/(1 - u).
    Where it writes for the share p of the time, that of a load grows by v p as well
    (`models.terms.latency`), since the DRAM has to turn about; and so does that of a store where it
    reads for the share p.
    """
    used = min(_MOST_USED, clock.dram_busy / (now + _SETTLING))
    turned = clock.dram_writing
    if is_write:
        turned = clock.dram_busy - clock.dram_writing
    wait = hardware.dram_write_wait * turned / (now + _SETTLING)
    return hardware.dram_contention * used / (1.0 - used) + wait


@inlined
def _l2_latency(line, far, sm, hardware):
    """Cycles to a line in the L2 cache: its slice is near to the SM or far, by some cycles.

    Of the lines in the far partition the share `far` is not copied to the near one.
    """
    pair = line >> (_SIDE_SHIFT + 1)
    is_far = (line >> _SIDE_SHIFT ^ popcount(pair) ^ sm) & 1
    is_far &= far >= 1.0 or _drawn(~line, sm) < far
    off = (_drawn(line, sm) - 0.5) * _UNIFORM_WIDTH * hardware.l2_spread
    return (hardware.l2_far_latency if is_far else hardware.l2_latency) + off


@inlined
def _dram_latency(line, sm, hardware):
    """Cycles to a line in the DRAM.

    Latencies are spread exponentially beyond a least one (`models.terms.latency`), but alike for
    lines of 4 KiB, which share a side of the chip and a channel: on an H100, 32 lines of those take
    74 cycles longer than one, and 32 lines that lie apart 298.
    """
    if hardware.dram_spread == 0.0:
        return hardware.dram_latency
    beyond = _exponential(line >> _SIDE_SHIFT, sm) - 1.0
    return hardware.dram_latency + hardware.dram_spread * beyond


@inner
def _translated(line, at, stages, clock, hardware):
    """How long a request that leaves the SM waits for the address of its line.

    A page that comes takes the place of the one that came first. As a launch begins, the TLB has
    whatever it touches first.
    """
    page = np.uint64((line & _LINE_BITS) >> hardware.tlb_shift)
    there = stages.pages[page]
    if there >= 0.0:
        return max(0.0, there - at)
    place = np.uint64(clock.pages_missed % hardware.tlb_entries)
    left = stages.translated[place]
    stages.translated[place] = np.int64(page)
    clock.pages_missed += 1
    if left < 0:
        stages.pages[page] = 0.0
        return 0.0
    stages.pages[np.uint64(left)] = -1.0
    stages.pages[page] = at + hardware.tlb_miss
    return hardware.tlb_miss


@inlined
def _translation(line, at, stages, clock, hardware):
    """The same for any line: those of a warp's own memory are always known."""
    if hardware.tlb_entries == 0 or line >> LOCAL_BIT:
        return 0.0
    return _translated(line, at, stages, clock, hardware)


@inlined
def _fetch(line, missing, row_number, sm, at, is_change, stages, clock, hardware):
    """A line's sectors come from beyond the SM, or are changed there; returns when that is done."""
    group, count = sm // hardware.memory_group, _registers_of(missing, hardware)
    at = max(at, _registers_free(group, count, stages, hardware))
    if hardware.miss_cycles > 0.0 and not is_change:
        at = max(at, stages.leaving[sm])
        stages.leaving[sm] = at + hardware.miss_cycles
    if is_change:
        first = _line_cycles(hardware) / _LINE_SECTORS
        begins = _send(at, np.float64(popcount(missing)), first, clock, hardware)
    else:
        begins = cross(at, np.float64(popcount(missing)), clock, hardware)
    far = 1.0 if is_change else stages.rows[np.uint64(row_number)].far
    arrives = begins + _l2_latency(line, far, sm, hardware)
    from_dram = _move_owed(row_number, line, sm, begins, False, stages, clock, hardware)
    if from_dram >= 0.0:
        arrives = from_dram + _dram_latency(line, sm, hardware)
    arrives += _translation(line, at, stages, clock, hardware)
    _take_registers(group, count, arrives, stages, hardware)
    return at, arrives


@inlined
def _line_of(word, local):
    """The number by which caches know a line; that of a warp's own memory begins at `local`."""
    line = word >> LINE_SHIFT
    if local >= 0:
        return line + local & _LINE_BITS | 1 << LOCAL_BIT
    return line & _LINE_BITS


@inlined
def _flight_of(line):
    return np.uint64(line * HASH_FACTOR) >> np.uint64(_FLIGHT_SHIFT)


@inlined
def _awaited(flight, at, hardware):
    """When a load has what another one asked for, which it reads from the L1 cache afterwards.

    Stencils by small blocks on an A100 and a V100, three and five of whose loads want one line,
    take as much longer than a copy.
    """
    return flight.arrives + hardware.l1_latency if flight.arrives > at else at


@inlined
def _arrival(line, sm, at, stages, hardware):
    """When a line is there that was asked for."""
    flight = stages.flying[sm, _flight_of(line)]
    return _awaited(flight, at, hardware) if flight.line == line else at


@inlined
def _take_off(line, sectors, rule, sm, arrives, stages, hardware):
    """Note that sectors of a line are on their way."""
    if hardware.fills_late:
        if not (rule & ASKS_L1 and rule & ALLOCATES_L1):
            return
        count = stages.fills_at[sm, 1]
        fill = stages.fills[sm, np.uint64((stages.fills_at[sm, 0] + count) % IN_FLIGHT)]
        fill.line, fill.sectors, fill.rule, fill.arrives = line, sectors, rule, arrives
        stages.fills_at[sm, 1] = count + 1
    flight = stages.flying[sm, _flight_of(line)]
    if flight.line != line:
        flight.line, flight.sectors = line, 0
    flight.sectors |= sectors
    flight.arrives = arrives


@inner
def _land(sm, now, stages):
    """What has come takes its place in the L1 cache of an SM, in the order of the requests."""
    first, count = stages.fills_at[sm, 0], stages.fills_at[sm, 1]
    while count > 0:
        fill = stages.fills[sm, np.uint64(first)]
        if fill.arrives > now and count < IN_FLIGHT:
            break
        load_l1(fill.line, fill.sectors, sm, fill.rule, stages.l1, stages.system)
        flight = stages.flying[sm, _flight_of(fill.line)]
        if flight.line == fill.line and flight.arrives == fill.arrives:
            flight.line = -1
        first, count = (first + 1) % IN_FLIGHT, count - 1
    stages.fills_at[sm, 0], stages.fills_at[sm, 1] = first, count


@inlined
def _look_up_l1(line, sectors, rule, sm, at, stages, hardware):
    """Sectors to be asked for, and when the others are there.

    Where a line takes its place when it comes, what is on its way leaves those in the cache that it
    will replace.
    """
    if not hardware.fills_late:
        missing, _, _ = load_l1(line, sectors, sm, rule, stages.l1, stages.system)
        return missing, at if missing else _arrival(line, sm, at, stages, hardware)
    _land(sm, at, stages)
    kept = rule & ~ALLOCATES_L1
    missing, _, _ = load_l1(line, sectors, sm, kept, stages.l1, stages.system)
    flight = stages.flying[sm, _flight_of(line)]
    if missing and flight.line == line and missing & flight.sectors:
        return missing & ~flight.sectors, _awaited(flight, at, hardware)
    return missing, at


@inlined
def _fill(missing, sm, stages, clock, hardware):
    """What comes for a load is written through the banks that it is read through, as fast.

    Products of tiles on an H100, whose banks and slices are both busy, take 0.96 of the measured
    time with it, and 0.86 without.
    """
    if hardware.fills_banks:
        cycles = np.float64(popcount(missing)) * _SECTOR_BYTES / hardware.l1_rate
        stages.data[sm] += cycles
        clock.l1_busy += cycles


@inlined
def _load_line(word, is_copy, row_number, sm, local, at, stages, clock, hardware):
    """One line of a load; returns when the SM could ask for it, and when it is there."""
    row = stages.rows[np.uint64(row_number)]
    line, sectors = _line_of(word, local), word >> SECTORS_SHIFT & SECTORS_MASK
    missing, there = sectors, at
    _owe(word, row_number, stages)
    if row.rule & ASKS_L1 and hardware.has_l1:
        missing, there = _look_up_l1(line, sectors, row.rule, sm, at, stages, hardware)
        clock.l1_sectors += popcount(sectors)
        clock.l1_hits += popcount(sectors & ~missing)
    elif row.l1_miss < 1.0:
        asked = _owe_l1(row_number, row.l1_miss, np.float64(popcount(sectors)), stages)
        missing = (np.int64(1) << np.int64(asked)) - 1
        there = _arrival(line, sm, at, stages, hardware)
    if not missing:
        return at, there
    begins, arrives = _fetch(line, missing, row_number, sm, at, False, stages, clock, hardware)
    _take_off(line, missing, row.rule, sm, arrives, stages, hardware)
    if not is_copy:  # what a copy brings is written once, which is all that its passes are
        _fill(missing, sm, stages, clock, hardware)
    return begins, max(there, arrives)


@inlined
def _load(word, at, words, is_copy, row_number, sm, local, begun, cycles, stages, clock, hardware):
    """The lines of a load whose banks have `begun`; returns when all is there."""
    done = begun + hardware.l1_latency + cycles - 1.0
    latest = begun
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        line = words[np.uint64(at + i)]
        begins, there = _load_line(
            line, is_copy, row_number, sm, local, begun, stages, clock, hardware
        )
        latest = max(latest, begins)
        done = max(done, there)
    _hold_back(sm, latest, stages, hardware)
    return done


@inlined
def _store_line(word, row_number, sm, local, at, stages, clock, hardware):
    """One line of a store; returns when it could leave the SM, and when it has arrived."""
    row = stages.rows[np.uint64(row_number)]
    sectors = word >> SECTORS_SHIFT & SECTORS_MASK
    if hardware.has_l1:
        store_l1(_line_of(word, local), sectors, sm, row.rule, stages.l1, stages.system)
    channel = _channel_of(word >> LINE_SHIFT, hardware)
    at = max(at, stages.channels[channel] - hardware.most_dram_wait)
    begins = _send(at, np.float64(popcount(sectors)), hardware.l2_write_first, clock, hardware)
    _owe(word, row_number, stages)
    line = word >> LINE_SHIFT
    moved = _move_owed(row_number, line, sm, begins, True, stages, clock, hardware)
    done = max(begins, moved - hardware.most_dram_wait) + hardware.l2_latency
    if not row.rule & IS_LOCAL:
        done += _translation(line & _LINE_BITS, at, stages, clock, hardware)
    return at, done


@inlined
def _not_joined(told, line, count, sm, stages, hardware):
    """Of the sectors of a line, those that the store buffer lacks, and whether it has the line.

    A store to more lines than it has finds none of them there.
    """
    sectors = told >> SECTORS_SHIFT & SECTORS_MASK
    if count > hardware.store_lines:
        return sectors, False
    place = line % hardware.store_lines
    if stages.stored[sm, place, 0] != line:
        stages.stored[sm, place, 0] = line
        stages.stored[sm, place, 1] = sectors
        return sectors, False
    lacks = sectors & ~stages.stored[sm, place, 1]
    stages.stored[sm, place, 1] |= sectors
    return lacks, True


@inlined
def _sent(sectors, is_joined, is_whole, is_narrow, hardware):
    """Cycles in which an SM sends sectors of a line."""
    if is_whole and hardware.store_whole > 0.0:
        return hardware.store_whole
    if is_joined:
        first = hardware.store_further
    elif is_narrow:
        first = hardware.store_narrow
    else:
        first = hardware.store_first
    return first + (np.float64(popcount(sectors)) - 1.0) * hardware.store_further


@inlined
def _leaves_words_in_part(word, at, words, width):
    """Whether words of four bytes are written in part: the lanes' are narrower, and do not make up
    whole sectors."""
    if width >= WORD_BYTES:
        return False
    sectors = np.int64(0)
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        sectors += popcount(words[np.uint64(at + i)] >> SECTORS_SHIFT & SECTORS_MASK)
    return (word >> LANES_SHIFT & LANES_MASK) * width < sectors * SECTOR_BYTES


@inlined
def _store(word, at, words, row_number, sm, local, begun, cycles, width, stages, clock, hardware):
    """The lines of a store whose banks have `begun`; returns when all have arrived.

    The banks wait until the SM can send the first of them: while it sends, they serve loads, as on
    an H100, where a store and a load of the same 32 lines take 67 cycles together, and alone 63 and
    32. That the L2 cache takes what many SMs send more slowly holds none of them up: as if it did,
    transpositions on an H100 take 1.25 of their time. `width` are the bytes of a lane.
    """
    first = max(begun, stages.leaving[sm])
    done, latest, sent = begun, first, first
    lines = word >> LINES_SHIFT & LINES_MASK
    are_whole = (word >> LANES_SHIFT & LANES_MASK) * width >= lines * LINE_BYTES
    is_narrow = _leaves_words_in_part(word, at, words, width)
    for i in range(lines):
        told = words[np.uint64(at + i)]
        line = _line_of(told, local)
        sectors, is_joined = _not_joined(told, line, lines, sm, stages, hardware)
        if sectors == 0:
            continue
        left = told & ~(np.int64(SECTORS_MASK) << SECTORS_SHIFT) | sectors << SECTORS_SHIFT
        begins, there = _store_line(left, row_number, sm, local, sent, stages, clock, hardware)
        latest = max(latest, begins)
        done = max(done, there)
        sent += _sent(sectors, is_joined, are_whole and not is_joined, is_narrow, hardware)
    stages.leaving[sm] = sent
    _hold_back(sm, latest, stages, hardware)
    clock.l1_busy += max(0.0, sent - first - cycles)
    return done


@inlined
def _take_slices(word, gives_back, clock, hardware):
    """What an atomic takes of the slices of the L2 cache beyond what a store of its lines does.

    It asks for a line once for each lane on one word, and what it gives back may pass two slices.
    """
    rounds, lines = word >> TAGS_SHIFT & TAGS_MASK, word >> LINES_SHIFT & LINES_MASK
    taken = 2.0 * max(0.0, np.float64(rounds - lines)) * hardware.l2_request_cycles
    if gives_back:
        taken += np.float64(lines) * (hardware.l2_change_cycles - hardware.l2_request_cycles)
    clock.l2_slices_free += taken
    clock.l2_slices_busy += taken


@inlined
def _change(word, at, words, row_number, sm, begun, cycles, stages, clock, hardware):
    """An atomic on global memory, carried out by the L2 cache; returns when its results are there.

    The SM sends a line after the other, for which its banks wait. Lanes that want one word follow
    each other, in turns of the L2 cache's slices; and so do all of the chip on the slice that is
    busiest.
    """
    row = stages.rows[np.uint64(row_number)]
    done, latest, sent = begun, begun, begun
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        told = words[np.uint64(at + i)]
        line, sectors = _line_of(told, np.int64(-1)), told >> SECTORS_SHIFT & SECTORS_MASK
        _owe(told, row_number, stages)
        begins, there = _fetch(line, sectors, row_number, sm, sent, True, stages, clock, hardware)
        latest = max(latest, begins)
        done = max(done, there)
        sent += hardware.atomic_line
    turns = np.float64(word >> PASSES_SHIFT & PASSES_MASK)
    _take_slices(word, row.gives_back, clock, hardware)
    if row.in_turn_cycles > 0.0:
        starts = max(latest, clock.atomics_free)
        clock.atomics_free = starts + turns * row.in_turn_cycles
        done = max(done, clock.atomics_free + hardware.l2_latency)
        latest = max(latest, starts - hardware.most_dram_wait)
    _hold_back(sm, max(latest, sent), stages, hardware)
    clock.l1_busy += max(0.0, sent - begun - cycles)
    return done


@inlined
def _turns(code, word, hardware):
    """Turns of a bank that an atomic on shared memory takes."""
    passes = np.float64(word >> PASSES_SHIFT & PASSES_MASK)
    return passes * hardware.swap_turns if code.swap else passes


@inlined
def _bank_cycles(code, word, space, hardware):
    """Cycles that the banks of the SM are busy with a request."""
    passes = np.float64(word >> PASSES_SHIFT & PASSES_MASK)
    if space == SHARED:
        if code.kind == ATOMIC:
            return _turns(code, word, hardware) * hardware.shared_atomic_cycles
        return passes * hardware.pass_cycles
    lanes = np.float64(word >> LANES_SHIFT & LANES_MASK)
    moved = lanes * code.bytes / hardware.l1_rate
    if code.kind in (LOAD, COPY):
        tags = np.float64(word >> TAGS_SHIFT & TAGS_MASK)
        in_banks = min(passes * hardware.pass_cycles, max(passes, lanes))
        return max(1.0, max(tags * hardware.tag_cycles, max(in_banks, moved)))
    return max(1.0, moved)


@inner
def request_memory(code, word, at, words, sm, scheduler, local, now, stages, clock, hardware):
    """Carry a request out; `at` is where the words of its lines begin.

    Returns when its result is there (of a store, when it has arrived), and when the addresses and
    what it stores have been read.
    """
    space = word >> SPACE_SHIFT & SPACE_MASK
    row_number = code.row + space if code.is_generic else code.row
    is_shared = space == SHARED
    address_cycles = hardware.shared_address_cycles if is_shared else hardware.address_cycles
    held = code.sources_cycles + 1.0
    cycles = _bank_cycles(code, word, space, hardware)
    is_near = space not in (GLOBAL, LOCAL)
    start, begun = _enter_banks(
        sm,
        scheduler,
        now,
        address_cycles,
        hardware.lsu_cycles,
        cycles,
        held,
        is_near,
        stages,
        hardware,
    )
    read = start + code.sources_cycles
    if is_near:
        clock.shared_busy += cycles
        least = max(1.0, np.float64(word >> IDEAL_SHIFT & IDEAL_MASK)) * hardware.pass_cycles
        each = hardware.conflict_cycles
        if code.computing > 0.0:
            each = hardware.operand_conflict_cycles
        further = (cycles - least) / hardware.pass_cycles * each
        if code.kind == ATOMIC:
            turns = _turns(code, word, hardware)
            further = max(0.0, turns - 1.0) * hardware.atomic_conflict_cycles
            return begun + hardware.atomic_shared_latency + further, read
        return begun + hardware.shared_latency + max(0.0, further), read
    clock.l1_busy += cycles
    place = local if space == LOCAL else np.int64(-1)
    if code.kind == ATOMIC:
        done = _change(word, at, words, row_number, sm, begun, cycles, stages, clock, hardware)
        return done, read
    if code.kind == STORE:
        width = code.bytes
        return _store(
            word, at, words, row_number, sm, place, begun, cycles, width, stages, clock, hardware
        ), read
    is_copy = code.kind == COPY
    return _load(
        word, at, words, is_copy, row_number, sm, place, begun, cycles, stages, clock, hardware
    ), read


@inlined
def pass_by(code, sm, scheduler, now, stages, hardware):
    """What asks for nothing takes its turn in the load/store unit all the same.

    An instruction that no lane acts on: on an H100 the profiler counts it there, 7.60 M for a
    prefix sum of 7.34 M memory instructions, of which 7.11 M have a lane, and 0.26 M others. And a
    barrier, for one cycle, as no lane goes with it: on an RTX 3080, whose unit takes half a warp
    at a time, two prefix sums of HeCBench, a Haar transform and a radix sort come out at 0.89,
    0.99, 1.04 and 1.07 of their times so, at 0.79 and 0.80 (the sums) if it took none, and at 0.98,
    1.14, 1.24 and 1.14 if it took two.
    """
    held, address_cycles = code.sources_cycles + 1.0, hardware.shared_address_cycles
    cycles = hardware.lsu_cycles
    if code.kind in (SYNCHRONISE, ARRIVE):
        cycles = min(cycles, 1.0)
    _enter_banks(sm, scheduler, now, address_cycles, cycles, 0.0, held, True, stages, hardware)


@inlined
def shuffle_lanes(code, sm, scheduler, now, stages, hardware):
    """Lanes exchange values through the banks of the SM; returns when that begins."""
    held = code.sources_cycles + 1.0
    address_cycles = hardware.shared_address_cycles
    _, begun = _enter_banks(
        sm,
        scheduler,
        now,
        address_cycles,
        hardware.lsu_cycles,
        hardware.pass_cycles,
        held,
        True,
        stages,
        hardware,
    )
    return begun
