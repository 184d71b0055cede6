"""What advice costs where all was measured: known answers on a set of three configurations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.reporting.documents.advice_regret import advice_regret_document
from kernelcast.reporting.text.advice_regret import render
from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.advice import AdvisedSet, is_tuned
from kernelcast.validation.public_sets import read_sets

PUBLIC = Path(__file__).parents[2] / "measurements/public"


def configuration(number: int, predicted_s: float, measured_s: float) -> Comparison:
    return Comparison("k", number, f"k n=8 block={number}", predicted_s, measured_s)


RANKED = (
    configuration(1, 1.0, 3.0),
    configuration(2, 2.0, 2.0),
    configuration(3, 3.0, 2.2),
)
JUDGED = (configuration(3, 1.9, 2.2), configuration(1, 2.5, 3.0))
SET = AdvisedSet("scaling", "a40", "volkov", "auto", RANKED, JUDGED, ())


def test_the_default_model_chooses_and_the_fastest_of_all_judges() -> None:
    assert SET.advised.configuration == 3
    assert SET.fastest.configuration == 2
    assert SET.regret == pytest.approx(0.1)
    assert SET.search_regret == pytest.approx(0.5)
    assert SET.words(SET.advised) == "block=3"


def test_the_table_says_what_is_advised() -> None:
    document = advice_regret_document([SET], 0.1001)
    assert document.holds
    assert not advice_regret_document([SET], 0.05).holds
    assert document.rows[0].place == 2
    text = render(document, brief=False)
    assert "| scaling | a40 | 3 | block=3 | 2.20 s | 2.00 s | 10 % | 2 | 50 % |" in text
    assert "- scaling, a40: the fastest is block=2" in text


def test_a_set_that_could_not_be_predicted_does_not_hold() -> None:
    nothing = replace(SET, ranked=(), judged=(), missing=("no source",))
    document = advice_regret_document([nothing], 0.1)
    assert not document.holds
    assert "| scaling | a40 | 0 | - |" in render(document, brief=True)


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8))
def test_no_regret_is_negative(times: list[float]) -> None:
    ranked = tuple(configuration(at, at, time) for at, time in enumerate(times))
    one = replace(SET, ranked=ranked, judged=ranked[:2])
    assert one.regret >= 0
    assert one.search_regret >= 0


def test_sets_of_one_tuned_kernel_are_searched() -> None:
    tuned = {one.title for one in read_sets(PUBLIC / "sets.toml") if is_tuned(one)}
    assert "convolution, tuned" in tuned
    assert "streams at every occupancy" not in tuned
