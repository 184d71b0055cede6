"""What mechanisms are worth: each is left out by the numbers that it lives by."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.workloads import read_workload
from kernelcast.machines.loader import load_machine
from kernelcast.machines.schema import ENTRIES
from kernelcast.models.auto import Auto
from kernelcast.models.terms.base import Case, in_seconds, launch_overhead
from kernelcast.models.terms.parameters import model_label
from kernelcast.reporting.documents.ablation import ablation_document
from kernelcast.reporting.text import view
from kernelcast.validation.ablation import (
    MECHANISMS,
    SIMULATION,
    Ablated,
    ablated_models,
    worth_of_mechanisms,
)
from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.measured import Score
from kernelcast.validation.public import SetAccuracy

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def case() -> Case:
    work = read_workload(ROOT / "examples/saxpy.cu")
    (found,) = cases_of_workload(work, [load_machine("h100-sxm")])
    return found


def test_mechanisms_live_by_numbers_that_machines_have() -> None:
    for name, paths in MECHANISMS.items():
        assert paths, name
        for path in paths:
            assert path in ENTRIES, f"{name}: {path}"


def test_what_is_left_out_changes_the_forecast_and_the_rest_stays(case: Case) -> None:
    own = Auto().predict(case)
    without = Ablated("start of a launch").predict(case)
    overhead = in_seconds(case, launch_overhead(case)[0].cycles)
    assert own.time_s - without.time_s == pytest.approx(overhead)
    assert Auto().predict(case).time_s == own.time_s, "the case is as it was"
    assert Ablated(SIMULATION).predict(case).time_s != own.time_s


def test_every_mechanism_can_be_left_out(case: Case) -> None:
    labels = [model_label(model) for model in ablated_models()]
    assert len(set(labels)) == len(labels) == len(MECHANISMS) + 2
    for model in ablated_models():
        assert model.predict(case).time_s > 0


def row(model: str, ratios: list[float], title: str = "a") -> SetAccuracy:
    compared = tuple(Comparison("k", at, "", ratio, 1.0) for at, ratio in enumerate(ratios))
    return SetAccuracy(title, "t4", model, Score(compared), None, None, ())


def test_only_launches_that_it_touches_tell_of_a_mechanism() -> None:
    rows = [
        row("auto", [1.0, 1.1, 0.9]),
        row("auto:without=instruction fetch", [1.0, 1.1, 0.5]),
        row("auto:without=taken branches", [1.0, 1.0, 0.9]),
        row("auto:without=life of a block", [1.0, 1.1, 0.9]),
    ]
    fetch, branches = worth_of_mechanisms(rows)
    assert fetch.mechanism == "instruction fetch"
    assert len(fetch.own.comparisons) == 1
    assert (fetch.own.median_error, fetch.without.median_error) == pytest.approx((0.1, 0.5))
    assert fetch.by_set == {"a, t4": pytest.approx((0.1, 0.5))}
    assert branches.mechanism == "taken branches"
    assert branches.without.median_error == 0.0, "a mechanism may also do harm"
    text = str(view(ablation_document([fetch, branches], 3, [])))
    assert (
        "| instruction fetch | 1 | 10 %, 50 % | 10 %, 50 % | 0.900, 0.500 | a, t4: 10 %, 50 % |"
        in (text)
    )
