"""The pack's commands as processes, on a driver library in C that they load like the real one."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.kept import CACHE

from kernelcast.measuring import ground_truth_pack
from kernelcast.measuring.pack import make_pack, source_files

STUB = Path(__file__).with_name("stub_driver.c")
COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="needs Linux and a C compiler"
)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory) -> Path:
    """A folder with the driver and NVML, which are one file here."""
    folder = tmp_path_factory.mktemp("libraries")
    driver = folder / "libcuda.so.1"
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-o", driver, STUB], check=True)
    shutil.copy(driver, folder / "libnvidia-ml.so.1")
    return folder


@pytest.fixture(scope="module")
def pack(tmp_path_factory) -> Path:
    """The pack, with code that only begins like code."""
    part = ground_truth_pack.ground_truth_part(["sm_90"], CACHE, only=("stream",))
    cubins = {f"microbenchmarks/sm_90/{f.stem}.cubin": b"\x7fELF" for f in source_files()}
    return make_pack(tmp_path_factory.mktemp("pack"), (), more={**part.contents, **cubins})


@pytest.fixture
def start(pack, libraries, tmp_path):
    """Start a command of the pack with the stub, spoiled by `stub`."""

    def started(*arguments: str, command: str = "measure", **stub: str) -> subprocess.Popen[str]:
        names = {f"STUB_{key.upper()}": value for key, value in stub.items()}
        return subprocess.Popen(
            [sys.executable, "-S", "-E", str(pack), command, *arguments],
            cwd=tmp_path,
            env={"LD_LIBRARY_PATH": str(libraries), **names},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return started


def only(*names: str) -> list[str]:
    return ["--quick", *(word for name in names for word in ("--only", name))]


def entries(folder: Path) -> dict:
    return json.loads((folder / "raw.json").read_text())["benchmarks"]


def test_the_pack_measures_with_what_a_driver_offers(start, tmp_path):
    """Every call goes through the types that ctypes gives it to a function with those of C."""
    names = ("chase", "bandwidth.l1", "block_replacement", "launches", "constants", "copies", "tlb")
    out, err = start(*only(*names)).communicate()
    assert "7 benchmarks, 0 failed, 0 not begun" in out, err
    document = json.loads((tmp_path / "raw.json").read_text())
    assert document["device"]["nvml"]["driver_version"] == "580.159.04"
    assert document["code"]["architecture"] == "sm_90"
    for name, entry in entries(tmp_path).items():
        assert entry["samples"], name
        assert entry["clock_before_hz"] == entry["clock_after_hz"] == 1.98e9
        assert entry["state_before"] == {"sm_mhz": 1000, "memory_mhz": 2000}
        # The process that measures is on the list.
        assert entry["other_programs"] == 2
    assert "the GPU is shared with 2 other programs" in err


@pytest.mark.parametrize(
    ("stub", "error"),
    [
        ({"hangs": "barriers"}, "hangs: no result after 2 s"),
        ({"aborts": "barriers"}, "crashed: the process ended with status -6"),
        ({"faults": "barriers"}, "crashed: cuEventSynchronize: an illegal memory access"),
        ({"skips": "barriers"}, "failed: a warp has recorded no time"),
    ],
)
def test_what_spoils_one_benchmark_is_told_apart_and_costs_no_other(start, tmp_path, stub, error):
    done = start(*only("conflicts", "barriers", "stores"), "--timeout", "2", **stub)
    done.communicate()
    assert done.returncode == 1
    found = entries(tmp_path)
    assert {name: entry["status"] for name, entry in found.items()} == {
        "conflicts": "done",
        "barriers": "failed",
        "stores": "done",
    }
    assert found["barriers"]["error"].startswith(error)
    assert found["barriers"]["samples"] == []


@pytest.mark.parametrize(
    ("status", "kind"), [("100", "no GPU"), ("803", "no driver"), ("46", "busy")]
)
def test_a_gpu_that_cannot_be_used_is_one_line_and_no_file(start, tmp_path, status, kind):
    done = start(*only("barriers"), init=status)
    _, err = done.communicate()
    assert done.returncode == 2
    assert err.startswith(f"error: {kind}: cuInit") and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


FAKE_NVCC = """#!/bin/sh
test "$3" = "-gencode=arch=compute_90a,code=sm_90a" || exit 3
case "$6" in *"$STUB_REFUSED".cu) echo "$6(1): error: no such instruction" >&2; exit 2;; esac
printf '\\177ELFanew' >"$5"
"""


@pytest.fixture
def nvcc(tmp_path_factory) -> str:
    """A program that is called like nvcc; it refuses one file."""
    file = tmp_path_factory.mktemp("nvcc") / "nvcc"
    file.write_text(FAKE_NVCC)
    file.chmod(0o755)
    return str(file)


def test_a_driver_that_is_too_old_is_named_with_the_way_out(start, tmp_path, nvcc):
    """Code of a newer major version of CUDA does not load."""
    done = start(*only("stores", "barriers"), refuses_code="\x7fELF")
    out, err = done.communicate()
    assert (done.returncode, "1 failed, 1 not begun" in out) == (1, True), err
    error = entries(tmp_path)["stores"]["error"]
    assert error.startswith("no code: cuModuleLoadData: ")
    assert "measure --nvcc" in error
    (tmp_path / "raw.json").unlink()
    start(*only("stores"), "--nvcc", nvcc, refuses_code="\x7fELF", refused="none").communicate()
    document = json.loads((tmp_path / "raw.json").read_text())
    assert document["benchmarks"]["stores"]["status"] == "done"
    assert document["code"]["launch.cubin"] == hashlib.sha256(b"\x7fELFanew").hexdigest()


@pytest.mark.parametrize(
    ("refused", "program", "error"),
    [
        ("wgmma", "", "wgmma.cu(1): error: no such instruction"),
        ("none", "/nowhere/nvcc", "/nowhere/nvcc is not on this machine"),
    ],
)
def test_what_cannot_be_compiled_is_one_line(start, tmp_path, nvcc, refused, program, error):
    done = start(*only("stores"), "--nvcc", program or nvcc, refused=refused)
    _, err = done.communicate()
    assert (done.returncode, err.count("\n")) == (2, 1)
    assert err.startswith("error: no code: ") and error in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["measure", "ground-truth", "profile"])
def test_a_pack_that_was_damaged_on_the_way_is_refused_at_once(pack, libraries, tmp_path, command):
    """Else a kernel would be timed on other data, or fail long after the start."""
    data = bytearray(pack.read_bytes())
    with ZipFile(pack) as archive:
        states = archive.getinfo("ground_truth/states.bin")
    data[states.header_offset + 30 + len(states.filename) + states.compress_size // 2] ^= 0x40
    copied = tmp_path / "pack.pyz"
    copied.write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-S", "-E", copied, command],
        env={"LD_LIBRARY_PATH": str(libraries)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: no code: ")
    assert "is damaged" in done.stderr


def test_no_benchmark_is_begun_after_the_minutes_given(start, tmp_path):
    done = start(*only("conflicts", "barriers", "stores"), "--minutes", "0.04", hangs="barriers")
    out, _ = done.communicate()
    assert done.returncode == 1
    assert "1 failed, 1 not begun" in out
    assert entries(tmp_path)["conflicts"]["status"] == "done"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_keeps_its_file_and_leaves_no_process(start, tmp_path, how):
    """Else what goes on would disturb the next measurement."""
    running = start(*only("conflicts", "barriers"), hangs="barriers")
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    if not children.exists():
        pytest.skip("this system does not list child processes")
    end = time.monotonic() + 30
    raw = tmp_path / "raw.json"
    while time.monotonic() < end and not (raw.exists() and entries(tmp_path)):
        time.sleep(0.02)
    left = children.read_text().split()
    running.send_signal(how)
    running.communicate()
    assert running.returncode == 130
    assert left and not any(Path(f"/proc/{child}").exists() for child in left)
    assert set(entries(tmp_path)) == {"conflicts"}


def test_known_results_are_judged_in_processes_of_their_own_too(start, tmp_path):
    """The stub computes nothing: every result is wrong, and none is timed."""
    done = start(*only("stream_copy"), "--out", "raw.json", command="ground-truth")
    out, err = done.communicate()
    assert "1 kernels, 1 failed, 0 not begun" in out, err
    entry = json.loads((tmp_path / "raw.json").read_text())["kernels"]["stream_copy"]
    assert [sample["result"] for sample in entry["samples"]] == ["wrong", "wrong"]


@pytest.fixture(scope="module")
def ncu(tmp_path_factory) -> str:
    """A program that behaves like the profiler."""
    file = tmp_path_factory.mktemp("ncu") / "ncu"
    stub = STUB.with_name("stub_ncu.py")
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{stub}" "$@"\n')
    file.chmod(0o755)
    return str(file)


def profiles(folder: Path) -> dict:
    return json.loads((folder / "profiles.json").read_text())["kernels"]


def test_the_profiler_counts_every_launch_of_a_kernel(start, tmp_path, ncu):
    done = start(*only("stream_copy", "stream_add"), "--ncu", ncu, command="profile")
    out, err = done.communicate()
    assert "2 kernels, 0 failed, 0 not begun" in out, err
    for entry in profiles(tmp_path).values():
        assert [sample["configuration"] for sample in entry["samples"]] == [0, 1]
        assert entry["samples"][0]["metrics"] == {
            "dram__bytes_read.sum": 134217728.0,
            "gpu__time_duration.sum": 61440.0,
            "launch__registers_per_thread": 16.0,
            "lts__t_sector_hit_rate.pct": 49.98,
            "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": 8.25,
        }


def test_without_a_profiler_that_may_count_the_reason_is_recorded_once(start, tmp_path, ncu):
    refusal = "ERR_NVGPUCTRPERM - no permission to access GPU Performance Counters"
    both = only("stream_copy", "stream_add")
    done = start(*both, "--ncu", ncu, command="profile", refuses=refusal)
    out, _ = done.communicate()
    assert (done.returncode, "1 failed, 1 not begun" in out) == (1, True)
    assert profiles(tmp_path)["stream_copy"]["error"] == f"no profiler: {refusal}"
    start(*both, "--ncu", "/nowhere/ncu", command="profile").communicate()
    error = profiles(tmp_path)["stream_copy"]["error"]
    assert error == "no profiler: /nowhere/ncu is not on this machine"


@pytest.mark.parametrize(
    ("stub", "error"),
    [
        ({"counts": "1"}, "failed: 1 of 2 were profiled"),
        ({"faults": "stream_copy"}, "failed: error: crashed: cuCtxSynchronize: an illegal memory"),
    ],
)
def test_what_is_profiled_in_part_is_not_taken_for_the_whole(start, tmp_path, ncu, stub, error):
    """Else metrics could stand beside another configuration's launch."""
    done = start(*only("stream_copy"), "--ncu", ncu, command="profile", **stub)
    done.communicate()
    assert done.returncode == 1
    assert profiles(tmp_path)["stream_copy"]["error"].startswith(error)
