"""Documents: what all of them keep, and what the one of a forecast says."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelcast.reporting
from kernelcast.models.terms.base import Part
from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.compare import compare_document
from kernelcast.reporting.documents.predict import overview, predict_document
from kernelcast.reporting.documents.result import result

FOLDER = Path(kernelcast.reporting.__file__).parent


class Held(msgspec.Struct, frozen=True):
    """Numbers of every kind, one in the other."""

    number: float
    inner: dict[str, list[float]]


def test_every_document_has_a_view_in_the_module_of_the_same_name():
    with_document = [
        f.stem for f in FOLDER.glob("documents/*.py") if "Document(Struct" in f.read_text()
    ]
    assert len(with_document) > 15
    for name in with_document:
        module = import_module(f"kernelcast.reporting.text.{name}")
        assert callable(module.render), name


@given(st.floats(), st.lists(st.floats()))
def test_numbers_are_kept_and_what_is_no_figure_is_null(number, numbers):
    found = as_json(Held(number, {"a": numbers}))
    for before, after in zip(
        [number, *numbers], [found["number"], *found["inner"]["a"]], strict=True
    ):
        assert after == before if math.isfinite(before) else after is None


def test_numbers_of_numpy_are_numbers():
    found = as_json(Held(np.float64(2.5), {"a": [np.float64(1.5)]}))
    assert found == {"number": 2.5, "inner": {"a": [1.5]}}
    assert type(found["number"]) is float


def test_what_is_no_number_is_refused():
    with pytest.raises(NotImplementedError, match="Path"):
        as_json(Held(Path(), {}))  # type: ignore[arg-type]


def test_the_times_of_the_terms_add_up(prediction):
    found = result(prediction)
    assert math.fsum(p.time_s for p in found.breakdown) == pytest.approx(prediction.time_s)
    assert math.fsum(p.fraction for p in found.breakdown) == pytest.approx(1)


def test_bounds_keep_their_order_and_know_their_rank(prediction):
    bounds = (Part("a", 10.0), Part("b", 40.0), Part("c", 20.0))
    found = result(replace(prediction, bounds=bounds)).bounds
    assert [(b.name, b.rank, b.of_longest) for b in found] == [
        ("a", 3, 0.25),
        ("b", 1, 1.0),
        ("c", 2, 0.5),
    ]


def test_an_overview_ranks_gpus_by_the_first_model(prediction, elsewhere):
    found = overview([elsewhere, prediction])
    assert found.gpus_by_time == ["h100-sxm", "a100-sxm-80gb"]
    assert (found.fastest_s, found.lead) == (5e-6, 2.0)
    assert (found.low_s, found.high_s) == (5e-6, 1e-5)
    assert found.of_fastest == [2.0, 1.0]
    assert found.launches is None
    (warned,) = found.warnings
    assert warned.gpus == ["a100-sxm-80gb", "h100-sxm"]


def test_an_overview_counts_the_launches_of_a_workload(prediction):
    thrice = replace(prediction.case.launch, repeat=3)
    repeated = replace(prediction, case=replace(prediction.case, launch=thrice))
    found = overview([prediction, repeated])
    assert found.launches == 4
    assert found.low_s == found.high_s == pytest.approx(4 * prediction.time_s)


def test_one_result_needs_no_overview(prediction):
    assert "overview" not in as_json(predict_document([prediction]))


def test_versions_are_ranked_by_all_their_launches(prediction):
    slower = replace(prediction, time_s=4 * prediction.time_s)
    found = compare_document({"a.cu": [slower], "b.cu": [prediction]})
    assert found.by_time == ["b.cu", "a.cu"]
    assert (found.fastest_s, found.lead) == (prediction.time_s, 4.0)
    assert list(as_json(found)["versions"][0])[:2] == ["file", "schema"]
