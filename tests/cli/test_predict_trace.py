"""`kernelcast predict` on a stored trace."""

from __future__ import annotations

import json
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_trace_is_predicted_like_a_file(run, tmp_path):
    file = tmp_path / "saxpy.kct"
    assert run("trace", EXAMPLES / "saxpy.cu", "--out", file).status == 0
    done = run("predict", file, "--gpu", "h100-sxm,a100-sxm-80gb", "--json")
    assert done.status == 0, done.err
    results = json.loads(done.out)["results"]
    assert [one["gpu"] for one in results] == ["h100-sxm", "a100-sxm-80gb"]
    assert results[0]["sampled"] == {"blocks": 32, "of": 262144, "spread": 0.0}
    refused = run("predict", file, "--grid", "4", "-D", "N=1")
    assert refused.status == 2
    assert "--grid" in refused.err
    assert "-D" in refused.err
    explained = json.loads(run("explain", file, "--json").out)
    assert explained["ptx_counts"] is None
