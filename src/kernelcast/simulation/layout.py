"""What the simulation loop reads and writes: records of fixed size, one array for each kind."""

from __future__ import annotations

import numpy as np

COUNTERS = 6
"""Dependence counters of a warp, which the code names."""
PENDING = 8
"""Latest releases of a counter that are remembered."""
BANKS = 2
"""Banks of a scheduler's registers."""
BARRIERS = 16
"""Barriers of a block."""
MBARRIERS = 64
"""Those of its shared memory that are told apart."""
FLIGHTS = 64
"""Loads of a warp that are remembered where it may have few in flight."""
IN_FLIGHT = 1 << 12
"""Lines of an SM that are remembered to be on their way."""

FAR_OFF = 1 << 60
"""The cycle at which a warp is ready that waits for another one, or is none."""

# What kind of thing an instruction is to the simulation.
(
    ARITHMETIC,
    LOAD,
    STORE,
    ATOMIC,
    SYNCHRONISE,
    ARRIVE,
    EXIT,
    GROUP_COPIES,
    SHUFFLE,
    COPY,
    NOTHING,
    CONSTANT,
    SIGNAL,
    AWAIT,
) = range(14)
"""`COPY` loads from global to shared memory; `GROUP_COPIES` raises its counter until the copies of
the warp have arrived. `CONSTANT` loads a constant. `NOTHING` is what the assembler leaves out.
`SIGNAL` arrives at a barrier in shared memory, at which `AWAIT` waits."""

# Where an instruction goes when it is issued. The first are pipes; the queue of memory
# instructions comes last.
(
    FP32_PIPE,
    INT_PIPE,
    FP64_PIPE,
    SFU_PIPE,
    ADU_PIPE,
    TENSOR_PIPE,
    UNIFORM_PIPE,
    MULTIPLIERS,
    FLOAT_HALF,
    BOTH_HALVES,
    NO_PIPE,
    MEMORY_QUEUE,
) = range(12)
"""Of an FP32 pipe in halves, `MULTIPLIERS` also multiplies integers and `FLOAT_HALF` does not; what
either can do goes to `FP32_PIPE`, which is free where one of them is, and what needs both to
`BOTH_HALVES`."""
PIPES = 12
FP32_PIPES = (FP32_PIPE, MULTIPLIERS, BOTH_HALVES)
"""Where instructions of the FP32 pipe may go."""

# Why a warp does not issue, named in `results`.
(
    SELECTED,
    NOT_SELECTED,
    WAIT,
    LONG_SCOREBOARD,
    SHORT_SCOREBOARD,
    BARRIER,
    MATH_PIPE,
    LG_THROTTLE,
    MIO_THROTTLE,
    DISPATCH,
    NO_INSTRUCTION,
    DRAIN,
    IMC_MISS,
) = range(13)
REASONS = 13

# An instruction. Cycles are the SM's.
CODE = np.dtype(
    [
        ("kind", np.int64),
        ("pipe", np.int64),
        ("door", np.int64),  # what must be free for it to issue: its pipe, or `MEMORY_QUEUE`
        ("interval", np.float64),  # that the pipe of its scheduler is busy
        ("latency", np.float64),  # from issue to the use of its result
        ("computing", np.float64),  # from what a load loads to its result
        ("stall", np.int64),  # from issue to the next instruction of the warp, at the least
        ("slots", np.int64),  # issue slots it takes
        ("holds", np.int64),  # cycles for which its scheduler dispatches nothing behind it
        ("pairs", np.int64),  # whether the next one issues with it
        ("reason", np.int64),  # why those stall that wait for its result
        ("throttle", np.int64),  # why it does itself while its pipe is busy
        ("result_counter", np.int64),  # or -1
        ("sources_counter", np.int64),
        ("sources_cycles", np.float64),  # from issue until its sources have been read
        ("waits", np.int64),  # a bit for every counter that must be free
        ("waits_most", np.int64),  # a counter of which some releases may be missing, or -1
        ("outstanding", np.int64),  # how many
        ("yields", np.int64),  # whether another warp comes next, if one can
        ("jumps", np.int64),  # whether it may go on elsewhere, and how: as in `DIRECT`
        ("first_read", np.int64),  # its registers in the table of registers
        ("end_read", np.int64),
        ("end_written", np.int64),
        ("barrier", np.int64),
        ("barrier_warps", np.int64),  # that meet there, 0 for all of the block
        ("after_copies", np.int64),  # whether it signals when the copies of its warp are there
        ("bytes", np.int64),  # of a lane's access
        ("row", np.int64),  # of `ROW`: the first of one for each space, where it is generic
        ("is_generic", np.int64),
        ("address", np.int64),  # in the code, bytes; -1 where it has none
        ("constant", np.int64),  # the line of constants that it reads, as in `constants`
        ("names_constant", np.int64),  # whether it does not issue before that is there
        ("swap", np.int64),  # as in `FETCHES`; 0 where it is no compare-and-swap
        ("based_on", np.int64),  # alike where the same registers make up what it accesses
        ("reads", np.float64, BANKS),  # registers of each bank, behind its warp's instruction
        ("reads_after_others", np.float64, BANKS),  # behind another warp's
    ]
)

