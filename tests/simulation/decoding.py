"""Warp streams read word by word, as their description says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.simulation.streams import (
    BLOCK_MASK,
    BLOCK_SHIFT,
    ENTER,
    IDEAL_MASK,
    IDEAL_SHIFT,
    INSTRUCTION_MASK,
    INSTRUCTION_SHIFT,
    KIND_MASK,
    LANES_MASK,
    LANES_SHIFT,
    LINE_SHIFT,
    LINES_MASK,
    LINES_SHIFT,
    PASSES_MASK,
    PASSES_SHIFT,
    SECTORS_MASK,
    SECTORS_SHIFT,
    SPACE_MASK,
    SPACE_SHIFT,
    TAGS_MASK,
    TAGS_SHIFT,
)


@dataclass(frozen=True, slots=True)
class StreamedRequest:
    """One ACCESS, decoded; `lines` pairs line and sectors."""

    instruction: int
    space: int
    lanes: int
    passes: int
    ideal_passes: int
    tag_passes: int
    lines: tuple[tuple[int, int], ...]


def decoded(words: NDArray[np.int64]) -> Iterator[int | StreamedRequest]:
    """The words of a warp: a basic block that it enters, or a request."""
    at = 0
    while at < len(words):
        word = int(words[at])
        at += 1
        if word & KIND_MASK == ENTER:
            yield word >> BLOCK_SHIFT & BLOCK_MASK
            continue
        count = word >> LINES_SHIFT & LINES_MASK
        yield StreamedRequest(
            instruction=word >> INSTRUCTION_SHIFT & INSTRUCTION_MASK,
            space=word >> SPACE_SHIFT & SPACE_MASK,
            lanes=word >> LANES_SHIFT & LANES_MASK,
            passes=word >> PASSES_SHIFT & PASSES_MASK,
            ideal_passes=word >> IDEAL_SHIFT & IDEAL_MASK,
            tag_passes=word >> TAGS_SHIFT & TAGS_MASK,
            lines=tuple(
                (int(line) >> LINE_SHIFT, int(line) >> SECTORS_SHIFT & SECTORS_MASK)
                for line in words[at : at + count]
            ),
        )
        at += count
