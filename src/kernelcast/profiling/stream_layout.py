"""What the loop that makes access streams reads and writes, beside what the counting loop does."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.layout import GENERIC_SPACES

MOST_LINES = 256
"""Most lines of a request: 32 lanes of 32 B of local memory, each word a line apart."""

ROOM = 2 * MOST_LINES
"""Most words of an access: it can lead to global and to local memory."""

STREAM_STATE = np.dtype(
    [
        ("window", np.int64, (GENERIC_SPACES, 3)),  # start, end, what to subtract
        ("block", np.int64),  # the one being read, -1 at first
        ("closed_blocks", np.int64),  # those before it
        ("closed_words", np.int64),  # all words of those
        ("words", np.int64),  # those of the one being read as well
        ("segments", np.int64),  # parts of its words, each of one warp
        ("is_sorted", np.int64),  # every warp has one part at most, and they ascend
        ("most_of_warp", np.int64),  # after so many words a warp's accesses are left out
        ("stop", np.int64),  # where that is, of the segment that is being read
        ("is_cut", np.int64),  # whether any were
        ("covered", np.int64, (MOST_LINES, 4)),  # bytes of a line's sectors, as bits
    ]
)
SEGMENT_SHIFT = 48
"""A segment is its warp above the position of its first word."""
