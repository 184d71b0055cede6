"""`kernelcast dvfs`: ranges of clocks, text, JSON and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import kernelcast as kc
from kernelcast.reporting.documents.dvfs import dvfs_schema

SAXPY = Path(__file__).parents[2] / "examples" / "saxpy.cu"


def test_a_stream_does_not_follow_the_clock_of_the_sms(run):
    outcome = run("dvfs", SAXPY, "--clock-sm", "1.0e9:1.98e9:0.49e9")
    head, *table = outcome.out.split("\n\n")
    assert "bound by dram bandwidth by volkov" in head
    assert "of the time follows the clock of the SMs" in " ".join(head.split())
    assert "memory" not in table[0].splitlines()[1]
    assert sum("GHz" in line for line in table[0].splitlines()) == 3
    assert "(nominal)" in table[0].splitlines()[-1]


def test_json_keeps_to_its_schema_and_shares_are_those_of_the_points(run):
    flags = ("--clock-sm", "1.485e9,1.98e9", "--clock-memory", "1.3095e9,2.619e9", "--json")
    document = json.loads(run("dvfs", SAXPY, *flags).out)
    jsonschema.validate(document, dvfs_schema())
    (result,) = document["results"]
    assert result["sm_share"] == pytest.approx(0, abs=0.05)
    assert result["memory_share"] == pytest.approx(1, abs=0.07)
    assert [(p["sm_hz"], p["memory_hz"]) for p in result["points"]] == [
        *((hz, 1.3095e9) for hz in (1.485e9, 1.98e9)),
        *((hz, 2.619e9) for hz in (1.485e9, 1.98e9)),
    ]
    assert [p["is_nominal"] for p in result["points"]] == [False, False, False, True]
    assert [p["stall_scaled_s"] is None for p in result["points"]] == [True, True, False, False]


def test_models_and_gpus_have_a_curve_each(run):
    outcome = run("dvfs", SAXPY, "--gpu", "t4,a40", "--model", "roofline,volkov", "--json")
    results = json.loads(outcome.out)["results"]
    assert [(r["gpu"], r["model"]) for r in results] == [
        (gpu, model) for gpu in ("t4", "a40") for model in ("roofline", "volkov")
    ]
    assert all(len(r["points"]) == 6 for r in results)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--clock-sm", "2e9:1e9:1e8"], "is no range"),
        (["--clock-sm", "1e9:2e9:0"], "is no range"),
        (["--clock-sm", "1e9:2e9"], "is no range"),
        (["--clock-sm", "1e6:2e9:1"], "values"),
        (["--clock-sm", "fast"], "not a number"),
        (["--clock-sm", "0"], "out of range"),
        (["--clock-memory", "1e9", "--gpu", "gh200"], "no clock.memory"),
    ],
)
def test_bad_clocks_are_one_line_and_status_2(run, flags, said):
    outcome = run("dvfs", SAXPY, *flags)
    assert outcome.status == 2
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


def test_the_library_gives_the_same(run):
    kernel = kc.load(SAXPY)
    (launch,) = kc.workload(SAXPY).launches
    clocks = kc.dvfs(kc.case(kernel, launch), sm_hz=[1e9])
    (result,) = json.loads(run("dvfs", SAXPY, "--clock-sm", "1e9", "--json").out)["results"]
    assert clocks.as_dict()["points"] == result["points"]
    assert str(clocks) == run("dvfs", SAXPY, "--clock-sm", "1e9").out.rstrip("\n")
