"""What accesses do at every level of the caches, by instruction, space and machine."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from kernelcast.hierarchy.caches import layout
from kernelcast.hierarchy.caches.memory_system import MemorySystem
from kernelcast.ir import CacheHint, OpClass, Space
from kernelcast.profiling.tables import AccessRow


def policies(
    rows: Sequence[AccessRow], after_waits: Collection[int], system: MemorySystem
) -> NDArray[np.int64]:
    """What the accesses of every row do, as bits of `layout`.

    Before those of the instructions `after_waits`, a warp waits and others go on.
    """
    return np.array(
        [
            _policy(row, system)
            | (layout.FOLLOWS_WAIT if row.instruction.index in after_waits else 0)
            for row in rows
        ],
        np.int64,
    )


def _policy(row: AccessRow, system: MemorySystem) -> int:
    bits = layout.LEAVES_FIRST if _hint(row) is CacheHint.LEAVES_FIRST else 0
    match row.instruction.op_class:
        case OpClass.ATOMIC:
            return bits | layout.IS_ATOMIC
        case OpClass.STORE:
            bits |= layout.IS_STORE
        case _:
            bits |= layout.ASKS_L1 if _is_cached(row, system) else 0
    if row.space is Space.LOCAL:
        # Threads read back what they have stored there: the L1 cache takes stores, too.
        return bits | layout.IS_LOCAL | (layout.ALLOCATES_L1 if system.caches_local else 0)
    if bits & layout.ASKS_L1 and _hint(row) is not CacheHint.NO_L1_ALLOCATION:
        bits |= layout.ALLOCATES_L1
    return bits


def _is_cached(row: AccessRow, system: MemorySystem) -> bool:
    """Whether a load is looked up in the L1 cache."""
    if row.space is Space.LOCAL:
        return system.caches_local
    if _hint(row) is CacheHint.BEYOND_L1:
        return False
    is_read_only = row.instruction.traits.is_read_only and system.caches_read_only
    return system.caches_global or is_read_only or _hint(row) is CacheHint.EVERY_LEVEL


def _hint(row: AccessRow) -> CacheHint | None:
    return row.instruction.traits.cache_hint
