"""Warp streams in which requests to memory ask for less: the same words, changed or left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.hierarchy.caches.layout import ASKS_L1
from kernelcast.ir.sizes import SECTOR_BYTES
from kernelcast.isas.sass.instruction import INSTRUCTION_BYTES
from kernelcast.profiling.layout import GLOBAL, LINE_BYTES, LINE_SECTORS, LOCAL, SHARED
from kernelcast.simulation import layout
from kernelcast.simulation.streams import (
    ACCESS,
    IDEAL_MASK,
    IDEAL_SHIFT,
    INSTRUCTION_MASK,
    INSTRUCTION_SHIFT,
    KIND_MASK,
    LANES_MASK,
    LANES_SHIFT,
    LINE_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
    OFFSET_MASK,
    OFFSET_SHIFT,
    PASSES_MASK,
    PASSES_SHIFT,
    SECTORS_MASK,
    SECTORS_SHIFT,
    SPACE_MASK,
    SPACE_SHIFT,
    TAGS_MASK,
    TAGS_SHIFT,
    StreamWords,
    WarpStreams,
)

_KEPT_TOGETHER = np.array([1, 1, 2, 4, 4])
"""Sectors, by how many are wanted: those of a request lie in one line where they can."""


@dataclass(frozen=True)
class Requests:
    """All ACCESS words of some streams, side by side; `at` is where they stand."""

    at: StreamWords
    words: StreamWords

    @classmethod
    def of(cls, streams: WarpStreams) -> Requests:
        """Those of all warps."""
        at = np.flatnonzero(streams.words & KIND_MASK == ACCESS)
        return cls(at, streams.words[at])

    @property
    def lines(self) -> StreamWords:
        """LINE words that follow each."""
        return self.words >> LINES_SHIFT & LINES_MASK

    @property
    def instructions(self) -> StreamWords:
        """Whose each is."""
        return self.words >> INSTRUCTION_SHIFT & INSTRUCTION_MASK

    @property
    def lanes(self) -> StreamWords:
        """Lanes of each."""
        return self.words >> LANES_SHIFT & LANES_MASK

    @property
    def passes(self) -> StreamWords:
        """Passes through the banks."""
        return self.words >> PASSES_SHIFT & PASSES_MASK

    @property
    def ideal_passes(self) -> StreamWords:
        """Those that would do."""
        return self.words >> IDEAL_SHIFT & IDEAL_MASK

    @property
    def tag_passes(self) -> StreamWords:
        """Passes through the tags."""
        return self.words >> TAGS_SHIFT & TAGS_MASK

    @property
    def spaces(self) -> StreamWords:
        """Where each leads."""
        return self.words >> SPACE_SHIFT & SPACE_MASK

    def rows(self, table: NDArray[np.void]) -> StreamWords:
        """The row of `layout.ROW` that tells of each."""
        first = table["row"][self.instructions]
        if not table["is_generic"].any():
            return first
        is_generic = table["is_generic"][self.instructions]
        return np.asarray(first + np.where(is_generic, self.spaces, 0), np.int64)

    def are_atomic(self, table: NDArray[np.void]) -> NDArray[np.bool_]:
        """Whether each is of an atomic instruction."""
        return np.asarray(table["kind"][self.instructions] == layout.ATOMIC)

    def are_of(self, only: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Whether each is of a chosen instruction; of any where nothing is chosen."""
        return np.ones(len(self.at), np.bool_) if only is None else only[self.instructions]

    def line_places(self, chosen: NDArray[np.bool_]) -> tuple[StreamWords, StreamWords]:
        """Where the LINE words of chosen requests stand, and whose each is."""
        counts = np.where(chosen, self.lines, 0)
        of = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(of)) - np.repeat(counts.cumsum() - counts, counts)
        return self.at[of] + 1 + number, of


def with_field(words: StreamWords, shift: int, mask: int, values: StreamWords | int) -> StreamWords:
    """Words in which one field has other values."""
    return words & ~(mask << shift) | values << shift


