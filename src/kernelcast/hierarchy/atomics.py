"""Atomics that wait for each other: in the banks of shared memory, and in the L2 cache.

A slice of the L2 cache carries out the atomics on its lines one after the other. What it does in
one turn is one lane on each of some words of a sector, so that a request of which l_w lanes go to
word w takes, of sector j, s_j = max over its words of l_w turns. Of all requests of a launch,

    t = a max over slices of the sum of s_j,        or, of older chips,
    t = a max over words of the sum of l_w

with a = `atomics.same_address`: on an H100 0.737 ns, whether all go to one word or each to another
of the slice's. Chips whose `atomics.by_slice` is 0, or that lack it, take the second.

Before Hopper, a sector of which a request changes several words takes longer: g =
`atomics.several_words` for its first turn, r = `atomics.repeated_words` for each further one,

    s_j = g + r (max over its words of l_w - 1),        or l_w where all lanes want one word

On an Ada (g, r) = (1.28, 2): 1 to 32 words take 1, 2, 2, 2, 1.5 and 1.3 clocks a turn. And where
`atomics.doubles_by_lane` is 1, as on chips with few units of double precision, s_j of a sum of
doubles is all of its lanes.

A sum of floating-point numbers in one word takes longer, as each waits for the one before: with its
own f = `atomics.same_address_float` (on an H100 1.75 ns, three clocks of its L2 cache) beside a,

    t >= f max over words of the sum of l_w

Where lines lie is known from tables of few words, on an H100 (one lane of every warp, 1 to 4096
lines, 4 B to 64 KiB apart) and alike on an RTX of Ada and a B300: a KiB lies in two slices, pairs
of lines in turn, and 4 KiB in eight, each a chunk of 512 bytes. Sixteen words 4 KiB apart each have
a slice to themselves, so that pages are dealt as evenly as can be.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernelcast.ir import Instruction, Kernel, OpClass
from kernelcast.machines.machine import Machine
from kernelcast.profiling.layout import PAGE_CHUNKS
from kernelcast.profiling.profile import AtomicMeetings, Floats


def shared_latency(machine: Machine, needed_by: str) -> float:
    """Cycles of an atomic on shared memory whose lanes all want other banks."""
    known = machine.get("latency.atomic_shared")
    return known or machine.number("latency.shared", needed_by)


def shared_conflict_latency(machine: Machine, needed_by: str) -> float:
    """Cycles that each further lane on one bank adds to an atomic on shared memory.

    Where nobody has measured it, as long as it takes the bank.
    """
    known = machine.get("latency.atomic_shared_conflict")
    return known or machine.number("atomics.shared_lane_cycles", needed_by)


def shared_turns(instruction: Instruction, machine: Machine) -> float:
    """Turns of a bank, each of `atomics.shared_lane_cycles`, that a lane of an atomic takes."""
    return 1.0 if instruction.traits.swap is None else swap_turns(machine)


def swap_turns(machine: Machine) -> float:
    """The same of a compare-and-swap; one where nobody has measured it."""
    return machine.get("atomics.shared_swap_turns") or 1.0


@lru_cache(maxsize=32)
def with_results(kernel: Kernel) -> NDArray[np.bool_]:
    """By instruction, whether it is an atomic of which somebody reads what was there before."""
    read = {register for instruction in kernel.instructions for register in instruction.reads}
    found = np.array(
        [
            i.op_class is OpClass.ATOMIC and not read.isdisjoint(i.writes)
            for i in kernel.instructions
        ],
        np.bool_,
    )
    found.flags.writeable = False
    return found


def in_turn_cycles(atomics: AtomicMeetings, machine: Machine, needed_by: str) -> float:
    """Cycles of the slice, or the word, that is busy longest; 0 where none is, or nobody knows.

    Where nobody has measured a time, a is `atomics.same_address_cycles`.
    """
    cycles, seconds = (machine.get(f"atomics.same_address{of}") for of in ("_cycles", ""))
    if cycles is None or not atomics.most_on_word:
        return 0.0
    clock_hz = machine.number("clock.sm", needed_by)
    if seconds is not None:
        cycles = seconds * clock_hz
    of_float = (machine.get("atomics.same_address_float") or 0.0) * clock_hz
    return max(cycles * _most_turns(atomics, machine), of_float * atomics.floats_on_word)


def _most_turns(atomics: AtomicMeetings, machine: Machine) -> float:
    slices = machine.get("l2.slices")
    if machine.get("atomics.by_slice") != 1 or not atomics.chunk_turns.size:
        return atomics.most_on_word
    first, further = (machine.get(f"atomics.{of}_words") or 1.0 for of in ("several", "repeated"))
    turns = atomics.chunk_turns + (first - 1) * atomics.shared_sectors
    turns = turns + (further - 1) * atomics.repeated_turns
    if machine.get("atomics.doubles_by_lane") == 1:
        turns = turns + atomics.doubles
    if slices is None:
        return float(turns.max())
    return float(_by_slice(turns, int(slices)).max())


def _by_slice(chunk_turns: Floats, slices: int) -> Floats:
    """Turns of every slice: pages are dealt round, chunks of the next round a slice further.

    Further bits of their numbers take part, so that powers of two apart they go all round, too.
    """
    groups = max(1, slices // PAGE_CHUNKS)
    page, chunk = np.divmod(np.arange(chunk_turns.size), PAGE_CHUNKS)
    page ^= page >> 4 ^ page >> 8
    place = (page % groups) * PAGE_CHUNKS + (page // groups + chunk) % PAGE_CHUNKS
    of_slice = np.zeros(groups * PAGE_CHUNKS)
    np.add.at(of_slice, place, chunk_turns)
    return of_slice
