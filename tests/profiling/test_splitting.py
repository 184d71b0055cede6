"""Where one block's part of a trace ends."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.profiling.synthetic_traces import (
    FULL,
    affine,
    enter,
    halves,
    scattered,
    values,
    warp,
    words,
)

from kernelcast.profiling.splitting import end_of_block

RECORDS = st.sampled_from(
    [
        enter(0),
        affine(0, 1 << 40, 4),
        # Addresses that look like the records of another block's warps must not end a block.
        affine(0, warp(7, 0)[0], 7),
        halves(0, warp(7, 0)[0], 7, warp(7, 0)[0]),
        values(0, warp(7, 0)[0]),
        scattered(0, [warp(7, 0)[0], 7] * 16, FULL),
    ]
)


@given(st.lists(st.lists(st.lists(RECORDS, max_size=3), min_size=1, max_size=3), max_size=5))
def test_every_block_ends_where_the_next_one_begins(blocks):
    expected = []
    stream = []
    for block, warps in enumerate(blocks):
        for number, records in enumerate(warps):
            stream += [warp(block, number), *records]
        expected.append(len(words(*stream)))
    flat = words(*stream).view(np.int64) if stream else np.zeros(0, np.int64)
    at = 0
    ends = []
    for block in range(len(blocks)):
        assert end_of_block(flat, at, block - 1) == at
        at = end_of_block(flat, at, block)
        ends.append(at)
    assert ends == expected