def sent_together(streams: WarpStreams, table: NDArray[np.void], most: int) -> WarpStreams:
    """Stores to one address and constants above it, next to each other in the code, send a sector
    once, where they are to no more than `most` lines.

    Such as those of the fields of a structure: of the five of 20 bytes, a warp touches the same 20
    sectors by each. What an earlier one sends is taken out of the LINE words of the next.
    """
    asked = Requests.of(streams)
    follows = _follow_a_store(asked, table) & (asked.lines <= most)
    if not follows.any():
        return streams
    places, of = asked.line_places(follows | np.append(follows[1:], False))
    told = streams.words[places]
    _, lines = np.unique(told >> LINE_SHIFT, return_inverse=True)
    keys = of * len(lines) + lines
    order = np.argsort(keys, kind="stable")
    wanted = keys - len(lines)  # the same line of the request before
    found = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    earlier = order[found]
    is_there = follows[of] & (keys[earlier] == wanted)
    sent = np.where(is_there, told[earlier] >> SECTORS_SHIFT & SECTORS_MASK, 0)
    words = streams.words.copy()
    words[places] = told & ~(sent << SECTORS_SHIFT)
    return replace(streams, words=words)


def _follow_a_store(asked: Requests, table: NDArray[np.void]) -> NDArray[np.bool_]:
    """Whether each request is of a store right behind another one of its warp, in code and time,
    whose address is in the same registers."""
    address, base = (table[name][asked.instructions] for name in ("address", "based_on"))
    is_store = (table["kind"][asked.instructions] == layout.STORE) & (address >= 0)
    is_store &= np.isin(asked.spaces, (GLOBAL, LOCAL))
    follows = np.zeros(len(asked.at), np.bool_)
    follows[1:] = is_store[1:] & is_store[:-1] & (np.diff(address) == INSTRUCTION_BYTES)
    follows[1:] &= (np.diff(asked.at) == 1 + asked.lines[:-1]) & (np.diff(base) == 0)
    return follows


def without_bank_conflicts(
    streams: WarpStreams, table: NDArray[np.void], only: NDArray[np.bool_] | None = None
) -> WarpStreams:
    """All requests to shared memory take the fewest passes, but for atomics.

    `only` chooses instructions, all where there is none.
    """
    asked = Requests.of(streams)
    chosen = (asked.spaces == SHARED) & ~asked.are_atomic(table) & asked.are_of(only)
    return _with_passes(streams, asked, chosen, np.minimum(asked.passes, asked.ideal_passes))


def without_atomic_conflicts(streams: WarpStreams, table: NDArray[np.void]) -> WarpStreams:
    """No two lanes of an atomic go to one word: no line is asked for in more than one round."""
    asked = Requests.of(streams)
    chosen = asked.are_atomic(table)
    rounds = with_field(asked.words, TAGS_SHIFT, TAGS_MASK, np.minimum(asked.tag_passes, 1))
    asked = replace(asked, words=np.where(chosen, rounds, asked.words))
    return _with_passes(streams, asked, chosen, np.minimum(asked.passes, 1))


def without_passes(streams: WarpStreams, table: NDArray[np.void], *, shared: bool) -> WarpStreams:
    """Requests to shared memory, or to global and local memory, take the banks no time.

    Of atomics on global memory the passes are turns of the L2 cache, which stay.
    """
    asked = Requests.of(streams)
    chosen = np.isin(asked.spaces, (SHARED,) if shared else (GLOBAL, LOCAL))
    chosen &= (asked.spaces == SHARED) | ~asked.are_atomic(table)
    return _with_passes(streams, asked, chosen, np.zeros_like(asked.words))


def _with_passes(
    streams: WarpStreams, asked: Requests, chosen: NDArray[np.bool_], passes: StreamWords
) -> WarpStreams:
    words = streams.words.copy()
    fewer = with_field(asked.words, PASSES_SHIFT, PASSES_MASK, passes)
    words[asked.at[chosen]] = fewer[chosen]
    return replace(streams, words=words)


def without_l1_misses(
    streams: WarpStreams, table: NDArray[np.void], rows: NDArray[np.void]
) -> WarpStreams:
    """Loads that ask the L1 cache want nothing from beyond it."""
    asked = Requests.of(streams)
    asks = rows["rule"][asked.rows(table)] & ASKS_L1 != 0
    is_load = np.isin(table["kind"][asked.instructions], (layout.LOAD, layout.COPY))
    chosen = is_load & asks & np.isin(asked.spaces, (GLOBAL, LOCAL))
    words = streams.words.copy()
    words[asked.at[chosen]] = with_field(asked.words, LINES_SHIFT, LINES_MASK, 0)[chosen]
    dropped, _ = asked.line_places(chosen)
    return _left_out(streams, words, dropped)