FETCHES, TRIES = 1, 2
"""Of a compare-and-swap: whether it gives what was there, or says whether it was done."""

DIRECT, INDIRECT = 1, 2
"""Of instructions that may go on elsewhere: where the code says, or where a register does."""

# A static access in one space, as the chip beyond the SM treats it.
ROW = np.dtype(
    [
        ("rule", np.int64),  # what it does at the L1 cache, as in `hierarchy.caches.layout`
        ("l1_miss", np.float64),  # share of the sectors it loads, where no L1 cache is simulated
        ("far", np.float64),  # share of the far partition's lines that have no copy in the near one
        ("dram", np.float64),  # sectors that the DRAM moves for each that it asks for
        ("dram_noted", np.float64),  # and for each that is noted with a line
        ("dram_cycles", np.float64),  # that these SMs' share of the DRAM takes for such a sector
        ("gives_back", np.int64),  # whether somebody reads what an atomic found there
        ("in_turn_cycles", np.float64),  # of this SM's share, for a turn of an atomic
    ]
)

# The SMs, and their share of the chip.
HARDWARE = np.dtype(
    [
        ("sms", np.int64),
        ("schedulers", np.int64),  # of an SM
        ("places", np.int64),  # warps of a scheduler at the most
        ("resident", np.int64),  # blocks of an SM at a time
        ("warps", np.int64),  # of a block
        ("policy", np.int64),
        ("read_cycles", np.float64),  # in which registers are read; 0 where all can be
        ("issue_interval", np.int64),  # of a scheduler
        ("registers", np.int64),  # of a warp, in the scoreboard; 0 where counters are obeyed
        ("same_warp", np.int64),
        ("jump_cycles", np.float64, 2),  # from a branch to where it leads: direct, indirect
        ("jump_holds", np.int64, 2),  # for which its scheduler issues nothing
        ("loads_per_warp", np.int64),  # that may be in flight; 0 for any
        ("store_next", np.float64),  # from a store to memory to the next of its warp
        ("of_sm", np.int64, PIPES),  # of every pipe, whether its schedulers share one
        ("queued", np.float64, PIPES),  # cycles of work that may wait for every pipe, beside warps
        ("fp32_halves", np.int64),  # whether the FP32 pipe is two, one of which multiplies integers
        ("block_interval", np.float64),  # an SM's share of the chip's: from block to block
        ("replacement", np.float64),  # from the end of a block to the first issue of the next
        ("drain", np.float64),  # how much sooner that is where the block has stored nothing
        ("sync_cycles", np.float64),  # from the last arrival at a barrier
        ("queue", np.int64),  # memory instructions that wait for their addresses
        ("address_cycles", np.float64),  # of one, of its scheduler
        ("shared_address_cycles", np.float64),
        ("lsu_cycles", np.float64),  # of one, of the SM
        ("pass_cycles", np.float64),  # in which all banks serve one word each
        ("fills_banks", np.int64),  # whether what comes for a load takes the banks to be written
        ("tag_cycles", np.float64),  # of a pass of tags
        ("l1_rate", np.float64),  # bytes per cycle
        ("shared_latency", np.float64),
        ("conflict_cycles", np.float64),  # that a further pass adds to a load from shared memory
        ("operand_conflict_cycles", np.float64),  # to arithmetic that has an operand there
        ("shared_atomic_cycles", np.float64),  # of the banks, for each lane that wants one
        ("swap_turns", np.float64),  # of that, for a lane that compares and swaps
        ("atomic_shared_latency", np.float64),
        ("atomic_conflict_cycles", np.float64),  # that such a lane adds to the atomic's latency
        ("l1_latency", np.float64),
        ("l2_latency", np.float64),
        ("l2_far_latency", np.float64),
        ("l2_all_sms", np.float64),  # what a load from it takes longer, as many SMs as do load
        ("dram_latency", np.float64),
        ("l2_spread", np.float64),  # standard deviations of the two over lines
        ("dram_spread", np.float64),
        ("dram_line_spread", np.float64),  # that of the DRAM over the lines of 4 KiB
        ("dram_write_wait", np.float64),  # cycles of a load that comes while the DRAM writes
        ("dram_contention", np.float64),  # cycles: b in a load's further latency b u/(1 - u)
        ("miss_registers", np.int64),
        ("l2_rate", np.float64),  # bytes per cycle that these SMs share
        ("l2_wait_spread", np.float64),  # of a wait for it, what differs from line to line
        ("l2_write_first", np.float64),  # cycles of L2's slices for a line's first sector, and
        ("l2_write_cycles", np.float64),  # for each other; 0 where they are as those from L2
        ("l2_write_shared", np.bool_),  # whether it is the way from L2 that takes them
        ("l2_request_cycles", np.float64),  # in which the slices take a request that reads
        ("l2_change_cycles", np.float64),  # and, at the least, one that writes
        ("store_first", np.float64),  # cycles in which an SM sends a line's first sector, and
        ("store_further", np.float64),  # each other; 0 where nobody knows
        ("store_narrow", np.float64),  # the first one, where words are written in part
        ("store_whole", np.float64),  # a line that is written whole; 0 as any other
        ("store_lines", np.int64),  # of the store buffer; 0 where it joins nothing
        ("miss_cycles", np.float64),  # in which it asks for a line that its L1 cache lacks; 0 so
        ("atomic_line", np.float64),  # cycles in which an SM sends a line of a global atomic; 0 so
        ("least_sectors", np.float64),  # that move together between SM and L2 cache
        ("most_dram_wait", np.float64),  # cycles that the DRAM may be behind
        ("fetch_line", np.int64),  # bytes: two to this power
        ("fetch_bytes", np.int64),
        ("l0_lines", np.int64),  # of instructions that a scheduler keeps; 0 where all are there
        ("instruction_lines", np.int64),  # that the SM keeps
        ("fetch_ahead", np.int64),  # lines
        ("fetch_interval", np.float64),  # from line to line that the SM gives
        ("fetch_l0_interval", np.float64),  # from line to line that a scheduler gets
        ("fetch_l2_interval", np.float64),  # from line to line that it gets
        ("fetch_dram_interval", np.float64),  # the same, of lines that the L2 cache lacks
        ("keeps_code", np.int64),  # whether it has, from before, the code that it can hold
        ("fetch_latency", np.float64),  # to a line that the SM keeps
        ("fetch_l2_latency", np.float64),  # to one that it does not
        ("constant_lines", np.int64),  # of those named that a scheduler keeps; 0 for all
        ("constant_told_lines", np.int64),  # the same of those that a uniform register tells
        ("constant_near_latency", np.float64),  # to one that it does not
        ("constant_sets", np.int64),  # of those loaded that the SM keeps; 0 for all
        ("constant_ways", np.int64),
        ("constant_far_latency", np.float64),  # of the load of one that it does not
        ("constant_word_cycles", np.float64),  # in which the SM loads a word
        ("constant_interval", np.float64),  # from line to line that it gets
        ("memory_group", np.int64),  # SMs that share one way to memory
        ("memory_apart", np.int64),  # whether what goes to memory leaves the banks alone
        ("in_flight", np.int64),  # sectors that such SMs may wait for, 0 where lines are counted
        ("channels", np.int64),  # of the DRAM, that addresses name
        ("channel_shift", np.int64),  # two to this many lines, then comes the next channel
        ("reading_channels", np.int64),  # that a hash of addresses names, 0 where none does
        ("has_l1", np.int64),
        ("fills_late", np.int64),  # whether a line takes its place there when it comes
        ("tlb_entries", np.int64),  # pages whose addresses are translated at once; 0 for all
        ("tlb_shift", np.int64),  # lines of a page, two to this
        ("tlb_miss", np.float64),  # cycles that any other page adds
    ]
)

