"""`--model NAME:PARAMETER=VALUE`, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from kernelcast.cli.options import complete_models
from kernelcast.models import model_names, read_model
from kernelcast.models.terms.parameters import model_label

SAXPY = Path(__file__).parents[2] / "examples/saxpy.cu"
OPTIONS = (SAXPY, "--isa", "ptx", "--gpu", "gtx-280", "--sample", "1")
PRINTED = "mwp-cwp:comp_over_mem_equation=23"


def test_a_model_stands_beside_itself_with_another_parameter(run):
    done = run("predict", *OPTIONS, "--model", f"mwp-cwp,{PRINTED}")
    assert done.status == 0, done.err
    assert f"By the models mwp-cwp and {PRINTED}." in " ".join(done.out.split())
    answer = json.loads(run("predict", *OPTIONS, "--model", f"{PRINTED},volkov", "--json").out)
    first, second = answer["results"]
    assert (first["model"], first["model_label"]) == ("mwp-cwp", PRINTED)
    assert first["model_parameters"] == {"comp_over_mem_equation": 23}
    assert (second["model_label"], second["model_parameters"]) == (
        "volkov",
        {"contention": True, "norm": 0.0},
    )


def test_a_parameter_at_its_default_is_the_model_itself(run):
    done = run("explain", *OPTIONS, "--model", "mwp-cwp:comp_over_mem_equation=24", "--json")
    assert json.loads(done.out)["result"]["model_label"] == "mwp-cwp"


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("mwp-cw:comp_over_mem_equation=23", "did you mean mwp-cwp"),
        ("volkov:contentoin=true", "did you mean contention?"),
        ("volkov:contention", "write volkov:PARAMETER=VALUE"),
        ("volkov:contention=perhaps", "contention is true or false, not 'perhaps'"),
        ("mwp-cwp:comp_over_mem_equation=2.5", "comp_over_mem_equation is a whole number"),
        ("mwp-cwp:comp_over_mem_equation=25", "give 23 or 24"),
        ("gpumech:policy=fair", "give round-robin or greedy-then-oldest"),
        ("zhang-owens:alu=3", "alu cannot be given as text"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "explain"])
def test_what_cannot_be_set_is_said_in_a_line(run, command, model, told):
    done = run(command, *OPTIONS, "--model", model)
    assert (done.status, done.out) == (2, "")
    assert told in done.err
    assert done.err.count("\n") == 1


def test_names_and_parameters_are_completed():
    def completed(typed: str) -> list[str]:
        context = click.Context(click.Command("predict"))
        items = complete_models(context, click.Option(["--model"]), typed)
        return [item.value for item in items]

    assert completed("") == [*model_names(), "all"]
    assert completed("volkov,roo") == ["volkov,roofline"]
    assert completed("volkov:") == ["volkov:contention=", "volkov:norm="]
    assert completed("sim,gpumech:ban") == ["sim,gpumech:bandwidth="]
    assert completed("gpumech:mshrs=8:po") == ["gpumech:mshrs=8:policy="]
    assert completed("nobody:") == []


def test_models_says_what_a_parameter_is(run):
    out = " ".join(run("models", "mwp-cwp").out.split())
    assert "comp_over_mem_equation = 24 (a whole number): The equation used where" in out
    answer = json.loads(run("models", "volkov", "--json").out)
    assert answer["parameters"] == {"contention": True, "norm": 0.0}
    described, norm = answer["parameter_descriptions"]
    assert (described["type"], described["default"]) == ("true or false", True)
    assert (norm["type"], norm["default"]) == ("a number", 0.0)


@pytest.mark.parametrize(
    "text",
    [PRINTED, "gpumech:policy=greedy-then-oldest:mshrs=8", "sim:departure_delay=2.5", "roofline"],
)
def test_a_label_is_read_as_the_model_that_it_names(text):
    assert model_label(read_model(text)) == text
    assert read_model(model_label(read_model(text))) == read_model(text)
