# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Loops that try to swap words of shared memory until nobody came in between, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.loops import inlined, inner
from kernelcast.simulation.layout import DIRECT
from kernelcast.simulation.streams import LINE_SHIFT, LINES_MASK, LINES_SHIFT


@inlined
def note_load(warp, there, hardware):
    """Note where a warp loads from shared memory, maybe what it then tries to swap, and when."""
    warp.loaded_at, warp.loaded_pc, warp.loaded_stop = warp.at, warp.pc, warp.stop
    warp.loaded = there - hardware.shared_latency


@inner
def try_swap(warp, sm, word, done, program, residents, hardware):
    """Swap words of shared memory, of those that nobody has swapped since the warp loaded them.

    Of others it goes back to that load at the end of the loop, and then tries to swap these alone.
    """
    wanted = warp.failed if warp.tried_at == warp.at else np.int64(-1)
    warp.tried_at, warp.failed = warp.at, 0
    words = residents.swapped[sm, warp.block]
    number = residents.blocks[sm, warp.block].number
    begun = done - hardware.atomic_shared_latency
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        if wanted >> i & 1 == 0:
            continue
        tried = program.words[np.uint64(warp.at + 1 + i)] >> LINE_SHIFT
        known = words[np.uint64(tried % len(words))]
        is_same = known.word == tried and known.block == number
        if is_same and known.at > warp.loaded:
            warp.failed |= np.int64(1) << i
        else:
            known.word, known.block, known.at = tried, number, begun
    warp.goes_back = warp.failed != 0 and warp.loaded_at >= 0


@inlined
def go_back(code, warp, clock):
    """Whether a loop goes round once more as words were not swapped; goes back to its load then."""
    if code.jumps != DIRECT or not warp.goes_back:
        return False
    warp.goes_back = 0
    clock.repeated += max(np.int64(1), warp.waits_at - warp.loaded_pc + 1)
    warp.at, warp.pc, warp.stop = warp.loaded_at, warp.loaded_pc, warp.loaded_stop
    return True
