"""Which lanes of a warp run next (docs/execution.md, "Order")."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcast.analysis.meetings import TURN_ITERATIONS
from kernelcast.analysis.spin_loops import SPIN_BUDGET, waits_of
from kernelcast.execution.reference.operands import reader
from kernelcast.execution.reference.state import RunState, Warp
from kernelcast.execution.reference.warp_ops import ballot


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

    def next_lanes(self, warp: Warp) -> tuple[int, int]:
        """The lowest block in which lanes may run, and those lanes; where none may, all that wait
        in the lowest of all."""
        lowest = min(warp.pending)
        if self._lanes_at:
            for block in sorted(warp.pending):
                if ready := self._ready(warp, block):
                    return block, ready
        return lowest, warp.pending[lowest]

    def _ready(self, warp: Warp, block: int) -> int:
        """The lanes waiting where a block begins that may run: where lanes reconverge, those of
        whose mask all are there or have exited."""
        here = warp.pending[block]
        lanes_at = self._lanes_at.get(block)
        if lanes_at is None:
            return here
        missing = lanes_at(warp) & (warp.alive & ~here)
        return here & ballot(missing == 0)

    def ends_turn(self, warp: Warp, block: int) -> bool:
        """Whether the turn of a warp ends before a block, with which an iteration of a loop begins
        in which blocks may see each other's work."""
        if block not in self._shared_loops:
            return False
        warp.iterations += 1
        return warp.iterations > TURN_ITERATIONS and self.seats_taken > 1

    def spend_spin_budget(self, warp: Warp, block: int, lanes: int) -> bool:
        """Whether the lanes about to run have spent their spin budget, none having left the loop,
        so that the others move first."""
        if block not in self._headers:
            return False
        warp.rounds = warp.rounds + 1 if lanes == warp.spinning else 0
        warp.spinning = lanes
        if warp.rounds < SPIN_BUDGET:
            return False
        warp.rounds = SPIN_BUDGET - 2  # the next iteration is run, the one after it is not
        return True

    def others(self, warp: Warp, lanes: int) -> Iterator[tuple[int, int]]:
        """The other blocks and who may run there, in ascending order, so that every lane but the
        given moves on by one of them."""
        unmoved = ~lanes
        for block in range(self._blocks):
            waiting = warp.pending.get(block, 0)
            if waiting & unmoved:
                unmoved &= ~waiting
                if ready := self._ready(warp, block):
                    yield block, ready
