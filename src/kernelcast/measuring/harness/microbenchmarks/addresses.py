"""What a load's address decides: which cache, which slice of L2, which page (`chase.cu`)."""

from __future__ import annotations

import ctypes
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Sample, Session

_HOPS = 2048
_LINE_BYTES = 128
_PAGE_BYTES = 2 << 20
_SLICE_HOPS, _BLOCKS_PER_SM = 64, 4
_NODE_PITCH_BYTES = 33 * _LINE_BYTES
"""Lines of the slices, and within pages, so far apart that they are spread over all slices."""
_CLOSE = 1.02
"""Ratio of the two sizes between which a knee has been found closely enough."""


def link(
    s: Session,
    memory: ctypes.c_uint64,
    nodes: int,
    node_bytes: int,
    *,
    step: int = 1,
    lanes: int = 1,
    pitch: int = 8,
) -> None:
    """Make a ring of nodes in device memory; with step 0, every node points to itself."""
    long = ctypes.c_int64
    numbers = [long(nodes), long(step), long(node_bytes), long(pitch), ctypes.c_int(lanes)]
    grid = s.device["sm_count"] * 4
    s.gpu.launch(s.kernel("chase", "chase_fill"), grid, 256, [memory, *numbers])


def _l2_slices(s: Session) -> Iterator[Sample]:
    """Cycles of hits in L2 from every SM to lines all over its slices."""
    nodes, sms = (32, 16) if s.quick else (128, s.device["sm_count"])
    memory = s.gpu.allocate(nodes * _NODE_PITCH_BYTES)
    link(s, memory, nodes, _NODE_PITCH_BYTES, step=0)
    function = s.kernel("chase", "l2_slices")
    # As much shared memory as a block can have, so that an SM holds one block: all SMs get one, and
    # more of them where the first ones left before all had come.
    shared_bytes = s.device["shared_bytes_per_block_optin"]
    s.gpu.allow_shared(function, shared_bytes)
    cycles = s.gpu.allocate(8 * nodes)
    long, short = ctypes.c_int64, ctypes.c_int
    for sm in range(min(sms, s.device["sm_count"])):
        seen = s.gpu.allocate(4)
        arguments = [cycles, seen, memory, long(nodes), long(_NODE_PITCH_BYTES)]
        counts = [short(sm), short(_SLICE_HOPS)]
        grid = _BLOCKS_PER_SM * s.device["sm_count"]
        s.gpu.launch(function, grid, 32, [*arguments, *counts], shared_bytes)
        (came,) = s.gpu.read(seen, (ctypes.c_uint32 * 1)())
        taken = list(s.gpu.read(cycles, (ctypes.c_int64 * nodes)()))
        s.gpu.release(seen)
        if came:
            yield {"sm": sm, "hops": _SLICE_HOPS, "line_cycles": taken}
    for pointer in (cycles, memory):
        s.gpu.release(pointer)


