"""The runner, on a driver library that checks its calls."""

from __future__ import annotations

import ast
import ctypes
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from tests.kept import CACHE
from tests.measuring.fake_gpu import CTYPE, CUDA_H, EMPTY_CODE, SIGNATURE_OF, FakeGpu, known_chip

from kernelcast.frontends.cubin import read_cubin
from kernelcast.measuring import pack
from kernelcast.measuring.harness import gpu_driver as d
from kernelcast.measuring.harness import measure as m
from kernelcast.measuring.harness import runner, worker
from kernelcast.measuring.harness import session as session_module
from kernelcast.measuring.harness.archive import Archive
from kernelcast.measuring.harness.gpu import Gpu
from kernelcast.measuring.harness.microbenchmarks.tensor import GROUP_SHAPES, SHAPES, THREAD_SHAPES
from kernelcast.measuring.harness.session import Session
from kernelcast.measuring.pack import compile_benchmark, source_files


def same_type(a, b) -> bool:
    """Whether two ctypes take the same bytes: pointers to characters are pointers."""
    pointers = (ctypes.c_void_p, ctypes.c_char_p)
    return a is b or (ctypes.sizeof(a) == ctypes.sizeof(b) and a in pointers and b in pointers)


def gpu(**options) -> Gpu:
    return Gpu(d.declared(FakeGpu(known_chip(), **options).driver()))


def test_the_declared_types_are_those_of_cuda_h():
    assert set(d.SIGNATURES) == set(CUDA_H)
    for name, types in d.SIGNATURES.items():
        assert len(types) == len(CUDA_H[name]), name
        assert all(map(same_type, types, CUDA_H[name])), name


def test_a_call_with_a_wrong_type_is_refused():
    driver = d.declared(FakeGpu(known_chip()).driver())
    with pytest.raises(ctypes.ArgumentError):
        driver.cuMemFree_v2("text")
    with pytest.raises(ctypes.ArgumentError):
        driver.cuDeviceGet(ctypes.byref(ctypes.c_double()), 0)


@pytest.mark.parametrize(
    ("function", "status", "kind"),
    [
        ("cuInit", 100, "no GPU"),
        ("cuInit", 34, "no driver"),
        ("cuInit", 304, "no driver"),
        ("cuModuleLoadData", 222, "no code"),
        ("cuDevicePrimaryCtxRetain", 46, "busy"),
        ("cuDevicePrimaryCtxRetain", 2, "busy"),
        ("cuMemGetInfo_v2", 999, "failed"),
    ],
)
def test_what_stands_in_the_way_is_told_apart(function, status, kind):
    with pytest.raises(d.GpuError, match=rf"{function}: .*\({status}\)") as caught:
        found = gpu(fails={function: status})
        found.free_bytes()
        found.function(b"code", "kernel")
    assert caught.value.kind == kind


def test_a_device_that_is_not_there_is_no_gpu():
    with pytest.raises(d.GpuError) as caught:
        Gpu(d.declared(FakeGpu(known_chip()).driver()), ordinal=3)
    assert caught.value.kind == "no GPU"


def test_code_is_taken_from_the_nearest_older_minor_of_the_same_major(tmp_path):
    names = [f"microbenchmarks/{name}/launch.cubin" for name in ("sm_80", "sm_86", "sm_90")]
    file = tmp_path / "pack.pyz"
    file.write_bytes(pack.zipped({name: name.encode() for name in names}))
    archive = Archive(file)
    assert archive.code(m.FOLDER, {"major": 8, "minor": 9}).architecture == "sm_86"
    older = archive.code(m.FOLDER, {"major": 8, "minor": 0})
    assert older.cubins == {"launch": names[0].encode()}
    with pytest.raises(d.GpuError, match=r"none for sm_75, only sm_80, sm_86, sm_90"):
        archive.code(m.FOLDER, {"major": 7, "minor": 5})


BENCHMARKS_OF_OTHER_CHIPS = {
    *(f"wgmma.{name}" for name in GROUP_SHAPES),
    *(name.replace("_", ".", 1) for name in THREAD_SHAPES),
    *(f"tensor.{name}" for name, shape in SHAPES.items() if not shape.is_on((8, 0))),
}
"""Which compute capability 8.0 has not."""


