"""Coalescing and bank conflicts of the accesses in code, without executing it.

A. Resios: GPU performance prediction using parametrized models. MSc thesis, Utrecht University,
2011, section 6.1 and Algorithm 6.1: the expression of an address is instantiated for all threads of
a generic warp; where it cannot be evaluated, the most requests are taken, 32.

Algorithm 6.1, as printed, returns the larger of a map and of the most conflicts; meant are the
conflicts of the fullest bank. It counts lanes, of which those that want the same word are served
together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.analysis.warp_values import WarpAccess, accesses_of_warp
from kernelcast.ir import Kernel, Launch, Space
from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES

MOST_REQUESTS = WARP_LANES
"""What an access counts as that cannot be evaluated."""

_LINE_BYTES = 128
_BANKS, _BANK_BYTES = 32, 4


@dataclass(frozen=True, slots=True)
class StaticAccess:
    """An access of the code, in a warp all of whose lanes take part.

    `lines` of 128 bytes, `sectors` of 32 bytes and `passes` of shared memory's banks are means over
    where in a line the warp may begin; the space decides which there are. `is_evaluated` is false
    where the address is not known, and the most are taken.
    """

    instruction: int
    space: Space
    access_bytes: int
    is_load: bool
    array: str
    lines: float
    sectors: float
    passes: float
    is_evaluated: bool


def static_accesses(kernel: Kernel, launch: Launch) -> tuple[StaticAccess, ...]:
    """Every access to global and shared memory, in the order of the code."""
    lanes = min(WARP_LANES, launch.threads_per_block)
    return tuple(_counted(access, lanes) for access in accesses_of_warp(kernel, launch))


def bank_conflicts(
    offsets: Iterable[int], banks: int = _BANKS, bank_bytes: int = _BANK_BYTES
) -> int:
    """Algorithm 6.1 as meant: the words that lanes want of the fullest bank, 1 without conflicts.

    `offsets` are the addresses of the lanes of a warp.
    """
    words = {offset // bank_bytes for offset in offsets}
    fullest = np.bincount([word % banks for word in words], minlength=1)
    return int(fullest.max())


def _counted(access: WarpAccess, lanes: int) -> StaticAccess:
    at = access.address
    lines = sectors = passes = float(MOST_REQUESTS)
    if at is not None:
        starts = warp_starts(at.grain)
        rows = [at.lanes[:lanes] + start for start in starts]
        lines = _mean([len(np.unique(row // _LINE_BYTES)) for row in rows])
        sectors = _mean([len(np.unique(row // SECTOR_BYTES)) for row in rows])
        passes = _mean([bank_passes(row, access.access_bytes, access.is_load) for row in rows])
    is_shared = access.space is Space.SHARED
    return StaticAccess(
        instruction=access.instruction,
        space=access.space,
        access_bytes=access.access_bytes,
        is_load=access.is_load,
        array="" if at is None else at.array,
        lines=0.0 if is_shared else lines,
        sectors=0.0 if is_shared else sectors,
        passes=passes if is_shared else 0.0,
        is_evaluated=at is not None,
    )


def warp_starts(grain: int) -> Sequence[int]:
    """Where in a line a warp may begin, as far as the unknown part of its address moves it."""
    return range(0, _LINE_BYTES, math.gcd(grain, _LINE_BYTES)) if grain else (0,)


def _mean(counts: Sequence[int]) -> float:
    return sum(counts) / len(counts)


def bank_passes(addresses: NDArray[np.int64], access_bytes: int, is_load: bool) -> int:
    """Cycles in which the banks serve a warp whose lanes want `access_bytes` at some addresses.

    Halves or quarters of a warp take turns where lanes want 8 or 16 bytes; twice as many lanes
    are served together of loads whose neighbours, or those one further, want the same in pairs."""
    words = max(1, access_bytes // _BANK_BYTES)
    groups = words
    if is_load and words > 1 and len(addresses) % 4 == 0:
        fours = addresses.reshape(-1, 4)
        near = (fours[:, ::2] == fours[:, 1::2]).all()
        if near or (fours[:, :2] == fours[:, 2:]).all():
            groups //= 2
    turns = np.array_split(addresses, groups) if len(addresses) >= groups else [addresses]
    return sum(
        bank_conflicts(int(a) + _BANK_BYTES * k for a in turn for k in range(words))
        for turn in turns
    )