def _cache_sizes(s: Session) -> Iterator[Sample]:
    """Latency against footprint, ever closer around the sizes of L1 and L2."""
    l2 = s.device["l2_bytes"]
    memory = s.gpu.allocate(4 * l2)
    plans = (("l1", "chase_ca", 8 << 10, 1 << 20), ("l2", "chase_cg", l2 // 16, 4 * l2))
    for level, kernel, low, high in plans:

        def measured(footprint: int, level: str = level, kernel: str = kernel) -> Sample:
            nodes = footprint // _LINE_BYTES
            link(s, memory, nodes, _LINE_BYTES)
            # Far beyond L2 nothing that the warm-up loads would still be there.
            is_cold = footprint > 2 * l2
            warm = _HOPS if is_cold else nodes
            return {
                "level": level,
                "footprint_bytes": footprint,
                "hops": _HOPS,
                **_chased(s, kernel, memory, nodes, _LINE_BYTES, warm, is_cold=is_cold),
            }

        sizes = [low << k for k in range(round(math.log2(high / low)) + 1)]
        yield from _around_the_knee(measured, sizes, _LINE_BYTES, share=0.1)
    s.gpu.release(memory)


def _tlb(s: Session) -> Iterator[Sample]:
    """Latency of L2 hits against the number of pages of 2 MiB that they lie in."""
    pitch = _PAGE_BYTES + _NODE_PITCH_BYTES
    most = s.gpu.free_bytes() * 7 // 8 // pitch
    memory = s.gpu.allocate(most * pitch)

    def measured(reach: int) -> Sample:
        pages = reach // _PAGE_BYTES
        link(s, memory, pages, pitch)
        return {
            "pages": pages,
            "reach_bytes": reach,
            "hops": _HOPS,
            **_chased(s, "chase_cg", memory, pages, pitch, pages),
        }

    # The upper level is seen at three sizes, where it begins only close to all of the memory.
    counts = {2**k for k in range(3, int(math.log2(most)) + 1)}
    counts |= {most * 23 // 25, most * 24 // 25, most}
    sizes = [n * _PAGE_BYTES for n in sorted(counts)]
    yield from _around_the_knee(measured, sizes, _PAGE_BYTES, share=0.5)
    s.gpu.release(memory)


def _transactions(s: Session) -> Iterator[Sample]:
    """Latency of a load that hits L2 against the lanes that each want a line of their own."""
    node_bytes = 32 * _LINE_BYTES
    nodes = s.device["l2_bytes"] // 4 // node_bytes
    memory = s.gpu.allocate(nodes * node_bytes)
    link(s, memory, nodes, node_bytes, lanes=32, pitch=_LINE_BYTES)
    for lanes in (1, 4, 16, 32) if s.quick else (1, 2, 4, 8, 12, 16, 20, 24, 28, 32):
        yield {
            "lanes": lanes,
            "hops": _HOPS,
            **_chased(s, "chase_cg", memory, nodes, node_bytes, nodes, lanes, _LINE_BYTES),
        }
    s.gpu.release(memory)


def _around_the_knee(
    measured: Callable[[int], Sample], sizes: Sequence[int], unit: int, share: float
) -> Iterator[Sample]:
    """Samples at ascending sizes, then between the two where the latency begins to rise.

    It rises where it has gained `share` of the difference between the last sizes and the first.
    """
    found = []
    for size in sizes:
        sample = measured(size)
        found.append(_latency(sample))
        yield sample
    low = statistics.median(found[:3])
    threshold = low + share * (statistics.median(found[-3:]) - low)
    above = next((i for i, latency in enumerate(found) if latency > threshold), 0)
    if above == 0:
        return
    below_size, above_size = sizes[above - 1], sizes[above]
    while above_size > _CLOSE * below_size:
        middle = round(math.sqrt(below_size * above_size) / unit) * unit
        if not below_size < middle < above_size:
            return
        sample = measured(middle)
        yield sample
        if _latency(sample) > threshold:
            above_size = middle
        else:
            below_size = middle


def _latency(sample: Sample) -> float:
    return float(statistics.median(sample["warp_cycles"]) / sample["hops"])


def _chased(
    s: Session,
    kernel: str,
    memory: ctypes.c_uint64,
    nodes: int,
    node_bytes: int,
    warm_hops: int,
    lanes: int = 1,
    pitch: int = 8,
    *,
    is_cold: bool = False,
) -> Sample:
    long, short = ctypes.c_int64, ctypes.c_int
    arguments = [memory, long(nodes), long(node_bytes), long(pitch)]
    counts = [short(lanes), short(warm_hops), short(_HOPS)]
    return s.timed(s.kernel("chase", kernel), 1, 32, [*arguments, *counts], is_cold=is_cold)


BENCHMARKS = {
    "l2_slices": _l2_slices,
    "cache_sizes": _cache_sizes,
    "tlb": _tlb,
    "transactions": _transactions,
}
