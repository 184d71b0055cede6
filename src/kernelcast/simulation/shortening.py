"""Warp streams that end early, each after the same share of what its warp does.

A launch whose blocks are all there at once is as long as its last warp, and how late that is shows
only where warps end: schedulers that keep to one warp, or to an age, let some run ahead of others,
which are left alone with what they wait for. Of warps that do the same over and over, the first
part of each tells as much.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.simulation.streams import (
    BLOCK_MASK,
    BLOCK_SHIFT,
    ENTER,
    KIND_MASK,
    WarpStreams,
    gathered,
)


def instructions_of(streams: WarpStreams, bounds: NDArray[np.int64]) -> int:
    """Warp instructions of streams; `bounds` says where basic blocks begin and end in the code."""
    return int(_by_word(streams, bounds).sum())


def shortened(streams: WarpStreams, bounds: NDArray[np.int64], share: float) -> WarpStreams:
    """Streams of which every warp does the first `share` of its instructions, and what it enters
    then to its end."""
    done = np.concatenate([[0], _by_word(streams, bounds).cumsum()])
    starts, ends = streams.starts[:-1], streams.starts[1:]
    wanted = done[starts] + np.ceil(share * (done[ends] - done[starts]))
    # A word counts as done behind it; the accesses of the last basic block belong to it.
    behind = np.searchsorted(done, wanted)
    entered = np.flatnonzero(streams.words & KIND_MASK == ENTER)
    following = np.searchsorted(entered, behind)
    next_entered = np.append(entered, len(streams.words))[following]
    sizes = np.minimum(next_entered, ends) - starts
    return replace(
        streams,
        words=gathered(streams.words, starts, sizes),
        starts=np.concatenate([[0], sizes.cumsum()]),
        is_cut=True,
    )


def _by_word(streams: WarpStreams, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Instructions of the basic block that every word enters; 0 where it is none that does."""
    words = streams.words
    sizes = (bounds[:, 1] - bounds[:, 0]).astype(np.int64)
    block = np.minimum(words >> BLOCK_SHIFT & BLOCK_MASK, len(sizes) - 1)
    return np.where(words & KIND_MASK == ENTER, sizes[block], 0)