@pytest.fixture(scope="module")
def compiled_kernels():
    return [
        kernel
        for file in source_files()
        for kernel in read_cubin(
            compile_benchmark(file, "sm_80", CACHE).cubin, name=file.name
        ).kernels.values()
    ]


def test_every_kernel_of_the_suite_is_launched(tmp_path, compiled_kernels):
    fake = FakeGpu(known_chip())
    session = Session(Gpu(d.declared(fake.driver())), EMPTY_CODE, quick=True)
    for name in m.BENCHMARKS:
        entry = m.run_benchmark(session, name)
        is_elsewhere = name in BENCHMARKS_OF_OTHER_CHIPS
        assert bool(entry["samples"]) is not is_elsewhere, name
        assert entry["clock_before_hz"] == pytest.approx(1.5e9, rel=1e-3)
    assert set(fake.kernels) == {kernel.name for kernel in compiled_kernels}


@pytest.mark.parametrize(("quick", "minutes", "process_s"), [(False, 9, 2.0), (True, 2, 1.2)])
def test_all_benchmarks_of_a_large_gpu_end_in_time(tmp_path, quick, minutes, process_s):
    """By what an H200 would need for the launches, and so long for the start of a process, even if
    every benchmark needed one of its own because the one before had failed."""
    chip = known_chip((9, 0))
    chip.clock_hz, chip.sms, chip.l2_bytes, chip.free_bytes = 1.7e9, 132, 60 << 20, 138 << 30
    chip.l2, chip.dram, chip.tlb_bytes, chip.tlb_miss = 270.0, 850.0, 1 << 35, 700.0
    chip.stream = {"l2": 5.5e12, "dram": 4.0e12}
    chip.capacity = 3.9e12
    fake = FakeGpu(chip)
    session = Session(Gpu(d.declared(fake.driver())), EMPTY_CODE, quick)
    for name in m.BENCHMARKS:
        m.run_benchmark(session, name)
    assert fake.busy_s + process_s * len(m.BENCHMARKS) < 60 * minutes


def test_a_benchmark_leaves_no_memory_behind(tmp_path):
    """The next one runs in the same process, and some take nearly all that is free."""
    fake = FakeGpu(known_chip())
    session = Session(Gpu(d.declared(fake.driver())), EMPTY_CODE, quick=True)
    session.clock_hz()
    own = fake.allocated
    for name in m.BENCHMARKS:
        m.run_benchmark(session, name)
        assert fake.allocated - own <= {session.variable("constants", "ring").value}, name


def test_arguments_fit_the_kernels_parameters(compiled_kernels):
    """The sizes the stand-in reads are those that the compiled kernels have."""
    for kernel in compiled_kernels:
        letters = SIGNATURE_OF[FakeGpu._family(kernel.name)]
        sizes = [ctypes.sizeof(CTYPE[letter]) for letter in letters]
        assert [p.size_bytes for p in kernel.parameters] == sizes, kernel.name


class WakingGpu(FakeGpu):
    """Its clock rises from reading to reading, up to the 30th."""

    readings = 0

    def _clock_rate(self, name, grid, block, pairs, span_ns):
        self.readings += 1
        self.truth.clock_hz = 1e9 + 2e7 * min(self.readings, 30)
        super()._clock_rate(name, grid, block, pairs, span_ns)


def test_nothing_is_measured_before_the_clock_has_settled(tmp_path):
    """An idle GPU is slow to wake: cycles of its memory would be those of another clock."""
    waking = Gpu(d.declared(WakingGpu(known_chip()).driver()))
    session = Session(waking, EMPTY_CODE, quick=True)
    entry = m.run_benchmark(session, "stores")
    assert entry["clock_before_hz"] == entry["clock_after_hz"] == pytest.approx(1.6e9)


def test_launches_that_the_gpu_waited_for_are_counted(tmp_path, monkeypatch):
    """Their times hold some of the host's."""
    monkeypatch.setattr(session_module, "_HELD_NS", 0)
    monkeypatch.setattr(session_module, "_HELD_NS_A_LAUNCH", 0)
    session = Session(gpu(), EMPTY_CODE, quick=True)
    entry = m.run_benchmark(session, "stores")
    launches = session.repeats + 1
    assert entry["late_launches"] == launches * len(entry["samples"])


