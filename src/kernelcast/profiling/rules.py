"""By which rules of a machine accesses are counted, beside what every machine shares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Rules that hold for some machines only; what nobody asks for is not counted.

    `tag_bank_bits` are two sets of bits of a line's number: their parities name the one of four
    banks that holds the line's tag in the L1 cache. `half_warps` asks for the rules of compute
    capability 1.x, which serves half-warps.
    """

    tag_bank_bits: tuple[int, int] | None = None
    half_warps: bool = False


NO_RULES = AccessRules()
