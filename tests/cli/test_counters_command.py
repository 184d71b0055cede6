"""`kernelcast validate counters`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelcast.measuring.harness.profile import SCHEMA
from kernelcast.suite.registry import kernel_named
from kernelcast.suite.table import Scale, argument_text

KERNELS = ("stream_copy", "stream_scale")
NUMBERS = ("clock_khz", "sm_count", "l2_bytes", "memory_bytes")


def entry(name: str) -> dict:
    """The first configuration, by which warps read four sectors with every load."""
    launch = kernel_named(name).launches(Scale.FULL)[0]
    requests = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
    sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    sample = {
        "configuration": 0,
        "kernel": launch.kernel,
        "grid": launch.grid,
        "block": launch.block,
        "smem_bytes": launch.smem_bytes,
        "args": {label: argument_text(value) for label, value in launch.args.items()},
        "metrics": {requests: 1000, sectors: 4000, "dram__bytes_read.sum": 1 << 20},
    }
    return {"status": "done", "samples": [sample]}


@pytest.fixture
def profiles(tmp_path) -> Path:
    device = {"name": "Some GPU", "major": 9, "minor": 0, **dict.fromkeys(NUMBERS, 1)}
    entries = {name: entry(name) for name in KERNELS}
    failed = {"status": "failed", "error": "no profiler: ncu is not on this machine"}
    document = {"schema": SCHEMA, "device": device, "kernels": {**entries, "scan_compact": failed}}
    path = tmp_path / "profiles.json"
    path.write_text(json.dumps(document))
    return path


def test_counters_are_put_beside_what_was_read(run, profiles):
    done = run("validate", "counters", profiles, "--gpu", "h100-sxm")
    assert done.status == 0, done.err
    assert "counted by execution, beside Some GPU, profiled" in done.out
    assert "scan_compact: no profiler" in done.out
    assert "Counts that differ" in done.out


def test_json_holds_both_sides_of_every_launch(run, profiles):
    options = ("--gpu", "h100-sxm", "--only", "stream_copy", "--json")
    done = run("validate", "counters", profiles, *options)
    assert done.status == 0, done.err
    answer = json.loads(done.out)
    assert (answer["set"], answer["gpu"]) == ("counters", "h100-sxm")
    per_request = {
        name: counter["launches"][0]["expected"] for name, counter in answer["counters"].items()
    }
    requests = per_request["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]
    assert requests > 0
    assert per_request["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] % requests == 0
    (launch,) = answer["counters"]["dram__bytes_read.sum"]["launches"]
    assert launch["counted"] == 1 << 20
    assert launch["launch"] == "stream_copy configuration=0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.json", "--gpu", "h100-sxm"), "nowhere.json"),
        (("PROFILES", "--gpu", "h100-sxm", "--only", "stream_cpy"), "stream_copy"),
        (("PROFILES",), "--gpu"),
    ],
)
def test_what_is_wrong_is_one_line(run, profiles, words, message):
    done = run("validate", "counters", *(profiles if w == "PROFILES" else w for w in words))
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err
