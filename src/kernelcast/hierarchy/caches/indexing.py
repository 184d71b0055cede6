# mypy: allow-untyped-decorators, allow-untyped-defs, allow-untyped-calls
"""Which set of a cache a line lies in, compiled."""

from __future__ import annotations

import numpy as np

from kernelcast.profiling.loops import inlined

HASH_FACTOR = 0x9E3779B1
"""2**32 / golden ratio."""
_LOW_BITS = 0xFFFFFFFF


@inlined
def set_of(line, sets, hashes):
    """The set of a line.

    Lines in a row take the sets in turn. Hashed, every such round starts at another set.
    """
    turn = np.int64(np.uint64(line) // np.uint64(sets))
    at = line - turn * sets
    if hashes:
        at += ((turn * HASH_FACTOR & _LOW_BITS) >> 8) * sets >> 24
        if at >= sets:
            at -= sets
    return at
