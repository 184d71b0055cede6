"""The traces of blocks that run at the same time, held until each is whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernelcast.execution.engine.stops import too_long
from kernelcast.execution.trace import Words
from kernelcast.ir import Kernel

MOST_HELD_BYTES = 1 << 31


class HeldTraces:
    """Words of blocks, which who follows is given one block after the other.

    `order` is that of the blocks where some may end before others that they are to follow; else
    each is handed out as it ends. BudgetError where more than `MOST_HELD_BYTES` would be held.
    """

    def __init__(self, kernel: Kernel, order: Sequence[int] = ()) -> None:
        self._kernel = kernel
        self._left = list(reversed(order))
        self._is_ordered = bool(order)
        self._words: dict[int, list[Words]] = {}
        self._ended: set[int] = set()
        self._bytes = 0

    def add(self, block: int, words: Words) -> None:
        """Keep a copy of what comes next of a block."""
        self._words.setdefault(block, []).append(words.copy())
        self._bytes += words.nbytes
        if self._bytes > MOST_HELD_BYTES:
            raise too_long(self._kernel, MOST_HELD_BYTES)

    def end(self, block: int) -> Iterator[Words]:
        """A block is over: the words whose turn it is now."""
        if not self._is_ordered:
            self._left.append(block)
        self._ended.add(block)
        while self._left and self._left[-1] in self._ended:
            following = self._left.pop()
            self._ended.remove(following)
            for part in self._words.pop(following, ()):
                self._bytes -= part.nbytes
                yield part
