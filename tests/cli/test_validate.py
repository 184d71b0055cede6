"""`kernelcast validate latency-hiding`: the table, JSON, exit status and bad input."""

from __future__ import annotations

import json

import pytest


def test_the_figures_of_the_dissertation_are_met(run):
    outcome = run("validate", "latency-hiding")
    assert outcome.status == 0, outcome.out
    assert outcome.out.startswith("33 of 33 figures of the dissertation are met")
    assert "Figure 7.11" in outcome.out
    assert "gpumech bandwidth" in outcome.out


def test_quiet_shows_what_is_broken_alone(run):
    outcome = run("validate", "latency-hiding", "--quiet")
    assert outcome.status == 0
    assert len(outcome.out.splitlines()) == 2


def test_a_broken_band_is_exit_status_1(run):
    slow = "dram.achieved_bandwidth=20e9"
    outcome = run("validate", "latency-hiding", "--gpu", "gtx-680", "--set", slow, "--quiet")
    assert outcome.status == 1
    assert "broken" in outcome.out


def test_json_holds_every_number_and_no_nan(run):
    outcome = run("validate", "latency-hiding", "--json", "--gpu", "gtx-480", "--alpha", "0,32,inf")
    answer = json.loads(outcome.out)
    assert answer["schema"] == "kernelcast/validate/1"
    assert answer["holds"] is True
    models = {s["model"]: s for s in answer["scores"]}
    assert models["sim"]["largest"] == pytest.approx(1.74, abs=0.01)
    assert models["gpumech bandwidth"]["impossible"] > 0
    assert [row["alpha"] for row in models["sim"]["by_alpha"]] == [0, 32, None]
    assert {s["gpu"] for s in answer["statements"]} == {"gtx-480"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["latncy-hiding"], "did you mean latency-hiding?"),
        (["latency-hiding", "--alpha", "-1"], "alpha is -1"),
        (["latency-hiding", "--alpha", "1e308"], "alpha is 1e+308"),
        (["latency-hiding", "--alpha", "nan"], "not a list of numbers"),
        (["latency-hiding", "--alpha", "many"], "not a list of numbers"),
        (["latency-hiding", "--warps", "0"], "outside 1 to 24 warps"),
        (["latency-hiding", "--warps", "65", "--gpu", "gtx-680"], "outside 1 to 64 warps"),
        (["latency-hiding", "--gpu", "b200"], "no volkov.latency_base"),
        (["latency-hiding", "--set", "dram.bandwidth=0"], "out of range"),
        (
            ["latency-hiding", "--observed", "simulation", "--alpha", "0.5"],
            "0.5 additions per load",
        ),
    ],
)
def test_bad_input_is_one_line(run, arguments, said):
    outcome = run("validate", *arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


def test_the_timing_simulation_is_observed_in_its_place(run):
    command = ("validate", "latency-hiding", "--observed", "simulation", "--gpu", "gtx-680")
    outcome = run(*command, "--alpha", "0,inf", "--json")
    answer = json.loads(outcome.out)
    assert outcome.status == 0
    assert answer["observed"].startswith("timing simulation")
    (agreement,) = answer["agreements"]
    assert agreement["holds"]
    assert agreement["near_points"] == 9
    assert {s["model"] for s in answer["scores"]} > {"refined", "volkov"}
    stated = {
        (s["model"], s["quantity"], s["found"], s["by_refined"]) for s in answer["statements"]
    }
    assert any(own and other and abs(own - other) > 0.01 for _, _, own, other in stated)
