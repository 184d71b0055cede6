"""Words of access streams per second, from a trace and with its execution."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.engine import EXAMPLES, prepared
from benchmarks.measured import Measured, median_seconds
from kernelcast.execution.address_map import GLOBAL_BASE
from kernelcast.execution.blocks import Span, Wave, all_blocks
from kernelcast.execution.run import Run
from kernelcast.execution.trace import ID_SHIFT, KIND_SHIFT, RecordKind, Words
from kernelcast.ir import Kernel, Launch, OpClass, Space
from kernelcast.ir.sizes import FULL_MASK, WARP_LANES
from kernelcast.profiling.stream_builder import StreamBuilder
from kernelcast.profiling.stream_run import MOST_EXACT_WORDS, streams_of_run
from kernelcast.profiling.streams import FIRST_BIT, AccessStreams

REPEATS = 5
CHUNK_WORDS = 1 << 17
"""What the engine hands out at a time."""
CHUNKS = 10

WAVE = Wave(132, 8)
"""Blocks of 256 threads that an H100 holds."""


def measure() -> Iterator[Measured]:
    kernel, launch, _ = prepared(EXAMPLES / "saxpy.cu", "ptx")
    for op_class in (OpClass.LOAD, OpClass.STORE):
        access = next(
            i.index
            for i in kernel.instructions
            if i.op_class is op_class and i.space is Space.GLOBAL
        )
        for stride in (4, 16, 128):
            rate, _ = rates(kernel, launch, affine(access, stride))
            yield Measured(f"{op_class} of stride {stride}", rate, "M words/s", 100)
        rate, requests = rates(kernel, launch, scattered(access))
        yield Measured(f"{op_class}, scattered", rate, "M words/s")
        yield Measured("  the same", WARP_LANES * requests, "M lanes/s", 20)
    for file in ("saxpy.cu", "matmul_naive.cu", "matmul_tiled.cu", "spmv_csr.cu"):
        yield from of_launch(file)


def affine(access: int, stride: int) -> Words:
    """Requests of full warps, one after the other."""
    count = CHUNK_WORDS // 3
    records = np.empty((count, 3), np.uint64)
    records[:, 0] = RecordKind.AFFINE << KIND_SHIFT | access << ID_SHIFT | FULL_MASK
    records[:, 1] = GLOBAL_BASE + np.arange(count) * stride * WARP_LANES
    records[:, 2] = stride
    return records.ravel()


def scattered(access: int) -> Words:
    """Requests of full warps to words drawn at random."""
    records = np.empty((CHUNK_WORDS // (1 + WARP_LANES), 1 + WARP_LANES), np.uint64)
    places = np.random.default_rng(0).integers(0, 1 << 28, records[:, 1:].shape)
    records[:, 0] = RecordKind.ADDRESSES << KIND_SHIFT | access << ID_SHIFT | FULL_MASK
    records[:, 1:] = GLOBAL_BASE + 4 * places
    return records.ravel()


def rates(kernel: Kernel, launch: Launch, records: Words) -> tuple[float, float]:
    """Millions of words and of requests per second, of a trace that repeats these records."""
    start = np.array([RecordKind.WARP << KIND_SHIFT, 0], np.uint64)
    streams: list[AccessStreams] = []

    def build() -> None:
        builder = StreamBuilder(kernel, launch, [Span(0, 0, 1)], MOST_EXACT_WORDS)
        builder.consume(start)
        for _ in range(CHUNKS):
            builder.consume(records)
        streams[:] = [builder.finish()]

    seconds = median_seconds(build, REPEATS) * 1e6
    words = streams[0].words
    return len(words) / seconds, float((words >> np.uint64(FIRST_BIT) & 1).sum()) / seconds


def of_launch(file: str) -> Iterator[Measured]:
    """What `streams_of_run` takes, the execution included, on one thread."""
    kernel, launch, memory = prepared(EXAMPLES / file, "sass")
    run = Run(kernel, launch, memory, all_blocks(launch.blocks), threads=1)
    streams = streams_of_run(run, WAVE)
    seconds = median_seconds(lambda: streams_of_run(run, WAVE), 3)
    yield Measured(f"streams of {file}, {len(streams.blocks)} blocks", seconds, "s")
    yield Measured("  words", len(streams.words) / seconds / 1e6, "M words/s")
