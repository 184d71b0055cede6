"""Errors of predicted times: quantiles, regret, the worst, and whether the code is the same."""

from __future__ import annotations

import itertools

import pytest
import scipy.stats  # noqa: F401  not within the first example, which Hypothesis times
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import ToolError
from kernelcast.validation import accuracy
from kernelcast.validation.accuracy import (
    Comparison,
    error_quantile,
    kendall_tau,
    mean_error,
    regret,
    worst,
)

times = st.floats(1e-6, 1e3)


def compared(*pairs):
    return [Comparison("k", at, str(at), *pair) for at, pair in enumerate(pairs)]


def test_an_error_is_a_share_of_the_measured_time():
    errors = compared((1.5, 1.0), (0.5, 1.0), (1.0, 2.0), (2.0, 2.0))
    assert [c.error for c in errors] == [0.5, 0.5, 0.5, 0.0]
    assert mean_error(errors) == pytest.approx(0.375)


def test_a_quantile_is_the_error_that_so_many_do_not_exceed():
    ten = compared(*((1 + n / 10, 1.0) for n in range(1, 11)))
    assert error_quantile(ten, 0.5) == pytest.approx(0.5)
    assert error_quantile(ten, 0.9) == pytest.approx(0.9)
    assert error_quantile(ten, 1.0) == pytest.approx(1.0)


def test_regret_is_what_the_choice_costs_not_how_far_off_its_prediction_is():
    assert regret(compared((1.0, 3.0), (2.0, 2.0))) == pytest.approx(0.5)
    assert regret(compared((100.0, 2.0), (200.0, 3.0))) == 0


def test_the_worst_are_off_by_the_largest_factor_in_either_direction():
    """A tenth of the time is worse than nine times it, though its error is smaller."""
    found = worst(compared((9.0, 1.0), (0.1, 1.0), (1.0, 1.0)), 2)
    assert [c.configuration for c in found] == [1, 0]


@given(st.lists(st.tuples(times, times), min_size=2, max_size=12))
def test_tau_counts_every_pair_once(pairs):
    """Against its definition, pair by pair."""

    def sign(x):
        return (x > 0) - (x < 0)

    orders = [(sign(a[0] - b[0]), sign(a[1] - b[1])) for a, b in itertools.combinations(pairs, 2)]
    untied = [sum(order[side] != 0 for order in orders) for side in (0, 1)]
    if not all(untied):
        assert kendall_tau(pairs) is None
    else:
        expected = sum(x * y for x, y in orders) / (untied[0] * untied[1]) ** 0.5
        assert kendall_tau(pairs) == pytest.approx(expected)


def test_without_scipy_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(accuracy, "find_spec", lambda name: None)
    with pytest.raises(ToolError, match=r"pip install 'kernelcast\[validation\]'"):
        kendall_tau([(1.0, 1.0), (2.0, 2.0)])
