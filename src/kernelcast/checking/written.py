"""Which bytes of device memory hold something: a bit for each, of memory that costs nothing until
it is touched."""

from __future__ import annotations

import mmap

import numpy as np
from numpy.typing import NDArray

from kernelcast.execution.address_map import GLOBAL_BASE

_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
_ALL = 0xFF


def lazy_bytes(size_bytes: int) -> NDArray[np.uint8]:
    """Zeros that take memory only where they are touched."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    return np.frombuffer(mmap.mmap(-1, max(size_bytes, 1), flags=flags), np.uint8)


class WrittenBytes:
    """Bytes that somebody wrote, of the arrays that were `empty` once: others hold something."""

    def __init__(self, room_bytes: int) -> None:
        self.bits = lazy_bytes(-(-room_bytes // 8))
        self._empty: set[int] = set()

    def begins_empty(self, address: int, size_bytes: int) -> None:
        """A new array that holds nothing."""
        self._empty.add(address)
        self._set(address, size_bytes, 0)

    def fill(self, address: int, size_bytes: int) -> None:
        """Something was written to these bytes."""
        self._set(address, size_bytes, _ALL)

    def hold(self, address: int, size_bytes: int) -> bool:
        """Whether all of these bytes hold something."""
        places = range(address - GLOBAL_BASE, address - GLOBAL_BASE + size_bytes)
        return all(self.bits[at // 8] >> at % 8 & 1 for at in places)

    def is_empty_at_first(self, address: int) -> bool:
        """Whether the array at an address held nothing when it was made."""
        return address in self._empty

    def forget(self, address: int) -> None:
        """The array is gone."""
        self._empty.discard(address)

    def _set(self, address: int, size_bytes: int, value: int) -> None:
        first, end = address - GLOBAL_BASE, address - GLOBAL_BASE + size_bytes
        whole_from, whole_to = -(-first // 8), end // 8
        for at in (*range(first, min(8 * whole_from, end)), *range(max(8 * whole_to, first), end)):
            bit = np.uint8(1 << at % 8)
            self.bits[at // 8] = self.bits[at // 8] | bit if value else self.bits[at // 8] & ~bit
        if whole_to > whole_from:
            self.bits[whole_from:whole_to] = value
