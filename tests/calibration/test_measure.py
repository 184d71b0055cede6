"""The runner, on a driver library that checks its calls."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.calibration.fake_gpu import CTYPE, CUDA_H, SIGNATURE_OF, FakeGpu, empty_pack, known_chip

from kernelcast.calibration import measure as m
from kernelcast.calibration.microbenchmarks.tensor import GROUP_SHAPES, SHAPES
from kernelcast.calibration.pack import compile_benchmark, source_files
from kernelcast.frontends.cubin import read_cubin


def same_type(a, b) -> bool:
    """Whether two ctypes take the same bytes: pointers to characters are pointers."""
    pointers = (ctypes.c_void_p, ctypes.c_char_p)
    return a is b or (ctypes.sizeof(a) == ctypes.sizeof(b) and a in pointers and b in pointers)


def gpu(**options) -> m.Gpu:
    return m.Gpu(m.declared(FakeGpu(known_chip(), **options).driver()))


def test_the_declared_types_are_those_of_cuda_h():
    assert set(m.SIGNATURES) == set(CUDA_H)
    for name, types in m.SIGNATURES.items():
        assert len(types) == len(CUDA_H[name]), name
        assert all(map(same_type, types, CUDA_H[name])), name


def test_a_call_with_a_wrong_type_is_refused():
    driver = m.declared(FakeGpu(known_chip()).driver())
    with pytest.raises(ctypes.ArgumentError):
        driver.cuMemFree_v2("text")
    with pytest.raises(ctypes.ArgumentError):
        driver.cuDeviceGet(ctypes.byref(ctypes.c_double()), 0)


@pytest.mark.parametrize(
    ("function", "status", "kind"),
    [
        ("cuInit", 100, "no GPU"),
        ("cuInit", 34, "no driver"),
        ("cuDevicePrimaryCtxRetain", 46, "busy"),
        ("cuDevicePrimaryCtxRetain", 2, "busy"),
        ("cuMemGetInfo_v2", 999, "failed"),
    ],
)
def test_what_stands_in_the_way_is_told_apart(function, status, kind):
    with pytest.raises(m.GpuError, match=rf"{function}: .*\({status}\)") as caught:
        gpu(fails={function: status}).free_bytes()
    assert caught.value.kind == kind


def test_a_device_that_is_not_there_is_no_gpu():
    with pytest.raises(m.GpuError) as caught:
        m.Gpu(m.declared(FakeGpu(known_chip()).driver()), ordinal=3)
    assert caught.value.kind == "no GPU"


def test_code_is_taken_from_the_nearest_older_minor_of_the_same_major(tmp_path):
    for name in ("sm_80", "sm_86", "sm_90"):
        (tmp_path / name).mkdir()
    assert m.code_folder(tmp_path, 8, 9).name == "sm_86"
    assert m.code_folder(tmp_path, 8, 0).name == "sm_80"
    with pytest.raises(m.GpuError, match=r"none for sm_75, only sm_80, sm_86, sm_90"):
        m.code_folder(tmp_path, 7, 5)


BENCHMARKS_OF_OTHER_CHIPS = {
    *(f"wgmma.{name}" for name in GROUP_SHAPES),
    *(f"tensor.{name}" for name, shape in SHAPES.items() if not shape.is_on((8, 0))),
}
"""Which compute capability 8.0 has not."""


@pytest.fixture(scope="module")
def compiled_kernels():
    return [
        kernel
        for file in source_files()
        for kernel in read_cubin(
            compile_benchmark(file, "sm_80").cubin, name=file.name
        ).kernels.values()
    ]


def test_every_kernel_of_the_suite_is_launched(tmp_path, compiled_kernels):
    fake = FakeGpu(known_chip())
    session = m.Session(m.Gpu(m.declared(fake.driver())), empty_pack(tmp_path), quick=True)
    for name in m.BENCHMARKS:
        entry = m.run_benchmark(session, name)
        is_elsewhere = name in BENCHMARKS_OF_OTHER_CHIPS
        assert bool(entry["samples"]) is not is_elsewhere, name
        assert entry["clock_before_hz"] == pytest.approx(1.5e9, rel=1e-3)
    assert set(fake.kernels) == {kernel.name for kernel in compiled_kernels}


def test_arguments_fit_the_kernels_parameters(compiled_kernels):
    """The sizes the stand-in reads are those that the compiled kernels have."""
    for kernel in compiled_kernels:
        letters = SIGNATURE_OF[FakeGpu._family(kernel.name)]
        sizes = [ctypes.sizeof(CTYPE[letter]) for letter in letters]
        assert [p.size_bytes for p in kernel.parameters] == sizes, kernel.name


def test_a_failure_costs_one_entry_and_is_tried_again(tmp_path):
    out, device = tmp_path / "raw.json", {"name": "x"}
    calls = []

    def entry(name):
        calls.append(name)
        if name == "chase" and calls.count("chase") == 1:
            return {"status": "failed", "error": "hangs", "samples": []}
        return {"status": "done", "samples": [1]}

    def run():
        return m.measure(
            out, device, ["chase", "barriers"], entry, quick=True, report=lambda text: None
        )

    first = run()["benchmarks"]
    assert (first["chase"]["status"], first["barriers"]["status"]) == ("failed", "done")
    assert json.loads(out.read_text())["benchmarks"] == first
    assert run()["benchmarks"]["chase"]["status"] == "done"
    assert calls == ["chase", "barriers", "chase"]
    assert [p.name for p in tmp_path.iterdir()] == ["raw.json"]


@pytest.mark.parametrize("change", [{"suite": "0"}, {"device": {"name": "y"}}, {"quick": False}])
def test_a_file_of_another_measurement_is_not_added_to(tmp_path, change):
    out = tmp_path / "raw.json"
    old = {"schema": m.SCHEMA, "suite": m.SUITE, "quick": True, "device": {"name": "x"}}
    out.write_text(json.dumps({**old, **change, "benchmarks": {}}))
    with pytest.raises(m.GpuError, match=next(iter(change))):
        m.measure(out, {"name": "x"}, [], dict, quick=True, report=print)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import time; time.sleep(60)", "hangs: no result after 0.5 s"),
        ("import sys; print('error: busy', file=sys.stderr); sys.exit(2)", "error: busy"),
        ("import os; os.abort()", "status -6"),
        ("print('no json')", "wrote no result"),
        ("print('[]')", "wrote no result"),
    ],
)
def test_a_process_that_fails_becomes_an_entry_that_says_why(program, why):
    timeout_s = 0.5 if "sleep" in program else 30
    entry = m.isolated([sys.executable, "-c", program], timeout_s)
    assert (entry["status"], entry["samples"]) == ("failed", [])
    assert why in entry["error"]


def test_the_runner_needs_only_the_standard_library():
    code = f"import sys; sys.path.insert(0, {str(Path(m.__file__).parent)!r}); import measure"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
