# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The way from an SM to the L2 cache and the DRAM, and back, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.hierarchy.caches.layout import LINE_MASK, LOCAL_BIT
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.profiling.layout import LINE_SECTORS
from kernelcast.profiling.loops import HASH_FACTOR, inlined, inner, popcount
from kernelcast.simulation.streams import MOVED_MASK, MOVED_SHIFT, SECTORS_MASK, SECTORS_SHIFT

_DRAM, _L1 = range(2)
_LINE_SECTORS = float(LINE_SECTORS)
_SETTLING = 4096.0
"""Cycles until the load on the DRAM is what it has been so far."""
_MOST_USED = 0.9
"""Of its throughput: beyond that, what follows waits for what came before in any case.

With 0.97, reads of an H100 with 32 warps an SM and 16 bytes a lane take 1.04 of their time; with
0.9, 0.98 (measurements/data, bandwidth.dram).
"""
_SIDE_SHIFT = 5
"""Two to this many lines, 4 KiB, lie in one partition of the L2 cache."""
_SM_BITS = 16
_DRAWN_BITS = 32
_CYCLE_BITS = 12
"""Of a cycle, those that tell one time that a line is asked for from another."""
_WAITS = 1 << 40
"""Sets what is drawn for waits apart from what is for latencies."""
_UNIFORM_WIDTH = 12.0**0.5
"""Of an interval, in standard deviations of what is anywhere in it."""


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
    moved = SECTOR_BYTES * max(sectors, hardware.least_sectors) / hardware.l2_rate
    moved = max(moved, hardware.l2_request_cycles)
    begins = max(_look_up(at, hardware.l2_request_cycles, clock), clock.l2_free)
    clock.l2_free = begins + moved
    clock.l2_busy += moved
    return begins


@inlined
def _more_or_less(waited, line, begins, sm, hardware):
    """How much longer than `waited`, the mean, a line waits, or less long.

    Lines lie in slices by a hash, and more wait before some than before others: so a share of the
    wait is drawn for each, exponentially. What waits behind a line, or for its register, does so
    for the mean.
    """
    if waited <= 0.0 or hardware.l2_wait_spread == 0.0:
        return 0.0
    anew = line << _CYCLE_BITS | np.int64(begins) & (1 << _CYCLE_BITS) - 1
    return waited * hardware.l2_wait_spread * (_exponential(anew, sm) - 1.0)


