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
from kernelcast.hierarchy.caches.layout import ASKS_L1, LOCAL_BIT
from kernelcast.profiling.layout import GLOBAL, LOCAL, SHARED
from kernelcast.profiling.loops import HASH_FACTOR, inlined, inner, popcount
from kernelcast.simulation.layout import ATOMIC, COPY, IN_FLIGHT, LOAD, MEMORY_QUEUE, STORE
from kernelcast.simulation.streams import (
    IDEAL_MASK,
    IDEAL_SHIFT,
    LANES_MASK,
    LANES_SHIFT,
    LINE_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
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
_LINE_BITS = (1 << LOCAL_BIT) - 1
_FLIGHT_SHIFT = 64 - IN_FLIGHT.bit_length() + 1
_SETTLING = 4096.0
"""Cycles until the load on the DRAM is what it has been so far."""
_MOST_USED = 0.97
"""Of its throughput, where what follows waits for what came before in any case."""
_SIDE_SHIFT = 5
"""Two to this many lines, 4 KiB, lie in one partition of the L2 cache."""


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
    flying: Any  # by SM and hash: a line, and when it arrives
    channels: Any  # by channel of the DRAM
    owed: Any  # by row: sectors that the DRAM and the L2 cache are yet to be asked for
    rows: Any
    fetched: Any  # instructions
    l1: Any
    system: Any


@inlined
def _enter_banks(
    sm, scheduler, now, address_cycles, bank_cycles, held_cycles, is_near, stages, hardware
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
        stages.lsu[group] = begun + hardware.lsu_cycles
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
def cross(at, sectors, clock, hardware):
    """Sectors go between SM and L2 cache; returns from when on.

    A request waits in the SM while too much is on its way before it.
    """
    moved = _SECTOR_BYTES * max(sectors, hardware.least_sectors) / hardware.l2_rate
    at = max(at, clock.l2_free - hardware.most_asked / hardware.l2_rate)
    begins = max(at, clock.l2_free)
    clock.l2_free = begins + moved
    clock.l2_busy += moved
    return begins


@inlined
def _owe_l1(row_number, share, sectors, stages):
    """Of some sectors, those that an L1 cache lacks; what is left is owed."""
    owed = stages.owed[np.uint64(row_number), _L1] + share * sectors
    due = np.floor(owed + 1e-9)
    stages.owed[np.uint64(row_number), _L1] = owed - due
    return due


@inlined
def _owe(row_number, sectors, stages):
    """Note what the DRAM is to move for some sectors that were asked for."""
    row = stages.rows[np.uint64(row_number)]
    stages.owed[np.uint64(row_number), _DRAM] += row.dram * popcount(sectors)


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
def _move_owed(row_number, line, at, stages, clock, hardware):
    """Let a line's channel of the DRAM move what is owed, in whole sectors.

    Returns from when on, or -1 for none. What it does for other SMs meanwhile is part of the wait.
    """
    due = np.floor(stages.owed[np.uint64(row_number), _DRAM] + 1e-9)
    if due < 1.0:
        return -1.0
    stages.owed[np.uint64(row_number), _DRAM] -= due
    channel = _channel_of(line, hardware)
    begins = max(at, stages.channels[channel])
    taken = due * stages.rows[np.uint64(row_number)].dram_cycles
    stages.channels[channel] = begins + taken * hardware.channels
    clock.dram_busy += taken
    return begins + _contended(begins, clock, hardware)


@inlined
def _contended(now, clock, hardware):
    """How long an access waits at the DRAM among those of SMs that are not simulated.

    V. Volkov 2016, section 6.4: at the share u of its throughput, latency grows by b u/(1 - u).
    """
    used = min(_MOST_USED, clock.dram_busy / (now + _SETTLING))
    return hardware.dram_contention * used / (1.0 - used)


@inlined
def _fetch(line, missing, row_number, sm, at, stages, clock, hardware):
    """A line's sectors come from beyond the SM; returns when they are there."""
    group, count = sm // hardware.memory_group, _registers_of(missing, hardware)
    at = max(at, _registers_free(group, count, stages, hardware))
    begins = cross(at, np.float64(popcount(missing)), clock, hardware)
    pair = line >> (_SIDE_SHIFT + 1)
    is_far = (line >> _SIDE_SHIFT ^ popcount(pair) ^ sm) & 1
    arrives = begins + (hardware.l2_far_latency if is_far else hardware.l2_latency)
    from_dram = _move_owed(row_number, line, begins, stages, clock, hardware)
    if from_dram >= 0.0:
        arrives = from_dram + hardware.dram_latency
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
def _load_line(word, row_number, sm, local, at, stages, clock, hardware):
    """One line of a load; returns when the SM could ask for it, and when it is there."""
    row = stages.rows[np.uint64(row_number)]
    line, sectors = _line_of(word, local), word >> SECTORS_SHIFT & SECTORS_MASK
    missing = sectors
    _owe(row_number, sectors, stages)
    if row.rule & ASKS_L1 and hardware.has_l1:
        missing, _, _ = load_l1(line, sectors, sm, row.rule, stages.l1, stages.system)
        clock.l1_sectors += popcount(sectors)
        clock.l1_hits += popcount(sectors & ~missing)
    elif row.l1_miss < 1.0:
        asked = _owe_l1(row_number, row.l1_miss, np.float64(popcount(sectors)), stages)
        missing = (np.int64(1) << np.int64(asked)) - 1
    place = _flight_of(line)
    if missing:
        begins, arrives = _fetch(line, missing, row_number, sm, at, stages, clock, hardware)
        stages.flying[sm, place, 0] = np.float64(line)
        stages.flying[sm, place, 1] = arrives
        return begins, arrives
    if stages.flying[sm, place, 0] == np.float64(line):
        return at, stages.flying[sm, place, 1]
    return at, at


@inlined
def _load(word, at, words, row_number, sm, local, begun, cycles, stages, clock, hardware):
    """The lines of a load whose banks have `begun`; returns when all is there."""
    done = begun + hardware.l1_latency + cycles - 1.0
    latest = begun
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        line = words[np.uint64(at + i)]
        begins, there = _load_line(line, row_number, sm, local, begun, stages, clock, hardware)
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
    begins = cross(at, np.float64(popcount(sectors)), clock, hardware)
    _owe(row_number, sectors, stages)
    moved = _move_owed(row_number, word >> LINE_SHIFT, begins, stages, clock, hardware)
    done = max(begins, moved - hardware.most_dram_wait) + hardware.l2_latency
    return at, done


@inlined
def _store(word, at, words, row_number, sm, local, begun, stages, clock, hardware):
    """The lines of a store; returns when all have arrived."""
    done, latest = begun, begun
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        line = words[np.uint64(at + i)]
        begins, there = _store_line(line, row_number, sm, local, begun, stages, clock, hardware)
        latest = max(latest, begins)
        done = max(done, there)
    _hold_back(sm, latest, stages, hardware)
    return done


@inlined
def _change(word, at, words, row_number, sm, begun, stages, clock, hardware):
    """An atomic on global memory, carried out by the L2 cache; returns when its results are there.

    Lanes that want one word follow each other; so do all of the chip's on the word that most want.
    """
    row = stages.rows[np.uint64(row_number)]
    done, latest = begun, begun
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        line = words[np.uint64(at + i)]
        sectors = line >> SECTORS_SHIFT & SECTORS_MASK
        _owe(row_number, sectors, stages)
        begins, there = _fetch(
            line >> LINE_SHIFT, sectors, row_number, sm, begun, stages, clock, hardware
        )
        latest = max(latest, begins)
        done = max(done, there)
    lanes = np.float64(word >> LANES_SHIFT & LANES_MASK)
    if row.in_turn_cycles > 0.0:
        starts = max(latest, clock.atomics_free)
        clock.atomics_free = starts + lanes * row.in_turn_cycles
        done = max(done, clock.atomics_free + hardware.l2_latency)
        latest = max(latest, starts - hardware.most_dram_wait)
    _hold_back(sm, latest, stages, hardware)
    return done


@inlined
def _bank_cycles(code, word, space, hardware):
    """Cycles that the banks of the SM are busy with a request."""
    passes = np.float64(word >> PASSES_SHIFT & PASSES_MASK)
    if space == SHARED:
        if code.kind == ATOMIC:
            return passes * hardware.shared_atomic_cycles
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
        sm, scheduler, now, address_cycles, cycles, held, is_near, stages, hardware
    )
    read = start + code.sources_cycles
    if is_near:
        clock.shared_busy += cycles
        least = max(1.0, np.float64(word >> IDEAL_SHIFT & IDEAL_MASK)) * hardware.pass_cycles
        each = hardware.conflict_cycles
        if code.computing > 0.0:
            each = hardware.operand_conflict_cycles
        further = (cycles - least) / hardware.pass_cycles * each
        return begun + hardware.shared_latency + max(0.0, further), read
    clock.l1_busy += cycles
    place = local if space == LOCAL else np.int64(-1)
    if code.kind == ATOMIC:
        return _change(word, at, words, row_number, sm, begun, stages, clock, hardware), read
    if code.kind == STORE:
        return _store(word, at, words, row_number, sm, place, begun, stages, clock, hardware), read
    return _load(
        word, at, words, row_number, sm, place, begun, cycles, stages, clock, hardware
    ), read


@inlined
def shuffle_lanes(code, sm, scheduler, now, stages, hardware):
    """Lanes exchange values through the banks of the SM; returns when that begins."""
    held = code.sources_cycles + 1.0
    address_cycles = hardware.shared_address_cycles
    _, begun = _enter_banks(
        sm, scheduler, now, address_cycles, hardware.pass_cycles, held, True, stages, hardware
    )
    return begun
