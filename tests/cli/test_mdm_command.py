"""`kernelcast validate mdm`: the tables, JSON, exit status and bad input."""

from __future__ import annotations

import json

import pytest

QUICK = ("--only", "BP", "--only", "PVR")


def test_a_part_of_the_applications_in_both_forms(run):
    outcome = run("validate", "mdm", *QUICK)
    assert "trends of the paper hold on Table III" in outcome.out
    assert "Nothing was observed" in outcome.out
    assert outcome.status == ("broken" in outcome.out)
    answer = json.loads(run("validate", "mdm", *QUICK, "--json").out)
    assert (answer["schema"], answer["set"]) == ("kernelcast/validate/1", "mdm")
    assert [a["name"] for a in answer["applications"]] == ["BP", "PVR"]
    assert [a["is_divergent"] for a in answer["applications"]] == [False, True]
    assert answer["holds"] == (outcome.status == 0)
    assert f"{answer['met']} of {len(answer['trends'])}" in outcome.out
    assert [step["value"] for step in answer["sweeps"][2]["steps"]] == [32, 64, 128, 256]


def test_quiet_shows_what_is_broken_alone(run):
    outcome = run("validate", "mdm", "--only", "BP", "--quiet")
    assert outcome.status == 0
    assert len(outcome.out.splitlines()) == 2


def test_the_timing_simulation_is_an_observed_side(run):
    """Kernels whose loads do not diverge: the paper has GPUMech and MDM 9 % off a simulation."""
    command = ("validate", "mdm", "--only", "BT", "--observed", "simulation", "--json")
    answer = json.loads(run(*command).out)
    assert answer["observed"] == "the timing simulation"
    (bt,) = answer["applications"]
    assert list(bt["error"]) == ["GPUMech", "GPUMech+", "MDM-Queue", "MDM-MSHR", "MDM"]
    assert all(0 < error < 0.25 for error in bt["error"].values())
    assert len(answer["grids"]) == 1


def test_what_was_observed_is_an_argument(run, tmp_path):
    file = tmp_path / "ipc.csv"
    file.write_text("application,ipc\nBP,1\n")
    answer = json.loads(run("validate", "mdm", "--only", "BP", "--observed", file, "--json").out)
    (application,) = answer["applications"]
    assert answer["observed"] == str(file)
    assert application["error"]["MDM"] == pytest.approx(abs(application["ipc"]["MDM"] - 1))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "kmean"], "did you mean KMEANS"),
        (["--observed", "papre"], "papre: No such file"),
        (["--observed", "pyproject.toml"], "not a row of IPCs"),
    ],
)
def test_bad_input_is_one_line(run, arguments, said):
    outcome = run("validate", "mdm", *arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
