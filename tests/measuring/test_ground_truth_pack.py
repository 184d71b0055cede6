"""The pack that times kernels with known results, on a driver whose launches the CPU executes."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from tests.kept import CACHE
from tests.measuring.executing_gpu import (
    CLOCK_HZ,
    COLD_S,
    EMPTY_S,
    REGISTERS,
    WARM_S,
    ExecutingGpu,
)

from kernelcast.errors import InputError, UnsupportedError
from kernelcast.execution.fills import ELEMENT_TYPES, fill_array
from kernelcast.frontends.cuda import CompiledSource
from kernelcast.ir import Array, Fill, Launch
from kernelcast.measuring import ground_truth_pack as gp
from kernelcast.measuring.ground_truth_raw import read_ground_truth
from kernelcast.measuring.harness import gpu_driver as d
from kernelcast.measuring.harness import ground_truth as runner
from kernelcast.measuring.harness import measure as m
from kernelcast.measuring.harness import runner as processes
from kernelcast.measuring.harness.archive import Archive
from kernelcast.measuring.harness.gpu import Gpu
from kernelcast.measuring.harness.ground_truth_arrays import Arguments, GroundTruthTable, Starts
from kernelcast.measuring.pack import make_pack
from kernelcast.measuring.starts import PIECE_ELEMENTS, start_of
from kernelcast.suite.expected import ExpectedResult, expected_result
from kernelcast.suite.registry import families, kernels
from kernelcast.suite.table import Scale

TARGET = "sm_90"
FAMILIES = ("reduction", "sort", "stream", "scan", "spmv")
LONG = 2 * PIECE_ELEMENTS + 12345
"""Elements that make several pieces, the last one partial."""


@cache
def compiled(path: Path, kernels: tuple[str, ...] = ()) -> CompiledSource:
    return gp.compiled(path.name, path.read_text(), TARGET, kernels, CACHE)


def written_pack(folder: Path, contents: dict[str, bytes]) -> Archive:
    """A pack whose microbenchmarks' code is only names."""
    code = {f"{m.FOLDER}/{TARGET}/{n}.cubin": n.encode().ljust(64) for n in ("launch", "bandwidth")}
    return Archive(make_pack(folder, (), more={**contents, **code}))


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Archive, dict[bytes, CompiledSource]]:
    """A pack of some families, and what its cubins were compiled from."""
    part = gp.ground_truth_part([TARGET], CACHE, only=FAMILIES)
    assert not part.left_out
    code = {}
    sources = {family: families()[family] for family in FAMILIES}
    for members in sources.values():
        names = [launch.kernel for k in members for s in Scale for launch in k.launches(s)]
        one = compiled(members[0].source, tuple(names))
        code[one.compilation.cubin] = one
    support = compiled(gp.SUPPORT_FILE)
    code[support.compilation.cubin] = support
    return written_pack(tmp_path_factory.mktemp("pack"), dict(part.contents)), code


@pytest.fixture(scope="module")
def small(made, tmp_path_factory) -> tuple[Archive, dict[bytes, CompiledSource]]:
    """The same pack, whose full launches are its small ones."""
    archive, code = made
    with ZipFile(archive.path) as file:
        names = [name for name in file.namelist() if name.startswith("ground_truth/")]
        contents = {name: file.read(name) for name in names}
    table = json.loads(contents["ground_truth/table.json"])
    for kernel in table["kernels"].values():
        for configuration in kernel["configurations"]:
            configuration["full"] = configuration["small"]
    contents["ground_truth/table.json"] = json.dumps(table).encode()
    return written_pack(tmp_path_factory.mktemp("small"), contents), code


def device(fake: ExecutingGpu) -> Gpu:
    return Gpu(d.declared(fake.driver()))


def entry(small, name: str, **options) -> tuple[dict, ExecutingGpu]:
    """What a process of its own writes for one kernel, quickly, and the GPU that it ran on."""
    archive, code = small
    fake = ExecutingGpu(code, **options)
    bench = runner.open_bench(device(fake), archive, quick=True)
    found = runner.run_kernel(bench, name)
    assert not fake.errors
    return found, fake


# How arrays start.