@inlined
def send(at, sectors, first, clock, hardware):
    """Sectors of a line go from the SM to the L2 cache; returns from when on.

    The first of them keeps the slices `first` cycles, and what only reads waits as long.
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
    return _look_up(at, max(moved, hardware.l2_change_cycles), clock)


@inlined
def _line_cycles(hardware):
    """Cycles of the slices for a whole line that is written."""
    return hardware.l2_write_first + (_LINE_SECTORS - 1.0) * hardware.l2_write_cycles


@inlined
def owe_l1(row_number, share, sectors, stages):
    """Of some sectors, those that an L1 cache lacks; what is left is owed."""
    owed = stages.owed[np.uint64(row_number), _L1] + share * sectors
    due = np.floor(owed + 1e-9)
    stages.owed[np.uint64(row_number), _L1] = owed - due
    return due


@inlined
def owe(word, row_number, stages):
    """Note what the DRAM is to move for a line that was asked for."""
    row = stages.rows[np.uint64(row_number)]
    noted = word >> MOVED_SHIFT & MOVED_MASK
    owed = row.dram_noted * (noted - 1)
    if noted == 0:
        owed = row.dram * popcount(word >> SECTORS_SHIFT & SECTORS_MASK)
    stages.owed[np.uint64(row_number), _DRAM] += owed


@inlined
def hold_back(sm, latest, stages, hardware):
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
def channel_of(line, hardware):
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
def move_owed(row_number, line, at, is_write, stages, clock, hardware):
    """Let a line's channel of the DRAM move what is owed, in whole sectors.

    Returns from when on, or -1 for none.
    """
    due = np.floor(stages.owed[np.uint64(row_number), _DRAM] + 1e-9)
    if due < 1.0:
        return -1.0
    stages.owed[np.uint64(row_number), _DRAM] -= due
    taken = due * stages.rows[np.uint64(row_number)].dram_cycles
    channel = channel_of(line, hardware)
    begins = max(at, stages.channels[channel])
    stages.channels[channel] = begins + taken * hardware.channels
    if hardware.reading_channels and not is_write:
        begins = max(begins, _read_channel(line, taken, stages, clock, hardware))
    clock.dram_busy += taken
    if is_write:
        clock.dram_writing += taken
    return begins


@inlined
def _contended(now, line, sm, clock, hardware):
    """How long a load waits at the DRAM, among those of SMs that are not simulated.

    V. Volkov 2016, section 6.4: at the share u of its throughput, latency grows by b u/(1 - u).
    Where it writes for the share p of the time, that of a load grows by v p as well
    (`models.terms.latency`), since the DRAM has to turn about. That is the mean; where latencies
    are spread, waits are, too.
    """
    used = min(_MOST_USED, clock.dram_busy / (now + _SETTLING))
    wait = hardware.dram_write_wait * clock.dram_writing / (now + _SETTLING)
    wait += hardware.dram_contention * used / (1.0 - used)
    if hardware.dram_spread > 0.0:
        wait *= _exponential(line >> _SIDE_SHIFT | _WAITS, sm)
    return wait


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

    Latencies are spread exponentially beyond a least one (`models.terms.latency`), but for the most
    part alike for lines of 4 KiB, which share a side of the chip and a channel: on an H100, 32
    lines of those take 66 cycles longer than one, and 32 lines that lie apart 298.
    """
    latency = hardware.dram_latency
    if hardware.dram_spread > 0.0:
        latency += hardware.dram_spread * (_exponential(line >> _SIDE_SHIFT, sm) - 1.0)
    if hardware.dram_line_spread > 0.0:
        latency += hardware.dram_line_spread * (_exponential(line, sm) - 1.0)
    return latency


@inner
def _translated(line, at, stages, clock, hardware):
    """How long a request that leaves the SM waits for the address of its line.

    A page that comes takes the place of the one that came first. As a launch begins, the TLB has
    whatever it touches first.
    """
    page = np.uint64((line & LINE_MASK) >> hardware.tlb_shift)
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
def translation(line, at, stages, clock, hardware):
    """The same for any line: those of a warp's own memory are always known."""
    if hardware.tlb_entries == 0 or line >> LOCAL_BIT:
        return 0.0
    return _translated(line, at, stages, clock, hardware)


@inlined
def fetch_line(line, missing, row_number, sm, at, is_change, stages, clock, hardware):
    """A line's sectors come from beyond the SM, or are changed there; returns when that is done."""
    group, count = sm // hardware.memory_group, _registers_of(missing, hardware)
    at = max(at, _registers_free(group, count, stages, hardware))
    if hardware.miss_cycles > 0.0 and not is_change:
        at = max(at, stages.leaving[sm])
        stages.leaving[sm] = at + hardware.miss_cycles
    if is_change:
        first = _line_cycles(hardware) / _LINE_SECTORS
        begins = send(at, np.float64(popcount(missing)), first, clock, hardware)
    else:
        begins = cross(at, np.float64(popcount(missing)), clock, hardware)
    far = 1.0 if is_change else stages.rows[np.uint64(row_number)].far
    arrives = begins + _l2_latency(line, far, sm, hardware)
    from_dram = move_owed(row_number, line, begins, False, stages, clock, hardware)
    if not is_change:
        arrives += hardware.l2_all_sms
    if from_dram >= 0.0:
        arrives = from_dram + _contended(from_dram, line, sm, clock, hardware)
        arrives += _dram_latency(line, sm, hardware)
    arrives += translation(line, at, stages, clock, hardware)
    _take_registers(group, count, arrives, stages, hardware)
    if not is_change:
        arrives += _more_or_less(begins - at, line, begins, sm, hardware)
    return at, arrives
