"""Which lanes of a warp run next (docs/execution.md, "Order")."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcast.analysis.meetings import TURN_ITERATIONS
from kernelcast.analysis.spin_loops import SPIN_BUDGET, waits_of
from kernelcast.execution.reference.operands import reader
from kernelcast.execution.reference.state import RunState, Warp


class Fairness:
    """The order of the blocks in which lanes of a warp wait to run."""

    def __init__(self, run: RunState, shared_loops: frozenset[int]) -> None:
        waits = waits_of(run.kernel)
        self._shared_loops = shared_loops if not waits.headers else frozenset()
        self.seats_taken = 1  # clusters that run at the same time
        self._blocks = len(run.kernel.blocks)
        self._headers = waits.headers
        self._lanes_at = {
            block: reader(mask, "u32", run) for block, mask in waits.reconvergence.items()
        }

    def next_block(self, warp: Warp) -> int:
        """The lowest block that may run; the lowest of all where none may."""
        if not self._lanes_at:
            return min(warp.pending)
        blocks = sorted(warp.pending)
        return next((b for b in blocks if self._may_run(warp, b)), blocks[0])

    def _may_run(self, warp: Warp, block: int) -> bool:
        """Whether all lanes that reconverge where a block begins are there or have exited."""
        lanes_at = self._lanes_at.get(block)
        if lanes_at is None:
            return True
        here = warp.pending[block]
        lowest = (here & -here).bit_length() - 1
        return not int(lanes_at(warp)[lowest]) & warp.alive & ~here

    def ends_turn(self, warp: Warp, block: int) -> bool:
        """Whether the turn of a warp ends before a block, with which an iteration of a loop begins
        in which blocks may see each other's work."""
        if block not in self._shared_loops:
            return False
        warp.iterations += 1
        return warp.iterations > TURN_ITERATIONS and self.seats_taken > 1

    def spend_spin_budget(self, warp: Warp, block: int) -> bool:
        """Whether the lanes about to run have spent their spin budget, none having left the loop,
        so that the others move first."""
        if block not in self._headers:
            return False
        lanes = warp.pending[block]
        warp.rounds = warp.rounds + 1 if lanes == warp.spinning else 0
        warp.spinning = lanes
        if warp.rounds < SPIN_BUDGET:
            return False
        warp.rounds = SPIN_BUDGET - 2  # the next iteration is run, the one after it is not
        return True

    def others(self, warp: Warp, block: int) -> Iterator[int]:
        """The other blocks, in ascending order, so that every lane moves on by one of them."""
        unmoved = ~warp.pending[block]
        for other in range(self._blocks):
            lanes = warp.pending.get(other, 0)
            if lanes & unmoved:
                unmoved &= ~lanes
                if self._may_run(warp, other):
                    yield other
