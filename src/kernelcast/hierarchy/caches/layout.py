"""What the simulation loop reads and writes: records of fixed size, one array for each kind."""

from __future__ import annotations

import numpy as np

SECTORS = 4
"""Sectors of a line, a bit for each."""
ALL_SECTORS = (1 << SECTORS) - 1

DIRTY_SHIFT, PARTIAL_SHIFT = SECTORS, 2 * SECTORS
"""A way's state: sectors it holds, those that lower levels lack, those that were written in parts.

A dirty sector that is not held is one written in parts, until it is read.
"""

NO_LINE = 0xFFFFFFFF

LATER = 1 << 31
"""Added to the time of the last use of a line, but of one that is to leave first."""

LOCAL_BIT = 31
LINE_BITS = 31
"""Lines are told apart by so many bits, 256 GiB; above them stands whether they are local."""

LINE_MASK = (1 << LINE_BITS) - 1

NEVER_LEAVES = 0xFFFFFFFF
"""The time of the last use of what is no way."""

TOGETHER = 8
"""Ways that a CPU compares in one go: a set takes a multiple of this many places."""

PAGE_SHIFT = 15
"""Lines of a page, two to this: which global memory was touched is noted by pages of 4 MiB."""
PAGES = 1 << (LINE_BITS - PAGE_SHIFT)

CHUNKS = 1 << 13
"""Chunks of the DRAM whose last visit is remembered, at the most."""

# What an access does at every level; bits of a rule.
IS_LOCAL, IS_STORE, IS_ATOMIC, ASKS_L1, ALLOCATES_L1, LEAVES_FIRST, FOLLOWS_WAIT = (
    1 << bit for bit in range(7)
)

NEWEST, OLDEST, FIRST_LEAVING = range(3)
"""Ends of the lists of a set's entries: those of the second list, which leave first, follow."""
ENDS = 4

# An entry of an L1 cache: a line, its neighbours in its set's list and its bucket's chain, -1 for
# none, its state, and the list: 0 or `FIRST_LEAVING`. Small, since all SMs' are walked in turn.
ENTRY = np.dtype(
    [
        ("line", np.uint32),
        ("older", np.int16),
        ("newer", np.int16),
        ("chained", np.int16),
        ("state", np.int8),
        ("list", np.int8),
    ]
)
MOST_ENTRIES = 1 << 15
"""Of one SM."""

# The caches and the SMs: sets and ways are those of one SM, or of one partition.
SYSTEM = np.dtype(
    [
        ("sms", np.int64),
        ("resident", np.int64),  # blocks of one at a time
        ("warps", np.int64),  # of a block
        ("l1_sets", np.int64),  # 0 where there is no L1 cache
        ("l1_buckets", np.int64),  # a power of two
        ("l1_entries", np.int64),
        ("l1_hashes", np.int64),
        ("l2_sets", np.int64),
        ("l2_ways", np.int64),
        ("l2_hashes", np.int64),
        ("partitions", np.int64),
        ("notes_first", np.int64),  # whether sectors that nobody has touched are told apart
        ("fetched", np.int64),  # sectors that the DRAM delivers together: 1 or 2
        ("writes_through", np.int64),
        ("local_lines", np.int64),  # of a warp
        ("clock", np.int64),  # stamps given so far
        ("notes_asked", np.int64),  # whether what every level is asked for is noted
        ("counted_from", np.int64),  # accesses of rows before this one are not counted
        ("asked_of_l1", np.int64),  # how much was noted so far
        ("asked_of_l2", np.int64),
        ("chunk_shift", np.int64),  # lines of a chunk of the DRAM, two to this
        ("waiting", np.int64),  # sectors that wait for the DRAM at once
        ("moved", np.int64),  # sectors that went there so far
    ]
)

# A word of what a cache was asked for is that of the stream (`profiling.streams`), but for these:
# the line as it is told apart, also in local memory; above it the SM that asks an L1 cache, or what
# the L2 cache is to do; and whether the access counts where the stream says what comes first.
NOTED_SHIFT = 56
LOADS, STORES, CHANGES = range(3)

# A warp that is resident: what it is still to do.
RESIDENT = np.dtype([("at", np.int64), ("end", np.int64)])

# A turn of a warp: the words from `at` on, where they are counted, and its place among the warps.
TURN = np.dtype([("at", np.int64), ("end", np.int64), ("base", np.int64), ("place", np.int64)])
ROUNDS = 2002
"""Turns of an SM that go through its L1 cache together, at the most: no power of two, so that those
of all SMs in one round do not meet in a few sets of the CPU's caches."""

# What waits at the L2 cache: a line of a word that is counted in a row, and the sets where the line
# belongs and where it is looked for.
REQUEST = np.dtype(
    [
        ("line", np.int64),
        ("at", np.int64),
        ("row", np.int64),
        ("own", np.int64),
        ("nearest", np.int64),
    ]
)
WAITING = 64
"""Requests that are collected while the CPU fetches what they ask for."""

# What one row of accesses did in one part of a simulation; see `AccessCounts`.
COUNTS = np.dtype(
    [
        ("requests", np.int64),
        ("lines", np.int64),
        ("missed_lines", np.int64),
        ("l1_sectors", np.int64),
        ("l1_hits", np.int64),
        ("l2_sectors", np.int64),
        ("l2_hits", np.int64),
        ("first_reads", np.int64),  # sectors read from the DRAM that nobody had touched before
        ("again_reads", np.int64),  # those that somebody had
        ("fills", np.int64),  # reads of sectors that were written in parts only
        ("dirtied", np.int64),  # sectors of global memory that are to be written to the DRAM
        ("dirtied_again", np.int64),  # those of them that had been written there before
        ("spilled", np.int64),  # sectors of local memory that were
        ("visits", np.int64),  # of chunks of the DRAM, for sectors read or dirtied
        ("begun", np.int64),  # sectors that were written in parts, whoever completed them
        ("apart", np.int64),  # visits more for those, if nobody does
    ]
)
