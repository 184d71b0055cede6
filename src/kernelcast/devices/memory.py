"""Device memory that a program and the engine share: one file without a name, mapped by both."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import LaunchError
from kernelcast.execution.address_map import GLOBAL_BASE
from kernelcast.execution.memory import Region

ROOM_BYTES = 1 << 40
"""Addresses set aside; pages cost nothing until they are touched."""

_GUARD_BYTES = 1 << 20
"""Addresses left free behind every allocation."""

_NORESERVE = 0x4000
_PUNCH_HOLE = 0x01 | 0x02
"""`FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE` of Linux: the pages go, the file stays as long."""


class _Mapping:
    """The file as this process and others see it."""

    undo: Callable[[], None] | None = None
    _kind = mmap.MAP_SHARED

    def __init__(self, file: int) -> None:
        try:
            self._mapping = mmap.mmap(file, ROOM_BYTES, flags=self._kind | _NORESERVE)
        except OSError as error:
            raise LaunchError(
                "the system refuses to reserve 1 TiB of addresses for device memory",
                hint="raise the limit on virtual memory (ulimit -v)",
            ) from error
        self.buffer = memoryview(self._mapping)
        self._bytes = np.frombuffer(self._mapping, np.uint8)
        self.host_delta = int(self._bytes.ctypes.data) - GLOBAL_BASE

    def view(self, address: int, size_bytes: int) -> NDArray[np.uint8]:
        """A writable view of the bytes from a device address on."""
        offset = address - GLOBAL_BASE
        return self._bytes[offset : offset + size_bytes]


class _PrivateMapping(_Mapping):
    """The same, but for what is written here, which `undo` drops."""

    _kind = mmap.MAP_PRIVATE

    def __init__(self, file: int, memory: weakref.ref[DeviceMemory]) -> None:
        super().__init__(file)
        self._memory = memory

    def undo(self) -> None:
        """Let memory be what it is for others again, as far as it was ever given out."""
        memory = self._memory()
        used = memory.given_out if memory is not None else ROOM_BYTES
        self._mapping.madvise(mmap.MADV_DONTNEED, 0, _pages(used))


@dataclass
class DeviceMemory:
    """Allocations in one reservation, up to `size_bytes` of the device's own.

    `shared` is what the program sees, `private` a view of it in which a sample may write what it
    likes: it is forgotten.
    """

    size_bytes: int
    used_bytes: int = 0
    _regions: list[Region] = field(default_factory=list)
    _owners: dict[int, tuple[object, bool]] = field(default_factory=dict)
    _end: int = GLOBAL_BASE
    _free: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    _made: int = 0

    def __post_init__(self) -> None:
        self.file = os.memfd_create("kernelcast device memory", os.MFD_CLOEXEC)
        # A process has addresses for some dozens of these: none may wait for Python to look for
        # circles, so that there is to be none.
        weakref.finalize(self, os.close, self.file)
        os.ftruncate(self.file, ROOM_BYTES)
        self.shared = _Mapping(self.file)
        self.private = _PrivateMapping(self.file, weakref.ref(self))

    @property
    def given_out(self) -> int:
        """Bytes from the start on that were ever allocated."""
        return self._end - GLOBAL_BASE

    @property
    def regions(self) -> tuple[Region, ...]:
        """All that kernels may access, by rising address."""
        return tuple(self._regions)

    def allocate(
        self, size_bytes: int, owner: object, *, counts: bool = True, of_host: bool = False
    ) -> Region | None:
        """A new allocation; None where the device has no room for it.

        What does not count is no memory of the device, but `of_host`, or part of a module.
        """
        if counts and self.used_bytes + size_bytes > self.size_bytes:
            return None
        room = -(-max(size_bytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        if freed := self._free[room]:
            address = freed.pop()
        elif self._end + room + _GUARD_BYTES > GLOBAL_BASE + ROOM_BYTES:
            return None
        else:
            address = self._end
            self._end += room + _GUARD_BYTES
        self._made += 1
        label = f"allocation {self._made}"
        return self.add(Region(label, address, size_bytes, "b8", of_host=of_host), owner, counts)

    def add(self, region: Region, owner: object, counts: bool) -> Region:
        """Let kernels access a region."""
        insort(self._regions, region, key=lambda r: r.address)
        self._owners[region.address] = (owner, counts)
        self.used_bytes += counts * region.size_bytes
        return region

    def lengthen(self, address: int, multiple_bytes: int) -> None:
        """Let the allocation at an address be as long as a multiple of bytes."""
        region = self.region_at(address)
        if region is not None and region.size_bytes % multiple_bytes:
            size_bytes = -(-region.size_bytes // multiple_bytes) * multiple_bytes
            self._regions[self._regions.index(region)] = replace(region, size_bytes=size_bytes)
            _, counts = self._owners[region.address]
            self.used_bytes += counts * (size_bytes - region.size_bytes)

    def free(self, address: int) -> bool:
        """Give an allocation back; whether there was one at this address."""
        at = bisect_left(self._regions, address, key=lambda r: r.address)
        if at == len(self._regions) or self._regions[at].address != address:
            return False
        region = self._regions.pop(at)
        _, counts = self._owners.pop(address)
        self.used_bytes -= counts * region.size_bytes
        room = -(-max(region.size_bytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        _punch(self.file, address - GLOBAL_BASE, room)
        self._free[room].append(address)
        return True

    def free_all_of(self, owner: object) -> None:
        """Give back what a process that is gone has left."""
        for address in [a for a, (whose, _) in self._owners.items() if whose is owner]:
            self.free(address)

    def region_at(self, address: int) -> Region | None:
        """The region that holds the byte at an address."""
        at = bisect_right(self._regions, address, key=lambda r: r.address) - 1
        if at >= 0 and address < self._regions[at].end:
            return self._regions[at]
        return None

    def place(
        self, label: str, data: bytes, size_bytes: int, owner: object, writable: bool
    ) -> Region:
        """A variable of a module, with what it holds at first."""
        made = self.allocate(size_bytes, owner, counts=False)
        if made is None:
            raise LaunchError("no addresses are left for the variables of a module")
        self.shared.view(made.address, len(data))[:] = np.frombuffer(data, np.uint8)
        at = bisect_left(self._regions, made.address, key=lambda r: r.address)
        self._regions[at] = Region(label, made.address, size_bytes, "b8", writable, False)
        return self._regions[at]


def _pages(size_bytes: int) -> int:
    return max(-(-size_bytes // mmap.PAGESIZE) * mmap.PAGESIZE, mmap.PAGESIZE)


def _punch(file: int, offset: int, size_bytes: int) -> None:
    """Give pages of the file back to the system; they are zero when they are touched again."""
    call = ctypes.CDLL(None, use_errno=True).fallocate64
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    call(file, _PUNCH_HOLE, offset, size_bytes)
