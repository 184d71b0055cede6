"""Latency of loads from constant memory (`constants.cu`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Sample, Session

_WORDS = 16384
_HOPS = 2048


def _constants(s: Session) -> Iterator[Sample]:
    """Latency of a chase through constant memory against footprint and stride."""
    ring = s.variable("constants", "ring")
    function = s.kernel("constants", "chase_constant")
    per_octave = 1 if s.quick else 4
    for stride in (64,) if s.quick else (64, 256):
        for footprint in _footprints(4 * stride, 4 * _WORDS, stride, per_octave):
            words = (ctypes.c_uint32 * _WORDS)()
            for at in range(0, footprint, stride):
                words[at // 4] = (at + stride) % footprint
            s.gpu.copy("HtoD", ring, ctypes.addressof(words), ctypes.sizeof(words))
            arguments = [ctypes.c_int(footprint // stride), ctypes.c_int(_HOPS)]
            yield {
                "footprint_bytes": footprint,
                "stride_bytes": stride,
                "hops": _HOPS,
                **s.timed(function, 1, 32, arguments),
            }


def _footprints(low: int, high: int, unit: int, per_octave: int) -> list[int]:
    sizes, at = set(), float(low)
    while at < high:
        sizes.add(int(at) // unit * unit)
        at *= 2 ** (1 / per_octave)
    return sorted(sizes | {high})


BENCHMARKS = {"constants": _constants}
