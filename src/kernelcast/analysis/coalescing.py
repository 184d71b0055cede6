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
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelcast.analysis.lane_arithmetic import WarpValue
from kernelcast.analysis.warp_values import WarpAccess, accesses_of_warp
from kernelcast.ir import Kernel, Launch, Space
from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES

MOST_REQUESTS = WARP_LANES
"""What an access counts as that cannot be evaluated."""

LINE_BYTES = 128
_BANKS, _BANK_BYTES = 32, 4
_AddressRows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StaticAccess:
    """An access of the code, in warps all of whose lanes take part.

    `lines` of 128 bytes, `sectors` of 32 bytes and `passes` of shared memory's banks are means over
    the warps of a block, and over where in a line each may begin; the space decides which there
    are. `is_evaluated` is false where the address is not known, and the most are taken.
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
    return tuple(_counted(access, launch) for access in accesses_of_warp(kernel, launch))


def bank_conflicts(
    offsets: Iterable[int], banks: int = _BANKS, bank_bytes: int = _BANK_BYTES
) -> int:
    """Algorithm 6.1 as meant: the words that lanes want of the fullest bank, 1 without conflicts.

    `offsets` are the addresses of the lanes of a warp.
    """
    words = {offset // bank_bytes for offset in offsets}
    fullest = np.bincount([word % banks for word in words], minlength=1)
    return int(fullest.max())


def _counted(access: WarpAccess, launch: Launch) -> StaticAccess:
    at = access.address
    lines = sectors = passes = float(MOST_REQUESTS)
    if at is not None:
        rows, weights = warp_rows(at, launch)
        lines = float(weights @ _distinct(rows // LINE_BYTES))
        sectors = float(weights @ _distinct(rows // SECTOR_BYTES))
        passes = float(weights @ bank_passes(rows, access.access_bytes, access.is_load))
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


def warp_rows(
    address: WarpValue, launch: Launch, period: int = LINE_BYTES
) -> tuple[_AddressRows, NDArray[np.float64]]:
    """The addresses of lanes, a row for each way in which they lie, and the share of each.

    The ways are those of the whole warps of a block, begun anywhere in a line that the unknown part
    of an address moves it to; multiples of `period` bytes, a multiple of a line, tell none apart.
    """
    whole = max(1, launch.threads_per_block // WARP_LANES)
    lanes = min(WARP_LANES, launch.threads_per_block)
    step = math.gcd(address.grain, period) if address.grain else period
    starts = np.arange(0, period, step, dtype=np.int64)
    rows = (address.lanes[:whole, np.newaxis, :lanes] + starts[:, np.newaxis]).reshape(-1, lanes)
    rows -= rows[:, :1] // period * period
    found, counts = np.unique(rows, axis=0, return_counts=True)
    return found, counts / counts.sum()


def _distinct(rows: _AddressRows) -> NDArray[np.int64]:
    """How many numbers each row holds."""
    ordered = np.sort(rows, axis=1)
    found: NDArray[np.int64] = 1 + (np.diff(ordered, axis=1) != 0).sum(axis=1)
    return found


def bank_passes(rows: _AddressRows, access_bytes: int, is_load: bool) -> NDArray[np.int64]:
    """Cycles in which the banks serve warps whose lanes want `access_bytes` at some addresses.

    Halves or quarters of a warp take turns where lanes want 8 or 16 bytes; twice as many lanes
    are served together of loads whose neighbours, or those one further, want the same in pairs."""
    words = max(1, access_bytes // _BANK_BYTES)
    lanes = rows.shape[1]
    turns = np.full(len(rows), words)
    if is_load and words > 1 and lanes % 4 == 0:
        fours = rows.reshape(len(rows), -1, 4)
        near = (fours[:, :, ::2] == fours[:, :, 1::2]).all(axis=(1, 2))
        turns[near | (fours[:, :, :2] == fours[:, :, 2:]).all(axis=(1, 2))] //= 2
    found = np.zeros(len(rows), np.int64)
    for count in np.unique(turns):
        of = turns == count
        for turn in np.array_split(rows[of], count if lanes >= count else 1, axis=1):
            parts = [turn // _BANK_BYTES + word for word in range(words)]
            found[of] += _fullest(np.concatenate(parts, axis=1))
    return found


def _fullest(words: _AddressRows) -> NDArray[np.int64]:
    """Algorithm 6.1 for many warps: how many words each wants of its fullest bank."""
    ordered = np.sort(words, axis=1)
    is_new = np.diff(ordered, axis=1, prepend=ordered[:, :1] - 1) != 0
    bank = ordered % _BANKS + _BANKS * np.arange(len(words))[:, np.newaxis]
    counts = np.bincount(bank[is_new], minlength=_BANKS * len(words))
    found: NDArray[np.int64] = counts.reshape(-1, _BANKS).max(axis=1)
    return found
