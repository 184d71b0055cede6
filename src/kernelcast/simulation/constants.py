# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Constants on their way to a warp, line by line, compiled.

A scheduler has a small cache of the constants that code names (`c[0x0][0x210]`), or whose place a
uniform register tells; a warp does not issue before they are there. The SM has another one, of what
LDC loads, which gives the lanes of a warp one word after the other. What they lack comes from the
cache that instructions come from. In a full set, a new line takes the place of the one that was
used longest ago.

R. Huerta et al.: Analyzing Modern NVIDIA GPU cores. MICRO 2025, section 5.4. Z. Jia et al.:
Dissecting the NVIDIA Turing T4 GPU via Microbenchmarking. 2019, section 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelcast.profiling.loops import inlined, inner
from kernelcast.simulation.streams import (
    ACCESS,
    INSTRUCTION_MASK,
    INSTRUCTION_SHIFT,
    KIND_MASK,
    LINE_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
    PASSES_MASK,
    PASSES_SHIFT,
    SECTORS_MASK,
    SECTORS_SHIFT,
)

NOT_NAMED, IN_STREAM = -1, -2
"""Instead of the line that an instruction names: it reads no constant; a register tells."""
LINE_BYTES = 64
_FIRST_HALF = 3
"""The sectors of a line of 128 B that lie in the first line of constants."""
_WIDE_BYTES = 8
"""What is wider takes the turns of two words."""


class ConstantCaches(NamedTuple):
    """The caches of constants."""

    kept: Any  # by SM, cache and place, set by set, what was used last first: the line, or -1;
    # two caches of each scheduler, of what code names and registers tell, and then the SM's
    arrives: Any  # when it is there
    free: Any  # by SM: when the next line can come, and when the next word can be loaded


@inlined
def _line_in(word):
    """The line of constants that a LINE word is about."""
    is_second = word >> SECTORS_SHIFT & _FIRST_HALF == 0
    return 2 * (word >> LINE_SHIFT) + is_second


@inlined
def line_told(at, end, pc, words):
    """The line that a warp's next instruction reads, by the words of its stream; -1 if none."""
    if at + 1 < end:
        word = words[np.uint64(at)]
        is_own = word & KIND_MASK == ACCESS and word >> INSTRUCTION_SHIFT & INSTRUCTION_MASK == pc
        if is_own and word >> LINES_SHIFT & LINES_MASK:
            return _line_in(words[np.uint64(at + 1)])
    return np.int64(NOT_NAMED)


@inner
def _look_up(line, sm, cache, first, ways, cycle, latency, constants, hardware):
    """When a line is there in a set of a cache, whose last place it takes if it is missing."""
    kept, arrives = constants.kept[sm, cache], constants.arrives[sm, cache]
    place = first
    while place < first + ways - 1 and kept[np.uint64(place)] != line:
        place += 1
    there = arrives[np.uint64(place)]
    if kept[np.uint64(place)] != line:
        begins = max(cycle, constants.free[sm, 0])
        constants.free[sm, 0] = begins + hardware.constant_interval
        there = begins + latency
    while place > first:
        kept[np.uint64(place)] = kept[np.uint64(place - 1)]
        arrives[np.uint64(place)] = arrives[np.uint64(place - 1)]
        place -= 1
    kept[np.uint64(first)], arrives[np.uint64(first)] = line, there
    return there


@inner
def name_constant(line, is_told, sm, scheduler, cycle, constants, hardware):
    """A scheduler wants a constant that an instruction names, or whose place a uniform register
    tells; returns when it is there."""
    ways = hardware.constant_told_lines if is_told else hardware.constant_lines
    cache = 2 * scheduler + is_told
    latency = hardware.constant_near_latency
    return _look_up(line, sm, cache, np.int64(0), ways, cycle, latency, constants, hardware)


@inlined
def _begin_load(code, words, sm, now, constants, hardware):
    """The SM gives a warp so many words, one after the other; returns when it comes to the last."""
    turns = words * (1 + (code.bytes > _WIDE_BYTES))
    start = max(np.float64(now), constants.free[sm, 1])
    constants.free[sm, 1] = start + turns * hardware.constant_word_cycles
    return constants.free[sm, 1] - hardware.constant_word_cycles


@inner
def _load(line, sm, cycle, constants, hardware):
    """When a line is there that is loaded."""
    if hardware.constant_sets == 0:
        return cycle
    ways = hardware.constant_ways
    first = line % hardware.constant_sets * ways
    latency = hardware.constant_far_latency
    own = 2 * hardware.schedulers
    return _look_up(line, sm, own, first, ways, cycle, latency, constants, hardware)


@inner
def load_constant(code, sm, now, constants, hardware):
    """A warp loads the constant that its instruction names, if any; returns when it is there."""
    start = _begin_load(code, np.int64(1), sm, now, constants, hardware)
    done = start + code.latency
    if code.constant >= 0:
        done = max(done, _load(code.constant, sm, start, constants, hardware))
    return done


@inner
def load_constants(code, at, words, sm, now, constants, hardware):
    """Lanes of a warp load the constants of the ACCESS at a place; returns when all are there."""
    word = words[np.uint64(at)]
    wanted = max(np.int64(1), word >> PASSES_SHIFT & PASSES_MASK)
    start = _begin_load(code, wanted, sm, now, constants, hardware)
    done = start + code.latency
    for i in range(word >> LINES_SHIFT & LINES_MASK):
        named = words[np.uint64(at + 1 + i)]
        sectors = named >> SECTORS_SHIFT & SECTORS_MASK
        for half in range(2):
            if sectors >> 2 * half & _FIRST_HALF:
                line = 2 * (named >> LINE_SHIFT) + half
                done = max(done, _load(line, sm, start, constants, hardware))
    return done
