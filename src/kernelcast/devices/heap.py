"""Memory that kernels allocate, and what they print."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field

from kernelcast.execution.memory import Region

HEAP_BYTES = 1 << 30
"""Addresses for what kernels allocate, more than CUDA's 8 MiB: no program needs to ask for more."""

_ALIGN_BYTES = 16


@dataclass
class Heap:
    """Allocations of kernels in one region; what is freed is given to the next that asks for as
    much."""

    region: Region
    _end: int = 0
    _sizes: dict[int, int] = field(default_factory=dict)
    _freed: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def allocate(self, size_bytes: int) -> int:
        """An address, 0 where no room is left."""
        room = -(-max(size_bytes, 1) // _ALIGN_BYTES) * _ALIGN_BYTES
        if freed := self._freed[room]:
            address = freed.pop()
        elif self._end + room > self.region.size_bytes:
            return 0
        else:
            address = self.region.address + self._end
            self._end += room
        self._sizes[address] = room
        return address

    def free(self, address: int) -> None:
        """Take an allocation back; what is none is left alone."""
        room = self._sizes.pop(address, None)
        if room is not None:
            self._freed[room].append(address)

    def copy(self) -> Heap:
        """One that may change without this one."""
        freed = defaultdict(list, {room: list(held) for room, held in self._freed.items()})
        return Heap(self.region, self._end, dict(self._sizes), freed)


@dataclass
class LaunchSystem:
    """Answers the kernels of one launch. What they print is `text`, so far."""

    heap: Heap | None
    text: bytearray = field(default_factory=bytearray)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def show(self, text: bytes) -> None:
        """Print."""
        with self._lock:
            self.text += text

    def allocate(self, size_bytes: int) -> int:
        """The address of new memory, 0 where there is none."""
        with self._lock:
            return 0 if self.heap is None else self.heap.allocate(size_bytes)

    def free(self, address: int) -> None:
        """Take memory back."""
        with self._lock:
            if self.heap is not None:
                self.heap.free(address)
