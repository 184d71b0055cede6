"""Access streams written down by hand."""

from __future__ import annotations

import numpy as np

from kernelcast.execution.blocks import Span
from kernelcast.profiling.streams import (
    FIRST_BIT,
    LINE_SHIFT,
    PARTIAL_SHIFT,
    ROW_SHIFT,
    AccessStreams,
)


def stream_of(work, of=None):
    """Of blocks of warps of requests, each a row and its lines: number, sectors, partial ones."""
    words, starts = [], [0]
    for block in work:
        for warp in block:
            for row, lines in warp:
                for place, (line, sectors, partial) in enumerate(lines):
                    words.append(
                        line << LINE_SHIFT
                        | row << ROW_SHIFT
                        | (place == 0) << FIRST_BIT
                        | (partial & sectors) << PARTIAL_SHIFT
                        | sectors
                    )
            starts.append(len(words))
    return AccessStreams(
        of or len(work),
        len(work[0]),
        np.arange(len(work)),
        np.array(starts, np.int64),
        np.array(words, np.uint64),
        (),
        (Span(0, 0, len(work)),),
    )