STARTS = (
    *(Array(t, (LONG,), Fill("random", (3,))) for t in ("u8", "s32", "u32", "s64", "u64")),
    *(Array(t, (LONG,), Fill("random", (0,))) for t in ("f16", "f32", "f64")),
    *(Array(t, (LONG,), Fill("randint", (0, 7, 1))) for t in ("u8", "u32", "s32", "s64", "f32")),
    *(Array("u32", (LONG,), Fill("randint", (0, high, 1))) for high in (1, 1 << 16, 3 << 30)),
    Array("s32", (LONG,), Fill("randint", (-(1 << 31), 100_000_000, 1))),
    *(Array("s64", (LONG,), Fill("randint", (-5, high, 1))) for high in (1 << 40, 3 << 61)),
    Array("s32", (LONG,), Fill("permutation", (3,))),
    Array("s32", (LONG,), Fill("arange")),
    Array("f32", (100,)),
)


@pytest.mark.parametrize("array", STARTS, ids=str)
def test_an_array_starts_on_the_gpu_bit_for_bit_as_it_does_here(array, tmp_path):
    """Else the GPU would time other data than is predicted for."""
    support = compiled(gp.SUPPORT_FILE)
    table = gp.TableBuilder()
    number = table.start(array)
    files = {f"ground_truth/{name}": data for name, data in table.files({}).items()}
    cubin = support.compilation.cubin
    gpu = device(fake := ExecutingGpu({cubin: support}))
    starts = Starts(gpu, GroundTruthTable(written_pack(tmp_path, files)), cubin)
    pointer = gpu.allocate(array.size_bytes)
    starts.put(number, pointer)
    found = gpu.read_bytes(pointer, array.size_bytes)
    gpu.release(pointer)
    starts.keep([])
    expected = np.zeros(array.elements, ELEMENT_TYPES[array.type])
    fill_array(expected, array)
    assert not fake.errors
    assert found == expected.tobytes()
    assert fake.is_empty


@pytest.mark.parametrize(
    "array",
    [
        Array("bf16", (8,), Fill("random")),
        Array("u8", (8,), Fill("permutation")),
        Array("f32", (8,), Fill("ones")),
        Array("s32", (8,), Fill("randint", (0, 1 << 33))),
    ],
    ids=str,
)
def test_a_fill_without_code_for_a_gpu_is_refused_when_the_pack_is_made(array):
    with pytest.raises(UnsupportedError, match=array.type):
        start_of(array)


# Results.


def test_what_is_expected_is_judged_right_and_anything_else_wrong():
    """Of every kernel that has a known result, in the form in which the pack holds it."""
    for kernel in kernels().values():
        for launch in kernel.launches(Scale.SMALL):
            result = expected_result(kernel, launch)
            table = gp.TableBuilder()
            for label, values in result.arrays.items():
                argument = launch.args[label]
                assert isinstance(argument, Array)
                wanted = table.wanted(label, argument.type, result)
                expected = bytes(table.expected)[wanted.get("at", 0) :]
                expected = expected[: wanted.get("size_bytes", 0)]
                right = np.ravel(values).astype(ELEMENT_TYPES[argument.type])
                if label in result.unordered:
                    right = right[::-1]
                assert runner.judge(label, right.tobytes(), wanted, expected) < 1
                wrong = right.copy()
                is_float = argument.type.startswith("f")
                wrong[-1] = 1 + wrong[-1] + abs(wrong[-1]) if is_float else ~wrong[-1]
                with pytest.raises(runner.WrongResultError, match=label):
                    runner.judge(label, wrong.tobytes(), wanted, expected)


def test_zeros_of_both_signs_are_equal_and_no_number_is_never_right():
    zeros = np.zeros(3)
    for result in (ExpectedResult({"y": zeros}), ExpectedResult({"y": zeros}, absolute=1.0)):
        table = gp.TableBuilder()
        wanted = table.wanted("y", "f32", result)
        expected = bytes(table.expected)
        assert runner.judge("y", (-zeros).astype(np.float32).tobytes(), wanted, expected) == 0
        with pytest.raises(runner.WrongResultError):
            runner.judge("y", np.full(3, np.nan, np.float32).tobytes(), wanted, expected)


# Runs.


