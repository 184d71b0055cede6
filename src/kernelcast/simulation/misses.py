"""What the DRAM moves for single lines, from the simulated caches to the warp streams.

Misses of the L2 cache come in runs: of the rows of a tile those at one end are new to it, and of
blocks those that begin a wave. A mean share would send every so many-th request of an instruction
to the DRAM instead, and let warps wait for it far more often.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.profiling.layout import GLOBAL, LOCAL
from kernelcast.profiling.streams import AccessStreams
from kernelcast.simulation.rewriting import Requests, with_field
from kernelcast.simulation.simulate import SimulationInput
from kernelcast.simulation.streams import (
    MOVED_MASK,
    MOVED_SHIFT,
    SECTORS_MASK,
    SECTORS_SHIFT,
    StreamWords,
    WarpStreams,
)

_MOST_MOVED = MOVED_MASK - 1


def with_misses(
    given: SimulationInput, accesses: AccessStreams, moved: NDArray[np.uint8]
) -> SimulationInput:
    """Note with every line what the DRAM moves for it, as caches found it with these `accesses`.

    `moved` has the sectors of every word of `accesses`. A block that was not among them, or was
    only to fill the caches, takes those of one in the middle of the grid. Warps that ask for more
    or fewer lines than there go by the share of their rows, `layout.ROW`. What the DRAM moves for a
    row altogether is that share of what it asks for, in any case.
    """
    asked = Requests.of(given.streams)
    places, of = asked.line_places(np.isin(asked.spaces, (GLOBAL, LOCAL)))
    sources = _sources(given.streams, accesses, places)
    is_known = sources >= 0
    places, rows = places[is_known], asked.rows(given.code.table)[of[is_known]]
    sectors = np.minimum(moved[sources[is_known]], _MOST_MOVED).astype(np.int64)
    words = given.streams.words.copy()
    touched = np.bitwise_count(words[places] >> SECTORS_SHIFT & SECTORS_MASK)
    words[places] = with_field(words[places], MOVED_SHIFT, MOVED_MASK, sectors + 1)
    table = given.rows.copy()
    expected = np.bincount(rows, touched, len(table)) * table["dram"]
    found = np.bincount(rows, sectors, len(table))
    # Where none of these lines moves anything though the row does, nobody knows which do.
    is_lost = (found == 0) & (expected > 0)
    words[places[is_lost[rows]]] &= ~(MOVED_MASK << MOVED_SHIFT)
    table["dram_noted"] = expected / np.maximum(found, 1)
    return replace(given, streams=replace(given.streams, words=words), rows=table)


def without_misses(streams: WarpStreams) -> WarpStreams:
    """The same streams with nothing noted of lines."""
    asked = Requests.of(streams)
    places, _ = asked.line_places(np.isin(asked.spaces, (GLOBAL, LOCAL)))
    words = streams.words.copy()
    words[places] &= ~(MOVED_MASK << MOVED_SHIFT)
    return replace(streams, words=words)


def _sources(streams: WarpStreams, accesses: AccessStreams, places: StreamWords) -> StreamWords:
    """For every line of some streams the word of `accesses` that tells of it, or -1."""
    warps = streams.warps
    of = np.searchsorted(streams.starts, places, "right") - 1
    counts = np.bincount(of, minlength=len(streams.blocks) * warps)
    number = np.arange(len(places)) - np.repeat(counts.cumsum() - counts, counts)
    known = np.searchsorted(accesses.blocks, _stand_ins(streams.blocks, accesses))
    first = accesses.starts[(known[:, None] * warps + np.arange(warps)).ravel()]
    ends = accesses.starts[(known[:, None] * warps + np.arange(warps)).ravel() + 1]
    return np.where((ends - first == counts)[of], first[of] + number, -1)


def _stand_ins(blocks: NDArray[np.int64], accesses: AccessStreams) -> NDArray[np.int64]:
    """Blocks themselves where they counted, and for others those that stand for the rest."""
    counted = [np.array(s.blocks[s.history :]) for s in accesses.spans if s.counted < s.end]
    others = counted[min(1, len(counted) - 1)]
    is_counted = np.isin(blocks, np.concatenate(counted))
    return np.where(is_counted, blocks, others[(blocks - others[0]) % len(others)])
