"""The package's own trace files: all comes back, nothing is left half written, damage is told."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.profiling.synthetic_traces import (
    affine,
    enter,
    instruction,
    kernel,
    memory,
    register,
    scattered,
    warp,
    words,
)
from tests.tracing import build_profile, traced

from kernelcast import api
from kernelcast.errors import ExecutionError, InputError
from kernelcast.execution.address_map import GLOBAL_BASE
from kernelcast.execution.memory import Memory
from kernelcast.execution.sampling import sample_blocks
from kernelcast.frontends.launch_check import check_launch
from kernelcast.ir import (
    Argument,
    Array,
    BasicBlock,
    Fill,
    Guard,
    Instruction,
    Kernel,
    Launch,
    OpClass,
    Space,
    TensorMap,
    Text,
)
from kernelcast.profiling.stored import profile_of
from kernelcast.traces import file as trace_file
from kernelcast.traces.file import read_section, read_trace, write_trace
from kernelcast.traces.header import StoredInstruction, StoredKernel, pack_head, unpack_head
from kernelcast.traces.open import open_trace
from kernelcast.traces.recognise import is_trace
from kernelcast.traces.stored import TraceHead
from kernelcast.traces.stored_launch import StoredArray, StoredLaunch

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = TraceHead(
    kernel(
        [
            instruction(
                0,
                OpClass.LOAD,
                "ld",
                ("global",),
                writes="a",
                space=Space.GLOBAL,
                access_bytes=4,
                line=7,
            ),
            instruction(1, OpClass.FP32, "add", reads="a", writes="b", guard="p", line=8),
        ]
    ),
    Launch((3, 1, 1), (32, 1, 1)),
    (0, 2),
    memory(1 << 12).regions,
)
STREAM = words(
    warp(0, 0), enter(0), affine(0, GLOBAL_BASE, 4),
    warp(2, 0), enter(0), scattered(0, [GLOBAL_BASE + 8 * lane for lane in range(32)]),
)  # fmt: skip


def written(path: Path, head: TraceHead = HEAD, *streams: np.ndarray) -> Path:
    with write_trace(path, head, "by hand") as writer:
        for stream in streams or (STREAM,):
            writer.consume(stream)
    return path


def test_a_trace_comes_back_as_it_was(tmp_path):
    trace = open_trace(written(tmp_path / "a.kct"))
    assert trace.head == HEAD
    assert trace.maker == "by hand"
    for _ in range(2):  # as often as wanted
        assert np.concatenate([*trace.words()]).tolist() == STREAM.tolist()


def test_equal_traces_are_equal_files(tmp_path):
    one = written(tmp_path / "one.kct").read_bytes()
    assert written(tmp_path / "two.kct", HEAD, STREAM[:6], STREAM[6:]).read_bytes() == one


@pytest.mark.parametrize("chunk_words", [1, 30, 40, 1000])
def test_long_streams_are_cut_between_records(tmp_path, monkeypatch, chunk_words):
    monkeypatch.setattr(trace_file, "CHUNK_WORDS", chunk_words)
    stream = np.concatenate([STREAM] * 20)
    path = written(tmp_path / "a.kct", HEAD, stream)
    parts = [*read_trace(path).words()]
    assert np.concatenate(parts).tolist() == stream.tolist()
    assert max(map(len, parts)) <= max(2 * chunk_words, chunk_words + 33)


def test_every_field_of_a_kernel_comes_back(tmp_path):
    first, second = HEAD.kernel.instructions
    full = replace(
        HEAD.kernel,
        isa="sass",
        instructions=(
            replace(
                first,
                operands=(Text("R2"), None, Text("c[0x0][0x10]")),
                address_reads=(register("a"),),
                line=12,
                code_offset=0x40,
                issue_cycles=5,
            ),
            replace(second, guard=Guard(register("%p:1"), negated=True)),
        ),
        blocks=(BasicBlock(0, 0, 1, (1, 0)), BasicBlock(1, 1, 2, ())),
        label="k<1>",
        source="k.cu",
        version="8.5",
        warnings=("careful",),
        cluster=(2, 1, 1),
    )
    array = Array("f32", (4, 4), Fill("random", (1.0,)))
    args: dict[str, Argument] = {
        "n": -3,
        "a": 2.0,
        "x": array,
        "m": TensorMap(array, (2, 4), (1, 0), 32, "x"),
    }
    launch = Launch((4, 2, 1), (8, 4, 1), args, 64, "k<1>", 2)
    head = TraceHead(full, launch, (0, 1, 2, 5, 7), HEAD.regions)
    back, _ = unpack_head(pack_head(head, "m", "0"))
    assert back == head


def test_no_field_is_forgotten():
    """What is added to kernels must be stored too, or left out on purpose."""
    left_out = names_of(Instruction) - names_of(StoredInstruction)
    assert left_out == {"index", "location", "traits"}
    assert names_of(Kernel) - names_of(StoredKernel) == {
        "meanings",
        "constants",
        "module_variables",
    }
    assert names_of(Launch) == names_of(StoredLaunch)
    assert names_of(Array) <= names_of(StoredArray)
    assert names_of(TensorMap) - names_of(StoredArray) == {"array"}


def names_of(kind: type) -> set[str]:
    return set(kind.__annotations__)


@pytest.mark.parametrize("name", ["matmul_tiled", "spmv_csr", "histogram"])
def test_the_profile_of_a_file_is_that_of_the_execution(tmp_path, name):
    source = EXAMPLES / f"{name}.cu"
    work = api.workload(source)
    (launch,) = work.launches
    of = api.load(source, kernel=launch.kernel, build=api.Build(isa="ptx"))
    launch = check_launch(of, launch)
    storage = Memory.build(of, launch, base_dir=work.base_dir)
    blocks = sample_blocks(launch.blocks, 2)
    executed = traced(of, launch, storage, blocks=blocks)
    path = written(
        tmp_path / "a.kct", TraceHead(of, launch, blocks, storage.regions), executed.words
    )
    trace = read_trace(path)
    assert np.array_equal(np.concatenate([*trace.words()]), executed.words)
    direct, counted = build_profile(executed), profile_of(trace)
    for field in ("launch", "sample", "counts", "accesses", "footprints", "lines", "flops",
                  "branches", "divergent_branches", "chain_by_class"):  # fmt: skip
        assert getattr(counted, field) == getattr(direct, field), field
    assert counted.warp.blocks.tolist() == direct.warp.blocks.tolist()
    assert counted.instruction_warps.tolist() == direct.instruction_warps.tolist()
    if name == "matmul_tiled":
        assert path.stat().st_size < executed.warp_instructions / 5  # a loop compresses


def test_what_goes_wrong_leaves_the_older_file_and_nothing_else(tmp_path):
    path = written(tmp_path / "a.kct")
    before = path.read_bytes()
    with pytest.raises(ExecutionError), write_trace(path, HEAD, "m") as writer:
        writer.consume(STREAM)
        raise ExecutionError("the kernel went wrong")
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(InputError, match=r"no/a\.kct: cannot be written: No such file"):
        written(tmp_path / "no" / "a.kct")


def test_a_file_cut_short_anywhere_is_told_so(tmp_path):
    whole = written(tmp_path / "a.kct").read_bytes()
    cut = tmp_path / "cut.kct"
    for length in (*range(0, len(whole), 41), len(whole) - 1):
        cut.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"cut\.kct: .*(cut short|not a trace|format)"):
            [*open_trace(cut).words()]


def test_a_damaged_file_is_told_so(tmp_path):
    whole = written(tmp_path / "a.kct").read_bytes()
    bad = tmp_path / "bad.kct"
    for at in range(8, len(whole), 29):
        bad.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with pytest.raises(InputError, match=r"bad\.kct: the trace is (damaged|cut short)"):
            [*read_trace(bad).words()]


def test_what_follows_the_end_is_damage(tmp_path):
    path = written(tmp_path / "a.kct")
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(InputError, match="its end does not fit"):
        [*read_trace(path).words()]


def test_a_later_format_is_told(tmp_path):
    path = written(tmp_path / "a.kct")
    path.write_bytes(b"KCTRACE\x04" + path.read_bytes()[8:])
    with pytest.raises(InputError, match=r"format 04; this version reads formats 2 to 3"):
        read_trace(path)


@pytest.mark.parametrize("content", [b"", b"KCT", b"\x7fELF", b"__global__ void k() {}"])
def test_other_files_are_no_traces(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    assert not is_trace(path)
    with pytest.raises(InputError, match="not a trace"):
        open_trace(path)
    assert not is_trace(tmp_path / "absent")


def test_the_layout_of_a_file_is_the_documented_one(tmp_path):
    path = written(tmp_path / "a.kct")
    data = path.read_bytes()
    assert data[:8] == b"KCTRACE\x03"
    assert data[8:12] == b"HEAD"
    length = int.from_bytes(data[12:20], "little")
    assert b'"maker":"by hand"' in zlib.decompress(data[20 : 20 + length])
    with path.open("rb") as file:
        file.seek(8)
        assert [read_section(file)[0] for _ in range(3)] == [b"HEAD", b"WORD", b"DONE"]


@pytest.mark.parametrize(
    ("found", "put", "told"),
    [
        (b'"blocks":[[0,1],[2,1]]', b'"blocks":[[2,1],[0,1]]', "not in order"),
        (b'"blocks":[[0,1],[2,1]]', b'"blocks":[[0,9]]', "not those of its grid"),
        (b'"block":[32,1,1]', b'"block":[32,99,1]', "no blocks of threads"),
        (b'"access_bytes":4', b'"access_bytes":99', "access of 99 bytes"),
        (b'"end":2', b'"end":3', "basic block 0"),
        (b'"files":["kernel.cu"]', b'"files":[]', "source files"),
        (b'"local":', b'"local":1', "another version"),
        (b'"isa":"ptx"', b'"isa":7', "does not fit"),
        (b'"address":', b'"address":-', "not in order"),
    ],
)
def test_a_head_that_does_not_fit_together_is_refused(found, put, told):
    data = pack_head(HEAD, "m", "0")
    assert found in data
    with pytest.raises(ValueError, match=told):
        unpack_head(data.replace(found, put))
