"""Loads in flight of a warp and of an SM, and the stores of a warp (`outstanding.cu`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .addresses import link

if TYPE_CHECKING:
    from ..session import Sample, Session

_LINE_BYTES = 128
_HOPS = 256
_CHAINS = (1, 2, 3, 4, 6, 8, 12, 16, 24)


def _warp_in_flight(s: Session) -> Iterator[Sample]:
    """Latency of the loads of one warp, one lane each, against the chains of loads."""
    yield from _side_by_side(s, lanes=1, plan=[(1, chains) for chains in _CHAINS])


def _sm_in_flight(s: Session) -> Iterator[Sample]:
    """Latency of the loads of an SM, a sector for every lane, against warps and chains."""
    plan = [(1, 1), (4, 1), (8, 4), (32, 4)]
    if not s.quick:
        plan += [(2, 1), (8, 1), (16, 1), (32, 1), (16, 4), (32, 2)]
    yield from _side_by_side(s, lanes=32, plan=sorted(plan))


def _side_by_side(s: Session, lanes: int, plan: Sequence[tuple[int, int]]) -> Iterator[Sample]:
    """From L2 and from DRAM: what limits the loads in flight, not their rate, is alike in both."""
    node_bytes = lanes * _LINE_BYTES
    l2 = s.device["l2_bytes"]
    for level, size in (("l2", l2 // 4), ("dram", max(1 << 28, 4 * l2))):
        nodes = min(size, s.gpu.free_bytes() // 2) // node_bytes
        memory = s.gpu.allocate(nodes * node_bytes)
        link(s, memory, nodes, node_bytes, lanes=lanes, pitch=_LINE_BYTES)
        for warps, chains in plan:
            long = ctypes.c_int64
            numbers = [long(nodes), long(node_bytes), long(_LINE_BYTES)]
            counts = [ctypes.c_int(lanes), ctypes.c_int(_HOPS)]
            function = s.kernel("outstanding", f"chains_{chains}")
            arguments = [memory, *numbers, *counts]
            yield {
                "level": level,
                "warps": warps,
                "chains": chains,
                "lanes": lanes,
                "hops": _HOPS,
                **s.timed(function, 1, 32 * warps, arguments, is_cold=level == "dram"),
            }
        s.gpu.release(memory)


def _stores(s: Session) -> Iterator[Sample]:
    """Cycles of the stores of one warp to global memory, one behind the other."""
    to = s.gpu.allocate(32 * _LINE_BYTES)
    for iterations in (32,) if s.quick else (32, 64, 128):
        arguments = [to, ctypes.c_int(iterations)]
        function = s.kernel("outstanding", "stores")
        yield {"stores": 32 * iterations, **s.timed(function, 1, 32, arguments)}
    s.gpu.release(to)


BENCHMARKS = {
    "in_flight.warp": _warp_in_flight,
    "in_flight.sm": _sm_in_flight,
    "stores": _stores,
}
