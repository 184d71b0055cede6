"""Predicted against measured times: the errors and the order of configurations."""

from __future__ import annotations

import math

import pytest
import scipy.stats  # noqa: F401  not within the first example, which Hypothesis times
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.validation.accuracy import Comparison, kendall_tau, mean_factor, mean_ratio
from kernelcast.validation.ground_truth import kernel_scores, mean_tau

times = st.floats(1e-9, 1e3)


def comparisons(*pairs: tuple[float, float], kernel: str = "k") -> list[Comparison]:
    return [Comparison(kernel, at, "", *pair) for at, pair in enumerate(pairs)]


def test_errors_in_both_directions_do_not_cancel_but_ratios_do():
    twice_off = comparisons((2e-6, 1e-6), (1e-6, 2e-6))
    assert mean_ratio(twice_off) == pytest.approx(1)
    assert mean_factor(twice_off) == pytest.approx(1)


@given(st.lists(st.tuples(times, times), min_size=1, max_size=8))
def test_an_error_is_that_of_the_reciprocal_and_none_where_all_is_met(pairs):
    turned = [(b, a) for a, b in pairs]
    assert mean_factor(comparisons(*pairs)) == pytest.approx(mean_factor(comparisons(*turned)))
    assert mean_factor(comparisons(*((a, a) for a, _ in pairs))) == pytest.approx(0)


def test_tau_is_that_of_the_textbook():
    """One exchange among four: 5 pairs in order, 1 against. And with ties: tau-b."""
    assert kendall_tau([(1, 1), (2, 3), (3, 2), (4, 4)]) == pytest.approx(4 / 6)
    assert kendall_tau([(1, 1), (1, 2), (2, 3)]) == pytest.approx(2 / math.sqrt(2 * 3))


@given(st.lists(times, min_size=2, max_size=8, unique=True))
def test_tau_is_one_for_the_same_order_and_minus_one_for_the_opposite(values):
    assert kendall_tau([(v, 3 * v) for v in values]) == pytest.approx(1)
    assert kendall_tau([(v, -v) for v in values]) == pytest.approx(-1)


def test_a_kernel_whose_configurations_are_alike_has_no_tau():
    assert kendall_tau([(1.0, 1.0)]) is None
    assert kendall_tau([(1.0, 1.0), (1.0, 2.0)]) is None
    alike = comparisons((1.0, 1.0), (1.0, 2.0), kernel="a")
    ordered = comparisons((1.0, 1.0), (2.0, 2.0), kernel="b")
    scores = kernel_scores([*alike, *ordered])
    assert [(score.kernel, score.tau) for score in scores] == [("a", None), ("b", 1.0)]
    assert mean_tau(scores) == 1.0
    assert mean_tau(scores[:1]) is None
