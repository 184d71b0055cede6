# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The lines of a store on their way out of an SM, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.hierarchy.caches.l1 import store_l1
from kernelcast.hierarchy.caches.layout import IS_LOCAL, LINE_MASK
from kernelcast.ir.sizes import SECTOR_BYTES, WORD_BYTES
from kernelcast.profiling.layout import LINE_BYTES
from kernelcast.profiling.loops import inlined, popcount
from kernelcast.simulation.chip import channel_of, hold_back, move_owed, owe, send, translation
from kernelcast.simulation.flights import line_of
from kernelcast.simulation.streams import (
    LANES_MASK,
    LANES_SHIFT,
    LINE_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
    SECTORS_MASK,
    SECTORS_SHIFT,
)


@inlined
def _store_line(word, row_number, sm, local, at, stages, clock, hardware):
    """One line of a store; returns when it could leave the SM, and when it has arrived.

    It has where the L2 cache has it, whatever the DRAM still has to do.
    """
    row = stages.rows[np.uint64(row_number)]
    sectors = word >> SECTORS_SHIFT & SECTORS_MASK
    if hardware.has_l1:
        store_l1(line_of(word, local), sectors, sm, row.rule, stages.l1, stages.system)
    channel = channel_of(word >> LINE_SHIFT, hardware)
    at = max(at, stages.channels[channel] - hardware.most_dram_wait)
    begins = send(at, np.float64(popcount(sectors)), hardware.l2_write_first, clock, hardware)
    owe(word, row_number, stages)
    line = word >> LINE_SHIFT
    move_owed(row_number, line, begins, True, stages, clock, hardware)
    done = begins + hardware.l2_latency
    if not row.rule & IS_LOCAL:
        done += translation(line & LINE_MASK, at, stages, clock, hardware)
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
def send_store(
    word, at, words, row_number, sm, local, begun, cycles, width, stages, clock, hardware
):
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
        line = line_of(told, local)
        sectors, is_joined = _not_joined(told, line, lines, sm, stages, hardware)
        if sectors == 0:
            continue
        left = told & ~(np.int64(SECTORS_MASK) << SECTORS_SHIFT) | sectors << SECTORS_SHIFT
        begins, there = _store_line(left, row_number, sm, local, sent, stages, clock, hardware)
        latest = max(latest, begins)
        done = max(done, there)
        sent += _sent(sectors, is_joined, are_whole and not is_joined, is_narrow, hardware)
    stages.leaving[sm] = sent
    hold_back(sm, latest, stages, hardware)
    clock.l1_busy += max(0.0, sent - first - cycles)
    return done
