"""Where lanes of a warp meet that went different ways, and which registers may then differ.

Lanes of a divergent branch take its paths one after another and meet at the first block that two of
them lead to. What was written on the way is each lane's own there: lanes that left a loop sooner
hold what they had then. Functions that are called are left out of the caller's paths: a call goes
on behind itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from kernelcast.analysis.cfg import immediate_dominators
from kernelcast.ir import Kernel, Register


@dataclass(frozen=True)
class FunctionCall:
    """A call: control comes back to block `back`, and in between at most `written` change."""

    back: int
    written: frozenset[Register]


class WarpPaths:
    """The paths of a kernel, as its warps go them."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    @cached_property
    def calls(self) -> Mapping[int, FunctionCall]:
        """By the block that calls."""
        return {
            caller: FunctionCall(back, self._written(self._called(caller)))
            for caller, back in self._backs.items()
        }

    @cached_property
    def returns(self) -> Mapping[int, Mapping[int, Sequence[int]]]:
        """Of blocks that end functions: where control goes back to, each with the callers that may
        have been left for it."""
        found: dict[int, dict[int, list[int]]] = {}
        for caller, back in self._backs.items():
            for block in self._called(caller):
                if self._is_end(block) and back in self._kernel.blocks[block].successors:
                    found.setdefault(block, {}).setdefault(back, []).append(caller)
        return found

    @cached_property
    def _backs(self) -> Mapping[int, int]:
        """The blocks that come behind calls, by the blocks that call. What ends in no return to
        there is called to jump."""
        blocks, found = self._kernel.blocks, {}
        for caller, back in self._behind_calls.items():
            seen, pending = set(), [to for to in blocks[caller].successors if to != back]
            while pending:
                block = pending.pop()
                if block not in seen:
                    seen.add(block)
                    pending += self._within(block)
            if any(self._is_end(at) and back in blocks[at].successors for at in seen):
                found[caller] = back
        return found

    def _within(self, block: int) -> Sequence[int]:
        """Where a block leads in its own function, calls left out that come back for certain."""
        successors, back = self._kernel.blocks[block].successors, self._behind_calls.get(block)
        if self._is_end(block):
            return ()
        return successors if back is None or back in successors else (back,)

    @cached_property
    def _behind_calls(self) -> Mapping[int, int]:
        """The blocks that stand behind calls in the code, by the blocks that end in them."""
        code = self._kernel.instructions
        offsets = sorted(i.code_offset for i in code if i.code_offset is not None)
        starts = {
            code[b.start].code_offset: b.index for b in self._kernel.blocks if b.end > b.start
        }
        found: dict[int, int] = {}
        for block in self._kernel.blocks:
            last = code[block.end - 1] if block.end > block.start else None
            if last is not None and last.traits.calls and last.code_offset is not None:
                behind = bisect_right(offsets, last.code_offset)
                if behind < len(offsets) and offsets[behind] in starts:
                    found[block.index] = starts[offsets[behind]]
        return found

    def _is_end(self, block: int) -> bool:
        """Whether a function goes back from a block."""
        at = self._kernel.blocks[block]
        return at.end > at.start and self._kernel.instructions[at.end - 1].traits.returns

    def _called(self, caller: int) -> set[int]:
        """The blocks of the functions that a block calls, and of those that these call."""
        found: set[int] = set()
        back = self._backs[caller]
        pending = [to for to in self._kernel.blocks[caller].successors if to != back]
        while pending:
            block = pending.pop()
            if block not in found:
                found.add(block)
                pending += self._edges[block]
                if block in self._backs:
                    pending += self._kernel.blocks[block].successors
        return found - {self._outside}

    def apart(self, divergent: Collection[int]) -> Mapping[int, Set[Register]]:
        """The registers that lanes may hold values of their own in, where blocks begin at which
        they meet, if these blocks end in branches that lanes take differently."""
        found: dict[int, set[Register]] = {}
        for block in divergent:
            meeting = self._ends.get(block, self._outside)
            ways = [self._reached(s, meeting) for s in self._edges[block]]
            on_the_way = frozenset().union(*ways) - {meeting, self._outside}
            called = (self.calls[at].written for at in on_the_way & self.calls.keys())
            written = self._written(on_the_way).union(*called)
            for place in on_the_way | {meeting}:
                if sum(place in way for way in ways) > 1:
                    found.setdefault(place, set()).update(written)
        return found

    @cached_property
    def _edges(self) -> list[tuple[int, ...]]:
        """Where a warp goes on in the same function; what leaves it leads outside."""
        edges = [block.successors for block in self._kernel.blocks]
        for caller, back in self._backs.items():
            edges[caller] = (back,)
        for block in range(len(edges)):
            if self._is_end(block):
                edges[block] = ()
        return [*(to or (self._outside,) for to in edges), ()]

    @property
    def _outside(self) -> int:
        return len(self._kernel.blocks)

    @cached_property
    def _ends(self) -> Mapping[int, int]:
        """The block that all paths from a block lead to, the nearest: its postdominator."""
        backwards: list[list[int]] = [[] for _ in self._edges]
        for block, to in enumerate(self._edges):
            for target in to:
                backwards[target].append(block)
        return immediate_dominators(backwards, self._outside)

    def _reached(self, start: int, last: int) -> set[int]:
        """The blocks on the way to a last one, which is among them."""
        seen, pending = {start}, [start]
        while pending:
            block = pending.pop()
            if block in (last, self._outside):
                continue
            for target in self._edges[block]:
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        return seen

    def _written(self, blocks: Collection[int]) -> frozenset[Register]:
        return frozenset().union(*(self._writes[index] for index in blocks))

    @cached_property
    def _writes(self) -> list[set[Register]]:
        """The registers that are written in every block."""
        return [
            {
                register
                for index in range(block.start, block.end)
                for step in self._kernel.steps(index)
                for register in step.writes
            }
            for block in self._kernel.blocks
        ]