def test_a_file_that_cannot_be_written_is_known_before_anything_is_measured(tmp_path):
    out, target = tmp_path / "nowhere" / "raw.json", runner.MeasuredDevice({"name": "x"}, {})
    with pytest.raises(OSError, match="nowhere"):
        runner.measure(out, target, ["chase"], None, quick=True, kind=m.MICROBENCHMARKS)


def test_a_copy_is_not_timed_while_it_is_still_being_handed_over(tmp_path):
    """A small one takes less than the host needs for the call. One of pageable memory keeps the
    host busy, so that it cannot wait for the device."""
    calls = []

    class Watched(FakeGpu):
        def _clock_rate(self, *arguments):
            calls.append("held")
            super()._clock_rate(*arguments)

        def _copy(self, direction, size, is_pinned):
            calls.append("pinned" if is_pinned else "pageable")
            super()._copy(direction, size, is_pinned)

    session = Session(Gpu(d.declared(Watched(known_chip()).driver())), EMPTY_CODE, quick=True)
    for _ in m.BENCHMARKS["copies"](session):
        pass
    assert {a for a, b in pairwise(calls) if b == "pinned"} == {"held"}
    assert "held" not in {a for a, b in pairwise(calls) if b == "pageable"} - {"pinned"}


def test_a_failure_costs_one_entry_and_is_tried_again(tmp_path):
    out, target = tmp_path / "raw.json", runner.MeasuredDevice({"name": "x"}, {})
    calls = []

    def entry(name):
        calls.append(name)
        if name == "chase" and calls.count("chase") == 1:
            return {"status": "failed", "error": "hangs", "samples": []}
        return {"status": "done", "samples": [1]}

    def run():
        return runner.measure(
            out, target, ["chase", "barriers"], entry, quick=True, kind=m.MICROBENCHMARKS
        )

    first = run()["benchmarks"]
    assert (first["chase"]["status"], first["barriers"]["status"]) == ("failed", "done")
    assert json.loads(out.read_text())["benchmarks"] == first
    assert run()["benchmarks"]["chase"]["status"] == "done"
    assert calls == ["chase", "barriers", "chase"]
    assert [p.name for p in tmp_path.iterdir()] == ["raw.json"]


@pytest.mark.parametrize(
    ("errors", "begun"),
    [
        ({"a": "no driver: x"}, "a"),
        ({"a": "no code: x"}, "a"),
        ({"b": "no code: x"}, "abc"),
        ({"a": "crashed: x", "b": "hangs: x"}, "abc"),
    ],
)
def test_a_run_ends_early_only_where_no_other_benchmark_can_run(tmp_path, errors, begun):
    """The code of one file may not load where that of all others does."""
    names = []

    def entry(name):
        names.append(name)
        return {"status": "failed" if name in errors else "done", "error": errors.get(name)}

    target = runner.MeasuredDevice({"name": "x"}, {})
    runner.measure(
        tmp_path / "raw.json",
        target,
        "abc",
        lambda name: {"samples": [], **entry(name)},
        quick=True,
        kind=m.MICROBENCHMARKS,
    )
    assert "".join(names) == begun


@pytest.mark.parametrize(
    "change",
    [
        {"suite": "0"},
        {"device": {"name": "y"}},
        {"quick": False},
        {"code": {"a.cubin": "2"}},
    ],
)
def test_a_file_of_another_measurement_is_not_added_to(tmp_path, change):
    out = tmp_path / "raw.json"
    old = {"schema": m.SCHEMA, "suite": m.SUITE, "quick": True, "device": {"name": "x"}}
    old["code"] = {"a.cubin": "1"}
    out.write_text(json.dumps({**old, **change, "benchmarks": {}}))
    with pytest.raises(d.GpuError, match=next(iter(change))):
        target = runner.MeasuredDevice({"name": "x"}, {"a.cubin": "1"})
        runner.measure(out, target, [], dict, quick=True, kind=m.MICROBENCHMARKS)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import time; time.sleep(60)", "hangs: no result after 0.5 s"),
        ("import sys; print('error: busy: x', file=sys.stderr); sys.exit(2)", "busy: x"),
        ("import sys; sys.exit(3)", "crashed: the process ended with status 3"),
        ("import os; os.abort()", "crashed: the process ended with status -6"),
        (
            "import os, sys; print('Segfault', file=sys.stderr, flush=True); os.abort()",
            "crashed: the process ended with status -6",
        ),
        ("1 / 0", "failed: ZeroDivisionError: division by zero"),
        ("pass", "failed: the process wrote no result"),
        ("print('no json')", "failed: the process wrote no result"),
        ("print('[]')", "failed: the process wrote no result"),
        ("print('{}')", "failed: the process wrote no result"),
    ],
)
def test_a_process_that_fails_becomes_an_entry_that_says_why(program, why):
    timeout_s = 0.5 if "sleep" in program else 30
    with worker.Workers([sys.executable, "-c", program]) as workers:
        entry = workers.entry("chase", timeout_s)
    assert (entry["status"], entry["samples"]) == ("failed", [])
    assert entry["error"] == why


