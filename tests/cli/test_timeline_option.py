"""`--timeline`: a file that is written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

REDUCTION = Path(__file__).parents[2] / "examples" / "reduction.cu"
TEG = ("--model", "teg")


def test_predict_writes_all_launches_and_explain_the_one(run, tmp_path):
    every, one = tmp_path / "every.json", tmp_path / "one.json"
    assert run("predict", REDUCTION, *TEG, "--timeline", every).status == 0
    assert run("explain", REDUCTION, *TEG, "--launch", "2", "--timeline", one).status == 0
    kernels = [
        {
            e["args"]["name"].partition("<")[0]
            for e in json.loads(file.read_text())["traceEvents"]
            if e["name"] == "process_name"
        }
        for file in (every, one)
    ]
    assert len(kernels[0]) >= len(kernels[1]) == 1
    assert every.stat().st_size > one.stat().st_size


def test_models_that_simulate_no_warps_have_none(run, tmp_path):
    file = tmp_path / "out.json"
    outcome = run("predict", REDUCTION, "--model", "volkov", "--timeline", file)
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert "no model here simulates warps" in outcome.err
    assert not file.exists()


@pytest.mark.parametrize("place", ["missing/out.json", "."])
def test_a_file_that_cannot_be_written_is_one_line(run, tmp_path, place):
    outcome = run("predict", REDUCTION, *TEG, "--timeline", tmp_path / place)
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert "cannot be written" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_explain_shows_states_lines_metrics_and_a_loop(run):
    out = run("explain", REDUCTION, *TEG, "--launch", "1").out
    for title in ("What warps did", "Where warps spend their cycles", "A loop in", "Metrics of"):
        assert title in out
    assert "sm__warps_active.avg.pct_of_peak_sustained_active" in out
    assert "stalled" in out
