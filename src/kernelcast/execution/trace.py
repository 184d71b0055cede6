"""The trace: what every warp did, as a stream of 64-bit words.

A record starts with a header word: bits 0-31 the mask of active lanes, bits 32-55 an id, bits
56-63 the kind.

    WARP       id = warp in its block; 1 more word: the linear index of the block in the grid.
               What follows, up to the next WARP record, was done by this warp.
    BLOCK      id = index of the basic block that the lanes of the mask enter
    AFFINE     id = index of the memory instruction; 2 more words: the address of lane 0
               (extrapolated where lane 0 is inactive) and the signed stride per lane, in bytes
    ADDRESSES  id = index of the memory instruction; 32 more words: the address of every lane,
               without meaning for inactive lanes
    HALVES     id = index of the memory instruction; 3 more words: those of AFFINE, which hold for
               lanes 0 to 15, and the address of lane 16, from which the others go on by the same
               stride: two rows of a block that is 16 threads wide
    VALUES     id = index of an instruction that finds lanes of equal value (`match.any`); 1 more
               word: how many different values the lanes of the mask hold. Lanes that are compared
               in groups, by different membership masks, count for each group.

Where the lanes of an access allow several of the three before, it is for the executor to choose.
Addresses are those of the instruction's own space (see `address_map`). An instruction whose guard
is false in every lane leaves no record. The records of one warp are in its program order;
those of different warps interleave at barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from kernelcast.ir.sizes import HALF_WARP_LANES, WARP_LANES

Words = NDArray[np.uint64]

Progress = Callable[[float], None]
"""Takes the share of the work that is done, now and then."""

KIND_SHIFT = 56
ID_SHIFT = 32
ID_MASK = 0xFF_FFFF


class RecordKind(IntEnum):
    """The kinds of records; see the head of this file."""

    WARP = 1
    BLOCK = 2
    AFFINE = 3
    ADDRESSES = 4
    HALVES = 5
    VALUES = 6


RECORD_WORDS = {
    RecordKind.WARP: 2,
    RecordKind.BLOCK: 1,
    RecordKind.AFFINE: 3,
    RecordKind.ADDRESSES: 1 + WARP_LANES,
    RecordKind.HALVES: 4,
    RecordKind.VALUES: 2,
}


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One decoded record; `addresses` is empty unless it is an access, `values` 0 unless it is
    VALUES."""

    block: int
    warp: int
    kind: RecordKind
    id: int
    mask: int
    addresses: tuple[int, ...] = ()
    values: int = 0


def decode(words: Words) -> Iterator[TraceRecord]:
    """Decode a stream into its records but WARP, each with the warp it belongs to."""
    stream = [int(w) for w in words]
    block = warp = -1
    at = 0
    while at < len(stream):
        header = stream[at]
        kind = RecordKind(header >> KIND_SHIFT)
        ident = header >> ID_SHIFT & ID_MASK
        mask = header & 0xFFFF_FFFF
        if kind is RecordKind.WARP:
            warp, block = ident, stream[at + 1]
        elif kind is RecordKind.BLOCK:
            yield TraceRecord(block, warp, kind, ident, mask)
        elif kind is RecordKind.VALUES:
            yield TraceRecord(block, warp, kind, ident, mask, values=stream[at + 1])
        else:
            lanes = lane_addresses(kind, stream[at + 1 : at + RECORD_WORDS[kind]])
            active = tuple(a if mask >> lane & 1 else 0 for lane, a in enumerate(lanes))
            yield TraceRecord(block, warp, kind, ident, mask, active)
        at += RECORD_WORDS[kind]


def lane_addresses(kind: RecordKind, words: Sequence[int]) -> Sequence[int]:
    """The addresses of all lanes, by the words that follow the header of an access."""
    if kind is RecordKind.ADDRESSES:
        return words
    base, stride = words[:2]
    second = words[2] if kind is RecordKind.HALVES else base + HALF_WARP_LANES * stride
    starts = [base] * HALF_WARP_LANES + [second] * HALF_WARP_LANES
    return [
        start + lane % HALF_WARP_LANES * stride & (1 << 64) - 1 for lane, start in enumerate(starts)
    ]