ANSWERING = """
import json, os, sys
for line in sys.stdin:
    status = "failed" if line.strip() == "bad" else "done"
    if line.strip() == "dies":
        os.abort()
    print(json.dumps({"status": status, "process": os.getpid()}), flush=True)
"""


@pytest.mark.parametrize(
    ("is_lasting", "names", "processes"),
    [
        (True, ("a", "b", "c"), 1),
        (True, ("a", "bad", "c", "d"), 2),
        (True, ("a", "dies", "c", "dies", "e"), 3),
        (False, ("a", "b"), 2),
    ],
)
def test_a_process_makes_entries_until_one_fails(is_lasting, names, processes):
    """One that failed may have spoiled the GPU's context; the start of one may take seconds."""
    command = [sys.executable, "-S", "-c", ANSWERING]
    with worker.Workers(command, is_lasting=is_lasting) as workers:
        entries = {name: workers.entry(name, 30) for name in names}
        assert workers.count == int(is_lasting)
    found = [entry["process"] for entry in entries.values() if "process" in entry]
    assert len(set(found)) == processes
    assert all(e["status"] == "done" for n, e in entries.items() if n not in ("bad", "dies"))
    assert not any(Path(f"/proc/{process}").exists() for process in found)


def test_a_process_that_nobody_asks_any_more_ends_by_itself():
    """Else one whose parent was killed would hold the GPU."""
    code = f"""
import sys
sys.path.insert(0, {str(pack.HARNESS.parent)!r})
from harness import worker
sys.exit(worker.answer(lambda: lambda name: {{"status": "done"}}))
"""
    done = subprocess.run([sys.executable, "-c", code], input=b"a\nb\n", capture_output=True)
    assert (done.returncode, done.stdout.count(b"done")) == (0, 2)


SINCE_PYTHON_3_11 = {
    *("tomllib", "wsgiref.types", "batched", "chdir", "UTC", "StrEnum", "ReprEnum", "verify"),
    *("Self", "Never", "LiteralString", "assert_never", "assert_type", "reveal_type", "override"),
    *("TypeAliasType", "NotRequired", "Required", "TypeVarTuple", "Unpack", "ExceptionGroup"),
    *("BaseExceptionGroup", "add_note", "process_group", "file_digest", "TaskGroup", "Barrier"),
}
HARNESS_FILES = sorted(pack.HARNESS.rglob("*.py"))


@pytest.mark.parametrize("file", HARNESS_FILES, ids=lambda file: file.name)
def test_the_harness_runs_on_python_3_10_and_imports_nothing_else(file):
    """On the machine with the GPU there may be no newer Python, and nothing can be installed."""
    tree = ast.parse(file.read_text(), feature_version=(3, 10))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names}
            modules |= set() if node.level else {str(node.module)}
            depth = len(file.relative_to(pack.HARNESS).parts)
            assert node.level <= depth, "reaches out of the harness"
    assert not (names | modules) & SINCE_PYTHON_3_11
    assert {name.partition(".")[0] for name in modules} <= sys.stdlib_module_names


def test_the_harness_needs_only_the_standard_library():
    code = f"import sys; sys.path.insert(0, {str(pack.HARNESS.parent)!r}); import harness.main"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_pack_is_the_same_file_for_the_same_contents(tmp_path):
    one, other = (pack.make_pack(tmp_path / name, ()).read_bytes() for name in "ab")
    assert one == other
