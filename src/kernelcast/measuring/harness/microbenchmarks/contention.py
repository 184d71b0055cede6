"""Atomic additions of the whole chip by contention and scope (`contention.cu`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Sample, Session

_SCOPES = ("cta", "gpu", "sys")
_BLOCK = 256
_BLOCKS_PER_SM = 2
_LINE_WORDS = 32


def _contention(scope: str, s: Session) -> Iterator[Sample]:
    """Seconds of additions against the addresses that share them.

    One lane of every warp adds to few addresses, then all lanes to words of their own.
    """
    iterations = 64 if s.quick else 256
    grid = s.device["sm_count"] * _BLOCKS_PER_SM
    threads = grid * _BLOCK
    words = s.gpu.allocate(4 * max(threads, 64 * _LINE_WORDS))
    few = (1, 2, 4, 16) if s.quick else (1, 2, 3, 4, 6, 8, 12, 16)
    plan = [(1, addresses, _LINE_WORDS, iterations) for addresses in few]
    # Without contention it is faster: more of it, so that the launch does not count.
    for lanes, addresses, pitch, times in [*plan, (32, threads, 1, 64 * iterations)]:
        numbers = map(ctypes.c_int, (addresses, pitch, lanes, times))
        arguments = [words, *numbers]
        function = s.kernel("contention", f"contend_{scope}")
        taken = [s.seconds(function, grid, _BLOCK, arguments) for _ in range(s.repeats + 2)]
        yield {
            "lanes": lanes,
            "addresses": addresses,
            "additions": threads // 32 * lanes * times,
            "seconds": taken[2:],
        }
    s.gpu.release(words)


BENCHMARKS = {f"contention.{scope}": partial(_contention, scope) for scope in _SCOPES}
