"""What passes between the compiled code and its host: one array of 64-bit slots."""

from __future__ import annotations

from enum import IntEnum, auto

BARRIERS = 16
"""Named barriers of a block."""

CLUSTER_BARRIER = BARRIERS
"""The number that stands for the barrier of the cluster."""


class Slot(IntEnum):
    """Index of each slot; pointers are host addresses, counts are unsigned."""

    GLOBAL_DELTA = auto()  # host address = device address + this
    SHARED_BYTES = auto()
    LOCAL = auto()  # that of the warp that runs
    LOCAL_BYTES = auto()  # per lane
    PARAM = auto()
    PARAM_BYTES = auto()
    DRAIN = auto()  # the host's function
    BULK = auto()  # the host's function for bulk copies
    OPERANDS = auto()  # what it is given: per operand 32 lanes
    BLOCKS = auto()  # linear indices of the blocks to run
    BLOCK_COUNT = auto()
    NEXT_BLOCK = auto()  # pointer to the number of blocks claimed, which all threads share
    CLUSTER_BLOCKS = auto()  # blocks that are claimed and run together
    SEATS = auto()  # clusters that run at a time
    SEATS_TAKEN = auto()  # how many of them did in the last pass
    SEAT_STATES = auto()  # per seat a SeatState
    CLUSTER_X = auto()
    CLUSTER_Y = auto()
    CLUSTER_Z = auto()
    PLACES = auto()  # per block that runs what is its own, while another one has its turn
    IS_FOLLOWED = auto()  # whether somebody reads the log
    CLUSTER_IS_DONE = auto()
    GRID_X = auto()
    GRID_Y = auto()
    GRID_Z = auto()
    BLOCK_X = auto()
    BLOCK_Y = auto()
    BLOCK_Z = auto()
    WARPS = auto()  # per block
    THREADS = auto()  # table: per warp 3 x 32 thread indices
    MASKS = auto()  # table: per warp its mask of existing lanes
    TOUCH = auto()  # the host's function for pieces of arrays that are not filled yet
    REGIONS = auto()  # table of (first address, bytes, writable, filled pieces or 0), ascending
    REGION_COUNT = auto()
    GUESSES = auto()  # per instruction the region it hit last: (first address, bytes, writable)
    SYMBOLS = auto()  # addresses of the kernel's variables
    SHARED_DYNAMIC_BYTES = auto()
    WARP_INSTRUCTIONS = auto()
    THREAD_INSTRUCTIONS = auto()
    ROUND_START = auto()  # WARP_INSTRUCTIONS when the round of the block started
    FIRST_CYCLE = auto()  # what the clock shows at first; and how much more after an instruction
    CYCLES = auto()  # in parts of 2^-16
    FIRST_NS = auto()  # the same of the global timer
    NS = auto()
    WARP = auto()  # the warp that runs
    BARRIER_RESUMED = auto()  # number of the barrier the warp waited at before this turn
    BARRIER = auto()  # number and thread count of the barrier a warp has just reached
    BARRIER_COUNT = auto()
    FAULT_INSTRUCTION = auto()
    FAULT_LANE = auto()
    FAULT_ADDRESS = auto()
    FAULT = auto()  # a Fault
    # From here on what a block has of its own.
    LOG = auto()  # where the next record goes; without a log, instructions since the last drain
    LOG_LIMIT = auto()  # beyond it, drain
    SHARED = auto()
    SHARED_OF_CLUSTER = auto()  # that of all its blocks, `WINDOW_BYTES` apart
    LOCAL_OF_BLOCK = auto()  # one area per warp
    STATE = auto()  # saved registers, one area per warp
    STATUS = auto()  # per warp a WarpStatus
    WAITING_AT = auto()  # per warp the number of the barrier it waits at
    ARRIVED_AT_CLUSTER = auto()  # per warp an Arrival
    LEFT = auto()  # warps that have not exited
    EXECUTED = auto()  # warp instructions of the rounds before this one
    BLOCK_INDEX = auto()  # linear index of the block that runs
    CTA_X = auto()
    CTA_Y = auto()
    CTA_Z = auto()
    PLACE = auto()  # among the blocks that run
    RANK = auto()  # in the cluster, and the coordinates in it
    RANK_X = auto()
    RANK_Y = auto()
    RANK_Z = auto()


FIRST_OF_OWN = Slot.LOG

_ARRAYS = max(Slot) + 1


class BarrierArray(IntEnum):
    """Where each array of BARRIERS slots starts, one entry per named barrier."""

    ARRIVED = _ARRAYS  # threads that have arrived
    EXPECTED = _ARRAYS + BARRIERS  # threads to wait for, 0 for all
    POPULATION = _ARRAYS + 2 * BARRIERS  # lanes whose predicate was true
    LANES = _ARRAYS + 3 * BARRIERS  # lanes that voted
    POPULATION_RESULT = _ARRAYS + 4 * BARRIERS  # the same of the barrier completed last
    LANES_RESULT = _ARRAYS + 5 * BARRIERS


TIMER_BITS = 16
"""Fraction bits of what a timer moves on by."""

SLOTS = _ARRAYS + len(BarrierArray) * BARRIERS
"""Size of the context."""


class SeatState(IntEnum):
    """What a seat, on which a cluster runs, is there for."""

    FREE = 0  # the next cluster may take it
    TAKEN = 1
    CLOSED = 2  # nobody is left to take it


class WarpStatus(IntEnum):
    """Where a warp stands between two of its turns."""

    FRESH = 0
    READY = 1
    PAUSED = 2
    WAITING = 3
    DONE = 4


class WarpResult(IntEnum):
    """How a warp's turn ended."""

    DONE = 0
    WAITING = 1
    STOPPED = 2
    PAUSED = 3


class RoundResult(IntEnum):
    """What a round of a block's warps came to: bits."""

    RELEASED = 1
    PAUSED = 2
    STOPPED = 4


class RunResult(IntEnum):
    """How the run ended."""

    DONE = 0
    STOPPED = 1
    DEADLOCK = 2


class Fault(IntEnum):
    """Why the run stopped."""

    NONE = 0
    OUTSIDE = 1
    MISALIGNED = 2
    READ_ONLY = 3
    TRAP = 4
    MIXED_BARRIERS = 5
    NO_TARGET = 6
