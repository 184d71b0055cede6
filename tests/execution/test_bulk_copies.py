"""Bulk copies, of bytes and of tiles, in PTX and machine code by both executors; against NumPy."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelcast.analysis.slicing import needed_for_trace
from kernelcast.errors import BudgetError, ExecutionError, LaunchError, MemoryFaultError
from kernelcast.execution.engine import worker as engine_worker
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import RecordKind
from kernelcast.frontends.launches import launch_from_flags
from kernelcast.ir import Kernel, OpClass, Space
from kernelcast.toolchain.wheels import find_in_wheels
from tests.execution.bulk_kernels import HEAD, HINTS, LIBRARY, MANY_LANES, PIPELINE, TILES
from tests.execution.machine_code import compile_together, kernel_in
from tests.tracing import Trace, by_warp, traced

ARCHITECTURES = ("sm_90", "sm_100", "sm_120")
EXECUTORS = ("engine", "reference")
ISAS = ["ptx of sm_90", *(f"sass of {a}" for a in ARCHITECTURES)]


def tiles_of(rank: int) -> str:
    return f"#undef RANK\n#undef AT\n#define RANK {rank}\n{TILES}"


compile_together((PIPELINE, MANY_LANES, HINTS, *map(tiles_of, range(1, 6))), *ARCHITECTURES)


@lru_cache(maxsize=32)
def kernel(source: str, isa: str) -> Kernel:
    return kernel_in(source, isa)


def run(
    code: Kernel, grid: str, block: str, args: list[str], executor: str, smem: int = 0
) -> tuple[Memory, Trace]:
    launch = launch_from_flags(grid, block, smem, args)
    memory = Memory.build(code, launch)
    return memory, traced(code, launch, memory, executor=executor, budget=100_000)


def sliced(trace: Trace) -> Trace:
    """The same launch with nothing computed but what the trace needs."""
    memory = Memory.build(trace.kernel, trace.launch)
    needed = needed_for_trace(trace.kernel)
    return traced(trace.kernel, trace.launch, memory, needed=needed, budget=100_000)


def lines(trace: Trace, space: Space, op_class: OpClass) -> list[int]:
    """The addresses of a kind of access in order, one for each lane of 16 bytes."""
    instructions = trace.kernel.instructions
    return [
        address
        for record in trace.records()
        if record.kind is not RecordKind.BLOCK
        and instructions[record.id].space is space
        and instructions[record.id].op_class is op_class
        and instructions[record.id].access_bytes == 16
        for lane, address in enumerate(record.addresses)
        if record.mask >> lane & 1
    ]


@pytest.mark.parametrize("isa", ISAS)
def test_a_pipeline_of_copies(isa: str) -> None:
    """Wrong if a copy brings other bytes, its barrier is over too early or never, or the executors
    differ in what they trace, or leave out what the trace needs."""
    code, words = kernel(PIPELINE, isa), 7 * 264
    args = [f"in=u32[{2 * words}] randint(0, 1 << 30, 1)", f"out=u32[{2 * words}]", "n=7"]
    traces = []
    for executor in EXECUTORS:
        memory, trace = run(code, "2", "96", args, executor)
        rounds = np.tile(np.repeat(np.arange(7, dtype=np.uint32), 264), 2)
        assert np.array_equal(memory.array("out"), 3 * memory.array("in") + rounds)
        traces.append(by_warp(trace.records()))
    assert traces[0] == traces[1]
    assert by_warp(sliced(trace).records()) == traces[0]
    start = next(r.address for r in memory.regions if r.label == "in")
    read = lines(trace, Space.GLOBAL, OpClass.LOAD)
    assert sorted(read) == list(range(start, start + 4 * 2 * words, 16))


@pytest.mark.parametrize("log_bytes", [64, 600, 5000])
def test_the_log_is_the_same_however_short_it_is(
    monkeypatch: pytest.MonkeyPatch, log_bytes: int
) -> None:
    """Wrong if records of copies are lost, or get ahead of those in the log."""
    args = ["in=u32[1848] arange", "out=u32[1848]", "n=7"]
    _, whole = run(kernel(PIPELINE, "ptx of sm_90"), "1", "96", args, "engine")
    monkeypatch.setattr(engine_worker, "_LOG_BYTES", log_bytes)
    _, pieces = run(kernel(PIPELINE, "ptx of sm_90"), "1", "96", args, "engine")
    assert np.array_equal(pieces.words, whole.words)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_endless_copying_ends_with_its_budget(
    executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong if copies keep the engine from looking at the budget."""
    monkeypatch.setattr(engine_worker, "_LOG_BYTES", 5000)
    source = HEAD + (
        'extern "C" __global__ void k(unsigned* in, volatile unsigned* out, int n) {'
        "__shared__ __align__(128) unsigned s[64]; __shared__ u64 b; begin(&b, 1);"
        "while (out[0] == 0) { expect(&b, 256); load(s, in, 256, &b); } }"
    )
    with pytest.raises(BudgetError):
        run(
            kernel(source, "ptx of sm_90"), "1", "1", ["in=u32[64]", "out=u32[64]", "n=1"], executor
        )


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_every_lane_may_copy(isa: str, executor: str) -> None:
    """Wrong if machine code, which copies once for a warp, forgets lanes or takes another's
    addresses."""
    args = ["in=u32[2176] arange", "out=u32[2176]", "n=0"]
    memory, _ = run(kernel(MANY_LANES, isa), "1", "32", args, executor)
    expected = np.zeros((32, 68), np.uint32)
    given = memory.array("in").reshape(32, 68) + 5
    for lane in range(1, 32, 7):
        words = 4 * (1 + lane // 2)
        expected[lane, :words] = given[lane, :words]
    expected[30, :4] = 5  # nothing was loaded there
    assert np.array_equal(memory.array("out").reshape(32, 68), expected)


@pytest.mark.parametrize("isa", ISAS)
def test_hints_and_multicasts_to_the_own_block(isa: str) -> None:
    """Wrong if a form is not known, or its size is mixed up with the blocks of a multicast."""
    for executor in EXECUTORS:
        args = ["in=u32[192] arange", "out=u32[256]", "n=256"]
        memory, _ = run(kernel(HINTS, isa), "1", "32", args, executor)
        assert memory.array("out").tolist() == [*range(192), *range(64, 128)]


def box_of(
    tensor: NDArray[np.uint8], box: tuple[int, ...], corner: tuple[int, ...]
) -> NDArray[np.uint8]:
    """The elements of a box, zeros outside; the last axis of a tensor is bytes of an element."""
    found = np.zeros((*box, tensor.shape[-1]), np.uint8)
    for index in itertools.product(*map(range, box)):
        at = tuple(i + c for i, c in zip(index, corner, strict=True))
        if all(0 <= i < n for i, n in zip(at, tensor.shape[:-1], strict=True)):
            found[index] = tensor[at]
    return found


def swizzled(linear: NDArray[np.uint8], span_bytes: int) -> NDArray[np.uint8]:
    """Chunks of 16 bytes in the order of shared memory that starts at a multiple of 1024.

    The patterns are those of the CUDA C++ Programming Guide, section on swizzle modes.
    """
    chunks = linear.reshape(-1, 16)
    found = np.empty_like(chunks)
    for n in range(len(chunks)):
        row, chunk = divmod(n, 8)
        mask = {0: 0, 32: (row & 1), 64: (row & 3), 128: (row & 7)}[span_bytes]
        found[8 * row + (chunk ^ mask)] = chunks[n]
    return found.ravel()


FROM_AND_TO = (("from", "arange"), ("to", "zeros"))
CASES = [
    pytest.param("u32[100]", (64,), (0,), 0, id="1d"),
    pytest.param("u32[100]", (64,), (-8,), 0, id="1d before the start"),
    pytest.param("u32[100]", (64,), (65,), 0, id="1d past the end"),
    pytest.param("f16[40, 72]", (16, 64), (0, 0), 0, id="2d"),
    pytest.param("f16[40, 72]", (16, 64), (30, 20), 128, id="2d past both ends"),
    pytest.param("f16[40, 72]", (16, 64), (-3, -5), 128, id="2d before both starts"),
    pytest.param("u8[24, 48]", (24, 32), (0, 3), 32, id="32 bytes"),
    pytest.param("f32[24, 48]", (20, 16), (1, 2), 64, id="64 bytes"),
    pytest.param("f64[24, 48]", (20, 16), (7, 33), 128, id="128 bytes"),
    pytest.param("u8[9, 16]", (4, 16), (20, 0), 0, id="nothing inside"),
    pytest.param("f32[5, 6, 20]", (3, 4, 8), (1, 4, 7), 32, id="3d"),
    pytest.param("u16[3, 4, 5, 24]", (2, 3, 2, 16), (-1, 2, 4, 9), 32, id="4d"),
    pytest.param("u8[2, 3, 4, 5, 48]", (2, 2, 3, 2, 32), (1, -1, 2, 3, 20), 0, id="5d"),
]


def tile_launch(
    array: str, box: tuple[int, ...], corner: tuple[int, ...], swizzle: int
) -> tuple[list[str], int]:
    """The arguments, and the bytes of the box."""
    clauses = f"box{list(box)}" + (f" swizzle({swizzle})" if swizzle else "")
    element_bytes = int(array.partition("[")[0].lstrip("usf")) // 8
    size_bytes = int(np.prod(box)) * element_bytes
    coordinates = (*reversed(corner), 0, 0, 0, 0, 0)[:5]
    return [
        f"from={array} randint(1, 99, 3) {clauses}",
        f"to={array} {clauses}",
        f"seen=u8[{size_bytes}]",
        f"bytes={size_bytes}",
        *(f"{name}={at}" for name, at in zip("abcde", coordinates, strict=True)),
    ], size_bytes


@pytest.mark.parametrize(
    ("isa", "array", "box", "corner", "swizzle"),
    [
        pytest.param(isa, *case.values, id=f"{case.id} {isa}")
        for case, isa in itertools.product(CASES, ISAS)
        if isa in ISAS[:2] or case.id in ("1d", "2d past both ends", "5d")
    ],
)
def test_tiles(
    isa: str, array: str, box: tuple[int, ...], corner: tuple[int, ...], swizzle: int
) -> None:
    """Wrong if a box lies elsewhere, in another order, or reaches out of the tensor."""
    code = kernel(tiles_of(len(box)), isa)
    args, size_bytes = tile_launch(array, box, corner, swizzle)
    traces = []
    for executor in EXECUTORS:
        memory, trace = run(code, "1", "32", args, executor, smem=size_bytes)
        given = memory.array("from")
        shape = tuple(int(n) for n in array.partition("[")[2].rstrip("]").split(","))
        tensor = given.view(np.uint8).reshape(*shape, given.itemsize)
        tile = box_of(tensor, box, corner)
        assert memory.array("seen").tobytes() == swizzled(tile.ravel(), swizzle).tobytes()
        kept = np.zeros_like(tensor)
        inside = tuple(
            slice(max(c, 0), max(min(c + n, m), 0))
            for c, n, m in zip(corner, box, shape, strict=True)
        )
        kept[inside] = tensor[inside]
        assert memory.array("to").tobytes() == kept.tobytes()
        traces.append(by_warp(trace.records()))
    assert traces[0] == traces[1]


@pytest.mark.parametrize("isa", ISAS)
def test_the_trace_of_a_tile_needs_no_data(isa: str) -> None:
    """Wrong if the trace differs, or tiles are copied where only it counts."""
    code = kernel(tiles_of(2), isa)
    args, size_bytes = tile_launch("f16[40, 72]", (16, 64), (30, 20), 128)
    _, trace = run(code, "1", "32", args, "engine", smem=size_bytes)
    other = sliced(trace)
    assert by_warp(other.records()) == by_warp(trace.records())
    assert not other.memory.array("seen").any()
    needed = needed_for_trace(code)
    tiles = {
        s.index for i in code.instructions for s in code.steps(i.index) if "tile" in s.modifiers
    }
    assert tiles and tiles <= needed.address_only


@pytest.mark.parametrize("isa", ["ptx of sm_90", "sass of sm_90", "sass of sm_120"])
def test_a_tile_reads_the_sectors_that_hold_it(isa: str) -> None:
    """Wrong if the trace does not show where in global memory a tile lies."""
    code = kernel(tiles_of(2), isa)
    args, size_bytes = tile_launch("u8[40, 64]", (8, 32), (36, 9), 0)
    memory, trace = run(code, "1", "32", args, "engine", smem=size_bytes)
    start = next(r.address for r in memory.regions if r.label == "from")
    # Bytes 9 to 41 of the four rows that there are lie in three chunks of 16 bytes.
    expected = [start + 64 * row + chunk for row in range(36, 40) for chunk in (0, 16, 32)]
    assert lines(trace, Space.GLOBAL, OpClass.LOAD) == expected


@pytest.mark.skipif(
    not find_in_wheels("cu*/include/cccl/cuda/barrier", "cuda_cccl/include/cuda/barrier"),
    reason="NVIDIA's C++ library is not installed",
)
@pytest.mark.parametrize("isa", ["ptx of sm_90", "sass of sm_90"])
def test_copies_by_the_cuda_library(isa: str) -> None:
    """Wrong if code as the CUDA C++ Programming Guide shows it cannot be executed."""
    args = [f"{name}=s32[70, 100] {fill} box[32, 32]" for name, fill in FROM_AND_TO]
    for executor in EXECUTORS:
        memory, _ = run(kernel(LIBRARY, isa), "4,3", "64", args, executor)
        assert np.array_equal(memory.array("to"), 3 * memory.array("from"))


def test_a_map_goes_by_its_order_of_dimensions() -> None:
    """Wrong if the strides do not follow the order."""
    code = kernel(tiles_of(3), "sass of sm_90")
    args, size_bytes = tile_launch("u32[6, 4, 16]", (3, 5, 8), (0, 0, 4), 0)
    args[0] = "from=u32[6, 4, 16] arange box[3, 5, 8] order[1, 0, 2]"
    memory, _ = run(code, "1", "32", args, "engine", smem=size_bytes)
    tensor = memory.array("from").reshape(6, 4, 16).transpose(1, 0, 2)
    seen = memory.array("seen").view(np.uint32).reshape(3, 5, 8)
    assert np.array_equal(seen, tensor[:3, :5, 4:12])


WRONG = [
    pytest.param("load(s, in + 1000, 256, &b);", "outside every array; nearest is in", id="past"),
    pytest.param("load(s, in + 990, 256, &b);", "is not aligned to 16 bytes", id="misaligned"),
    pytest.param("load(s, in + 960, 256, &b);", "0 bytes past its end", id="across the end"),
    pytest.param("load(s + 60, in, 256, &b);", "outside the block's shared memory", id="shared"),
    pytest.param("load(s + 1, in, 64, &b);", "not at a multiple of 16", id="shared misaligned"),
    pytest.param("load(s, in, 40 + n, &b);", "multiple of 16 bytes", id="size"),
    pytest.param("store(out + 1000, s, 16);", "outside every array; nearest is out", id="store"),
]


@pytest.mark.parametrize(("body", "what"), WRONG)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_copy_that_may_not_be(body: str, what: str, executor: str) -> None:
    """Wrong if a copy leaves its array, or the error does not say where."""
    source = HEAD + (
        'extern "C" __global__ void k(unsigned* in, unsigned* out, int n) {'
        "extern __shared__ __align__(128) unsigned s[]; __shared__ u64 b;"
        f"if (threadIdx.x == 3) {{ begin(&b, 1); {body} }} }}"
    )
    code = kernel(source, "ptx of sm_90")
    with pytest.raises(ExecutionError, match=what) as error:
        run(code, "1", "32", ["in=u32[1000]", "out=u32[1000]", "n=1"], executor, smem=256)
    assert "block 0, thread (3,0,0)" in str(error.value)
    assert isinstance(error.value, MemoryFaultError) or "multiple" in what


@pytest.mark.parametrize("isa", ["ptx of sm_90", "sass of sm_90"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_copy_needs_a_tensor_map(isa: str, executor: str) -> None:
    """Wrong if any 128 bytes are taken for a tensor map, or one for a tensor of another rank."""
    args, size_bytes = tile_launch("u8[40, 64]", (8, 32), (0, 0), 0)
    code = kernel(tiles_of(2), isa)
    with pytest.raises(ExecutionError, match="no tensor map at"):
        run(code, "1", "32", ["from=b8[128] ones", *args[1:]], executor, smem=size_bytes)
    with pytest.raises(ExecutionError, match="a copy in 2 dimensions of a tensor of 1"):
        run(code, "1", "32", ["from=u8[99] box[32]", *args[1:]], executor, smem=size_bytes)
    with pytest.raises(LaunchError, match="but a tensor map is given"):
        run(code, "1", "32", [*args[:2], "seen=u8[40, 64] box[8, 32]", *args[3:]], executor)