@pytest.mark.parametrize(
    "name",
    ["reduce_atomic", "sort_bitonic_shared", "stream_scatter", "stream_triad", "scan_compact"],
)
def test_a_kernel_is_checked_and_timed_with_a_warm_and_a_cold_cache(small, name):
    found, _ = entry(small, name)
    assert (found["status"], found["family"]) == ("done", kernels()[name].family)
    assert len(found["samples"]) == runner.QUICK_CONFIGURATIONS
    assert found["empty_s"] == pytest.approx([EMPTY_S] * runner.QUICK_REPEATS, rel=1e-3)
    for sample in found["samples"]:
        assert sample["result"] == "right"
        assert sample["warm_s"] == pytest.approx([WARM_S] * runner.QUICK_REPEATS, rel=1e-3)
        assert sample["cold_s"] == pytest.approx([COLD_S] * runner.QUICK_REPEATS, rel=1e-3)
        assert sample["clock_hz"] == pytest.approx(CLOCK_HZ)
        assert sample["registers"] == REGISTERS
        assert sample["blocks_per_sm"] == 2048 // sample["block"][0]
    assert found["cubin_sha256"]


@pytest.mark.parametrize("name", ["reduce_atomic", "sort_bitonic_shared", "scan_compact"])
def test_every_launch_finds_its_arrays_as_they_start(small, name):
    """Else a sort would be timed on what is sorted already."""
    _, fake = entry(small, name)
    launches: dict[str, set] = {}
    for label, arrays in fake.launched:
        launches.setdefault(label, set()).add(arrays)
    own = [found for label, found in launches.items() if label.startswith(name)]
    assert own
    assert sum(map(len, own)) <= runner.QUICK_CONFIGURATIONS


def test_a_wrong_result_is_recorded_and_not_timed(small):
    found, _ = entry(small, "stream_scale", spoils=("stream_scale",))
    assert found["status"] == "failed"
    assert "2 of 2 not timed; configuration 0 is wrong" in found["error"]
    for sample in found["samples"]:
        assert sample["result"] == "wrong"
        assert not {"warm_s", "cold_s"} & set(sample)


def test_a_launch_that_is_refused_is_recorded_and_not_timed(small):
    found, _ = entry(small, "stream_scale", refuses=("stream_scale",))
    assert found["status"] == "failed"
    assert {sample["result"] for sample in found["samples"]} == {"failed"}
    assert "no such luck (701)" in found["samples"][0]["error"]


def test_memory_is_given_back_after_every_launch(small):
    """Else the large arrays of six configurations would not fit together."""
    archive, code = small
    fake = ExecutingGpu(code)
    gpu = device(fake)
    table = GroundTruthTable(archive)
    starts = Starts(gpu, table, table.code(gpu.properties).cubins["support"])
    launch = table.kernels["spmv_csr_scalar"]["configurations"][0]["small"]
    Arguments(gpu, starts, launch).release()
    starts.keep([])
    assert fake.is_empty


# The raw file.


def test_a_process_goes_from_kernel_to_kernel_and_gives_their_memory_back(small):
    """One process times them all: what one leaves must not be in the next one's way."""
    archive, code = small
    fake = ExecutingGpu(code)
    bench = runner.open_bench(device(fake), archive, quick=True)
    held = []
    for name in ("stream_copy", "spmv_csr_scalar", "stream_copy"):
        found = runner.run_kernel(bench, name)
        assert (found["status"], fake.errors) == ("done", []), name
        bench.starts.keep([])
        held.append(fake.held_bytes)
    assert held[0] == held[1] == held[2]


def run(archive: Archive, options: argparse.Namespace) -> int:
    return processes.run(runner.program(archive, options), options, [])


def workers(entry):
    """What stands for processes; `entry` makes one of a name."""

    class Here:
        count = 0

        def __init__(self, command, *, is_lasting): ...

        def __enter__(self):
            return self

        def __exit__(self, *_): ...

        def entry(self, name, timeout_s):
            return entry(name)

    return Here


@pytest.fixture(scope="module")
def written(made, tmp_path_factory) -> Path:
    """What the pack's command writes about two kernels; full launches only take their time."""
    archive, code = made
    fake = ExecutingGpu(code, spoils=("stream_add",))

    def entry(name):
        gpu = device(fake)
        if name == processes.DEVICE:
            return {"status": "done", "samples": [], **gpu.properties}
        return runner.run_kernel(runner.open_bench(gpu, archive, quick=True), name)

    out = tmp_path_factory.mktemp("raw") / "raw.json"
    only = ["stream_copy", "stream_add"]
    options = argparse.Namespace(
        out=out, quick=True, only=only, device=0, timeout=9.0, minutes=None
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "Workers", workers(entry))
        assert run(archive, options) == processes.EXIT_INCOMPLETE
    return out


@pytest.fixture
def raw(written, tmp_path) -> Path:
    """The same, to be damaged."""
    return Path(shutil.copy(written, tmp_path))


