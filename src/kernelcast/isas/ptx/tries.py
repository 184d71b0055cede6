"""A compare-and-swap of shared memory that says no more than whether it was done (`CAST`).

Lanes have one turn together: of those on one bank the first has it, and the others fail whatever
they compare. On an H100 a warp's lanes that add floats to words of their own on one bank take as
many rounds as lanes that add to one word (measurements/data/h100-sxm/probes/atomics), and a round
takes no longer for 32 lanes than for one.
"""

from __future__ import annotations

TRY_TO_SWAP = "try"
"""The modifier of the step that does it, whose result is 1 where it was done, else 0."""

BANKS = 32


def bank_of_try(place: int, size: int) -> int:
    """The bank of a word of `size` bytes; words of 8 have as many as those of 4.

    So 32 lanes with words of 8 bytes in a row all have their turn together, as on an H100, and
    lanes on one word have it in their order.
    """
    return place // size % BANKS
