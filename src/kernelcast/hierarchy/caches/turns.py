# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""The order in which resident warps ask for memory, compiled.

Blocks start in the order of their index, one on every SM in turn until all SMs are full, and then
wherever one has ended. SMs take turns, and so do the warps of an SM, each with the requests that it
issues until it waits. What caches hold changes nothing of that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.hierarchy.caches.layout import FOLLOWS_WAIT, ROUNDS
from kernelcast.profiling.loops import fetch_ahead, inlined, inner
from kernelcast.profiling.streams import FIRST_BIT, ROW_MASK, ROW_SHIFT

_MOST_WORDS = 1 << 21
"""No round of turns is begun beyond so many words."""
_WORDS_TOGETHER = 8
"""Words that a CPU fetches together."""


class RuledStream(NamedTuple):
    """Words, where every warp's start (`profiling.streams`), and rules and counters.

    `rules` say what a row does (`layout`), `bases` for every block where its rows are counted.
    """

    words: Any
    starts: Any
    rules: Any
    bases: Any


class TurnOrder(NamedTuple):
    """What is resident, and the turns that it took.

    Attributes
    ----------
    residents:
        The warps of all SMs.
    live:
        Of every SM how many warps are resident, whose turn it is, and which they are.
    parts:
        Of every resident block how many warps are left, and its place among the blocks.
    turns:
        Rounds of turns, those of every SM together.
    """

    residents: Any
    live: Any
    parts: Any
    turns: Any


@inner
def _start(place, sm, next_block, end_block, stream, order, system):
    """Put the next block that does anything where one has ended; returns the block after it.

    `place` is the first of the block's warps among those of the SM.
    """
    while next_block < end_block:
        first = next_block * system.warps
        next_block += 1
        started = 0
        for warp in range(system.warps):
            at, end = stream.starts[first + warp], stream.starts[first + warp + 1]
            if at < end:
                slot = place + warp
                order.live[sm, 2 + order.live[sm, 0]] = slot
                order.live[sm, 0] += 1
                resident = order.residents[sm * system.resident * system.warps + slot]
                resident.at, resident.end = at, end
                started += 1
        if started:
            block_slot = sm * system.resident + place // system.warps
            order.parts[block_slot, 0] = started
            order.parts[block_slot, 1] = next_block - 1
            return next_block
    return next_block


@inlined
def fill(first_block, end_block, stream, order, system):
    """Start blocks until all SMs are full; returns the block after them."""
    next_block = first_block
    for place in range(system.resident):
        for sm in range(system.sms):
            first = place * system.warps
            next_block = _start(first, sm, next_block, end_block, stream, order, system)
    return next_block


@inlined
def _end_of_turn(at, end, stream):
    """Where a warp waits that goes on at a word, or ends."""
    # Its next turn is far off: what that reads is fetched meanwhile.
    fetch_ahead(stream.words, np.uint64(at + _WORDS_TOGETHER))
    at += 1
    while at < end:
        word = stream.words[np.uint64(at)]
        rule = stream.rules[np.uint64(word >> ROW_SHIFT & ROW_MASK)]
        if word >> FIRST_BIT & 1 and rule & FOLLOWS_WAIT:
            return at
        at += 1
    return at


@inner
def _leave(sm, turn, slot, order, system):
    """A warp has ended; returns whether its block has."""
    live = order.live[sm, 0] - 1
    for later in range(turn, live):
        order.live[sm, 2 + later] = order.live[sm, 3 + later]
    order.live[sm, 0] = live
    block_slot = sm * system.resident + slot // system.warps
    order.parts[block_slot, 0] -= 1
    return order.parts[block_slot, 0] == 0


@inlined
def _take_turn(made, sm, next_block, end_block, stream, order, system):
    """Note the next turn of an SM with resident warps; returns the next block to start."""
    turn = order.live[np.uint64(sm), np.uint64(1)]
    if turn >= order.live[np.uint64(sm), np.uint64(0)]:
        turn = 0
    slot = order.live[np.uint64(sm), np.uint64(2 + turn)]
    place = sm * system.resident * system.warps + slot
    resident = order.residents[np.uint64(place)]
    block_slot = sm * system.resident + slot // system.warps
    block = order.parts[np.uint64(block_slot), np.uint64(1)]
    at = _end_of_turn(resident.at, resident.end, stream)
    made.at, made.end, made.place = resident.at, at, place
    made.base = stream.bases[np.uint64(block)]
    order.live[np.uint64(sm), np.uint64(1)] = turn + 1
    resident.at = at
    if at == resident.end:
        order.live[np.uint64(sm), np.uint64(1)] = turn
        if _leave(sm, turn, slot, order, system):
            first = slot - slot % system.warps
            return _start(first, sm, next_block, end_block, stream, order, system)
    return next_block


@inlined
def take_turns(next_block, end_block, stream, order, system):
    """Note rounds of turns; returns them, their words, and the next block to start.

    There are none where all blocks have ended.
    """
    rounds, words = np.int64(0), np.int64(0)
    is_busy = True
    while is_busy and rounds < ROUNDS and words < _MOST_WORDS:
        is_busy = False
        for sm in range(system.sms):
            made = order.turns[np.uint64(sm * ROUNDS + rounds)]
            made.at = made.end = 0
            if order.live[np.uint64(sm), np.uint64(0)]:
                is_busy = True
                next_block = _take_turn(made, sm, next_block, end_block, stream, order, system)
                words += made.end - made.at
        rounds += is_busy
    return rounds, words, next_block
