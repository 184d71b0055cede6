"""`kernelcast validate advice`: what advice costs where all was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SOURCE = """/* kernelcast
block_size_x = 128
[[launch]]
kernel = "scale"
grid = "cdiv(1 << 18, block_size_x)"
block = "block_size_x"
args = { x = "f32[1 << 18]" }
*/
extern "C" __global__ void scale(float* x) {
    x[blockIdx.x * block_size_x + threadIdx.x] *= 2;
}
"""
SETS = """[[set]]
title = "scaling"
gpu = "h100-sxm"
data = "cache.json"
workload = "scale.cu"
"""


@pytest.fixture
def folders(tmp_path: Path) -> list[object]:
    """The arguments of the command for a set of three blocks, the narrowest measured fastest."""
    cache = {str(b): {"block_size_x": b, "time": ms} for b, ms in ((32, 9), (128, 1), (1024, 8))}
    document = {"device_name": "?", "kernel_name": "scale", "cache": cache}
    document["tune_params_keys"] = ["block_size_x"]
    for name in ("workloads", "data", "sources"):
        (tmp_path / name).mkdir()
    (tmp_path / "data" / "cache.json").write_text(json.dumps(document))
    (tmp_path / "workloads" / "scale.cu").write_text(SOURCE)
    (tmp_path / "workloads" / "sets.toml").write_text(SETS)
    rest = ["--keep", tmp_path / "kept", "--threads", "1"]
    return [
        tmp_path / "workloads" / "sets.toml",
        *("--data", tmp_path / "data", "--sources", tmp_path / "sources", *rest),
    ]


def test_the_command_finds_the_measured_best_or_says_what_it_costs(run, folders) -> None:
    outcome = run("validate", "advice", *folders, "--json")
    document = json.loads(outcome.out)
    (row,) = document["rows"]
    assert row["configurations"] == 3
    assert row["fastest"]["measured_s"] == pytest.approx(1e-3)
    assert outcome.status == int(row["regret"] > 0.1)


def test_sets_of_several_kernels_leave_nothing_to_advise(run, folders) -> None:
    folders[0].write_text(SETS + 'kernels = { a = "scale" }\n')
    outcome = run("validate", "advice", *folders)
    assert outcome.status == 2
    assert "no set holds configurations of one kernel" in outcome.err
