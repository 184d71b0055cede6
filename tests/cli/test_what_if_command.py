"""`kernelcast what-if`: text, JSON, names and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import click
import jsonschema
import pytest

import kernelcast as kc
from kernelcast.cli.what_if import command
from kernelcast.reporting.documents.what_if import what_if_schema

TRANSPOSE = Path(__file__).parents[2] / "examples" / "transpose.cu"
NAMES = ("--remove", "bank-conflicts,l2-misses,divergence")


def test_text_ranks_the_gains_and_names_what_is_not_there(run):
    out = run("what-if", TRANSPOSE, *NAMES, "--pairs").out
    assert "less without bank-conflicts" in " ".join(out.split())
    lines = [line.split()[0] for line in out.splitlines() if " x " in line]
    assert lines == ["bank-conflicts", "l2-misses"]
    assert "bank-conflicts + l2-misses" in out
    assert "nothing to remove in this launch: divergence" in out


def test_json_keeps_to_its_schema_and_its_sums(run):
    document = json.loads(run("what-if", TRANSPOSE, *NAMES, "--pairs", "--json").out)
    jsonschema.validate(document, what_if_schema())
    (result,) = document["results"]
    for gain in result["gains"]:
        assert gain["time_s"] + gain["gain_s"] == pytest.approx(result["time_s"])
        assert gain["speedup"] == pytest.approx(result["time_s"] / gain["time_s"])
    (pair,) = result["pairs"]
    assert pair["alone_s"] == pytest.approx(sum(gain["gain_s"] for gain in result["gains"]))


def test_the_library_gives_the_same(run):
    kernel = kc.load(TRANSPOSE)
    (launch,) = kc.workload(TRANSPOSE).launches
    costs = kc.what_if(kc.case(kernel, launch), "tail")
    assert str(costs) == run("what-if", TRANSPOSE, "--remove", "tail").out.rstrip("\n")
    (result,) = json.loads(run("what-if", TRANSPOSE, "--remove", "tail", "--json").out)["results"]
    assert costs.as_dict() == result


def test_the_last_name_completes():
    (option,) = [p for p in command.params if p.name == "names"]
    context = click.Context(command)
    for typed, whole in (
        ("bank", ["bank-conflicts"]),
        ("tail,l1-m", ["tail,l1-misses"]),
        ("tail+dram", ["tail+dram-bandwidth", "tail+dram-latency"]),
    ):
        assert [item.value for item in option.shell_complete(context, typed)] == whole


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--remove", "bank-conflict"], "did you mean bank-conflicts"),
        (["--remove", "tail+"], "unknown bottleneck ''"),
        (["--model", "volkov"], "only the timing simulation"),
        (["--model", "teg,volkov"], "only the timing simulation"),
    ],
)
def test_what_cannot_be_removed_is_one_line_and_status_2(run, flags, said):
    outcome = run("what-if", TRANSPOSE, *flags)
    assert outcome.status == 2
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
