"""What the microbenchmarks record: the type of a sample of every benchmark.

Lists hold a value for every repeat, in the order of the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

RawNumber = int | float
StreamLevel = Literal["l2", "dram"]


class Seconds(msgspec.Struct, frozen=True, kw_only=True):
    """Repeated launches or copies, timed by events on the GPU."""

    seconds: list[float]


class Timed(Seconds, frozen=True, kw_only=True):
    """Repeated launches that read the clock too.

    `warp_cycles` is the mean over warps; `span_cycles` goes from the first start to the last end,
    and is of use within one SM.
    """

    warp_cycles: list[RawNumber]
    span_cycles: list[RawNumber]


class Chains(Timed, frozen=True, kw_only=True):
    """Chains of dependent instructions side by side, in one loop."""

    chains: int
    steps: int
    warps: int
    iterations: int
    instructions: int


class MatrixChains(Chains, frozen=True, kw_only=True):
    """The same of matrix instructions of a warp."""

    multiply_adds: int


class GroupChain(Timed, frozen=True, kw_only=True):
    """Matrix instructions of groups of four warps on one accumulator."""

    steps: int
    groups: int
    iterations: int
    instructions: int
    multiply_adds: int


class ThreadChain(Timed, frozen=True, kw_only=True):
    """Matrix instructions that one thread issues, on one accumulator."""

    steps: int
    iterations: int
    multiply_adds: int


class Chase(Timed, frozen=True, kw_only=True):
    """Dependent loads of one lane."""

    kernel: str
    footprint_bytes: int
    stride_bytes: int
    order: Literal["next", "far"]
    hops: int


class LoadedChase(Timed, frozen=True, kw_only=True):
    """Dependent loads of many warps."""

    lane_pitch_bytes: int
    warps_per_sm: int
    warps: int
    hops: int
    warm_hops: int


class Conflict(Timed, frozen=True, kw_only=True):
    """Dependent loads from shared memory, `degree` lanes on one bank."""

    degree: int
    hops: int


class CacheSize(Timed, frozen=True, kw_only=True):
    """A chase through a cache."""

    level: Literal["l1", "l2"]
    footprint_bytes: int
    hops: int


class Pages(Timed, frozen=True, kw_only=True):
    """A chase from page to page."""

    pages: int
    reach_bytes: int
    hops: int


class Transactions(Timed, frozen=True, kw_only=True):
    """Dependent loads whose lanes each want a line of their own."""

    lanes: int
    hops: int


class ConstantChase(Timed, frozen=True, kw_only=True):
    """A chase through constant memory."""

    footprint_bytes: int
    stride_bytes: int
    hops: int


class Slices(msgspec.Struct, frozen=True, kw_only=True):
    """Cycles of one SM to lines all over the slices of L2."""

    sm: int
    hops: int
    line_cycles: list[RawNumber]


class Stream(Seconds, frozen=True, kw_only=True):
    """Reads, writes or copies of arrays."""

    mode: Literal["read", "write", "copy"]
    width_bytes: int
    in_flight: int
    stride: int
    threads_per_sm: int
    bytes: int


class NearStream(Timed, frozen=True, kw_only=True):
    """Loads of one SM that hit L1, or shared memory."""

    width_bytes: int
    warps: int
    bytes: int


class _Alignment(Seconds, frozen=True, kw_only=True):
    """Streams that begin some bytes into a line."""

    mode: Literal["read", "write"]
    width_bytes: int
    shift_bytes: int
    bytes: int


class StreamMix(Seconds, frozen=True, kw_only=True):
    """Streams that read some arrays and write others."""

    level: StreamLevel
    reads: int
    writes: int
    bytes: int


class _Stride(Timed, frozen=True, kw_only=True):
    """Loads of one SM with a stride between lanes."""

    stride_words: int
    warps: int
    requests: int


class RandomReads(Seconds, frozen=True, kw_only=True):
    """Reads from random sectors."""

    footprint_bytes: int
    in_flight: int
    threads_per_sm: int
    transactions: int


class RandomWrites(Seconds, frozen=True, kw_only=True):
    """Stores to random sectors."""

    footprint_bytes: int
    threads_per_sm: int
    transactions: int


class Barriers(Timed, frozen=True, kw_only=True):
    """Barriers of one block."""

    warps: int
    barriers: int


class Launches(Seconds, frozen=True, kw_only=True):
    """Empty launches behind each other."""

    launches: int


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """Gaps between blocks that follow each other on an SM."""

    threads: int
    gap_cycles: list[RawNumber]


class Residency(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks that each SM held: at most, and at instants along its run; `places` are the SMs that
    the first blocks of the grid came to lie on."""

    threads: int
    shared_bytes: int
    blocks: int
    most_resident: list[int]
    mean_resident: list[RawNumber]
    places: list[int] = []


class BlockLaunches(Seconds, frozen=True, kw_only=True):
    """Launches of empty blocks."""

    threads: int
    blocks: int


class Atomics(Timed, frozen=True, kw_only=True):
    """Atomic additions of one block, `sharing` lanes on an address."""

    sharing: int
    warps: int
    is_line_shared: bool
    atomics: int


class Contention(Seconds, frozen=True, kw_only=True):
    """Atomic additions of the whole chip."""

    lanes: int
    addresses: int
    additions: int


class Branches(Timed, frozen=True, kw_only=True):
    """A loop with a body of `length` instructions."""

    length: int
    iterations: int


class Divergence(Branches, frozen=True, kw_only=True):
    """A loop in which the lanes of a warp take `ways` paths."""

    ways: int


class InFlight(Timed, frozen=True, kw_only=True):
    """Chains of dependent loads side by side."""

    level: StreamLevel
    warps: int
    chains: int
    lanes: int
    hops: int


class Stores(Timed, frozen=True, kw_only=True):
    """Stores of one warp."""

    stores: int


class Copies(Seconds, frozen=True, kw_only=True):
    """Copies between the host and the device."""

    direction: Literal["HtoD", "DtoH", "DtoD"]
    host_memory: Literal["pinned", "pageable", "device"]
    bytes: int


_SAMPLES: Mapping[str, type[msgspec.Struct]] = {
    "arithmetic": Chains,
    "tensor": MatrixChains,
    "wgmma": GroupChain,
    "tcgen05": ThreadChain,
    "chase": Chase,
    "loaded_latency": LoadedChase,
    "conflicts": Conflict,
    "cache_sizes": CacheSize,
    "tlb": Pages,
    "transactions": Transactions,
    "constants": ConstantChase,
    "l2_slices": Slices,
    "bandwidth.dram": Stream,
    "bandwidth.l2": Stream,
    "bandwidth.l1": NearStream,
    "bandwidth.shared": NearStream,
    "alignment": _Alignment,
    "mixes": StreamMix,
    "strides": _Stride,
    "random": RandomReads,
    "random_writes": RandomWrites,
    "barriers": Barriers,
    "launches": Launches,
    "block_replacement": Replacement,
    "residency": Residency,
    "block_launches": BlockLaunches,
    "atomics": Atomics,
    "contention": Contention,
    "branches": Branches,
    "divergence": Divergence,
    "in_flight": InFlight,
    "stores": Stores,
    "copies": Copies,
}


def sample_type(benchmark: str) -> type[msgspec.Struct] | None:
    """The type of a benchmark's samples; None of one that this version does not have."""
    return _SAMPLES.get(benchmark) or _SAMPLES.get(benchmark.partition(".")[0])
