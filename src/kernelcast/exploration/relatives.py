"""What one launch of a kernel tells of others, with as many threads in other blocks.

Blocks of the same warps do the same work. Where they are next to each other in any case, or share
nothing, one of each kind of warp is executed, and the others take from it what caches hold. Where
other warps come to share an SM, of each kind only what its warps do by themselves is executed, and
the caches hold all that is wanted more than once: no launch of that kind takes less time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernelcast.errors import KernelcastError
from kernelcast.execution.blocks import Blocks
from kernelcast.execution.run import Run
from kernelcast.exploration.candidates import (
    Candidate,
    Likeness,
    has_loops,
    likeness,
    same_warps,
)
from kernelcast.exploration.same_work import does_the_same, most_unlike
from kernelcast.ir import Launch
from kernelcast.models.terms.base import Case
from kernelcast.profiling.profile import Profile


@dataclass(frozen=True)
class Relatives:
    """The launch of `case` in other blocks, executed as far as they do not tell of each other.

    `execute` makes the case of a candidate, `profile` tells what its warps do by themselves, and
    `run` makes blocks of a launch ready.
    """

    case: Case
    execute: Callable[[Candidate], Case]
    profile: Callable[[Candidate], Profile]
    run: Callable[[Launch, Blocks], Run]
    _kinds: list[Case] = field(default_factory=list)

    def likeness(self, candidates: Sequence[Candidate]) -> Likeness:
        """What follows for the candidates.

        Nothing where a kernel loops, and what its threads do is found to depend on their block.
        """
        found = likeness(self.case)
        if found is Likeness.NONE or not has_loops(self.case):
            return found
        others = (one.of(self.case.launch) for one in candidates if one.cap is None)
        other = most_unlike(self.case.launch, others)
        try:
            is_known = other is not None and does_the_same(self.case, other, self.run)
        except KernelcastError:
            is_known = False
        return found if is_known else Likeness.NONE

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
            return self.case.in_blocks(one.grid, one.block, self.profile(one), at_best=True)
        return self.execute(one)