def test_the_raw_file_gives_typed_records_of_this_versions_launches(raw):
    found = read_ground_truth(str(raw))
    assert found.device["name"] == "Executing GPU"
    assert [(one.kernel, one.configuration) for one in found.measured] == [
        ("stream_copy", 0),
        ("stream_copy", 1),
    ]
    one = found.measured[0]
    assert one.launch == kernels()["stream_copy"].launches(Scale.FULL)[0]
    assert one.cold.median == pytest.approx(COLD_S, rel=1e-3)
    assert one.warm.median == pytest.approx(WARM_S, rel=1e-3)
    assert len(found.missing) == 2
    assert "stream_add, configuration 0: wrong: z is not exactly" in found.missing[0]


def test_a_launch_of_another_version_is_not_taken_for_this_ones(raw):
    document = json.loads(raw.read_text())
    document["kernels"]["stream_copy"]["samples"][0]["grid"][0] += 1
    raw.write_text(json.dumps(document))
    found = read_ground_truth(str(raw))
    assert [one.configuration for one in found.measured] == [1]
    assert "stream_copy, configuration 0: launched otherwise by this version" in found.missing


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cold_s", []),
        ("cold_s", [-1.0]),
        ("warm_s", "x"),
        ("clock_hz", None),
        ("registers", {}),
        ("result", "perfect"),
    ],
)
def test_damaged_samples_are_one_clear_error(raw, key, value):
    document = json.loads(raw.read_text())
    document["kernels"]["stream_copy"]["samples"][0][key] = value
    raw.write_text(json.dumps(document))
    field = rf"raw\.json: kernels\.stream_copy\.samples\[.*{key}"
    with pytest.raises(InputError, match=field):
        read_ground_truth(str(raw))


def test_times_without_those_of_an_empty_launch_are_refused(raw):
    document = json.loads(raw.read_text())
    del document["kernels"]["stream_copy"]["empty_s"]
    raw.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"kernels\.stream_copy: .*`empty_s`"):
        read_ground_truth(str(raw))


def test_a_file_of_the_microbenchmarks_is_refused(tmp_path):
    other = tmp_path / "raw.json"
    other.write_text(json.dumps({"schema": m.SCHEMA}))
    with pytest.raises(InputError, match="no raw file of schema kernelcast/ground-truth/1"):
        read_ground_truth(str(other))


# The pack.


def test_the_pack_runs_by_itself_and_says_in_one_line_what_is_missing(made, tmp_path):
    archive, _ = made
    program = [sys.executable, "-S", "-E", str(archive.path), "ground-truth"]
    program += ["--out", str(tmp_path / "raw.json"), "--only", "stream_copy"]
    done = subprocess.run(program, capture_output=True, text=True)
    if done.returncode == 0:
        pytest.skip("there is a GPU")
    assert done.returncode == processes.EXIT_FAILED
    assert done.stderr.startswith("error: no driver") and done.stderr.count("\n") == 1


def test_the_quick_run_takes_kernels_of_every_family(made):
    table = GroundTruthTable(made[0])
    taken = [table.kernels[name]["family"] for name in table.names(quick=True)]
    assert {taken.count(family) for family in FAMILIES} == {2}
    assert table.names(quick=False) == [k.name for f in sorted(FAMILIES) for k in families()[f]]


def test_no_kernel_is_begun_after_the_minutes_given(made, tmp_path, monkeypatch):
    archive, code = made
    begun = []

    def entry(name):
        begun.append(name)
        gpu = device(ExecutingGpu(code))
        return {"status": "done", "samples": [], **gpu.properties}

    monkeypatch.setattr(processes, "Workers", workers(entry))
    options = argparse.Namespace(
        out=tmp_path / "raw.json", quick=False, only=None, device=0, timeout=9.0, minutes=1e-9
    )
    assert run(archive, options) == processes.EXIT_INCOMPLETE
    assert begun == [processes.DEVICE]


def test_arguments_are_recorded_with_every_digit():
    """Else a launch of another version could pass for this one's."""
    array = Array("s32", (3, 4), Fill("randint", (-8388609, 16777217, 1)))
    launch = Launch(1, 1, {"x": array, "a": 0.1})
    assert [gp.argument_text(value) for value in launch.args.values()] == [
        "s32[3, 4] randint(-8388609, 16777217, 1)",
        "0.1",
    ]
