"""Launches executed for their streams: known kernels, and what is left as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.execution.bulk_kernels import PIPELINE
from tests.execution.machine_code import kernels

from kernelcast import api
from kernelcast.errors import UnsupportedError
from kernelcast.execution import run as run_module
from kernelcast.execution.blocks import (
    Span,
    Wave,
    all_blocks,
    blocks_of_spans,
    runs_of,
    these_blocks,
)
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.forecasting.runs import head_of
from kernelcast.frontends.launch_check import check_launch
from kernelcast.frontends.launches import launch_from_flags
from kernelcast.ir import Space
from kernelcast.profiling import stream_run
from kernelcast.profiling.builder import ProfileBuilder
from kernelcast.profiling.stored import streams_of
from kernelcast.profiling.stream_builder import StreamBuilder
from kernelcast.profiling.stream_run import streams_of_run
from kernelcast.profiling.streams import FIRST_BIT, LINE_SHIFT, ROW_MASK, ROW_SHIFT, AccessStreams
from kernelcast.traces.file import read_trace, write_trace

EXAMPLES = Path(__file__).parents[2] / "examples"

KERNELS = """
extern "C" __global__ void strided(int stride, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i * stride];
}
extern "C" __global__ void chased(int* next) {
    // Where a thread goes depends on what it has written.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int n = 0; n < 4; n++) next[next[i]] = (next[i] * 7 + n) & 4095;
}
extern "C" __global__ void uneven(int* y) {
    for (int n = 0; n < blockIdx.x; n++) y[threadIdx.x + 32 * n] = n;
}
extern "C" __global__ void first(int working, float* y) {
    if (blockIdx.x >= working) return;
    for (int n = 0; n < 500; n++) y[(blockIdx.x * 500 + n) * 32 + threadIdx.x] = n;
}
extern "C" __global__ void spilled(float* y) {
    float kept[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int n = 0; n < 32; n++) kept[n * (i | 1) & 31] = n;
    y[i] = kept[i & 31];
}
extern "C" __global__ void waiting(int* flag) {
    while (atomicAdd(flag, 0) == 0);
}
extern "C" __global__ void outside(int limit, int* y) {
    if (blockIdx.x < limit) y[blockIdx.x] = 1; else y[(long long)blockIdx.x << 30] = 1;
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("streams") / "kernels.cu"
    file.write_text(KERNELS)
    return file


def run_of(file: Path, name: str, blocks: int, threads: int = 32, **arguments: object) -> Run:
    kernel = api.load(file, kernel=name)
    launch = api.Launch(grid=blocks, block=threads, args=arguments)  # type: ignore[arg-type]
    launch = check_launch(kernel, launch)
    return Run(kernel, launch, Memory.build(kernel, launch), all_blocks(blocks))


def run_of_example(name: str, isa: str) -> Run:
    work = api.workload(EXAMPLES / name)
    kernel = api.load(EXAMPLES / name, kernel=work.launches[0].kernel, build=api.Build(isa=isa))
    launch = check_launch(kernel, work.launches[0])
    return Run(kernel, launch, Memory.build(kernel, launch), all_blocks(launch.blocks))


def strided(source: Path, stride: int, blocks: int = 64) -> Run:
    x, y = api.f32(32 * blocks * stride), api.f32(32 * blocks)
    return run_of(source, "strided", blocks, stride=stride, x=x, y=y)


def in_waves_of(blocks: int) -> Wave:
    return Wave(1, blocks)


def by_opcode(streams: AccessStreams) -> dict[str, tuple[int, int]]:
    """Requests and lines of loads and stores."""
    found = {}
    rows = (streams.words >> np.uint64(ROW_SHIFT)).astype(np.int64) & ROW_MASK
    first = (streams.words >> np.uint64(FIRST_BIT)).astype(np.int64) & 1
    for number, row in enumerate(streams.rows):
        own = first[rows == number]
        found[row.instruction.op_class.value] = int(own.sum()), len(own)
    return found


@pytest.mark.parametrize(("stride", "lines"), [(1, 1), (2, 2), (8, 8), (32, 32), (64, 32)])
def test_a_load_with_a_stride_has_as_many_lines(source: Path, stride: int, lines: int) -> None:
    streams = streams_of_run(strided(source, stride), in_waves_of(8))
    assert streams.spans == (Span(0, 0, 64),), "all is affordable"
    assert by_opcode(streams) == {"load": (64, 64 * lines), "store": (64, 64)}


def test_the_lines_are_those_of_the_arrays(source: Path) -> None:
    run = strided(source, 1)
    streams = streams_of_run(run, in_waves_of(8))
    start = {region.label: region.address // 128 for region in run.memory.regions}
    lines = (streams.words >> np.uint64(LINE_SHIFT)).tolist()
    assert lines == [start[label] + block for block in range(64) for label in ("x", "y")]


def test_memory_is_left_as_it_was_and_seen_as_it_is(source: Path) -> None:
    run = run_of(source, "chased", 64, next=api.s32(4096, fill="arange"))
    before = run.memory.image()
    one = streams_of_run(run, in_waves_of(8))
    assert run.memory.image() == before
    assert np.array_equal(streams_of_run(run, in_waves_of(8)).words, one.words)
    follower = StreamBuilder(run.kernel, run.launch, one.spans, 1 << 20)
    replace(run, threads=1).execute(follower)
    assert np.array_equal(follower.finish().words, one.words), "no pilot has changed it"
    assert run.memory.image() != before


def test_what_cannot_be_put_back_is_not_executed(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "MOST_SAVED_BYTES", 1 << 10)
    run = run_of(source, "chased", 64, next=api.s32(4096, fill="arange"))
    with pytest.raises(UnsupportedError, match=r"on their own.*too much to put them back"):
        streams_of_run(run, in_waves_of(8))


def test_waves_are_chosen_where_not_all_is_affordable(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_run, "MOST_WORDS", 200)  # two of every block
    streams = streams_of_run(strided(source, 1, 1000), in_waves_of(20))
    assert streams.spans == (Span(0, 0, 20), Span(460, 480, 500), Span(960, 980, 1000))
    assert streams.blocks.tolist() == list(blocks_of_spans(1000, streams.spans))
    assert len(streams.words) == 200
    exact = streams_of_run(strided(source, 1, 1000), in_waves_of(20), exact=True)
    assert len(exact.words) == 2000
    monkeypatch.setattr(stream_run, "MOST_EXACT_WORDS", 1001)
    cut = streams_of_run(strided(source, 1, 1000), in_waves_of(20), exact=True)
    assert cut.spans == (Span(0, 0, 500),)


def test_instructions_can_be_what_is_scarce(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_run, "MOST_WARP_INSTRUCTIONS", 1000)
    streams = streams_of_run(strided(source, 1, 1000), in_waves_of(200))
    assert len(streams.spans) == 1
    assert 16 <= len(streams.blocks) < 200


def test_warps_are_cut_where_too_few_blocks_fit(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 20 blocks asks for two words, of which it keeps the first."""
    whole = streams_of_run(strided(source, 1, 1000), in_waves_of(20), exact=True)
    assert not whole.is_cut
    monkeypatch.setattr(stream_run, "MOST_WORDS", 31)
    for of in (1000, 16):
        cut = streams_of_run(strided(source, 1, of), in_waves_of(20))
        assert cut.is_cut
        assert len(cut.blocks) == len(cut.words) == min(of, 20)
        assert set(cut.words.tolist()) <= set(whole.words.tolist())
        assert {int(word) >> ROW_SHIFT & ROW_MASK for word in cut.words} == {0}


def test_too_few_blocks_are_none(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_run, "MOST_WORDS", 31)
    monkeypatch.setattr(stream_run, "MOST_CUT_INSTRUCTIONS", 15)
    with pytest.raises(UnsupportedError, match="fewer than 16 blocks are affordable"):
        streams_of_run(strided(source, 1, 1000), in_waves_of(20))
    with pytest.raises(UnsupportedError, match="fewer than 16"):
        streams_of_run(strided(source, 1, 16), in_waves_of(20))
    monkeypatch.setattr(stream_run, "MOST_WORDS", 32)
    fits = streams_of_run(strided(source, 1, 16), in_waves_of(20))
    assert len(fits.blocks) == 16
    assert not fits.is_cut


def test_blocks_that_cost_more_than_a_pilot_says_are_left_out(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_run, "MOST_WORDS", 2000)
    run = run_of(source, "uneven", 64, y=api.s32(32 * 64))
    streams = streams_of_run(run, in_waves_of(64))
    assert len(streams.words) <= 2000
    assert streams.spans == (Span(0, 0, len(streams.blocks)),)


def test_a_block_that_waits_for_somebody_else_is_given_up(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_run, "MOST_WARP_INSTRUCTIONS", 100_000)
    with pytest.raises(UnsupportedError, match=r"may never end.* budget is 1e\+05"):
        streams_of_run(run_of(source, "waiting", 4, flag=api.s32(1)), in_waves_of(8))


def test_a_kernel_that_goes_wrong_has_no_streams(source: Path) -> None:
    run = run_of(source, "outside", 64, limit=40, y=api.s32(64))
    with pytest.raises(UnsupportedError, match="on their own"):
        streams_of_run(run, in_waves_of(8))


@pytest.mark.parametrize("isa", ["sass", "ptx"])
@pytest.mark.parametrize("name", ["matmul_tiled.cu", "histogram.cu", "reduction.cu"])
def test_what_shared_memory_holds_need_not_be_known(name: str, isa: str) -> None:
    run, spans = run_of_example(name, isa), (Span(3, 3, 20),)
    found = []
    for needed in (stream_run._needed(run), None):
        builder = StreamBuilder(run.kernel, run.launch, spans, 1 << 24)
        replace(run, needed=needed).over(blocks_of_spans(run.launch.blocks, spans)).follow(builder)
        found.append(builder.finish())
    assert np.array_equal(found[0].words, found[1].words)
    assert np.array_equal(found[0].starts, found[1].starts)
    shared = {i.index for i in run.kernel.instructions if i.space is Space.SHARED}
    assert shared
    if name == "matmul_tiled.cu":
        needed = stream_run._needed(run)
        assert not shared & (needed.in_full | needed.address_only)


@pytest.mark.parametrize("name", ["matmul_tiled.cu", "spmv_csr.cu"])
def test_streams_do_not_depend_on_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_run, "MOST_WORDS", 700_000)
    run = run_of_example(name, "sass")
    one, other = (streams_of_run(replace(run, threads=n), in_waves_of(16)) for n in (1, 3))
    assert one.spans == other.spans
    for part in ("blocks", "starts", "words"):
        assert np.array_equal(getattr(one, part), getattr(other, part)), part
    assert len(runs_of(one.blocks.tolist())) == len(one.spans)


def counted(run: Run) -> dict[tuple[int, Space], tuple[float, ...]]:
    """Requests, lines and sectors of every access to global and local memory, as the profile has
    them."""
    builder = ProfileBuilder(run.kernel, run.launch, run.memory, tuple(run.blocks))
    run.follow(builder)
    return {
        (access.instruction, access.space): (access.requests, access.lines, access.sectors)
        for access in builder.finish().accesses
        if access.space in (Space.GLOBAL, Space.LOCAL) and access.requests
    }


def streamed(streams: AccessStreams) -> dict[tuple[int, Space], tuple[float, ...]]:
    """The same of streams."""
    words = streams.words.view(np.int64)
    rows, first = words >> ROW_SHIFT & ROW_MASK, words >> FIRST_BIT & 1
    columns = [first, np.ones_like(words), np.bitwise_count(words & 15)]
    counts = np.array([np.bincount(rows, c, len(streams.rows)) for c in columns])
    return {
        (row.instruction.index, row.space): tuple(count.tolist())
        for row, count in zip(streams.rows, counts.T, strict=True)
        if count[0]
    }


@pytest.mark.parametrize("isa", ["sass", "ptx"])
@pytest.mark.parametrize("name", ["histogram.cu", "reduction.cu", "transpose.cu"])
def test_requests_lines_and_sectors_are_those_that_are_counted(name: str, isa: str) -> None:
    run = run_of_example(name, isa)
    assert streamed(streams_of_run(run, in_waves_of(64), exact=True)) == counted(run)


def test_spilled_registers_are_counted_alike(source: Path) -> None:
    run = run_of(source, "spilled", 8, 96, y=api.f32(96 * 8))
    found = streamed(streams_of_run(run, in_waves_of(8)))
    assert {space for _, space in found} == {Space.GLOBAL, Space.LOCAL}
    assert found == counted(run)


@pytest.mark.parametrize("is_machine_code", [False, True])
def test_bulk_copies_are_counted_alike(is_machine_code: bool) -> None:
    code = kernels(PIPELINE, "sm_90")[is_machine_code]
    words = 2 * 7 * 264
    launch = launch_from_flags("2", "96", 0, [f"in=u32[{words}]", f"out=u32[{words}]", "n=7"])
    run = Run(code, launch, Memory.build(code, launch), all_blocks(2))
    found = streamed(streams_of_run(run, in_waves_of(2)))
    assert sum(sectors for _, _, sectors in found.values()) >= 2 * words / 8
    assert found == counted(run)


def test_streams_of_a_stored_trace_are_those_of_its_run(source: Path, tmp_path: Path) -> None:
    run = strided(source, 8).over(these_blocks(64, (1, 2, 3, 9)))
    with write_trace(tmp_path / "run.kct", head_of(run), "engine") as writer:
        run.follow(writer)
    stored = streams_of(read_trace(tmp_path / "run.kct"))
    assert stored.spans == (Span(1, 1, 4), Span(9, 9, 10))
    whole = streams_of_run(run, in_waves_of(8))
    own = np.flatnonzero(np.isin(whole.blocks, stored.blocks))
    parts = [whole.words[whole.starts[at] : whole.starts[at + 1]] for at in own]
    assert np.array_equal(stored.words, np.concatenate(parts))


def test_waves_lie_where_blocks_work(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a grid in which only the first blocks work; their streams are cut."""
    monkeypatch.setattr(stream_run, "MOST_WORDS", 5_000)
    run = run_of(source, "first", 4000, working=40, y=api.f32(40 * 500 * 32))
    streams = streams_of_run(run, Wave(20, 2))
    assert streams.is_cut
    assert [(span.start, span.end) for span in streams.spans] == [(0, 40)]
    run = run_of(source, "first", 4000, working=4000, y=api.f32(4000 * 500 * 32))
    assert [span.start for span in streams_of_run(run, Wave(20, 2)).spans] == [1960]
