"""Branches of a whole warp, and of lanes that take different paths (`branches.cu`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Sample, Session


def _branches(s: Session) -> Iterator[Sample]:
    """Cycles of a loop of one warp against the length of its body."""
    iterations = 256 if s.quick else 1024
    for length in (8, 16, 32, 64):
        arguments = [ctypes.c_float(0.5), ctypes.c_int(iterations)]
        function = s.kernel("branches", f"branch_loop_{length}")
        yield {
            "length": length,
            "iterations": iterations,
            **s.timed(function, 1, 32, arguments),
        }


def _divergence(s: Session) -> Iterator[Sample]:
    """Cycles of one warp against the paths that its lanes take, and the length of a path."""
    iterations = 64 if s.quick else 256
    for length in (8, 24):
        for ways in (1, 2, 8, 32) if s.quick else (1, 2, 3, 4, 6, 8, 12, 16, 24, 32):
            arguments = [ctypes.c_float(0.5), ctypes.c_int(ways), ctypes.c_int(iterations)]
            function = s.kernel("branches", f"diverge_{length}")
            yield {
                "length": length,
                "ways": ways,
                "iterations": iterations,
                **s.timed(function, 1, 32, arguments),
            }


BENCHMARKS = {"branches": _branches, "divergence": _divergence}
