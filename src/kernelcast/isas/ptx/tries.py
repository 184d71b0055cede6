"""A compare-and-swap of shared memory that says no more than whether it was done (`CAST`).

Lanes have one turn together: of those on one bank the first has it, and the others fail whatever
they compare. On an H100 a warp's lanes that add floats to words of their own on one bank take as
many rounds as lanes that add to one word (measurements/data/h100-sxm/probes/atomics), and a round
takes no longer for 32 lanes than for one.
"""

from __future__ import annotations

TRY_TO_SWAP = "try"
"""The modifier of the step that does it, whose result is 1 where it was done, else 0."""

WORD_BANKS, PAIR_BANKS = 32, 16


def bank_of_try(place: int, lane: int, size: int) -> int:
    """The bank of a word of `size` bytes; those of 8 have banks for each half of a warp."""
    if size == 8:
        return place // 8 % PAIR_BANKS + (lane & PAIR_BANKS)
    return place // 4 % WORD_BANKS
