"""Accesses of whole warps to 16 bytes in every lane, as bulk copies make them: records made at
once, for patterns of addresses that repeat from another start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.trace import ID_SHIFT, KIND_SHIFT, RecordKind, Words
from kernelcast.ir.sizes import FULL_MASK, WARP_LANES
from kernelcast.isas.ptx.bulk import UNIT_BYTES

Addresses = NDArray[np.int64]


@dataclass(frozen=True)
class Burst:
    """Records, one a row, of an instruction 0 and of addresses from 0 on; these stand in the
    columns from 1 to `end`."""

    rows: Words
    end: int

    def at(self, index: int, start: int) -> Words:
        """The records of instruction `index` and of addresses from `start` on."""
        rows = self.rows.copy()
        rows[:, 0] |= np.uint64(index << ID_SHIFT)
        rows[:, 1 : self.end] += np.uint64(start)
        return rows.ravel()


@lru_cache(maxsize=256)
def consecutive(units: int) -> Burst:
    """Units of 16 bytes, one after the other."""
    rows = np.empty((-(-units // WARP_LANES), 3), np.uint64)
    rows[:, 0] = _headers(RecordKind.AFFINE, units)
    rows[:, 1] = np.arange(0, units, WARP_LANES) * UNIT_BYTES
    rows[:, 2] = UNIT_BYTES
    return Burst(rows, 2)


def scattered(addresses: Addresses) -> Burst:
    """Units of 16 bytes at some addresses, which may be negative."""
    rows = np.zeros((-(-addresses.size // WARP_LANES), 1 + WARP_LANES), np.uint64)
    rows[:, 0] = _headers(RecordKind.ADDRESSES, addresses.size)
    lanes = np.zeros(rows.shape[0] * WARP_LANES, np.int64)
    lanes[: addresses.size] = addresses
    rows[:, 1:] = lanes.reshape(-1, WARP_LANES).view(np.uint64)
    return Burst(rows, 1 + WARP_LANES)


def _headers(kind: RecordKind, units: int) -> Words:
    """Header words: all lanes, but in the last record those that are left."""
    headers = np.full(-(-units // WARP_LANES), kind << KIND_SHIFT | FULL_MASK, np.uint64)
    if rest := units % WARP_LANES:
        headers[-1] = kind << KIND_SHIFT | (1 << rest) - 1
    return headers
