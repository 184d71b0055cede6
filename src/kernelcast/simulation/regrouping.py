"""Warp streams without divergence: lanes of a block that take the same path do so as full warps.

How often warps of a block enter a basic block follows from the lanes that do, all of its entries
together: those that would leave lanes idle are left out, and what they ask memory for is asked by
the next one that is not. Which lane holds which registers is no matter here, and what the warps of
different blocks of the grid do is not merged. Basic blocks with a barrier stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.simulation import layout
from kernelcast.simulation.code import IssueTables
from kernelcast.simulation.rewriting import Requests, with_field
from kernelcast.simulation.streams import (
    BLOCK_MASK,
    BLOCK_SHIFT,
    ENTER,
    ENTERED_LANES_SHIFT,
    KIND_MASK,
    LANES_MASK,
    LANES_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
    PASSES_MASK,
    PASSES_SHIFT,
    TAGS_MASK,
    TAGS_SHIFT,
    StreamWords,
    WarpStreams,
)

_ROUNDING = 1e-9
_SPREAD = (5**0.5 - 1) / 2
"""Multiples of the golden ratio, without their whole parts, lie evenly between 0 and 1."""


@dataclass(frozen=True)
class _BlockEntries:
    """Every entry of a warp into a basic block: where it stands, whose it is, and the share of the
    warp's lanes that enter."""

    at: StreamWords
    warp: StreamWords
    block: StreamWords
    share: NDArray[np.float64]


_MEETING = (layout.SYNCHRONISE, layout.ARRIVE, layout.SIGNAL, layout.AWAIT)


def regrouped(streams: WarpStreams, code: IssueTables) -> WarpStreams:
    """The streams as they would be if no warp had idle lanes but those that all of it lacks."""
    entries = _entries(streams, code)
    if not len(entries.at) or entries.share.min() == 1.0:
        return streams
    group = entries.warp // streams.warps * len(code.bounds) + entries.block
    goes_to = _goes_to(entries, group)
    return _merged(streams, entries, goes_to)


def _entries(streams: WarpStreams, code: IssueTables) -> _BlockEntries:
    at = np.flatnonzero(streams.words & KIND_MASK == ENTER)
    words = streams.words[at]
    warp = np.searchsorted(streams.starts, at, side="right") - 1
    lanes = words >> ENTERED_LANES_SHIFT
    most = np.zeros(len(streams.starts), np.int64)
    np.maximum.at(most, warp, lanes)
    block = words >> BLOCK_SHIFT & BLOCK_MASK
    share = np.where(_has_barrier(code)[block], 1.0, lanes / np.maximum(1, most[warp]))
    return _BlockEntries(at, warp, block, share)


def _has_barrier(code: IssueTables) -> NDArray[np.bool_]:
    """By basic block."""
    kinds = np.isin(code.table["kind"], _MEETING)
    return np.array([kinds[first:end].any() for first, end in code.bounds], np.bool_)


def _goes_to(entries: _BlockEntries, group: StreamWords) -> StreamWords:
    """By entry, the one that its lanes enter with: itself, where it stays."""
    order = np.argsort(group, kind="stable")
    share, sorted_group = entries.share[order], group[order]
    ends = np.flatnonzero(np.append(np.diff(sorted_group) != 0, True))
    sizes = np.diff(ends, prepend=-1)
    total = share.cumsum()
    before = np.repeat(np.concatenate([[0.0], total[ends[:-1]]]), sizes)
    # Blocks do not all begin with a full warp: of two sides of a branch, one warp has one.
    begins = entries.block[order] * _SPREAD % 1.0
    filled = begins + total - before + _ROUNDING
    stays = np.floor(filled) > np.floor(filled - share)
    # The last one takes what is left where nobody else does.
    alone = np.add.reduceat(stays, ends - sizes + 1) == 0
    stays[ends[alone]] = True
    kept = np.flatnonzero(stays)
    number = np.searchsorted(kept, np.arange(len(order)))
    following = kept[np.minimum(number, len(kept) - 1)]
    last = kept[np.maximum(number - 1, 0)]
    is_own = (number < len(kept)) & (sorted_group[following] == sorted_group)
    goes_to = np.empty(len(order), np.int64)
    goes_to[order] = order[np.where(is_own, following, last)]
    return goes_to


def _merged(streams: WarpStreams, entries: _BlockEntries, goes_to: StreamWords) -> WarpStreams:
    """Streams of the entries that stay, each with the requests of all that go to it."""
    asked = Requests.of(streams)
    owner = np.searchsorted(entries.at, asked.at) - 1
    entry = goes_to[owner]
    order = np.lexsort((asked.at, asked.spaces, asked.instructions, entry))
    asked, entry = Requests(asked.at[order], asked.words[order]), entry[order]
    same = (np.diff(entry) == 0) & (np.diff(asked.instructions) == 0) & (np.diff(asked.spaces) == 0)
    first = np.concatenate([[True], ~same])[: len(entry)]
    heads = _summed(asked, np.flatnonzero(first))
    stays = np.flatnonzero(goes_to == np.arange(len(goes_to)))
    lines, of = asked.line_places(np.ones(len(asked.at), np.bool_))
    group = np.cumsum(first)
    # An entry's own word comes before its requests, and a request's before its lines.
    words = np.concatenate([streams.words[entries.at[stays]], heads, streams.words[lines]])
    entry_of = np.concatenate([stays, entry[first], entry[of]])
    group_of = np.concatenate([np.zeros_like(stays), group[first], group[of]])
    place = np.concatenate([np.zeros(len(stays) + len(heads), np.int64), 1 + np.arange(len(lines))])
    in_order = np.lexsort((place, group_of, entry_of))
    sizes = np.bincount(entries.warp[entry_of], minlength=len(streams.starts) - 1)
    starts = np.concatenate([[0], sizes.cumsum()])
    return replace(streams, words=words[in_order], starts=starts)


def _summed(asked: Requests, first: StreamWords) -> StreamWords:
    """One request for all from each of `first` to the next: what conflicts cost adds up."""
    if not len(first):
        return asked.words[:0]
    words, ideal = asked.words[first], asked.ideal_passes[first]

    def sums(values: StreamWords) -> StreamWords:
        return np.add.reduceat(values, first)

    lanes = np.minimum(LANES_MASK, sums(asked.lanes))
    further = sums(np.maximum(0, asked.passes - asked.ideal_passes))
    passes = np.minimum(PASSES_MASK, np.minimum(asked.passes[first], ideal) + further)
    is_tagged = asked.tag_passes[first] > 0
    tags = np.minimum(TAGS_MASK, is_tagged + sums(np.maximum(0, asked.tag_passes - 1)))
    lines = np.minimum(LINES_MASK, sums(asked.lines))
    for shift, mask, values in (
        (LANES_SHIFT, LANES_MASK, lanes),
        (PASSES_SHIFT, PASSES_MASK, passes),
        (TAGS_SHIFT, TAGS_MASK, tags),
        (LINES_SHIFT, LINES_MASK, lines),
    ):
        words = with_field(words, shift, mask, values)
    return words
