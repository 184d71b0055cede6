"""Copies between the host and the device, by size, direction and kind of the host's memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..session import Sample, Session

_LARGEST = 1 << 28


def _copies(s: Session) -> Iterator[Sample]:
    """Seconds of copies, the method of CUDA's sample bandwidthTest."""
    sizes = [1 << k for k in (range(2, 29, 13) if s.quick else range(2, 29, 2))]
    device, other = s.gpu.allocate(_LARGEST), s.gpu.allocate(_LARGEST)
    pinned = s.gpu.host_memory(_LARGEST)
    pageable = ctypes.create_string_buffer(_LARGEST)
    address = ctypes.c_void_p(ctypes.addressof(pageable))
    for memory, host in (("pinned", pinned), ("pageable", address)):
        for direction in ("HtoD", "DtoH"):
            ends = (device, host) if direction == "HtoD" else (host, device)
            yield from _copied(s, direction, memory, ends, sizes)
    yield from _copied(s, "DtoD", "device", (other, device), sizes)
    s.gpu.release_host(pinned)
    for pointer in (device, other):
        s.gpu.release(pointer)


def _copied(
    s: Session, direction: str, memory: str, ends: tuple[Any, Any], sizes: list[int]
) -> Iterator[Sample]:
    # A copy of pageable memory keeps the host busy: it cannot be handed over before it begins.
    copied = s.gpu.copy if memory == "pageable" else partial(_copied_in_time, s)
    for size in sizes:
        taken = [copied(direction, *ends, size) for _ in range(s.repeats + 1)]
        yield {
            "direction": direction,
            "host_memory": memory,
            "bytes": size,
            "seconds": taken[1:],
        }


def _copied_in_time(s: Session, direction: str, to: Any, source: Any, size_bytes: int) -> float:
    """Seconds without those in which the device would wait for the host."""
    return s.held(partial(s.gpu.enqueue_copy, direction, to, source, size_bytes))


BENCHMARKS = {"copies": _copies}
