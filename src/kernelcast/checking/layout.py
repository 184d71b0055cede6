"""What the checking loop reads and writes: records of fixed size, one array for each kind."""

from __future__ import annotations

import numpy as np

GLOBAL, SHARED, GENERIC, ELSEWHERE = range(4)
"""Codes of the state spaces: what lies elsewhere belongs to one thread, or never changes."""

READS, WRITES, AGREED, SAME_VALUE, SYNCHRONISES = 1, 2, 4, 8, 16
"""Of an access: that it reads; that it writes; that its threads have agreed to meet, as atomics and
volatile accesses; that it stores the same whoever makes it; that it is one to a barrier's word."""

NO_EVENT, FENCE, ARRIVAL = range(3)
"""What a warp does between accesses."""

GOES_ON, WAITS, PAUSES = range(3)
"""How a basic block ends."""

WRITE_THEN_READ, READ_THEN_WRITE, WRITE_THEN_WRITE = 1, 2, 3
RACE_OF_WARPS, RACE_OF_BLOCKS, UNWRITTEN_SHARED, UNWRITTEN_GLOBAL, DIVERGENT_BARRIER = range(1, 6)
"""Kinds of findings; those of races are told apart by the three orders."""

THREAD_BITS = 10
THREAD_MASK = (1 << THREAD_BITS) - 1
AGREED_BIT = 1 << 30
"""A place is the thread in its block, above it the instruction, and whether it was agreed on."""
INSTRUCTION_MASK = (1 << 20) - 1

MOST_WARPS = 32
BARRIERS = 17
"""Those of a block, and the last for one whose number the code does not tell."""

MOST_FINDINGS = 1024

# One access that an instruction makes; those of one instruction follow each other.
STEP = np.dtype([("space", np.int64), ("bytes", np.int64), ("effect", np.int64)])

INSTRUCTION = np.dtype([("first_step", np.int64), ("steps", np.int64)])

# A fence or an arrival inside a basic block.
EVENT = np.dtype([("at", np.int64), ("kind", np.int64), ("barrier", np.int64)])

# A basic block: its events, how it ends, at which barrier, and which of the places in the source
# where threads may wait that is: -1 where the threads of a block may be at several.
BLOCK = np.dtype(
    [
        ("first_event", np.int64),
        ("end_event", np.int64),
        ("end", np.int64),
        ("barrier", np.int64),
        ("site", np.int64),
        ("last", np.int64),  # its last instruction
    ]
)

# Accesses to some bytes of shared memory, by when, on the clock of its warp, and by whom: the last
# that wrote, and the last of two warps that read.
SHARED_CELL = np.dtype(
    [
        ("written", np.int32),
        ("writer", np.int32),
        ("read", np.int32),
        ("reader", np.int32),
        ("read_too", np.int32),
        ("other_reader", np.int32),
    ]
)

# Accesses to some bytes of global memory: blocks are counted from 1, 0 is nobody. `fences` is how
# many the writer's block had passed.
GLOBAL_CELL = np.dtype(
    [
        ("writer", np.int32),
        ("write_place", np.int32),
        ("fences", np.int32),
        ("first_reader", np.int32),
        ("first_place", np.int32),
        ("last_reader", np.int32),
        ("last_place", np.int32),
        ("unused", np.int32),
    ]
)

# An array of global memory: where its cells begin, and whether its bytes are known to hold nothing
# until somebody writes them.
REGION = np.dtype(
    [
        ("start", np.int64),
        ("end", np.int64),
        ("first_cell", np.int64),
        ("starts_empty", np.int64),
    ]
)

FINDING = np.dtype(
    [
        ("kind", np.int64),
        ("order", np.int64),
        ("place", np.int64),  # of the access that came last
        ("other", np.int64),
        ("block", np.int64),
        ("other_block", np.int64),
        ("address", np.int64),
        ("bytes", np.int64),
        ("count", np.int64),
    ]
)

STATE = np.dtype(
    [
        ("block", np.int64),  # in the grid; -1 before the first
        ("warp", np.int64),
        ("base", np.int64),  # no clock of this block is lower
        ("newest", np.int64),  # the latest clock of any warp
        ("basic_block", np.int64),
        ("mask", np.int64),  # of lanes that run it
        ("event", np.int64),  # the next one of the basic block
        ("pending", np.int64),  # lanes that wait at a barrier
        ("barrier", np.int64),
        ("site", np.int64),
        ("waited_at", np.int64),  # the instruction
        ("paused", np.int64),
        ("last_instruction", np.int64),
        ("cursor", np.int64),
        ("acquired", np.int64),  # the block has looked at what others agreed to tell
        ("findings", np.int64),
        ("shared_shift", np.int64),
        ("global_shift", np.int64),
        ("checks_blocks", np.int64),
        ("together", np.int64),  # blocks ran at the same time, and are seen one after the other
        ("checks_shared", np.int64),
        ("first_address", np.int64),  # of global memory
        ("shared_window", np.int64),
        ("window_bytes", np.int64),
        ("region", np.int64),
    ]
)
