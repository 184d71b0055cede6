"""Warp streams that end early, each after the same share of what its warp does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulation.programs import entering, request, streams

from kernelcast.simulation.shortening import instructions_of, shortened

SIZES = (3, 1, 7)
BOUNDS = np.array([(0, 3), (3, 4), (4, 11)], np.int64)
"""Three basic blocks, of 3, 1 and 7 instructions."""


@st.composite
def warps(draw: st.DrawFn) -> list[list[list[int]]]:
    """What the warps of two blocks do: basic blocks, with requests here and there."""

    def warp() -> list[int]:
        words: list[int] = []
        for block in draw(st.lists(st.integers(0, 2), max_size=12)):
            words += entering(block)
            if draw(st.booleans()):
                words += request(2, 1, [draw(st.integers(0, 9))])
        return words

    return [[warp() for _ in range(2)] for _ in range(2)]


def entered(words: np.ndarray, wanted: int) -> int:
    """The words that so many of the instructions take: whole basic blocks, with their requests."""
    done, at = 0, 0
    while at < len(words) and done < wanted:
        done += SIZES[int(words[at]) >> 2 & (1 << 24) - 1]
        at += 1
        while at < len(words) and words[at] & 3:
            at += 1
    return at


@given(warps(), st.floats(0.01, 1.0))
def test_every_warp_does_the_same_share_of_what_it_does(made, share: float) -> None:
    whole = streams(made)
    short = shortened(whole, BOUNDS, share)
    assert short.is_cut
    for block in range(2):
        for warp in range(2):
            words = whole.of_warp(block, warp)
            own = instructions_of(streams([[words.tolist()]]), BOUNDS)
            kept = entered(words, int(np.ceil(share * own)))
            assert short.of_warp(block, warp).tolist() == words[:kept].tolist()


def test_the_whole_share_is_all() -> None:
    whole = streams([[[*entering(2), *entering(0)], entering(1)]])
    assert instructions_of(whole, BOUNDS) == 11
    assert shortened(whole, BOUNDS, 1.0).words.tolist() == whole.words.tolist()
    short = shortened(whole, BOUNDS, 0.5)
    assert instructions_of(short, BOUNDS) == pytest.approx(8)