# Sectors of a line on their way to an SM, and by what rule its L1 cache takes them.
FLIGHT = np.dtype(
    [("line", np.int64), ("sectors", np.int64), ("rule", np.int64), ("arrives", np.float64)]
)

# A warp that is resident.
WARP = np.dtype(
    [
        ("at", np.int64),  # the next word of its stream
        ("end", np.int64),
        ("pc", np.int64),  # the next instruction, and the end of its basic block
        ("stop", np.int64),
        ("block", np.int64),  # the block among those that are resident on the SM
        ("number", np.int64),  # in its block
        ("last", np.int64),  # when it issued last
        ("line", np.int64),  # of its instructions, -1 where it has asked for none
        ("fetched", np.float64),  # when that is there
        ("constant", np.int64),  # the line of constants that it waits for, -1 for none
        ("missed", np.int64),  # cycles that it waits for that
        ("could_issue", np.int64),  # when all else was there, for the last of which
        ("waited_for", np.int64),  # it had waited
        ("reason", np.int64),  # why it is not ready
        ("waits_at", np.int64),  # the instruction it issued last: the barrier, if it waits at one
        ("held", np.int64),  # cycles for which its stall count stood still
        ("gave_way", np.int64),  # whether others come before it that can issue
        ("is_broken", np.int64),  # its stream is not one of the code
        ("mbarrier", np.int64),  # the barrier in shared memory that it signals or waits for, or -1
        ("arrivals", np.int64),  # which it waits for there
        # Of what it tries to swap in shared memory: where its latest load stands, and when it was
        # made; the request that failed, the words of it that did, and whether it goes back now.
        ("loaded_at", np.int64),
        ("loaded_pc", np.int64),
        ("loaded_stop", np.int64),
        ("loaded", np.float64),
        ("tried_at", np.int64),
        ("failed", np.int64),
        ("goes_back", np.int64),
        ("next_store", np.float64),  # from when on it may store to memory again
        ("flights", np.float64, FLIGHTS),  # when its latest loads from memory are there
        ("flight", np.int64),  # the earliest of them
        ("stores_done", np.float64),
        ("copies_done", np.float64),
        ("raised", np.int64, COUNTERS),
        ("pending", np.float64, (COUNTERS, PENDING)),
        ("pending_reason", np.int64, COUNTERS),
    ]
)

