"""What a profiler counted, read back: whole, of another version, damaged."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelcast.errors import InputError, ParseError
from kernelcast.measuring.ground_truth_profile import read_profile
from kernelcast.measuring.harness.profile import SCHEMA, metrics_of
from kernelcast.suite.registry import kernel_named
from kernelcast.suite.table import Scale, argument_text

KERNEL = "stream_copy"
STUB = Path(__file__).with_name("stub_ncu.py")
DEVICE = {
    "name": "Some GPU",
    "major": 9,
    "minor": 0,
    "sm_count": 1,
    "clock_khz": 1,
    "memory_bytes": 1,
    "l2_bytes": 1,
}


def sample(number: int, metrics: object) -> dict[str, Any]:
    launch = kernel_named(KERNEL).launches(Scale.FULL)[number]
    return {
        "configuration": number,
        "kernel": launch.kernel,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "smem_bytes": launch.smem_bytes,
        "args": {label: argument_text(value) for label, value in launch.args.items()},
        "metrics": metrics,
    }


def written(folder: Path, *samples: object, **others: object) -> str:
    entries = {KERNEL: {"status": "done", "samples": list(samples)}, **others}
    path = folder / "profiles.json"
    path.write_text(json.dumps({"schema": SCHEMA, "device": DEVICE, "kernels": entries}))
    return str(path)


@pytest.fixture
def stub_metrics(tmp_path: Path) -> list[dict[str, float]]:
    """What the runner makes of the log of a stub of the profiler."""
    log = tmp_path / "log"
    flags = ["--log-file", str(log), "--profile-from-start", "off", "--clock-control", "none"]
    words = [sys.executable, str(STUB), *flags, sys.executable, "-c", "pass"]
    assert os.spawnv(os.P_WAIT, sys.executable, words) == 0
    return metrics_of(log.read_text())


def test_what_the_profiler_logged_arrives_by_its_names(tmp_path, stub_metrics):
    found = read_profile(written(tmp_path, *map(sample, (0, 1), stub_metrics)))
    assert found.device["name"] == "Some GPU"
    assert found.missing == ()
    assert [(p.kernel, p.configuration) for p in found.profiled] == [(KERNEL, 0), (KERNEL, 1)]
    assert found.profiled[1].launch == kernel_named(KERNEL).launches(Scale.FULL)[1]
    assert found.profiled[0].metrics["dram__bytes_read.sum"] == 134217728


def test_kernels_without_counters_are_named(tmp_path):
    why = {"status": "failed", "error": "no profiler: ncu is not on this machine"}
    found = read_profile(written(tmp_path, sample(0, {"a": 1}), fft_stockham=why))
    assert len(found.profiled) == 1
    assert found.missing == ("fft_stockham: no profiler: ncu is not on this machine",)


@pytest.mark.parametrize("change", [{"grid": [1, 1, 1]}, {"configuration": 99}])
def test_launches_of_another_version_are_left_out(tmp_path, change):
    found = read_profile(written(tmp_path, {**sample(0, {"a": 1}), **change}))
    assert found.profiled == ()
    assert "launched otherwise by this version" in found.missing[0]


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        [],
        "words",
        {"metrics": {}},
        {"metrics": [1]},
        {"metrics": {"a": "b"}},
        {"metrics": {"a": 1e999}},
        {"configuration": None},
        {"configuration": 1e999},
    ],
)
def test_damaged_samples_are_one_error(tmp_path, damaged):
    broken = (
        {**sample(0, {"a": 1}), **damaged} if isinstance(damaged, dict) and damaged else damaged
    )
    with pytest.raises(
        InputError, match=rf"profiles\.json: (kernels\.{KERNEL}\.samples\[|not JSON)"
    ):
        read_profile(written(tmp_path, broken))


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"schema": "kernelcast/ground-truth/1"}))
    with pytest.raises(InputError, match="no raw file of schema"):
        read_profile(str(path))
    path.write_text("{")
    with pytest.raises(ParseError):
        read_profile(str(path))
    with pytest.raises(InputError):
        read_profile(str(tmp_path / "nowhere.json"))
