"""What the counting loop reads and writes: records of fixed size, one array for each kind.

Few arrays on purpose: the compiler's time grows with every one that is handed on.
"""

from __future__ import annotations

import numpy as np

from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES
from kernelcast.profiling.rules import MOST_TAG_BITS

LINE_BYTES = 128
LINE_SHIFT = LINE_BYTES.bit_length() - 1
LINE_SECTORS = LINE_BYTES // SECTOR_BYTES

GLOBAL, SHARED, LOCAL, PARAM, CONST, GENERIC = range(6)
"""Codes of the state spaces; the first four are those a generic address can lead to."""
GENERIC_SPACES = 4

WAITED_FOR, WAITS = 1, 2
"""What an instruction does to a barrier in shared memory, 0 where it does nothing of it."""

BY_WORD, BY_LANE, AT_ONCE = range(3)
"""How the lanes of an atomic take turns at a bank of shared memory: one for each word of it, one
for each lane, or one for all."""

READS, WRITES = 1, 2
"""Effects of an instruction on memory."""

# An instruction; the row of `ACCESS` is the first of several where it is generic.
INSTRUCTION = np.dtype(
    [
        ("space", np.int64),
        ("bytes", np.int64),  # of a lane; 0 where it is no access
        ("shift", np.int64),  # two to this many words of 4 B are a lane's
        ("effect", np.int64),
        ("row", np.int64),
        ("is_plain", np.int64),  # its lanes are in one space, and do not add to global memory
        ("adds_floats", np.int64),
        ("turns", np.int64),  # of an atomic on shared memory, as in `BY_WORD`
        ("mbarrier", np.int64),  # it waits for a barrier in shared memory, or is waited for there
        # Of one that finds lanes of equal value: how often it was executed, and the sum of how many
        # different ones there were.
        ("matches", np.int64),
        ("values", np.int64),
    ]
)

# A basic block and how it was passed through.
BLOCK = np.dtype(
    [
        ("length", np.int64),  # instructions
        ("is_branch", np.int64),  # lanes can diverge at its end
        ("next", np.int64),  # the block that follows where they do not branch, or -1
        # How many instructions come before lanes that arrived one by one go on together: 0 where
        # they reconverge at the start, -1 where they do not.
        ("reconvergence", np.int64),
        ("whole", np.int64),  # times that all lanes of a warp that are left came to it together
        ("arrivals", np.int64),  # besides, groups of lanes that came to it
        ("warps", np.int64),  # groups that went on after reconvergence
        ("threads", np.int64),
        ("divergent", np.int64),  # groups that diverged at its end
        ("passed", np.int64),  # lanes that went on to the block that follows
    ]
)

# A block of the grid that is executed.
EXECUTED = np.dtype([("index", np.int64), ("path_slot", np.int64)])

# An array in global memory: its lines, and sums of sectors.
REGION = np.dtype(
    [
        ("first_line", np.int64),
        ("end_line", np.int64),
        ("first_page", np.int64),
        ("requested", np.int64),
        ("block_distinct", np.int64),
        ("distinct", np.int64),
        ("block_written", np.int64),
        ("written", np.int64),
        ("is_read", np.int64),
        ("is_written", np.int64),
    ]
)

REQUESTS, LANES, SECTORS, LINES, DIVERGENT, PASSES, IDEAL_PASSES = range(7)
"""Places in `counts`, named as in `AccessProfile`: what a request's pattern decides, not where in
memory it lies."""
TRANSACTIONS_CC10, COALESCED_CC10, TRANSACTIONS_CC12, COALESCED_CC12, BYTES_CC12 = range(7, 12)
PASSES_HALF_WARP = 12
COUNTS = 13
"""The last six are 0 where nobody asks for half-warps."""

# One instruction in one space.
ACCESS = np.dtype(
    [
        ("counts", np.int64, COUNTS),
        ("tag_passes", np.int64),
        ("rounds", np.int64),  # of lines, and turns of sectors, of atomics on global memory
        ("turns", np.int64),
        ("misses", np.int64),  # requests since one whose pattern was remembered
        # The array that was touched last: its number, its lines, and from the number of a page to
        # where it stands in the table of pages.
        ("region", np.int64),
        ("first_line", np.int64),
        ("end_line", np.int64),
        ("to_page", np.int64),
    ]
)

WRITTEN_SHIFT, EVER_SHIFT, STAMP_SHIFT = 8, 16, 32
"""Where in a mark of a line stands what: from bit 0 on a bit for every sector that the block has
touched, then for every one that it has written, both by any block so far, and the ordinal of the
block, from 1 on. A byte each: what is new in the marks of 32 lanes can be added up."""
PAGE_BITS = 4
PAGE_LINES = 1 << PAGE_BITS
"""Marks are kept by pages of so many lines, in the order in which these are first touched: a sample
touches arrays here and there."""

_MAX_LINES = 256
"""Most lines one request can touch: 32 lanes of 32 B of local memory, each word a line apart."""
ASKED_ENTRIES = 4 * _MAX_LINES
"""Places for the lines of a request, by a hash of the line."""
UNIT_BITS = 32
"""What is asked for of a line: a bit for every unit, above them one for every sector."""
ASKED_LINE_BITS, REQUEST_BITS = 42, 20
"""Of the key of a place: the line, above it the number of the request."""

