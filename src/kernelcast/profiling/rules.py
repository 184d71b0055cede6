"""By which rules of single machines accesses are counted, beside what every machine shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MOST_TAG_BITS = 2
"""Most parities that name a bank of tags."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Rules that hold for some machines only; what nobody asks for is not counted.

    `tag_bank_bits` are one or two sets of bits of a line's number, as masks: the parities of the
    line's bits under them name the bank that holds its tag in the L1 cache. `half_warps` asks for
    the rules of compute capability 1.x, which serves half-warps.
    """

    tag_bank_bits: tuple[int, ...] = ()
    half_warps: bool = False

    def with_those_of(self, others: Iterable[AccessRules]) -> AccessRules:
        """What others ask for as well, as far as one count can answer all: a profile to share."""
        half_warps, bits = self.half_warps, self.tag_bank_bits
        for other in others:
            half_warps = half_warps or other.half_warps
            bits = bits or other.tag_bank_bits
        return AccessRules(bits, half_warps)


NO_RULES = AccessRules()
