"""The second pass over an Accel-Sim trace: its words, basic block by basic block.

The lanes of a visit to a basic block are all that an instruction of it was executed with. Where
guards switched all of them off, they are those of the visit before.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kernelcast.execution.trace import ID_SHIFT, KIND_SHIFT, RecordKind, Words
from kernelcast.ir.sizes import WARP_LANES
from kernelcast.traces.accel_sim.addresses import Pattern
from kernelcast.traces.accel_sim.lines import TraceText, WarpIndex
from kernelcast.traces.accel_sim.spaces import Spaces
from kernelcast.traces.accel_sim.survey import Survey

_CHUNK_WORDS = 1 << 16
_LOW_64 = (1 << 64) - 1


def stream(text: TraceText, found: Survey) -> Iterator[Words]:
    """The words of a trace; ParseError and InputError where its file has changed."""
    head = text.head
    index = {i.code_offset: i.index for i in found.kernel.instructions}
    spaces, visits = Spaces(head), _Visits(head.launch.threads_per_block)
    here = None
    try:
        for place, words in text.instructions():
            pc, mask = int(words[head.first_word], 16), int(words[head.first_word + 1], 16)
            if place is not here:
                here = place
                visits.enter_warp(place)
            if pc in found.starts:
                visits.enter_block(found.starts[pc])
            visits.step(index[pc], mask, spaces.read(found.code[pc], mask, words))
            if len(visits.words) >= _CHUNK_WORDS:
                yield visits.taken()
    except (ValueError, IndexError, KeyError):
        raise text.error("not an instruction of the trace that was read before") from None
    visits.leave_block()
    yield visits.taken()


class _Visits:
    """Puts the records of a warp together; `words` ends with the last complete visit."""

    def __init__(self, threads: int) -> None:
        self.words: list[int] = []
        self._threads = threads
        self._block = -1
        self._lanes = self._lanes_before = 0
        self._accesses: list[int] = []

    def enter_warp(self, place: WarpIndex) -> None:
        self.leave_block()
        lanes = min(WARP_LANES, self._threads - WARP_LANES * place.warp)
        self._lanes_before = (1 << lanes) - 1
        self.words += (_header(RecordKind.WARP, place.warp, 0), place.block)

    def enter_block(self, block: int) -> None:
        self.leave_block()
        self._block = block

    def step(self, index: int, mask: int, access: tuple[int, Pattern] | None) -> None:
        self._lanes |= mask
        if access is None:
            return
        base, pattern = access
        if pattern.stride is None:
            self._accesses.append(_header(RecordKind.ADDRESSES, index, mask))
            self._accesses += [base + offset for offset in pattern.offsets]
        else:
            self._accesses.append(_header(RecordKind.AFFINE, index, mask))
            base -= pattern.first * pattern.stride
            self._accesses += (base & _LOW_64, pattern.stride & _LOW_64)

    def leave_block(self) -> None:
        if self._block < 0:
            return
        lanes = self._lanes or self._lanes_before
        self.words.append(_header(RecordKind.BLOCK, self._block, lanes))
        self.words += self._accesses
        self._block, self._lanes, self._lanes_before = -1, 0, lanes
        self._accesses.clear()

    def taken(self) -> Words:
        """The words so far, which are forgotten."""
        words = np.array(self.words, np.uint64)
        self.words.clear()
        return words


def _header(kind: RecordKind, ident: int, mask: int) -> int:
    return kind << KIND_SHIFT | ident << ID_SHIFT | mask
