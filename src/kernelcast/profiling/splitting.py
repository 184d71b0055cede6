# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Where one block's part of a trace ends and the next one's begins, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.execution.trace import KIND_SHIFT, RECORD_WORDS, RecordKind
from kernelcast.profiling.compilation import compiled
from kernelcast.profiling.loops import array

_WARP = int(RecordKind.WARP)
_KINDS = max(RecordKind) + 1
_WORDS = tuple(RECORD_WORDS.get(kind, 1) for kind in range(_KINDS))  # type: ignore[call-overload]


@compiled(np.int64, array(np.int64), np.int64, np.int64)
def end_of_block(words, at, block):
    """The position, from that of a record on, where another block than this one begins.

    The length of the stream where none does.
    """
    while at < len(words):
        kind = words[at] >> KIND_SHIFT
        if kind == _WARP and words[at + 1] != block:
            return at
        at += _WORDS[kind] if 0 < kind < _KINDS else 1
    return at
