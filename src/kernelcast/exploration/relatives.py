"""What one launch of a kernel tells of others, with as many threads in other blocks.

Blocks of the same warps do the same work. Where they are next to each other in any case, or share
nothing, one of each kind of warp is executed, and the others take from it what caches hold. Where
other warps come to share an SM, of each kind only what its warps do by themselves is executed, and
the caches hold all that is wanted more than once: no launch of that kind takes less time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from kernelcast.errors import KernelcastError
from kernelcast.exploration.candidates import (
    Candidate,
    Likeness,
    do_the_same,
    has_loops,
    likeness,
    same_warps,
)
from kernelcast.ir import Dim3
from kernelcast.models.terms.base import Case
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.run import MOST_BLOCKS


@dataclass(frozen=True)
class Relatives:
    """The launch of `case` in other blocks, executed as far as they do not tell of each other.

    `execute` makes the case of a candidate, and `profile` tells what its warps do by themselves.
    """

    case: Case
    execute: Callable[[Candidate], Case]
    profile: Callable[[Candidate], Profile]
    _profiles: dict[Dim3, Profile] = field(default_factory=dict)
    _kinds: list[Case] = field(default_factory=list)

    def likeness(self, candidates: Sequence[Candidate]) -> Likeness:
        """What follows for the candidates.

        Nothing where a kernel loops, and what a warp of it does is found to depend on its block.
        """
        found = likeness(self.case)
        if found is Likeness.NONE or not has_loops(self.case):
            return found
        own = Candidate(self.case.launch.grid, self.case.launch.block)
        others = sorted((one for one in candidates if one.cap is None), key=_cost_of_a_fair_sample)
        pairs = combinations((own, *others), 2)
        alike = next((pair for pair in pairs if same_warps(pair[0].block, pair[1].block)), ())
        try:
            does_the_same = not alike or do_the_same(*map(self._profile, alike))
        except KernelcastError:
            does_the_same = False
        return found if does_the_same else Likeness.NONE

    def derived(self, one: Candidate, *, at_best: bool) -> Case:
        """The case of a candidate, of which one of the same warps was executed, or it is now."""
        for known in self._kinds:
            if same_warps(known.launch.block, one.block):
                return known.in_blocks(one.grid, one.block, at_best=at_best)
        found = self._first_of_kind(one, at_best=at_best)
        self._kinds.append(found)
        return found

    def _first_of_kind(self, one: Candidate, *, at_best: bool) -> Case:
        if same_warps(self.case.launch.block, one.block):
            return self.case.in_blocks(one.grid, one.block, at_best=at_best)
        if at_best:
            return self.case.in_blocks(one.grid, one.block, self._profile(one), at_best=True)
        return self.execute(one)

    def _profile(self, one: Candidate) -> Profile:
        if one.block == self.case.launch.block:
            return self.case.profile
        if one.block not in self._profiles:
            self._profiles[one.block] = self.profile(one)
        return self._profiles[one.block]


def _cost_of_a_fair_sample(one: Candidate) -> tuple[int, bool, int]:
    """First those with the fewest idle threads, whose blocks may all be in a sample, and small."""
    blocks = math.prod(one.grid)
    return blocks * math.prod(one.block), blocks > MOST_BLOCKS, -blocks