# A block that is resident.
BLOCK = np.dtype(
    [
        ("number", np.int64),  # its place among the blocks of the stream
        ("left", np.int64),  # warps that have not ended
        ("done", np.float64),  # when all it has stored has arrived
        ("arrived", np.int64, BARRIERS),
        ("arrivals", np.int64, MBARRIERS),  # at barriers in shared memory so far
        ("completed", np.float64, MBARRIERS),  # when the last of them was there
        ("last_reason", np.int64, MBARRIERS),  # why warps wait that wait for that one
    ]
)

# A word of shared memory that lanes try to swap: of which block, and when one did last.
SWAPPED = np.dtype([("block", np.int64), ("word", np.int64), ("at", np.float64)])

# Of the whole simulation.
CLOCK = np.dtype(
    [
        ("now", np.int64),
        ("issued", np.int64),
        ("repeated", np.int64),  # of these, in loops that try once more to swap words
        ("age", np.int64),
        ("limit", np.int64),  # issued instructions after which it stops
        ("end", np.int64),
        ("broken_warp", np.int64),
        ("broken_instruction", np.int64),
        ("resident_cycles", np.float64),  # of warps
        ("handed_out", np.float64),  # when the next block can be given to an SM
        ("full_until", np.int64),  # when an SM first had no block for a place, 0 before
        ("issued_full", np.int64),  # instructions that were issued by then
        ("l2_free", np.float64),  # the way from the L2 cache
        ("l2_slices_free", np.float64),
        ("atomics_free", np.float64),
        ("shared_busy", np.float64),  # the banks of all SMs, for shared memory and shuffles
        ("l1_busy", np.float64),  # the same banks, for global and local memory
        ("l2_busy", np.float64),
        ("l2_slices_busy", np.float64),
        ("dram_busy", np.float64),
        ("dram_writing", np.float64),
        ("l1_sectors", np.int64),
        ("l1_hits", np.int64),
        ("pages_missed", np.int64),  # by the TLB, with those that it had room for
        ("events", np.int64),
        ("most_events", np.int64),
    ]
)

# What was issued, where a timeline is asked for.
EVENT = np.dtype(
    [
        ("cycle", np.int64),
        ("sm", np.int32),
        ("scheduler", np.int32),
        ("block", np.int32),
        ("warp", np.int32),
        ("instruction", np.int32),
        ("reason", np.int32),
        ("throttle", np.int32),
        ("waited", np.int64),  # cycles since the warp's last one, for `reason`
        ("throttled", np.int64),  # and after these, for its pipe
        ("held", np.int64),  # and then for its scheduler, whose registers are being read
        ("missed", np.int64),  # and for a constant that it names
    ]
)