def coalesced(
    streams: WarpStreams, table: NDArray[np.void], only: NDArray[np.bool_] | None = None
) -> WarpStreams:
    """Requests to global memory touch the fewest lines and sectors that hold what they ask for.

    Those are some of the lines that they do touch: as if words had been exchanged between the lanes
    of a request, those whose place in the lines of a lane is the same coming to lie side by side.
    So requests for the fields of an array of structures, or for the columns of a matrix, together
    ask for the same lines as before. `only` chooses instructions, all where there is none.
    """
    asked = Requests.of(streams)
    size = asked.lanes * table["bytes"][asked.instructions]
    fewest = -(-size // SECTOR_BYTES)
    chosen = (asked.spaces == GLOBAL) & (touched_sectors(streams, asked) > fewest)
    chosen &= asked.are_of(only)
    places, of = asked.line_places(chosen)
    number = places - asked.at[of] - 1
    begins = _first_sectors(streams, asked, fewest)[of] - number * LINE_SECTORS
    low, high = np.maximum(begins, 0), np.minimum(begins + fewest[of], LINE_SECTORS)
    sectors = np.where(high > low, (1 << high) - (1 << np.minimum(low, LINE_SECTORS)), 0)
    words = streams.words.copy()
    words[places] = with_field(words[places], SECTORS_SHIFT, SECTORS_MASK, sectors)
    kept = np.bincount(of[sectors > 0], minlength=len(asked.at))
    fewer = with_field(asked.words, LINES_SHIFT, LINES_MASK, kept)
    is_atomic = asked.are_atomic(table)
    passes = np.where(is_atomic, asked.passes, np.minimum(asked.passes, asked.ideal_passes))
    fewer = with_field(fewer, PASSES_SHIFT, PASSES_MASK, passes)
    tags = np.minimum(asked.tag_passes, np.where(is_atomic, kept, 1))
    fewer = with_field(fewer, TAGS_SHIFT, TAGS_MASK, tags)
    words[asked.at[chosen]] = fewer[chosen]
    return _left_out(streams, words, places[sectors == 0])


def in_fewest_passes(
    streams: WarpStreams, table: NDArray[np.void], only: NDArray[np.bool_] | None = None
) -> WarpStreams:
    """Requests to global memory take the L1 cache as few passes as if they were coalesced, but ask
    for the same lines and sectors as before."""
    asked = Requests.of(streams)
    chosen = (asked.spaces == GLOBAL) & ~asked.are_atomic(table) & asked.are_of(only)
    passes = np.minimum(asked.passes, asked.ideal_passes)
    fewer = with_field(asked.words, PASSES_SHIFT, PASSES_MASK, passes)
    tags = np.minimum(asked.tag_passes, 1)
    fewer = with_field(fewer, TAGS_SHIFT, TAGS_MASK, tags)
    words = streams.words.copy()
    words[asked.at[chosen]] = fewer[chosen]
    return replace(streams, words=words)


def touched_sectors(streams: WarpStreams, asked: Requests) -> StreamWords:
    """Sectors that each request touches."""
    counts = np.array([bin(n).count("1") for n in range(SECTORS_MASK + 1)])
    places, of = asked.line_places(np.ones(len(asked.at), np.bool_))
    sectors = counts[streams.words[places] >> SECTORS_SHIFT & SECTORS_MASK]
    return np.bincount(of, sectors, len(asked.at)).astype(np.int64)


def _first_sectors(streams: WarpStreams, asked: Requests, fewest: StreamWords) -> StreamWords:
    """Where among the sectors of its lines those begin that a request keeps.

    That is as far in as its lanes' words are in what each lane has of the lines.
    """
    lines = asked.lines
    following = streams.words[np.minimum(asked.at + 1, len(streams.words) - 1)]
    offset = np.where(lines > 0, following >> OFFSET_SHIFT & OFFSET_MASK, 0)
    each = np.maximum(lines, 1) * LINE_BYTES / np.maximum(asked.lanes, 1)
    share = offset % each / each
    unit = _KEPT_TOGETHER[np.minimum(fewest, LINE_SECTORS)]
    first = (share * lines * LINE_SECTORS).astype(np.int64) // unit * unit
    latest: StreamWords = lines * LINE_SECTORS - fewest
    return np.asarray(np.maximum(0, np.minimum(first, latest)), np.int64)


def _left_out(streams: WarpStreams, words: StreamWords, dropped: StreamWords) -> WarpStreams:
    """Streams of changed words, of which some are dropped."""
    keep = np.ones(len(words), np.bool_)
    keep[dropped] = False
    before = np.concatenate([[0], keep.cumsum()])
    return replace(streams, words=words[keep], starts=before[streams.starts])