# An entry of the path log: a logged warp enters a basic block.
LOG_ENTRY = np.dtype([("slot", np.int32), ("block", np.int32), ("lanes", np.int32)])

MAX_WARPS = 32
_MAX_SLOTS = 8 * MAX_WARPS

# A request that was counted before. Its pattern is a shape and two numbers: of lanes in two rows
# the stride and the distance of lane 16 from lane 0, of others a hash of how the lanes lie.
MEMO = np.dtype(
    [
        ("shape", np.int64),  # 0 where the entry is empty
        ("stride", np.int64),
        ("apart", np.int64),
        ("hits", np.int64),  # how often it was met since it stands here
        # Lines of arrays, and each line: its distance from the line of the base, above four bits
        # for its sectors.
        ("lines", np.int64),
        ("line", np.int32, WARP_LANES),
        ("counts", np.int64, COUNTS),
        ("delta", np.int32, WARP_LANES),  # distances of the active lanes from the base
        ("unused", np.int64, 6),  # an entry begins where a line of a CPU's cache does
    ]
)
MEMO_ENTRIES = 1024
SHAPE_BASE_BITS, SHAPE_LISTED_BIT, SHAPE_ROW_BITS = 32, 40, 41
"""Of a shape: above the mask stand the place of the base in its period, whether the lanes are
listed one by one, and the row of `ACCESS`."""
ADDED_WORDS = 1 << 14
"""Counters of atomics by their word, or chunk; those this many apart share one."""
LANES_ADDED, MERGED, FLOATS_ADDED, TURNS, MERGED_TURNS = range(5)
"""Rows of `added`: by word, every lane counts, or those of a request once that all add whole
numbers to one word, or those that add floats; by chunk, turns of its sectors, and what these are
where such lanes are one."""
SHARED_SECTORS, REPEATED_TURNS, DOUBLES = range(5, 8)
"""Further rows by chunk: of the sectors of which a request changes several words, how many, and
their turns beyond the first; of those to which it adds doubles instead, lanes beyond the turns."""
PAGE_CHUNKS = 8
"""Chunks of a page of 4 KiB: pairs of lines, 512 bytes in all, every other pair of a KiB."""

STATE = np.dtype(
    [
        ("ordinal", np.int64),  # of the block being read among the executed ones, -1 at first
        ("warp", np.int64),
        # Always 32, which the compiler is not to know: it unrolls so short a loop, lane by lane,
        # and turns one of unknown length into vectors.
        ("warp_lanes", np.int64),
        ("slot", np.int64),  # of the warp in the path log, -1 where it is not logged
        ("logged", np.int64),  # entries of the path log
        ("is_logged", np.int64, _MAX_SLOTS),
        ("window", np.int64, (GENERIC_SPACES, 3)),  # start, end, what to subtract
        ("counts_half_warps", np.int64),
        ("tag_bank_bits", np.int64, MOST_TAG_BITS),  # 0 where nobody asks for passes of tags
        # Of every warp, the lanes that go through the block together: 0 before the first, -1 where
        # they have parted; the basic block that they were last in, and whether others left them
        # there.
        ("together", np.int64, MAX_WARPS),
        ("last_block", np.int64, MAX_WARPS),
        ("was_left", np.int64, MAX_WARPS),
        # Where they have parted, the same of every group of lanes.
        ("group_count", np.int64, MAX_WARPS),
        ("group_mask", np.int64, (MAX_WARPS, 2 * WARP_LANES)),
        ("group_block", np.int64, (MAX_WARPS, 2 * WARP_LANES)),
        ("group_diverged", np.int64, (MAX_WARPS, 2 * WARP_LANES)),
        ("pages", np.int64),  # of marks that are in use; their numbers start at 1
        ("added", np.int64, (8, ADDED_WORDS)),  # atomics on global memory
        # The request being counted: its number, from 1 on and then anew, and what it asks for.
        ("request", np.int64),
        ("counts", np.int64, COUNTS),
        ("asked", np.int64, (ASKED_ENTRIES, 2)),  # by line: key, and what is asked for
        ("line", np.int64, _MAX_LINES),
        ("line_place", np.int64, _MAX_LINES),
        ("line_sectors", np.int64, _MAX_LINES),
        ("load", np.int64, WARP_LANES),  # units asked for, by group of lanes and bank
        ("part", np.int64, WARP_LANES),  # addresses of one word of every lane
        # Of every lane, what is worked out for all at once: its line, the key and the first place
        # of this in `asked`, and where the number of its page stands.
        ("lane_line", np.int64, WARP_LANES),
        ("lane_key", np.int64, WARP_LANES),
        ("lane_place", np.int64, WARP_LANES),
        ("lane_page", np.int64, WARP_LANES),
        ("found", np.int64, _MAX_LINES),  # different things among those of a half-warp
        ("found_sectors", np.int64, _MAX_LINES),
    ]
)
